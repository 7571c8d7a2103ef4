//! The diagnostics of Laplace approximations.

use bnnc_abi::methods::laplace::{Laplace, Likelihood, PriorPrecision};
use bnnc_base::diagnostics::{NO_MAXIMUM, NO_SUBNETWORK};
use bnnc_base::number::{exact, rounded};
use bnnc_base::{codes, reports};
use bnnc_core::diagnostics::{average, milder};
use bnnc_laplace::curvature::NotPositive;

codes! {
    NO_CURVATURE = "E0541", "a likelihood without curvature":
        "A Laplace approximation uses the second derivative of the log likelihood of every training row with respect to the outputs of the network. In the row that \
         the message names, this derivative or the covariance of the outputs is infinite or not a number: the target lies outside the support of the likelihood, or \
         the outputs are so large that the likelihood overflows. Standardise the inputs and the target, and check that scales stay positive.\n\nIf \
         the log likelihood is not concave in the outputs in any row (for example, `Uniform` with learned ends), the generalised Gauss-Newton \
         matrix is zero, and the approximation would only repeat the prior.\n\nRight: `curvature = fisher`.";

    NO_POSTERIOR = "E0542", "a precision that is not positive definite":
        "The precision of a Gaussian is the curvature of the log likelihood plus the precision of the prior. The \
         precision must be positive in every direction. The precision can fail to be positive if the log density of the \
         prior is convex at the maximum (in the tails of a heavy-tailed prior) or linear (a Laplace or uniform prior), \
         and the curvature of the likelihood does not compensate for it. With `curvature = hessian`, the precision can \
         also fail to be positive at a point that is not a maximum. If the precision is not a number, a derivative \
         overflows: then another `curvature` does not help, but finite weights and standardised data do.\n\n\
         Right: `curvature = ggn`, a Normal prior, or more epochs in the search for the maximum.";

    NO_LINK = "E0545", "a link that does not fit the likelihood":
        "`probit`, `bridge` and `bridge_normalised` turn Gaussian logits into probabilities of classes. These links \
         need one `Categorical` observation whose logits are the outputs; `probit` also allows `Bernoulli`.\n\n\
         Right: `link = glm` or `monte_carlo`, which draw the outputs of other likelihoods.";

    /// A search for a maximum ended early, or a given start is not a maximum.
    NOT_AT_MAXIMUM = "E0546", "the maximum is not reached":
        "Around a point that is not a maximum of the posterior, the Gaussian has the wrong centre and the wrong shape. With the \
         gradient `g` of the log posterior and the precision `P` of the Gaussian, the log posterior could still rise by `g' P^-1 g / 2`. This \
         warning appears if the rise is more than 0.1 per weight. If the gradient or its square is not finite, the message contains \
         `without bound`. Free parameters that are not weights, such as a noise level, are checked along their gradient. A rise is not \
         reported if it is at most 0.1 for each of these parameters plus 0.001 per row. Search longer, with a schedule that ends at \
         small steps (`schedule = cosine`), or start from the result of another inference with the same prior and likelihood.";

    DEPENDENT_PRIOR = "E0547", "a prior whose elements depend on each other":
        "Only `structure = full` can represent a prior with correlated weights. Weights are correlated, for example, if one weight is the mean \
         of others. The other \
         structures need a prior whose precision is diagonal.\n\nRight: `structure = full`, or a posterior that fixes the parameter on which several weights depend: \
         `posterior Fixed of Model { mean = map.mean }`.";

    PRIOR_NOT_NORMAL = "E0550", "a prior that is not Normal":
        "`prior_precision = marginal_likelihood` and `online = true` tune a factor on the precision of the prior: they maximise the marginal \
         likelihood over this factor. The effect of such a factor on the normalising constant of the prior is known only if the priors of all weights are Normal; bnnc \
         checks this from the log density and its first two derivatives. Other priors, such as `StudentT`, `Laplace` or the priors of \
         constrained weights, have other normalising constants.\
         \n\nRight: use a `Normal` prior. Or leave the option out; the prior of the model is then used unchanged.";

    FACTOR_AT_END = "E0551", "the factor on the prior is at the end of the search range":
        "bnnc multiplies the precision of the prior by a factor, and searches for the best factor. The search range is 1e-8 to 1e8 with \
         `prior_precision = marginal_likelihood`, and 1e-4 to 1e4 with `prior_precision = validation`. A factor at an end of the range means \
         that the criterion does not have a maximum inside the \
         range. With a large factor, the weights have hardly any spread. The validation rows favour a large factor in two cases: the noise of \
         the likelihood is already too large, or the Gaussian is wider than the posterior, whatever the value of the factor. The \
         marginal likelihood prefers a large factor if the weights are at the mean of their prior. With a small \
         factor, the prior does not have an effect. This warning also appears if the search for several factors \
         ended before it converged.\n\n\
         Wrong: `laplace(Net, images) { start = best, prior_precision = validation }` for classes.\n\n\
         Right: use one of these: `link = bridge` for classes, a learned noise level, a start that is a maximum, or `nuts` or `vi`, which \
         average over the weights.";

    PRIOR_AVERAGED = "E0552", "a prior that a Kronecker structure replaces by its mean":
        "If the prior has a single precision for a whole weight matrix, bnnc adds the prior to the Kronecker product exactly, because both have the \
         same eigenvectors (Immer et al. 2021, section 4.2). If the precision of the prior varies within the matrix, in the model or with \
         `prior_structure = diagonal`, each eigenvector gets a weighted mean of the precisions instead: the precisions are weighted by the squares \
         of the eigenvector's elements. Standard deviations and the marginal likelihood are computed with this averaged prior. Under the model's \
         own prior, these results may be very different.\n\n\
         Right: use one of these. `structure = full`, `diagonal` and `low_rank(..)` represent such a prior exactly. With `prior_structure = \
         layer`, or one precision per matrix in the model, the prior does not vary within a matrix.";

    OTHER_CENTRE = "E0570", "a centre that is the maximum of another density":
        "The search maximised the posterior of the model. The Gaussian approximates a different posterior: its prior has another precision, or \
         its log likelihood is divided by a temperature. The Gaussian has the spread of this new \
         posterior, but the centre of the old one. With the gradient `g` and the precision `P` of the new log density, \
         that density could still rise by `g' P^-1 g / 2`. This warning appears if the rise is more than 0.1 per weight. If `prior_precision` is a \
         number, the search maximises the density under that prior, and the centre is right. A factor that is tuned after the search \
         (`marginal_likelihood`, `validation`) does not move the centre. A factor on the prior does not move the centre either if the start is used \
         as the maximum. If validation rows choose the factor, use it only to narrow the Gaussian around this centre. It is not a better prior: the \
         maximum under the scaled prior may predict far worse.\n\n\
         Wrong: `infer l = laplace(Model, data) { start = map, prior_precision = 100 }`.\n\n\
         Right: use one of these. `infer l = laplace(Model, data) { start = map, steps = 20000, prior_precision = 100 }` continues the search \
         from the start, under the new prior. The model can also declare this prior. Instead of `prior_precision = marginal_likelihood`, write \
         `online = true, steps = 20000`. Instead of `prior_precision = validation`, write `link = bridge` for classes.";
}

