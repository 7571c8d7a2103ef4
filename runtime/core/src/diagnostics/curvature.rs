//! Diagnostics of Laplace approximations whose curvature leaves out a part of the second
//! derivative.

use bnnc_abi::method::{self, Finds, MethodDef};
use bnnc_abi::methods::laplace::{CurvatureKind, GaussianOptions, Laplace, Likelihood, Link, Structure};
use bnnc_abi::methods::sampling::SamplerKind;
use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    pub(super) MISJUDGED_PARAMETER = "E0671", "a standard deviation that the curvature makes too small or too large":
        "`curvature = ggn` and `fisher` leave out one term: the second derivatives of the model's outputs with respect \
         to the parameters, weighted by the residuals. If the model fits the data, the residuals cancel, and the term \
         is small. If the model does not fit, for example because the prior keeps the parameters away from the values \
         that would fit, or because the model cannot produce the pattern in the data, the term may be a large part of the \
         curvature. bnnc compares gradients on both sides of the maximum, along each of the first 32 parameters that the model itself declares (not \
         the weights of layers). The warning appears if the whole second derivative would make a standard deviation \
         more than 1.25 times as large, or if it is more than 1.25 times as large as with the whole second derivative. If \
         the standard deviation is too small, the number in the message is a lower bound.\n\n\
         Wrong: `k ~ Normal(0, 0.1)`, `y ~ Normal(exp(k * x), 0.5)` and `laplace(M, d)` where the data have a `k` of \
         2.\n\n\
         Right: `laplace(M, d) { curvature = hessian }`, a prior that does not contradict the data, or `nuts`.";
}

/// Returns whether the outputs are classes and the predictions do not use the Laplace bridge.
fn lacks_bridge(laplace: &Laplace) -> bool {
    let bridges = matches!(laplace.options.link, Link::Bridge | Link::BridgeNormalised);
    laplace.likelihood == Likelihood::Categorical && !bridges
}

/// Returns options with which a Gaussian over logits predicts as well as its centre alone. Returns `None`
/// if such options are not known. A diagonal structure ignores the correlations of the weights. The
/// variance of the logits is then several times its correct value. With a diagonal structure, it is
/// therefore not enough to select the Laplace bridge.
pub fn milder(laplace: &Laplace) -> Option<&'static str> {
    let is_diagonal = laplace.options.structure == Structure::Diagonal;
    let is_subnetwork = laplace.options.over.is_subnetwork();
    match (is_diagonal, lacks_bridge(laplace), laplace.likelihood) {
        (true, true, _) if is_subnetwork => Some("`structure = full`, `link = bridge`"),
        (true, true, _) => Some("`structure = kronecker`, `link = bridge`"),
        (true, false, Likelihood::Categorical) if is_subnetwork => Some("`structure = full`"),
        (true, false, Likelihood::Categorical) => Some("`structure = kronecker`"),
        (false, true, _) => Some("`link = bridge`"),
        _ => None,
    }
}

/// Returns the advice to use a method that does not depend on the curvature at the maximum. Markov
/// chains reject models with running means.
pub fn average(laplace: &Laplace) -> String {
    let beside_vi = match laplace.train.joins_rows {
        true => Finds::Ensemble,
        false => Finds::Chains(SamplerKind::Nuts),
    };
    let fits = |method: &&MethodDef| method.maximises_bound() || method.finds == beside_vi;
    let methods = method::ALL.iter().filter(fits);
    let names: Vec<String> = methods.map(|method| format!("`{}`", method.name)).collect();
    let verb = if names.len() == 1 { "does" } else { "do" };
    format!(
        "average over the weights by {}, which {verb} not use the curvature at the maximum",
        names.join(" or ")
    )
}

reports! {
    /// A warning: the Gaussian has too small or too large a standard deviation for a parameter.
    /// `curvature` is a ratio of second derivatives along a direction that moves the parameter. The
    /// actual second derivative is divided by the one that the Gaussian has along this direction. Above
    /// 1, `curvature` is the variance of the Gaussian divided by the variance that the whole second
    /// derivative gives.
    fn misjudged_parameter(infer: &str, parameter: &str, curvature: f64, options: &GaussianOptions)
        let kind = match options.curvature {
            CurvatureKind::Fisher => "fisher",
            CurvatureKind::Ggn | CurvatureKind::Hessian => "ggn",
        };
        let also_structure = match options.structure != Structure::Full && curvature > 1.0 {
            true => "; the `structure` of the Gaussian is also an approximation and may be the cause",
            false => "",
        };
        let error = match curvature > 1.0 {
            _ if curvature <= 0.0 => format!("meaningless: at the maximum, the log posterior is not concave in a direction that moves `{parameter}`"),
            false => format!("too small: with the whole second derivative it would be at least {} times as large, if it exists", rounded(curvature.sqrt().recip(), 2)),
            true => format!("too large: it is {} times as large as with the whole second derivative", rounded(curvature.sqrt(), 2)),
        };
        = program_warning(MISJUDGED_PARAMETER, "the standard deviation of `{parameter}` in `{infer}` is {error}")
        .note("`curvature = {kind}` leaves out a part of the second derivative; this part is large if the model does not fit the data, for instance because the prior contradicts the data{also_structure}")
        .help(match options.structure {
            _ if curvature <= 0.0 => "use `nuts`, or a prior that does not contradict the data",
            Structure::Full | Structure::Diagonal => "use `curvature = hessian`, or `nuts`",
            Structure::Kronecker | Structure::LowRank(_) | Structure::Functional(_) => "use `structure = full, curvature = hessian`, or `nuts`",
        });
}
