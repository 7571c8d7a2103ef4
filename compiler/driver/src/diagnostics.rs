//! Every diagnostic code of the compiler and of the command line.

pub(crate) mod augment;
pub mod compare;
pub mod draws;
pub(crate) mod endless;
pub mod new_levels;
pub mod observed;
pub(crate) mod running;
mod stages;
pub mod which;

use bnnc_abi::diagnostics::OPTIONS_APART;
pub use bnnc_abi::diagnostics::{BAD_SETTING, NO_INFER, no_infer};
use bnnc_abi::manifest::Training;
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::collapsed::CollapsedOptions;
use bnnc_abi::methods::laplace;
use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::diagnostics::{NO_MAXIMUM, NO_SUBNETWORK};
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::{DataItem, InferItem};
use bnnc_rewrite::methods::laplace::likelihood::ZeroDerivative;
pub use stages::{NO_STAGE, bad_text, earlier_stage, no_clif, no_pass, no_stage, undefined_distribution};
use std::sync::Arc;

codes! {
    /// The backend in `--backend` does not exist or is not part of this build.
    pub NO_BACKEND = "E0602", "no such backend":
        "`--backend` names a code generator of this build. `cranelift` compiles for the processor of this machine. \
         `mlir` compiles through LLVM and uses wider vectors, but the compilation takes about a hundred times as long. \
         `cuda` compiles for NVIDIA GPUs. Both `mlir` and `cuda` need a `bnnc` that was built with the feature `mlir`. \
         `reference` is a slow interpreter in double precision, used to check the other backends.";

    /// The program file cannot be read.
    pub NO_FILE = "E0605", "cannot read the program":
        "The program file named on the command line does not exist or is not readable UTF-8 text.";

    /// The program does not contain an inference block.
    pub NO_INFERS = "E0606", "nothing to run":
        "A program without an `infer` item only declares things, so a run would not compute anything. Add, for \
         example, `infer fit = vi(Posterior, data) { epochs = 100 }`.";

    /// A command of the REPL does not exist or is used wrongly.
    pub BAD_COMMAND = "E0607", "bad command":
        "In the REPL a line that starts with `:` is a command. `:help` lists the commands and their arguments. Spaces separate arguments, so \
         put an expression that contains spaces into parentheses.\n\n```\n:kl Normal(0, 1) Laplace(0, 1)\n:draw Normal(0, 1) 1000\n```";

    /// `--without` names a rewrite that does not exist.
    pub NO_REWRITE = "E0608", "no such rewrite":
        "`--without` names a rewrite to switch off, for example `--without exact-kl`. `--trace-rewrites` shows the names of the rewrites that are applied.";

    /// The option `patience` is set, but the data do not have validation rows.
    pub NO_VALIDATION = "E0609", "patience without validation rows":
        "`patience` stops the training when the log likelihood of the validation rows no longer improves. The data item therefore needs \
         validation rows.\n\nWrong: `infer fit \
         = vi(Q, d) { patience = 10 }` with `data d = csv(\"d.csv\")`.\n\n\
         Right: `data d = csv(\"d.csv\") { validation = 0.1 }`.";

    /// The option `prune` is set, but the posterior does not have a site whose weights can be pruned.
    pub NOTHING_TO_PRUNE = "E0610", "nothing to prune":
        "`prune` ranks weights by the ratio of their posterior mean to their posterior standard deviation, and sets the \
         weights with the lowest ratios to zero. It can prune only parameters on the reals whose family defines a mean \
         and a variance.\n\n\
         Wrong: `w ~ Cauchy(0, 0.1)` in the posterior of a model without other parameters.\n\n\
         Right: `w ~ Normal(0, 0.1)`.";

    /// `bnnc explore` cannot listen on the requested port.
    pub NO_PORT = "E0611", "no such port":
        "`bnnc explore` serves its page on a port of this machine only. Another program may be using the port, or a port below 1024 may need permission.\n\nWrong: \
         `bnnc explore --port 80`.\n\nRight: `bnnc explore --port 0`, which uses a free port.";

    /// An inference block that has nothing to infer, because its posterior fixes every site or its
    /// model does not have sites.
    pub NOTHING_TO_SAMPLE = "E0612", "nothing to sample":
        "A sampler draws every parameter that the posterior does not fix. Lines such as `first.* = map.first.*` fix parameters. Here \
         the sampler cannot draw anything, because every parameter is fixed, or because the model does not have parameters.\
         \n\nWrong: `w = map.w` for every parameter of the model.\n\nRight: \
         fix the first layers and leave the last one out.";

    /// A name in `report` that the model does not have.
    pub NO_QUANTITY = "E0613", "no such quantity":
        "`report` lists parameters of the model, or quantities that the model computes with `=` from parameters alone. A quantity that depends \
         on the data of an example has one value per row. It belongs to the predictions instead.\n\nRight: `report = [theta, tau]` where the \
         model has `theta = mu + tau * eta`.";

    /// The option `start` names a file of values, but the state of a site does not hold the value of the site.
    pub NO_STATE_FOR_VALUE = "E0620", "a file of values cannot start this inference":
        "`start = safetensors(\"FILE\")` gives one value for each parameter. Point estimates and chains can start from such values. \
         A variational family such as `Normal`, and a parameter in its non-centred parameterisation, cannot start from \
         them.\n\nWrong: `infer fit = vi(Q, data) { start = safetensors(\"w.safetensors\") }` where `Q` has `w ~ \
         Normal(0, 0.1)`.\n\nRight: `infer fit = map(Model, data) { start = safetensors(\"w.safetensors\") }`, \
         and `start = fit` in later inferences.";

    /// The option `start` names an inference that does not share any site with this inference.
    pub USELESS_START = "E0621", "a start without common parameters":
        "With `start = OTHER`, each parameter starts from the result that the inference `OTHER` has for the parameter with the same \
         name and shape. If the two models do not share a parameter of the same name and shape, `start` does not have an effect.\n\n\
         Wrong: `infer b = nuts(B, d) { start = a }`, although the model of `a` has parameters with other names than `B`.\n\n\
         Right: give the layers and parameters of both models the same names.";

    /// A `collapsed` inference whose integral does not have an exact form.
    pub NO_EXACT_INTEGRAL = "E0622", "no exact integral":
        "`collapsed` integrates exactly over a box of weights if two conditions hold. The location of the observation must be an affine or \
         piecewise affine function of these weights (as with ReLU, `max` or `abs`). The observation \
         must be Normal, a class or a Boolean. Otherwise, `collapsed` draws weights from the box, `draws` times per \
         iterate. It also draws weights for those rows whose box has too many pieces (E0562).\n\n\
         Sampled: `over = all` for a network with a hidden layer, because the weights of its layers multiply each other.\n\n\
         Exact: `over = last_layer`, or `over = [hidden]` if the outputs of `hidden` pass through a ReLU.";

    /// The data item has outliers, but the model does not predict classes.
    pub USELESS_OUTLIERS = "E0623", "outliers without classes":
        "`outliers` are rows for which a classifier should be uncertain. bnnc compares the entropy of the class probabilities in these \
         rows with the entropy in the test rows. A real output or a count does not have class probabilities, so the option does not have \
         an effect.\
         \n\nRight: leave `outliers` out, or use `bnnc predict` and compare the `sd_epistemic` of such rows.";

    /// A Laplace approximation whose curvature would be computed from a derivative of the log likelihood that is
    /// always zero.
    pub NO_SECOND_DERIVATIVE = "E0624", "a likelihood without the derivative that the curvature needs":
        "`curvature = ggn` and `hessian` use the second derivative of the log likelihood with respect to the outputs of the network. \
         `fisher` uses the first derivative. If the derivative is zero wherever it exists, like the second derivative of `abs(x)`, \
         the data do not influence the precision. The approximation would then have the width of the prior.\n\n\
         Wrong: `y ~ Laplace(out(x)[0], 1)` in the model and `laplace(Model, data)`.\n\n\
         Right: use one of these. `laplace(Model, data) { curvature = fisher }` uses outer products of gradients, which are not zero. A \
         likelihood such as `StudentT(4, out(x)[0], 1)` has heavy tails but is curved at its centre. `vi` and `nuts` need no \
         second derivative.";
}

