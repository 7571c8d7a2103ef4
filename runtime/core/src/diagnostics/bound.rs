//! Diagnostics of parameters that are at an end of their interval, at the maximum or in most of the posterior.

use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    pub(super) AT_BOUND = "E0582", "a posterior at the bound of its parameter":
        "The posterior of a parameter piles up at an end of the interval that its type or prior allows: the posterior mean is within 1.4 standard \
         deviations of the end, and the posterior is much narrower than the interval. The data favour values beyond the end, so that the end \
         determines the estimate. Scales, probabilities and correlations can rightly lie at 0, 1 or -1, so bnnc checks these ends only for the \
         coefficients of a linear sum, and only if the mean is within 1.1 standard deviations of the end. The maximum that `map` and `laplace` find \
         is compared with every end: if it lies at an end, the density does not have a maximum inside the interval, and standard deviations are \
         meaningless. `laplace` works on the unconstrained scale. There, the density includes a Jacobian, so a maximum exists. With `curvature = \
         ggn` or `fisher`, though, the Gaussian leaves out the slope of the density towards the end, although this slope determines nearly all of \
         the spread there. The Gaussian is rejected if a standard deviation would be more than twice its correct value. `curvature = hessian` \
         contains the slope. However, a posterior that falls exponentially from the end \
         is not a transformed Gaussian: the mean is then up to 1.6 times, and the standard deviation up to 2.2 times, \
         as far from the end as it should be.\n\n\
         Wrong: `slope: real(-5, 1.5) ~ Normal(0, 3)` where the data have a slope of 2.\n\n\
         Right: `slope ~ Normal(0, 3)`, or an interval that contains all plausible values.";
}

reports! {
    /// A warning: the posterior of a parameter is concentrated at an end of the interval of this parameter.
    fn at_bound(infer: &str, parameter: &str, end: f64)
        = data_warning(AT_BOUND, "the posterior of `{parameter}` in `{infer}` piles up at {end}, the bound of its type or prior")
        .note("the bound, not the data, determines the estimate")
        .help("widen the interval, or remove it");

    /// A warning: at the maximum of the density, a parameter is at an end of its interval.
    fn maximum_at_bound(infer: &str, parameter: &str, end: f64)
        = data_warning(AT_BOUND, "the maximum of `{infer}` has `{parameter}` at {end}, the bound of its type or prior")
        .note("the density rises up to the bound, so a standard deviation there is meaningless")
        .help("widen the interval, or remove it; or use `nuts`");

    /// A warning: a parameter has an interval, and its posterior decreases exponentially from an end of this interval.
    /// However, the approximation is a Gaussian on the unconstrained scale.
    ///
    /// The factors in the note come from the exponential distribution with mean 1. The density of the
    /// logarithm of the parameter is highest at 0. At 0, the log density has the second derivative -1.
    /// The approximation of the parameter is therefore log-normal, with the mean `exp(1 / 2) = 1.65` and the
    /// standard deviation `1.65 sqrt(e - 1) = 2.16`. The correct mean and standard deviation are both 1.
    fn skewed_at_bound(infer: &str, parameter: &str, end: f64)
        = data_warning(AT_BOUND, "the posterior of `{parameter}` in `{infer}` piles up at {end}, the end of its type or prior: a Gaussian does not fit this posterior")
        .note("the mean is up to 1.6 times, and the standard deviation up to 2.2 times, as far from the end as it should be")
        .help("use `nuts`")
        .help("or widen the interval, or leave the interval out");
}

/// A parameter whose maximum is at an end of its interval, in a Laplace approximation.
#[derive(Clone, Copy, Debug)]
pub struct NoDeviation<'a> {
    /// The inference block.
    pub infer: &'a str,
    /// The parameter.
    pub parameter: &'a str,
    /// The end of the interval.
    pub end: f64,
    /// The standard deviation that the approximation would have, divided by the correct standard
    /// deviation.
    pub factor: f64,
    /// True if the structure of the approximation can represent the whole matrix of second
    /// derivatives.
    pub is_dense: bool,
}

reports! {
    /// An error: the standard deviation that a Laplace approximation gives a parameter would be wrong. The reason
    /// is that the curvature does not include the slope of the density at the end of the parameter's range.
    fn no_deviation_at_bound(found: &NoDeviation<'_>)
        let NoDeviation { infer, parameter, end, factor, is_dense } = *found;
        let structure = if is_dense { "" } else { "structure = full, " };
        = of_program(AT_BOUND, "the maximum of `{infer}` has `{parameter}` at {end}, the end of its type or prior")
        .note("the curvature leaves out the slope of the density at the end of the parameter's range: on the unconstrained scale, the standard deviation would be {} times its correct value",
            rounded(factor, 2))
        .help("use `{structure}curvature = hessian`, or `nuts`")
        .help("or widen the interval, or leave the interval out");
}
