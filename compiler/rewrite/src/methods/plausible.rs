//! Computes the moments of the prior of a site, and the values that are plausible under it. The runtime compares the
//! posterior with these values.

use crate::density::SitePrior;
use bnnc_abi::manifest::PriorReport;
use bnnc_base::shape::Sizes;
use bnnc_graph::dist::{Instance, MeasureKind, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::Site;
use bnnc_graph::tensor::Tensor;

/// The largest number of elements of a site whose prior is examined. Larger sites do not appear in
/// the tables of the report.
const ELEMENTS: usize = 64;

/// A value is plausible unless its log density is more than this number below the log density at
/// the mean. For a normal prior, the limit is 4.9 standard deviations from the mean. For
/// an exponential prior, the limit is 13 times the mean. Fewer than one draw in 100,000 lies beyond
/// the limit.
const DROP: f64 = 12.0;

/// A prior is normal if its log densities differ from those of a normal distribution by less than this number. It allows for rounding errors.
const NORMAL: f64 = 1e-6;

/// The interval that contains a limit is halved this number of times. The limit is then known to
/// six digits.
const HALVINGS: usize = 20;

/// Returns the properties of a site's prior that the runtime compares with the posterior.
pub(super) fn report(site: &Site, prior: &SitePrior) -> PriorReport {
    let distribution = &prior.distribution;
    let unknown = PriorReport {
        is_improper: distribution.measure == MeasureKind::Improper,
        ..PriorReport::of(site.support)
    };
    known(prior, distribution, unknown.clone()).unwrap_or(unknown)
}

/// Adds the moments and the plausible values to a report. Returns `None` if they are not known.
fn known(prior: &SitePrior, distribution: &Instance, report: PriorReport) -> Option<PriorReport> {
    let size = distribution.value.shape.static_sizes()?.iter().product::<usize>();
    if size == 0 || size > ELEMENTS || !prior.arguments.params.is_empty() {
        return None;
    }
    let density = distribution.log_density_elements.as_deref()?;
    let arguments = evaluate(&prior.arguments, &[], &Sizes::default());
    let mean = first(distribution.mean.as_deref()?, &arguments)?;
    let variance = first(distribution.variance.as_deref()?, &arguments)?;
    let sd = each(&variance, f64::sqrt);
    let is_known =
        |tensor: &Tensor| tensor.data.len() == size && tensor.data.iter().all(|value| value.is_finite());
    if !is_known(&mean) || !is_known(&sd) {
        return None;
    }
    let search = Search {
        density,
        arguments: &arguments,
        least: each(&log_density(density, &arguments, &mean)?, |value| value - DROP),
    };
    let low = search.end(&mean, &each(&sd, |sd| -sd))?;
    let high = search.end(&mean, &sd)?;
    Some(PriorReport {
        is_normal: report.support == Support::Real && search.is_normal(&mean, &sd),
        moments: pairs(&mean, &sd),
        plausible: pairs(&low, &high),
        ..report
    })
}

/// Returns one pair of numbers for each element, or a single pair if all elements have the same one.
fn pairs(left: &Tensor, right: &Tensor) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = left
        .data
        .iter()
        .copied()
        .zip(right.data.iter().copied())
        .collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        all.truncate(1);
    }
    all
}

/// Searches for the values at which a log density has dropped to `least`.
struct Search<'a> {
    density: &'a Function,
    arguments: &'a [Tensor],
    least: Tensor,
}

impl Search<'_> {
    /// Returns, element by element, the limit of the plausible values in the direction of `step`.
    fn end(&self, mean: &Tensor, step: &Tensor) -> Option<Tensor> {
        let mut inside = mean.clone();
        let mut width = step.clone();
        let mut is_bounded = vec![false; mean.data.len()];
        // After 40 doublings, the search is beyond 10^12 standard deviations. A density that has not
        // dropped by then is treated as one that never drops: all values in this direction are plausible.
        for _ in 0..40 {
            let next = add(&inside, &width);
            let falls = self.falls(&next)?;
            for at in 0..falls.len() {
                is_bounded[at] |= falls[at];
                if !is_bounded[at] {
                    inside.data[at] = next.data[at];
                    width.data[at] *= 2.0;
                }
            }
            if is_bounded.iter().all(|bounded| *bounded) {
                break;
            }
        }
        for _ in 0..HALVINGS {
            width.data.iter_mut().for_each(|width| *width /= 2.0);
            let next = add(&inside, &width);
            let falls = self.falls(&next)?;
            for at in 0..falls.len() {
                if is_bounded[at] && !falls[at] {
                    inside.data[at] = next.data[at];
                }
            }
        }
        // The limit is the outer end of the interval. If the support ends at zero, values close to
        // zero are therefore plausible.
        let mut ends = add(&inside, &width);
        for (at, bounded) in is_bounded.into_iter().enumerate() {
            if !bounded {
                ends.data[at] = f64::INFINITY.copysign(step.data[at]);
            }
        }
        Some(ends)
    }

    /// Returns whether every element has a normal distribution. The log density of a normal distribution is `z^2 / 2` below its
    /// maximum at `z` standard deviations from the mean.
    fn is_normal(&self, mean: &Tensor, sd: &Tensor) -> bool {
        [-4.0, -2.0, -1.0, 1.0, 2.0, 4.0].into_iter().all(|z| {
            let at = add(mean, &each(sd, |sd| z * sd));
            let expected = each(&self.least, |least| least + DROP - 0.5 * z * z);
            let found = log_density(self.density, self.arguments, &at);
            let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() < NORMAL;
            found.is_some_and(|found| found.data.iter().zip(&expected.data).all(is_near))
        })
    }

    /// Returns whether the log density has dropped below `least`, element by element.
    fn falls(&self, at: &Tensor) -> Option<Vec<bool>> {
        let found = log_density(self.density, self.arguments, at)?;
        let pairs = found.data.iter().zip(&self.least.data);
        Some(
            pairs
                .map(|(found, least)| found.is_nan() || found < least)
                .collect(),
        )
    }
}

fn each(tensor: &Tensor, of: impl Fn(f64) -> f64) -> Tensor {
    Tensor::new(
        tensor.shape.clone(),
        tensor.data.iter().copied().map(of).collect(),
    )
}

fn add(left: &Tensor, right: &Tensor) -> Tensor {
    let pairs = left.data.iter().zip(&right.data);
    Tensor::new(
        left.shape.clone(),
        pairs.map(|(left, right)| left + right).collect(),
    )
}

fn log_density(density: &Function, arguments: &[Tensor], at: &Tensor) -> Option<Tensor> {
    let mut inputs = arguments.to_vec();
    inputs.push(at.clone());
    first(density, &inputs)
}

/// Returns the first result of a function. Returns `None` if the function does not accept these
/// inputs.
fn first(function: &Function, inputs: &[Tensor]) -> Option<Tensor> {
    let shape = |at: usize| function.ty(function.params[at]).shape.static_sizes();
    let fits = function.params.len() == inputs.len()
        && (0..inputs.len()).all(|at| shape(at).is_some_and(|shape| shape == inputs[at].shape));
    fits.then(|| evaluate(function, inputs, &Sizes::default()).into_iter().next())?
}