/// Returns every code that this crate and the crates below it can raise, sorted.
pub fn all() -> Vec<&'static Code> {
    let lists = [
        bnnc_base::diagnostics::CODES,
        bnnc_abi::diagnostics::CODES,
        bnnc_grammar::diagnostics::CODES,
        &bnnc_hir::diagnostics::codes(),
        &bnnc_hir::diagnostics::ELABORATE.concat(),
        bnnc_rewrite::diagnostics::CODES,
        CODES,
        crate::methods::iterates::diagnostics::CODES,
        augment::CODES,
        compare::CODES,
        draws::CODES,
        endless::CODES,
        new_levels::CODES,
        observed::CODES,
        running::CODES,
        stages::CODES,
        which::CODES,
    ];
    let mut codes: Vec<&'static Code> = lists.concat();
    codes.sort_by_key(|code| code.id);
    codes
}

reports! {
    /// Reports an unknown name in `report`.
    fn unknown_quantity(infer: &InferItem, name: &str, known: &[&str])
        = error(NO_QUANTITY, infer.span_of(&[ChainOptions::report()]),
            "`{name}` is neither a parameter nor computed from parameters only")
        .note("the model has {}", quoted(known));

    /// Reports a subnetwork that is larger than the number of weights.
    fn too_many_weights(infer: &InferItem, wanted: usize, all: usize)
        = error(NO_SUBNETWORK, infer.span_of(&[laplace::GaussianOptions::over()]),
            "`{}` needs {wanted} weights for its subnetwork, but there are only {all}", infer.name)
        .help("use fewer weights, a fraction such as `subnetwork(0.5)`, or `over = all`");

    /// Reports a subnetwork that is larger than `curved`, the number of weights that affect an output with a curved
    /// log likelihood.
    fn too_few_curved(infer: &InferItem, wanted: usize, curved: usize)
        = error(NO_SUBNETWORK, infer.span_of(&[laplace::GaussianOptions::over()]),
            "`{}` needs {wanted} weights for its subnetwork, but only {curved} affect an output in which the log likelihood is curved",
            infer.name)
        .help("use fewer weights, or `curvature = fisher`, which needs only first derivatives");

    /// Reports a subnetwork that ranks its weights by an inference that finds a point, so it does not provide
    /// variances.
    fn ranked_by_point(infer: &InferItem, by: &str)
        = error(NO_SUBNETWORK, infer.span_of(&[laplace::GaussianOptions::over()]),
            "`{}` ranks weights by their variances under `{by}`, which has no variances", infer.name)
        .help("rank by an inference with variances, such as `vi` or `swag`");

    /// Reports a subnetwork that ranks its weights by an inference without the site, or with the site in another
    /// size.
    fn ranked_without_site(infer: &InferItem, by: &str, site: &str)
        = error(NO_SUBNETWORK, infer.span_of(&[laplace::GaussianOptions::over()]),
            "`{}` ranks weights by their variances under `{by}`, which has no `{site}` of the right size", infer.name)
        .help("rank by an inference on the same model");

    /// Reports a missing or insufficient start, which is to be used as the maximum. `start` is the inference that the
    /// option names. It does not provide values for the weights of `site`.
    fn no_maximum(infer: &InferItem, site: &str, start: Option<&str>)
        let option = start.map_or_else(Training::epochs, |_| Training::start());
        let lack = match start {
            None => format!("has no `start` that gives a value of `{site}`"),
            Some(start) => format!("`{start}` has no `{site}` of the right size"),
        };
        = error(NO_MAXIMUM, infer.span_of(&[option]), "`{}` uses its start as the maximum, but {lack}", infer.name)
        .help("start from an inference or a file that has this parameter in the same size, or search for the maximum: `epochs = 100`");

    /// Reports an inference without free sites. If `no_sites` is true, the model does not have any sites. Otherwise, all sites are fixed.
    fn nothing_to_sample(infer: &InferItem, no_sites: bool)
        let why = if no_sites { "the model has no parameters" } else { "every parameter is fixed" };
        = error(NOTHING_TO_SAMPLE, infer.span, "`{}` has nothing to sample: {why}", infer.name)
        .help(match no_sites {
            true => "declare the unknown quantities with priors: `w ~ Normal(0, 1)`",
            false => "leave at least one parameter out of the posterior's lines",
        });

    /// Reports options that cannot be used together. The diagnostic points at `option`.
    fn options_apart(infer: &InferItem, option: OptionName, message: &str, help: &str)
        = error(OPTIONS_APART, infer.span_of(&[option]), "{message}")
        .help(help);

    /// Reports a derivative of the log likelihood that is zero wherever it exists. It is the derivative with respect to an argument of
    /// an observation's distribution.
    fn no_second_derivative(infer: &InferItem, distribution: &str, argument: &str, flat: ZeroDerivative)
        let order = match flat {
            ZeroDerivative::First => "first",
            ZeroDerivative::Second => "second",
        };
        = error(NO_SECOND_DERIVATIVE, infer.span_of(&[laplace::GaussianOptions::curvature()]),
            "the {order} derivative of the log likelihood of `{}` with respect to the argument `{argument}` of `{distribution}` is zero wherever it exists",
            infer.name)
        .label("the precision would be that of the prior")
        .help(match flat {
            ZeroDerivative::First => "use `vi` or `nuts`, which need no curvature",
            ZeroDerivative::Second => {
                "use `curvature = fisher`, which needs only first derivatives, or a likelihood with a second derivative, such as \
                 `StudentT`"
            }
        });

    /// Reports that no site of the posterior can be pruned. `untouched` contains each site of the posterior, with the reason why it cannot be
    /// pruned.
    fn nothing_to_prune(infer: &InferItem, untouched: &[(Arc<str>, String)])
        let reason = |(site, why): &(Arc<str>, String)| format!("`{site}` cannot be pruned: {why}");
        = error(NOTHING_TO_PRUNE, infer.span_of(&[ViOptions::prune()]), "no parameter of `{}` can be pruned", infer.name)
        .label("`prune` is set here")
        .notes(untouched.iter().map(reason));

    /// Reports a site whose state does not hold the value of the site. `why` is a sentence with the reason.
    fn no_state_for_value(infer: &InferItem, why: &str)
        = error(NO_STATE_FOR_VALUE, infer.span_of(&[Training::start()]), "{why}")
        .help("start a `map` of the same model from the file, then start this inference from that `map`");

    /// Reports a backend name that does not exist. `available` are the names of the backends that work in
    /// this build.
    fn no_backend(name: &str, available: &[&str])
        = usage(NO_BACKEND, "unknown backend `{name}`")
        .suggest(name, available.iter().copied())
        .note("this build has {}", available.join(", "));

    /// Reports a backend that needs MLIR, in a build without its worker.
    fn no_worker(backend: &str)
        = usage(NO_BACKEND, "this `bnnc` was built without MLIR, which the backend `{backend}` needs")
        .help("build it with `cargo build --release --features mlir` where LLVM 22 is installed")
        .note("or set the environment variable {} to the path of an executable that was built with this feature",
            bnnc_backend_mlir::WORKER);
}

