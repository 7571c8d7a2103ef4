//! A check for weights near an end of their support. The Gaussian of such a weight may be much
//! wider than the posterior.
//!
//! Such a weight is a function `b(u)` of unconstrained coordinates `u`. The generalised
//! Gauss-Newton matrix and the Fisher matrix are computed as if the outputs were linear functions
//! of `u`. Therefore, they omit a term in the precision of `u`. The omitted term is a product:
//! minus the slope of the log likelihood along a coordinate, times the bend of `b`. The bend is the
//! second derivative of `b` divided by its first derivative. If the data determine the weight, the
//! term is small compared with the precision. If the density increases towards an end of the
//! support, the term makes up nearly all of the precision at this end.
//!
//! A half-open interval is the image of `exp`, whose bend is 1. The same holds for the gap between
//! two elements of an ordered vector. A bounded interval is the image of the logistic function. At
//! the fraction `p` of the interval, the bend of this function is `1 - 2 p`. An element `p` of a
//! simplex has the bend `1 - 2 p` too, along its log odds. The log odds of an element increase with
//! its coordinate. The last element does not have a coordinate: its log odds decrease if all
//! coordinates increase together.

use crate::laplace::gaussian::{Gaussian, ParameterAtEnd};
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::methods::laplace::{CurvatureKind, Laplace, Structure, Weights};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_base::support::Support;
use bnnc_core::diagnostics::bound::{NoDeviation, no_deviation_at_bound};
use bnnc_kernels::pool::Pool;
use bnnc_laplace::matrix::Matrix;

/// The largest allowed variance ratio. The numerator is the variance of a weight's Gaussian, and
/// the denominator is the variance of its posterior. At this ratio, the standard deviation of the
/// Gaussian is twice the standard deviation of the posterior.
const MOST: f64 = 4.0;

/// For each weight near an end of its support, computes two variances: one without the omitted term,
/// and one with it. Finds the weight for which the ratio of these variances is largest, if this ratio
/// is above `MOST`. If the curvature contains the term, returns this weight. The posterior of such a
/// weight is nearly exponential at the end of the support, so a Gaussian is a poor approximation.
/// `gradient` is the derivative of the log likelihood with respect to the random weights.
///
/// # Errors
/// If the curvature omits the term, returns an error that names this weight.
pub fn check(
    infer: &InferenceBlock,
    laplace: &Laplace,
    (member, gradient): (&Gaussian, &[f64]),
    pool: &Pool,
) -> Result<Option<ParameterAtEnd>, Diagnostic> {
    let is_whole = laplace.options.curvature == CurvatureKind::Hessian;
    if laplace.weights.iter().all(|weights| weights.real) {
        return Ok(None);
    }
    let variances = member.posterior.variances(pool);
    let random = |place: usize| match &member.index {
        Some(index) => index.binary_search(&place).ok(),
        None => Some(place),
    };
    let ends = ends(infer, laplace, member);
    let mut worst: Option<(f64, &End)> = None;
    for end in &ends {
        let parts = end.along.iter();
        let parts: Option<Vec<(usize, &Part)>> = parts
            .map(|part| random(part.place).map(|at| (at, part)))
            .collect();
        // The elements of a simplex are checked only if all of its coordinates are random.
        let Some(parts) = parts else { continue };
        let slope: f64 = parts.iter().map(|(at, part)| gradient[*at] * part.moved).sum();
        let variance = match parts[..] {
            [(at, _)] => variances[at],
            _ => {
                let mut row = Matrix::zeros(1, variances.len());
                parts.iter().for_each(|(at, part)| row[(0, *at)] = part.share);
                let found = member.posterior.covariance(&row, 1, pool);
                found.first().copied().unwrap_or(0.0)
            }
        };
        let part = slope / laplace.options.temperature * end.bend * variance;
        // The variance without the term, divided by the variance with it.
        let factor = match is_whole {
            true if part <= -1.0 => f64::INFINITY,
            true => 1.0 / (1.0 + part),
            false => 1.0 - part,
        };
        if factor > MOST && worst.is_none_or(|(largest, _)| factor > largest) {
            worst = Some((factor, end));
        }
    }
    let Some((factor, end)) = worst else {
        return Ok(None);
    };
    if is_whole {
        let (name, end) = (end.name.clone(), end.at);
        return Ok(Some(ParameterAtEnd { name, end }));
    }
    Err(no_deviation_at_bound(&NoDeviation {
        infer: &infer.name,
        parameter: &end.name,
        end: end.at,
        factor: factor.sqrt(),
        is_dense: matches!(laplace.options.structure, Structure::Full | Structure::Diagonal),
    }))
}

