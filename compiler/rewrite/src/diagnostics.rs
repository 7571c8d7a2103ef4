//! The diagnostics that this crate can raise.

mod reasons;

pub use reasons::{
    LevelMixing, NoClosedForm, NoExactIntegral, NoPriorDraws, NoState, Undrawable, UnsupportedUse,
};

use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::dropout::DropoutOptions;
use bnnc_abi::methods::laplace;
use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, fault, reports};

codes! {
    /// Warns that a KL divergence cannot be shown to be finite.
    pub UNKNOWN_KL = "E0286", "a KL divergence that is not known to be finite":
        "The KL divergence from an approximation to a prior is infinite if the approximation has heavier tails than the prior allows. A \
         Monte Carlo estimate of this KL divergence would be finite all the same, but meaningless. bnnc uses two declarations of each \
         distribution to decide whether the KL divergence is finite: the ends of the support (`lowest`, \
         `highest`), and how fast the density falls towards each end (`tails`, or `low_tail` and `high_tail`). \
         The possible tails are `power(index)`, `log_normal`, `exponential(rate, order)` and \
         `double_exponential(rate)`; each describes how the density falls as `t` grows. At an infinite \
         end, `t` is the distance from zero; at a finite end, `t` is one over the distance from that end. `power(k)` means a \
         probability of `t ^ -k` beyond `t`, and `exponential(r, a)` means a density that falls like `exp(-(r t) ^ \
         a)`.\n\n\
         If a distribution of your own lacks these declarations, bnnc cannot decide whether the KL divergence is \
         finite.\n\n    dist Peak(loc: real, scale: positive) on real { log_density(x) = .. }\n\n\
         Declare how fast the density of the distribution falls:\n\n    tails = exponential(1 / scale, 1)";

    /// Reports a site with one value per example.
    pub LOCAL_SITE = "E0301", "local site":
        "A `local` parameter has one value per example, so its approximation grows with the data. The chosen method \
         supports only parameters that all examples share.\n\n\
         Declare the parameter without `local`, give it one element per group (`alpha: real[J]` and `alpha[group]`), or \
         choose a method that integrates this parameter out.";

    /// Reports an approximation that has probability where the density of the prior is zero.
    pub INFINITE_KL = "E0302", "infinite KL divergence":
        "The KL divergence from the approximation to the prior is infinite if the approximation gives positive \
         probability to values at which the density of the prior is zero.\n\n\
         Wrong: `rate: unit ~ Beta(2, 2)` approximated by `rate ~ Gamma(2, 1)`.\n\n\
         Right: a family on the parameter's own support, or a family on the reals, which a bijection transforms to the \
         support.\n\n\
         The KL divergence is also infinite if the log density of the prior does not have a mean under the \
         approximation. For example, the mean of |w| is infinite under a `Cauchy` or `Horseshoe` approximation. The KL \
         divergence from such an approximation to a `Normal`, `Laplace` or `Logistic` prior is therefore infinite. An \
         `InverseGamma` prior needs the mean of 1 / w, which is infinite unless the density of the approximation is \
         small near zero. A Monte Carlo estimate of an infinite KL divergence would be finite all the same, and \
         therefore wrong.\n\n\
         Right: a family with lighter tails, a shape parameter that starts at a value for which the mean exists, or a \
         prior with heavier tails such as `Cauchy`.";

    /// Reports a family that does not have a differentiable sampler.
    pub NO_SAMPLER = "E0303", "family without a sampler":
        "Variational inference differentiates through the draws of the family, so the family needs a `draw` that is \
         a differentiable function of its parameters and of standard noise.";

    /// Reports a gradient that passes through an op without a derivative.
    pub NO_DERIVATIVE = "E0305", "no derivative":
        "The method needs the gradient of an operation that does not have a derivative. The message names the operation \
         and the reason.";

    /// Reports a model that does not observe anything.
    pub NO_OUTPUT = "E0306", "nothing to learn from":
        "A model needs at least one output with a distribution, and a parameter that affects the mean or the logits of \
         an output. Otherwise there is nothing to learn from the data.";

    /// Reports a parameter of the likelihood that cannot be linearised.
    pub NOT_LINEAR = "E0307", "an integer that depends on the weights":
        "`laplace` and `collapsed` approximate the parameters of the likelihood, such as means, logits and scales, by
         linear functions of the weights. That is impossible for a parameter whose values are integers or increasing vectors.
         
         Wrong: `y ~ Own(if w > 0 { 1 } else { 0 })` for a distribution \
         `dist Own(k: count) on real` and a weight `w`.
         
         Right: use a parameter of the type `real`, or use `nuts` or `vi`, which do not linearise the model.";

    /// Reports a family whose KL divergence cannot be estimated, because the family has neither an
    /// entropy nor a density.
    pub NO_DENSITY = "E0310", "family without entropy or density":
        "The KL divergence from a family to a prior needs the entropy of the family, or its density at each draw. Add an \
         `entropy` or a `log_density` to the `dist`.";

    /// Reports a Taylor series that is used outside its radius of convergence.
    pub SERIES_RANGE = "E0311", "a Taylor series beyond its radius of convergence":
        "If the KL divergence of a parameter does not have a closed form and does not factorise, `taylor = K` replaces the log density \
         of the prior by a Taylor polynomial around the initial mean of the approximation. The polynomial is accurate only within its radius \
         of convergence. The radius should cover two standard deviations of the approximation around its mean.\n\n\
         Start with a narrower approximation, leave `taylor` out (the estimate is then an unbiased mean over draws), or \
         choose another prior.";

    /// Reports a site whose prior does not have a non-centred form.
    pub NO_NOISE = "E0312", "a parameter without a non-centred parameterisation":
        "`non_centered = [theta]` samples the noise of a parameter instead of its value: for `theta ~ Normal(mu, tau)` \
         the sampler draws a standard normal `z` and computes `theta = mu + tau * z`. The parameter must be free, and \
         every real number must be a valid value of it. The prior must have a `draw` of the form `loc + scale * noise` \
         for each element, as `Normal`, `StudentT`, `Cauchy`, `Laplace` and `Logistic` have.\n\n\
         Wrong: `non_centered = [tau]` for `tau ~ HalfNormal(1)`, whose noise is positive.\n\n\
         Right: `non_centered = [theta]`, or declare the noise as a parameter, `eta ~ Normal(0, 1)` and `theta = mu + \
         tau * eta`.";

    /// Reports a name in `over` that does not select any weights.
    pub NO_WEIGHTS = "E0313", "not weights that can be random":
        "`over` sets which weights are random: `all`, `last_layer`, layers and parameters by name, or `subnetwork(size, \
         by = score)`. Only parameters that affect the outputs can be random: the mean or the logits of the observed \
         distribution must depend on them. A noise level or a hyperparameter keeps its value at the maximum. A \
         parameter outside of all layers may act after the last layer, for example as an intercept that is added \
         to the output of this layer. `over = last_layer` is then ambiguous: name the layer, `over = [out]`.\n\n\
         Wrong: `over = [sigma]` under `y ~ Normal(out(x), sigma)`.\n\n\
         Right: `over = [out]`, or `over = last_layer`.";

    /// Reports a layer that does not exist in the model.
    pub UNKNOWN_LAYER = "E0320", "unknown layer":
        "`local`, `flipout`, `integrate` and `layers` need the names of parameters or layers. The name of a layer \
         stands for all its weights.\n\n\
         Wrong: `local = [hiden]` for a model with `hidden = Dense(50)`.\n\n\
         Right: `local = [hidden]`, `local = [hidden.w, hidden.b]`.";

    /// Reports a layer that does not have the form required by the gradient estimator that the user requested.
    pub LAYER_FORM = "E0321", "a gradient estimator that is not possible for a layer":
        "Local reparameterisation draws the outputs of a layer instead of its weights. The weights must be independent \
         normal variates under the approximation, and each example must multiply these weights by a single vector. \
         Flipout changes the signs of one draw, so the approximation must be symmetric around a centre. \
         `integrate` needs independent normal weights and a log likelihood that is a polynomial in the outputs of \
         the layer.\n\n\
         Wrong: `integrate = [out]` under `y ~ StudentT(4, out(x)[0], 1)`, whose log density is not a polynomial.\n\n\
         Right: `local = [out]`.";

    /// Reports dropout in a model that does not have a layer input to drop.
    pub NOTHING_TO_DROP = "E0322", "nothing to mask":
        "`dropout` masks the inputs of layers: the values of an example that a layer multiplies by its weights. Without \
         `layers`, it masks the inputs of all layers except those that take the data as input. A layer that \
         only looks up a table or only adds a bias does not have such an input. A layer inside a loop that is computed \
         step by step does not have such an input either.\n\n\
         Wrong: `dropout(Linear, data)` for a model with one layer.\n\n\
         Right: `dropout(Linear, data) { layers = [out] }`, which masks the data.";

    /// Reports a site without Kronecker factors that is too large for a dense block.
    pub NO_FACTORS = "E0323", "no Kronecker factors":
        "`structure = kronecker` approximates the curvature of a weight matrix by the Kronecker product of two small \
         matrices, one from the inputs of its layer and one from the gradients of its outputs. This requires that, for \
         one row, the gradient with respect to the weights is the outer product of the inputs and the gradient with \
         respect to the outputs. Any other parameter gets one full block. A block may have at most 4096 elements.\n\n\
         Wrong: `structure = kronecker` for a parameter `w: positive[100, 100]`, whose gradient passes through the \
         logarithm of `w`.\n\n\
         Right: `structure = diagonal`, or `over` without this parameter.";
}