/// Reports the backend `cuda` in a build without CUDA support.
#[cfg(not(feature = "cuda"))]
pub fn no_cuda() -> Diagnostic {
    Diagnostic::usage(&NO_BACKEND, "this `bnnc` was built without the backend `cuda`")
        .help("build it with `cargo build --release -p bnnc -p bnnc-runner --features mlir,cuda` where LLVM 22 is installed")
        .note(format!(
            "or build with `--features cuda` only, and set the environment variable {} to the path of an executable with the feature `mlir`",
            bnnc_backend_mlir::WORKER
        ))
}

/// Reports a method that is not part of this build.
#[cfg(not(feature = "collapsed"))]
pub fn absent_method(infer: &InferItem) -> Diagnostic {
    let name = infer.method.name;
    let mut found = bnnc_base::diagnostics::not_in_build(&format!("the method `{name}`"), name);
    found.at = bnnc_base::diagnostic::Place::Span(infer.span);
    found
}

reports! {
    /// Warns that `start` is useless, because no parameter of `from` has the same name and shape as a
    /// parameter of `infer`.
    fn useless_start(infer: &InferItem, from: &str)
        = warning(USELESS_START, infer.span_of(&[Training::start()]),
            "`{}` starts from `{from}`, which has no parameter of the same name and shape", infer.name)
        .label("this start has no effect")
        .help("give the parameters of both models the same names, or leave `start` out");
}