/// An element of a site that may be near an end of its support.
struct End {
    /// The name of the element.
    name: String,
    /// The end of the support that is nearer to the element.
    at: f64,
    /// The bend along the coordinate of the element.
    bend: f64,
    /// The coordinates that change if the coordinate of the element changes.
    along: Vec<Part>,
}

/// An unconstrained coordinate of a site.
struct Part {
    /// The index of the coordinate among all weights.
    place: usize,
    /// The change of this coordinate, if the coordinate of the element increases by 1 and the
    /// proportions of the other elements stay the same.
    moved: f64,
    /// The derivative of the element's coordinate with respect to this coordinate.
    share: f64,
}

/// Returns the elements, at the maximum, of all weights whose support has an end.
fn ends(infer: &InferenceBlock, laplace: &Laplace, member: &Gaussian) -> Vec<End> {
    let mut found = Vec::new();
    for (weights, range) in Weights::placed(&laplace.weights) {
        let report = infer.report(&weights.site);
        let free = member.values.get(&weights.state);
        if let (Some(report), Some(free), false) = (report, free, weights.real) {
            let site = SiteEnds {
                infer,
                report,
                weights,
                first: range.start,
            };
            found.extend(match report.prior.support {
                Support::Interval(low, high) => site.of_interval(free, (low, high)),
                Support::Simplex => site.of_simplex(free),
                Support::Ordered => site.of_ordered(free),
                Support::Real | Support::Integers(_) => Vec::new(),
            });
        }
    }
    found
}

/// A site, and the index of its first coordinate among all weights.
struct SiteEnds<'a> {
    infer: &'a InferenceBlock,
    report: &'a SiteReport,
    weights: &'a Weights,
    first: usize,
}

impl SiteEnds<'_> {
    /// Returns the data of an element that has its own coordinate.
    fn end(&self, (coordinate, element): (usize, usize), at: f64, bend: f64) -> End {
        let own = Part {
            place: self.first + coordinate,
            moved: 1.0,
            share: 1.0,
        };
        End {
            name: self.name(element),
            at,
            bend,
            along: vec![own],
        }
    }

    fn name(&self, element: usize) -> String {
        let shape = self.report.shape.resolve(&Sizes::default());
        self.infer.names.element(&self.weights.site, &shape, element)
    }

    /// Returns the number of elements of the site along its last axis.
    fn width(&self) -> usize {
        let shape = self.report.shape.resolve(&Sizes::default());
        shape.last().copied().unwrap_or(1)
    }

    fn of_interval(&self, free: &[f64], (low, high): (f64, f64)) -> Vec<End> {
        let of = |(element, free): (usize, &f64)| {
            let (at, bend) = match (low.is_finite(), high.is_finite()) {
                (true, true) => (if *free < 0.0 { low } else { high }, -(free / 2.0).tanh()),
                (true, false) => (low, 1.0),
                (false, true) => (high, 1.0),
                (false, false) => return None,
            };
            Some(self.end((element, element), at, bend))
        };
        free.iter().enumerate().filter_map(of).collect()
    }

    fn of_ordered(&self, free: &[f64]) -> Vec<End> {
        let width = self.width();
        let mut found = Vec::new();
        for (row, free) in free.chunks(width.max(1)).enumerate() {
            let mut below = free.first().copied().unwrap_or(0.0);
            for (at, gap) in free.iter().enumerate().skip(1) {
                let element = row * width + at;
                found.push(self.end((element, element), below, 1.0));
                below += gap.exp();
            }
        }
        found
    }

    fn of_simplex(&self, free: &[f64]) -> Vec<End> {
        let width = self.width();
        if width < 2 {
            return Vec::new();
        }
        let nearer = |share: f64| if share < 0.5 { 0.0 } else { 1.0 };
        let mut found = Vec::new();
        for (row, free) in free.chunks(width - 1).enumerate() {
            let most = free.iter().copied().fold(0.0, f64::max);
            let sizes: Vec<f64> = free.iter().map(|free| (free - most).exp()).collect();
            let others: f64 = sizes.iter().sum();
            let all = others + (-most).exp();
            for (at, size) in sizes.iter().enumerate() {
                let share = size / all;
                let places = (row * (width - 1) + at, row * width + at);
                found.push(self.end(places, nearer(share), 1.0 - 2.0 * share));
            }
            let share = 1.0 - others / all;
            let part = |(at, size): (usize, &f64)| Part {
                place: self.first + row * (width - 1) + at,
                moved: -1.0,
                share: -size / others,
            };
            found.push(End {
                name: self.name(row * width + width - 1),
                at: nearer(share),
                bend: 1.0 - 2.0 * share,
                along: sizes.iter().enumerate().map(part).collect(),
            });
        }
        found
    }
}