/// The facts that the warning [`other_centre`] reports.
pub struct Elsewhere<'a> {
    /// The log density could rise by this amount from the centre to its maximum.
    pub rise: f64,
    /// The number of weights that the Gaussian covers.
    pub weights: usize,
    /// The factors on the precision of the prior, by site.
    pub precisions: &'a [(String, f64)],
    /// True if the prior of all weights is Normal.
    pub is_normal: bool,
}

/// Returns the advice for a Gaussian whose prior was scaled by `factor`, or by several factors, after the search for its centre.
fn better_prior(elsewhere: &Elsewhere<'_>, laplace: &Laplace, factor: Option<f64>) -> String {
    let options = &laplace.options;
    let online = |option: &str| {
        let steps = if laplace.search { "" } else { ", steps = 20000" };
        format!(
            "write `online = true{steps}` instead of `prior_precision = {option}`, to tune the prior during the search for the maximum"
        )
    };
    let by_evidence =
        laplace.likelihood == Likelihood::Normal && elsewhere.is_normal && options.temperature == 1.0;
    match (options.prior_precision, milder(laplace)) {
        (PriorPrecision::MarginalLikelihood, _) => online("marginal_likelihood"),
        (PriorPrecision::Validation, Some(options)) => {
            format!("write {options} instead of `prior_precision = validation`")
        }
        (PriorPrecision::Validation, None) if by_evidence => online("validation"),
        (PriorPrecision::Validation, None) => average(laplace),
        (PriorPrecision::Given(_), _) => {
            let factor = factor.map(|factor| format!(", `prior_precision = {}`", exact(factor)));
            let factor = factor.unwrap_or_default();
            format!("search for the maximum under this prior: `steps = 20000`{factor}")
        }
    }
}