/// Returns the options of an inference block to which diagnostics with this code refer. The caller
/// knows the spans of these options.
pub fn options_of(code: &'static Code) -> &'static [OptionName] {
    const NONCENTRE: &[OptionName] = &[ChainOptions::noncentre()];
    const OVER: &[OptionName] = &[laplace::GaussianOptions::over()];
    const STRUCTURE: &[OptionName] = &[laplace::GaussianOptions::structure()];
    const LAYERS: &[OptionName] = &[
        ViOptions::local(),
        ViOptions::flipout(),
        ViOptions::integrate(),
        DropoutOptions::layers(),
    ];
    if std::ptr::eq(code, &NO_NOISE) {
        NONCENTRE
    } else if std::ptr::eq(code, &NO_WEIGHTS) {
        OVER
    } else if std::ptr::eq(code, &NO_FACTORS) {
        STRUCTURE
    } else if std::ptr::eq(code, &UNKNOWN_LAYER) || std::ptr::eq(code, &LAYER_FORM) {
        LAYERS
    } else {
        &[]
    }
}

// This crate does not know the spans of a program. The caller adds them.
reports! {
    /// Warns about a KL divergence that is not known to be finite.
    fn unknown_kl(family: &str, site: &str, why: &str)
        = program_warning(UNKNOWN_KL,
            "the KL divergence from `{family}` to the prior of `{site}` is not known to be finite: {why}")
        .help("declare how fast the densities of your distributions fall, for example `tails = exponential(1 / scale, 1)`");

    /// Reports a family whose draws can lie outside the support of a site. `inside` and `support` describe the
    /// supports of the site and of the family.
    fn wider_support(site: &str, inside: &str, family: &str, support: &str)
        = of_program(INFINITE_KL,
            "the approximation of `{site}` must have its support inside {inside}, but the support of `{family}` is {support}: the KL divergence is \
             infinite")
        .help("choose a family on the support of the parameter, or a family on the reals");

    /// Reports an infinite KL divergence from a family to the prior of a site, which is the distribution `prior`.
    fn infinite_kl(family: &str, site: &str, prior: &str, why: &str)
        = of_program(INFINITE_KL, "the KL divergence from `{family}` to the prior of `{site}` is infinite: {why}")
        .help("choose a family with lighter tails, whose support lies inside that of `{prior}`, or another prior");

    /// Warns about an approximation that starts outside the range in which a Taylor series converges. `width` is two standard
    /// deviations, and `radius` is the radius of convergence.
    fn outside_series(site: &str, width: f64, mean: f64, prior: &str, radius: f64)
        = program_warning(SERIES_RANGE,
            "the approximation of `{site}` starts with two standard deviations of {width} around {mean}, but the Taylor series of the \
             log density of `{prior}` converges only within {radius}")
        .help("leave `taylor` out: the mean over draws is unbiased, and the compiled program does not grow with `draws`");

    /// Reports a family without a sampler.
    fn no_sampler(site: &str, family: &str)
        = of_program(NO_SAMPLER, "expected a family with a sampler for `{site}`, but `{family}` has no `draw`")
        .help("give `{family}` a `draw`: a function of its parameters and of `standard_normal()`");

    /// Reports a family without an entropy and without a density.
    fn no_entropy(site: &str, family: &str)
        = of_program(NO_DENSITY,
            "expected a family with an entropy or a density for `{site}`, but `{family}` defines neither")
        .help("give `{family}` a `log_density` or an `entropy`");

    /// Reports a model that uses a distribution without a density.
    fn point_in_model(model: &str, point: &str)
        = of_program(NO_DENSITY,
            "the model `{model}` uses the distribution `{point}`, which puts all probability at one point and has no density")
        .help("only a posterior can use `{point}`; give the quantity its value with `=`");

    /// Reports a site with a value for each example.
    fn local_site(site: &str)
        = of_program(LOCAL_SITE, "`{site}` is local to each example, which this method does not support")
        .help("give it one element per group, or leave out `local`");

    /// Reports a model without observations.
    fn observes_nothing(model: &str)
        = of_program(NO_OUTPUT, "expected `{model}` to observe an output with `~`, found none");

    /// Reports a model whose observations do not depend on any free parameter.
    fn nothing_moves(model: &str)
        = of_program(NO_OUTPUT, "no free parameter of `{model}` affects its outputs")
        .help("let the mean or the logits of an output depend on a parameter that the posterior does not fix");

    /// Reports an argument of the likelihood that depends on the weights but is not a real number.
    fn not_linear(param: &str, is_ordered: bool)
        let values = if is_ordered { "increasing vectors" } else { "integers" };
        = of_program(NOT_LINEAR,
            "`{param}` of the likelihood takes {values}, so it cannot be linearised in the weights")
        .help("let it depend only on data, or use `nuts` or `vi`, which do not linearise the model");

    /// Reports a weight whose curvature is not a Kronecker product and has more than `most` elements.
    fn too_large(site: &str, elements: usize, most: usize)
        = of_program(NO_FACTORS,
            "the gradient of `{site}` for one row is not an outer product, and {elements} elements are too many for one full \
             block")
        .help("a block has at most {most} elements; write `structure = diagonal`, or leave `{site}` out of `over`");

    /// Reports a site without a non-centred parameterisation.
    fn no_noise(site: &str, why: &str, help: String)
        = of_program(NO_NOISE, "`{site}` does not have a non-centred parameterisation: {why}")
        .help(help);

    /// Reports a name in `over` that does not select a weight. `known` lists the names that do. `is_site` is true
    /// if the name is that of a parameter.
    fn no_weights(name: &str, is_site: bool, known: &[&str])
        let why = match is_site {
            true => "only parameters that affect the outputs (the mean or the logits of the observation) can be random",
            false => "no parameter or layer of that name affects the outputs",
        };
        = of_program(NO_WEIGHTS, "`over` names `{name}`, but {why}")
        .suggest(name, known.iter().copied())
        .help("these affect the outputs: {}", quoted(known));

    /// Reports that the last parameter of a model does not belong to a layer. `layer` is the last layer with
    /// weights.
    fn no_last_layer(last: &str, layer: Option<&str>)
        = of_program(NO_WEIGHTS, "{}", match layer {
            Some(_) => format!(
                "`over = last_layer` is ambiguous: `{last}` acts after the last layer, but is not part of a layer"
            ),
            None => "`over = last_layer` needs a layer with weights, but this model does not have one".to_owned(),
        })
        .help(match layer {
            Some(layer) => format!("name the layer: `over = [{layer}]`"),
            None => "leave `over` out, or write `over = all`: the Gaussian then covers every parameter that affects the outputs".to_owned(),
        });

    /// Reports a name in `non_centered` that is not a site.
    fn unknown_noise<'a>(name: &str, sites: impl Iterator<Item = &'a str>)
        = of_program(NO_NOISE, "`non_centered` names `{name}`, which is not a parameter of the model")
        .label("not a parameter")
        .suggest(name, sites);

    /// Reports a name in `option` that is neither a layer nor a parameter.
    fn unknown_layer<'a>(option: &str, name: &str, known: impl IntoIterator<Item = &'a str>)
        = of_program(UNKNOWN_LAYER, "`{option}` names `{name}`, but the model has no such layer or parameter")
        .suggest(name, known);

    /// Reports a site that does not support the estimator of an option.
    fn no_estimator(option: &str, site: &str, why: &str)
        = of_program(LAYER_FORM, "`{option}` is not possible for `{site}`: {why}")
        .help("leave `{site}` out of `{option}`: all examples then share one draw of it");

    /// Reports a layer that does not have inputs to drop.
    fn no_masks(name: &str)
        = of_program(NOTHING_TO_DROP,
            "`{name}` has no inputs to mask: its weights are not multiplied by values of an example");

    /// Reports a model without a layer that has inputs to drop. `last` is its last layer.
    fn nothing_to_drop(last: Option<&str>)
        = of_program(NOTHING_TO_DROP,
            "no layer has inputs to mask: no layer takes hidden values, and data are masked only if `layers` names \
             the layer")
        .help(match last {
            Some(layer) => format!("name the layers whose inputs to mask: `layers = [{layer}]`"),
            None => "add a hidden layer, or name the weights: `layers = [w]`".to_owned(),
        });
}

/// The reason why the functions of a model could not be built.
#[derive(Clone, Debug)]
pub enum RewriteError {
    /// Errors in the user's program.
    Program(Vec<Diagnostic>),
    /// A limit or a bug of the compiler.
    Fault(fault::Fault),
}

impl From<Vec<Diagnostic>> for RewriteError {
    fn from(diagnostics: Vec<Diagnostic>) -> RewriteError {
        RewriteError::Program(diagnostics)
    }
}

impl From<fault::Fault> for RewriteError {
    fn from(fault: fault::Fault) -> RewriteError {
        match fault {
            fault::Fault::Limit(limit) => {
                let help = "express this part of the model with other functions";
                RewriteError::Program(vec![Diagnostic::of_program(limit.code, limit.text).help(help)])
            }
            fault::Fault::Bug(_) | fault::Fault::Reported(_) => RewriteError::Fault(fault),
        }
    }
}

/// Returns `value` if the list of diagnostics is empty, and the diagnostics otherwise.
pub fn unless<T>(diagnostics: Vec<Diagnostic>, value: T) -> Result<T, Vec<Diagnostic>> {
    match diagnostics.is_empty() {
        true => Ok(value),
        false => Err(diagnostics),
    }
}
