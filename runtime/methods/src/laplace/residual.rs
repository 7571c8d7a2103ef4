//! A check for parameters whose Gaussian is much narrower than the posterior. This happens because
//! the curvature omits a part of the second derivative.
//!
//! The generalised Gauss-Newton matrix omits the second derivatives of the outputs, weighted by the
//! slopes of the log likelihood. The Fisher matrix omits more. If the model fits the data, the
//! slopes cancel. If the prior and the likelihood contradict each other, they do not cancel. The
//! omitted term may then be almost as large as the curvature, with the opposite sign.
//!
//! Note \[A bound on the true variance\]. Let `P` be the precision of the Gaussian, `S = P^-1`, and
//! `H` the complete negative second derivative. If the weight has a standard deviation, `H` is
//! positive definite. For a weight with the unit vector `e`, the direction `u = S e / sqrt(e' S e)`
//! has `u' P u = 1`. By the Cauchy-Schwarz inequality, `(e' u)^2 <= (e' H^-1 e) (u' H u)`.
//! Therefore, the variance `e' H^-1 e` of the weight under `H` is at least its variance under `P`,
//! divided by `u' H u`. One product of `H` and a vector therefore proves that a variance is too
//! small. The proof does not depend on the values of `H` in other directions. The product is
//! computed as a difference of two gradients.

use crate::laplace::gaussian::NarrowParameter;
use crate::laplace::jacobians;
use crate::laplace::machines::Evaluator;
use crate::laplace::prior::LocalPrior;
use bnnc_abi::laplace::{CurvatureKind, Weights};
use bnnc_abi::names::layer_of;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_inference::summary::SMALL;
use bnnc_laplace::matrix::{Matrix, dot};
use bnnc_laplace::posterior::GaussianPosterior;

/// A standard deviation is reported if the curvature along its direction is less than this fraction
/// of the curvature under the Gaussian. The standard deviation of the Gaussian is then less than
/// 0.8 of the correct value, because 0.8 is the square root of 0.64.
const LEAST: f64 = 0.64;

/// The largest number of weights that are checked. Each check computes the gradient at two to four
/// points.
const MOST: usize = 32;

/// Gradients are compared at these distances from the maximum, in standard deviations. The second
/// distance confirms the result of the first. Without a second distance, rounding errors of single
/// precision could be reported.
fn distances(precision: Precision) -> [f64; 2] {
    match precision {
        Precision::F32 => [0.1, 0.2],
        Precision::F64 => [1e-3, 1e-2],
    }
}

/// A Gaussian, and the log density that it approximates.
pub struct CheckedGaussian<'a> {
    /// The training rows, evaluated at the maximum.
    pub evaluation: &'a Evaluator<'a>,
    /// The indices of the random weights among all weights; `None` if all weights are random.
    pub index: Option<&'a [usize]>,
    /// The Gaussian of the random weights.
    pub posterior: &'a GaussianPosterior,
    /// The factor on the precision of the prior for each random weight.
    pub factors: &'a [f64],
}

impl CheckedGaussian<'_> {
    /// Returns the parameter whose standard deviation is too small by the largest factor. Only
    /// parameters that the model itself declares are checked. The weights of networks are not
    /// checked: their complete second derivative is rarely positive definite, and users do not read
    /// their standard deviations one by one.
    ///
    /// # Errors
    /// Fails if there is too little memory, or if the user interrupts the run.
    pub fn narrowest(&self) -> Result<Option<NarrowParameter>, Stop> {
        if self.evaluation.laplace.options.curvature == CurvatureKind::Hessian {
            return Ok(None);
        }
        let mut narrowest: Option<NarrowParameter> = None;
        for (at, name) in self.checked() {
            let Some(direction) = self.direction(at) else {
                continue;
            };
            let mut most = f64::NEG_INFINITY;
            for distance in distances(self.evaluation.infer.precision) {
                let curvature = self.along(&direction, distance)?;
                most = if curvature.is_finite() {
                    most.max(curvature)
                } else {
                    f64::INFINITY
                };
                if most >= LEAST {
                    break;
                }
            }
            if most < LEAST && narrowest.as_ref().is_none_or(|found| most < found.curvature) {
                narrowest = Some(NarrowParameter {
                    name,
                    curvature: most,
                });
            }
        }
        Ok(narrowest)
    }

    /// Returns the index, among the random weights, of each weight that is checked. Also returns
    /// the name of each of these weights.
    fn checked(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (weights, range) in Weights::placed(&self.evaluation.laplace.weights) {
            let is_own = layer_of(&weights.site).is_none() && weights.elements <= SMALL;
            let elements = if is_own { weights.elements } else { 0 };
            for element in 0..elements {
                let random = match self.index {
                    Some(index) => index.binary_search(&(range.start + element)).ok(),
                    None => Some(range.start + element),
                };
                found.extend(random.map(|random| (random, self.name(weights, element))));
            }
        }
        found.truncate(MOST);
        found
    }

    /// Returns the name of an element. If the parameter has fewer coordinates than elements,
    /// returns the name of the parameter instead.
    fn name(&self, weights: &Weights, element: usize) -> String {
        let infer = self.evaluation.infer;
        let report = infer.reports.iter().find(|report| report.name == weights.site);
        let shape = report.map(|report| report.shape.resolve(&Sizes::default()));
        match shape {
            Some(shape) if shape.iter().product::<usize>() == weights.elements => {
                infer.names.element(&weights.site, &shape, element)
            }
            _ => weights.site.clone(),
        }
    }

    /// Returns the direction `u` of Note \[A bound on the true variance\].
    fn direction(&self, at: usize) -> Option<Vec<f64>> {
        let unit = Matrix::units(&[at], self.posterior.elements());
        let column = self.posterior.solve(&unit, &self.evaluation.context.pool);
        let sd = column[(0, at)].sqrt();
        let direction: Vec<f64> = column.row(0).iter().map(|value| value / sd).collect();
        direction
            .iter()
            .all(|value| value.is_finite())
            .then_some(direction)
    }

    /// Returns the negative second derivative of the log posterior along a direction in the space
    /// of the random weights.
    fn along(&self, direction: &[f64], distance: f64) -> Result<f64, Stop> {
        let ahead = self.slope(direction, distance)?;
        let behind = self.slope(direction, -distance)?;
        Ok((behind - ahead) / (2.0 * distance))
    }

    /// Returns the slope of the log posterior along a direction, at a distance from the maximum.
    fn slope(&self, direction: &[f64], distance: f64) -> Result<f64, Stop> {
        let place = |random: usize| self.index.map_or(random, |index| index[random]);
        let mut moves = vec![0.0; jacobians::weights(self.evaluation)];
        let pairs = direction.iter().enumerate();
        pairs.for_each(|(random, value)| moves[place(random)] = distance * value);
        let mut values = self.evaluation.values.clone();
        for (weights, range) in Weights::placed(&self.evaluation.laplace.weights) {
            if let Some(values) = values.get_mut(&weights.state) {
                let moved = values.iter_mut().zip(&moves[range]);
                moved.for_each(|(value, by)| *value += by);
            }
        }
        let moved = self.evaluation.at(&values);
        let (_, likelihood) = jacobians::gradient(&moved)?;
        let prior = LocalPrior::new(&moved, false)?.slope;
        let temperature = self.evaluation.laplace.options.temperature;
        let slope = |(random, factor): (usize, &f64)| {
            likelihood[place(random)] / temperature + factor * prior[place(random)]
        };
        let slopes: Vec<f64> = self.factors.iter().enumerate().map(slope).collect();
        Ok(dot(direction, &slopes))
    }
}