reports! {
    /// A warning: the centre of a Gaussian is not the maximum of the density that it approximates.
    fn other_centre(infer: &str, elsewhere: &Elsewhere<'_>, laplace: &Laplace)
        let options = &laplace.options;
        let factor = match (options.prior_precision, elsewhere.precisions) {
            (PriorPrecision::Given(1.0), _) => None,
            (_, [(_, only)]) => Some(*only),
            _ => None,
        };
        let is_tempered = options.temperature != 1.0 && factor.is_none();
        let what = match (is_tempered, factor) {
            (true, _) => format!("at a temperature of {}", exact(options.temperature)),
            (false, Some(factor)) => format!("under {} times the precision of the prior", rounded(factor, 4)),
            (false, None) => "under the tuned precisions of the prior".to_owned(),
        };
        let is_validated = !is_tempered && options.prior_precision == PriorPrecision::Validation;
        = program_warning(OTHER_CENTRE, "`{infer}`: the Gaussian is centred at the maximum of the model's own posterior, but {what} the log density could still rise by {} over {} weights",
            rounded(elsewhere.rise, 3), elsewhere.weights)
        .notes(is_validated.then_some("the factor only narrows the Gaussian; it is not a better prior, and the maximum under it may predict far worse"))
        .help(match is_tempered {
            true => "sample the tempered posterior (`nuts`, `hmc`), or leave `temperature` out".to_owned(),
            false => better_prior(elsewhere, laplace, factor),
        });

    /// A warning: the prior precision varies within a weight matrix whose precision has the Kronecker
    /// structure.
    fn prior_averaged(infer: &str)
        = program_warning(PRIOR_AVERAGED, "`{infer}`: the precision of the prior varies within a weight matrix, and a Kronecker structure replaces it by weighted means")
        .help("use `structure = full` or `diagonal`, or a prior with one precision per matrix");

    /// An error: the start should already be the maximum, but it does not contain the weights of a
    /// site.
    fn no_maximum(infer: &str, site: &str)
        = of_program(NO_MAXIMUM, "`{infer}` uses its start as the maximum, but its start gives no value for `{site}`")
        .help("start from an inference or a file that has this parameter in the same size, or search for the maximum: `epochs = 100`");

    /// An error: the likelihood of a row, counted from 0, does not have a finite second derivative.
    fn no_curvature(infer: &str, row: usize, why: &str)
        = of_program(NO_CURVATURE, "the second derivative of the log likelihood of `{infer}` in row {} {why}",
            row + 1)
        .help("standardise the inputs and the target");

    /// An error: the log likelihood is not concave in any row. After clipping, all second derivatives
    /// are therefore zero.
    fn nowhere_concave(infer: &str)
        = of_program(NO_CURVATURE, "the log likelihood of `{infer}` is not concave in the outputs in any row that was checked: the precision would be that of the prior")
        .help("use `curvature = fisher`, which needs first derivatives only");

    /// An error: the outputs of a row cannot be drawn, because their covariance is not valid. Rows are counted from 0.
    fn no_covariance(infer: &str, row: usize, why: &str)
        = of_program(NO_CURVATURE, "the covariance of the outputs of `{infer}` in row {} {why}", row + 1)
        .help("standardise the inputs and the target");

    /// An error: the sum of the curvature and the prior precision is not positive definite.
    fn no_posterior(infer: &str, why: &str)
        = of_program(NO_POSTERIOR, "`{infer}` has no Gaussian around its maximum: {why}")
        .help(CONCAVE_PRIOR);

    /// The same error as [`no_posterior`], for a pivot of the factorisation that is not positive. If
    /// the pivot is NaN, the help is different.
    fn not_positive(infer: &str, found: &NotPositive)
        = of_program(NO_POSTERIOR, "`{infer}` has no Gaussian around its maximum: {found}")
        .help(match found.value.is_nan() {
            true => "a value or a derivative overflows there: check that weights and data are finite, and standardise the data",
            false => CONCAVE_PRIOR,
        });

    /// An error: the requested subnetwork has more weights than there are weights that affect an
    /// output.
    fn too_few_weights(infer: &str, wanted: usize, alive: usize, parameters: usize)
        let help = match alive {
            0 => "no subnetwork is possible: look for units that are never active, or for a start at which every gradient is zero".to_owned(),
            1 => "write `subnetwork(1)`".to_owned(),
            _ => format!("use at most {alive} weights"),
        };
        = of_program(NO_SUBNETWORK, "`{infer}` needs {wanted} weights for its subnetwork, but only {alive} of {parameters} affect an output on the training rows")
        .help(help);

    /// An error: the link does not fit the likelihood.
    fn no_link(infer: &str)
        = of_program(NO_LINK, "the link of `{infer}` does not fit its likelihood")
        .help("write `link = glm`, which uses the best link for each likelihood");

    /// An error: the members of a mixture have different noise, so weights cannot be drawn from it.
    fn weights_of_different_noise(infer: &str)
        = of_program(NO_LINK, "`{infer}`: `link = weights` is not possible for members with different noise")
        .help("write `link = glm`, which uses the best link for each likelihood");
}

const CONCAVE_PRIOR: &str =
    "use `curvature = ggn` and a prior whose log density has a negative second derivative, such as `Normal`";

/// How a point was found. A warning reports that this point is not a maximum.
#[derive(Clone, Copy, Debug)]
pub struct SearchForMaximum<'a> {
    /// True if the inference searched for the maximum, and false if it was given a start.
    pub searched: bool,
    /// The text of an option that makes the search longer, such as `steps = 4000`. The option uses
    /// the same unit (epochs or steps) as the program.
    pub longer: &'a str,
}