reports! {
    /// Warns that a `collapsed` inference draws its weights from their box and does not integrate over them. `reason` is a clause that gives the
    /// reason.
    fn no_exact_integral(infer: &InferItem, reason: &str)
        = warning(NO_EXACT_INTEGRAL, infer.span_of(&[CollapsedOptions::over()]),
            "`{}` samples its weights from the box instead of integrating exactly: {reason}", infer.name)
        .help("for exact integrals, integrate only over weights in which the location is affine or piecewise affine (`relu`, `max`, `abs`), such as `over = last_layer`");

    /// Warns that an inference does not use the outliers in its data.
    fn useless_outliers(infer: &InferItem, data: &DataItem)
        = warning(USELESS_OUTLIERS, data.span,
            "`{}` does not predict classes: the `outliers` of `{}` are not used", infer.name, data.name)
        .help("leave `outliers` out");
}

reports! {
    /// Reports a rewrite name that does not exist.
    fn no_rewrite(name: &str, known: &[&str])
        = usage(NO_REWRITE, "unknown rewrite `{name}`")
        .suggest(name, known.iter().copied())
        .note("the rewrites are {}", known.join(", "));
}

/// Reports an unknown name in `report`. The flag `of_rows` is true if the name is that of a variable with a value for each
/// row.
pub fn no_quantity(infer: &InferItem, name: &str, of_rows: bool, known: &[&str]) -> Diagnostic {
    let diagnostic = unknown_quantity(infer, name, known);
    match of_rows {
        true => diagnostic.help(
            "it depends on the inputs, so it has one value for each row and belongs to the predictions",
        ),
        false => diagnostic.suggest(name, known.iter().copied()),
    }
}