impl SearchForMaximum<'_> {
    /// Returns the reason why the point is not a maximum, and the advice to search for longer. `better` ends the advice
    /// for an inference that already searches.
    fn reason(self, better: &str) -> [String; 2] {
        match self.searched {
            true => [
                "the search ended before the maximum".to_owned(),
                format!("search for the maximum for longer{better}"),
            ],
            false => [
                "its start is not a maximum of its posterior".to_owned(),
                format!("search for the maximum from there: `{}`", self.longer),
            ],
        }
    }
}

/// Formats the amount by which a log posterior could rise.
fn by(rise: f64) -> String {
    match rise.is_finite() {
        true => format!("by {}", rounded(rise, 3)),
        false => "without bound".to_owned(),
    }
}

reports! {
    /// A warning: the log posterior could rise by `rise` if the weights changed. `weights` is the number of weights.
    fn not_at_maximum(infer: &str, rise: f64, weights: usize, search: SearchForMaximum<'_>)
        let [what, help] = search.reason(&format!(": `{}`, and `schedule = cosine`", search.longer));
        let total = if rise.is_finite() { " in total" } else { "" };
        = program_warning(NOT_AT_MAXIMUM, "`{infer}`: {what}; the log posterior could rise {}{total} over {weights} weights", by(rise))
        .help(help);

    /// A warning: the log posterior could rise by `rise` if states other than weights changed.
    fn others_not_at_maximum(infer: &str, rise: f64, search: SearchForMaximum<'_>)
        let [what, help] = search.reason(&format!(", `{}`, or with a larger learning rate", search.longer));
        = program_warning(NOT_AT_MAXIMUM, "`{infer}`: {what}; the log posterior could rise {} if parameters other than weights, such as a noise level, moved",
            by(rise))
        .help(help);

    /// An error: the structure of the precision cannot represent the prior.
    fn dependent_prior(infer: &str)
        = of_program(DEPENDENT_PRIOR, "the prior of `{infer}` correlates weights, which only a full precision matrix can represent")
        .help("write `structure = full`");

    /// An error: the prior is not Normal, so the marginal likelihood under other prior factors is not
    /// known.
    fn prior_not_normal(infer: &str, option: &str)
        = of_program(PRIOR_NOT_NORMAL, "`{infer}` tunes a factor on the precision of the prior (`{option}`), but the prior is not Normal")
        .help("use a `Normal` prior, or leave the option out: then the prior of the model is used unchanged");
}

/// Returns the advice for a prior factor that is at an end of the searched range.
fn other_factor(factor: f64, laplace: &Laplace) -> Vec<String> {
    let is_fixed = laplace.likelihood == Likelihood::Normal && laplace.noise.is_empty();
    let by_validation = laplace.options.prior_precision == PriorPrecision::Validation;
    let first = match milder(laplace) {
        _ if factor < 1.0 => Some(
            "give the weights a wider prior in the model, for instance with ten times the scale".to_owned(),
        ),
        _ if !by_validation => (!laplace.search).then(|| {
            "continue the search from the start, which may not be a maximum: `steps = 20000`".to_owned()
        }),
        Some(options) => Some(format!(
            "use options that keep the class probabilities close to those of the centre: {options}"
        )),
        None => is_fixed.then(|| "estimate the noise: `sigma: positive ~ HalfNormal(..)`".to_owned()),
    };
    let or = if factor < 1.0 { "or " } else { "" };
    let second = match factor >= 1.0 && by_validation {
        true => average(laplace),
        false => format!("{or}leave `prior_precision` out, to use the prior of the model unchanged"),
    };
    first.into_iter().chain([second]).collect()
}

reports! {
    /// A warning: the best prior factor is at an end of the searched range, or the search ended early.
    fn factor_at_end(infer: &str, factor: f64, laplace: &Laplace)
        let what = match factor >= 1.0 {
            true => "the data prefer weights without spread",
            false => "the data prefer an infinitely wide prior",
        };
        = program_warning(FACTOR_AT_END, "`{infer}`: the search for the factor on the prior ended at {}, the end of the search range: {what}",
            rounded(factor, 4))
        .helps(other_factor(factor, laplace));

    /// A warning: the search for several prior factors stopped because it had taken the maximum number of steps.
    fn factors_not_found(infer: &str)
        = program_warning(FACTOR_AT_END, "`{infer}`: the search for the factors on the prior ended before the maximum")
        .help("use fewer factors: `prior_structure = layer` or `scalar`; with `online`, also use more `epochs`, so that more epochs lie between two tunings");
}
