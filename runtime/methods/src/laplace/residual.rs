//! A check for parameters whose Gaussian is much narrower or much wider than the posterior. This
//! happens because the curvature omits a part of the second derivative.
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
//!
//! The same bound shows that the variance under `P` can exceed the variance under `H` only by the
//! factor `u' H u`. If this factor is large, the variance under `H` is computed: the system
//! `H x = e` is solved by conjugate gradients with the preconditioner `P`, so that `e' x` is the
//! variance. `CheckedGaussian::variance` in this module computes it.

use crate::laplace::gaussian::MisjudgedParameter;
use crate::laplace::jacobians;
use crate::laplace::machines::Evaluator;
use crate::laplace::prior::LocalPrior;
use bnnc_abi::methods::laplace::{CurvatureKind, Weights};
use bnnc_abi::names::layer_of;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_inference::summary::SMALL;
use bnnc_laplace::matrix::{Matrix, dot};
use bnnc_laplace::posterior::GaussianPosterior;

/// A standard deviation is reported if the true curvature along its direction is less than this fraction of
/// the Gaussian's curvature along this direction. The standard deviation of the Gaussian is then less than
/// 0.8 of the correct value, because 0.8 is the square root of 0.64.
const LEAST: f64 = 0.64;

/// The largest number of weights that are checked. Each check computes the gradient at two to four
/// points.
const MOST: usize = 32;

/// The variance under the complete second derivative is computed for at most this number of
/// weights: those with the largest bounds.
const SOLVED: usize = 4;

/// The largest number of iterations of conjugate gradients. With `n` random weights, the exact
/// solution needs at most `n` iterations.
const ITERATIONS: usize = 40;

/// The variance grows in every iteration towards its exact value. The iterations end if the last
/// [`DELAY`] of them together raised it by at most this fraction. The sum of these increments is a
/// lower bound of the error before them (Hestenes and Stiefel 1952; Strakos and Tichy 2002).
const INCREMENT: f64 = 1e-2;

/// The number of iterations whose increments are compared with the variance.
const DELAY: usize = 5;

/// If the squared residual, in the norm of the preconditioner, falls below this fraction of its
/// start, only rounding errors are left.
const ROUNDING: f64 = 1e-8;

/// The distance between two gradients is reduced until the curvature along the direction, in units
/// of this distance, is at most this number. A larger distance would leave the region where the log
/// posterior is quadratic.
const STEEP: f64 = 4.0;

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
    /// Returns the parameter whose standard deviation is too small by the largest factor. If the
    /// standard deviations are large enough, returns the parameter whose standard deviation is too
    /// large by the largest factor. Only parameters that the model itself declares are checked. The
    /// weights of networks are not checked: their complete second derivative is rarely positive
    /// definite, and users do not read their standard deviations one by one.
    ///
    /// # Errors
    /// Fails if there is too little memory, or if the user interrupts the run.
    pub fn furthest(&self) -> Result<Option<MisjudgedParameter>, Stop> {
        if self.evaluation.laplace.options.curvature == CurvatureKind::Hessian {
            return Ok(None);
        }
        let mut narrowest: Option<MisjudgedParameter> = None;
        let mut steep = Vec::new();
        for (at, name) in self.checked() {
            let Some(direction) = self.direction(at) else {
                continue;
            };
            let (least, most) = self.curvatures(&direction)?;
            if most < LEAST && narrowest.as_ref().is_none_or(|found| most < found.curvature) {
                narrowest = Some(MisjudgedParameter {
                    name,
                    curvature: most,
                });
            } else if least > LEAST.recip() {
                steep.push((least, at, name));
            }
        }
        match narrowest {
            Some(narrowest) => Ok(Some(narrowest)),
            None => self.widest(steep),
        }
    }

    /// Returns the least and the greatest curvature along a direction over [`distances`]. The
    /// second distance is skipped if the first one shows that the Gaussian is about right.
    fn curvatures(&self, direction: &[f64]) -> Result<(f64, f64), Stop> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for distance in distances(self.evaluation.infer.precision) {
            let curvature = self.along(direction, distance)?;
            if !curvature.is_finite() {
                return Ok((f64::NEG_INFINITY, f64::INFINITY));
            }
            (least, most) = (least.min(curvature), most.max(curvature));
            if (LEAST..=LEAST.recip()).contains(&curvature) {
                break;
            }
        }
        Ok((least, most))
    }

    /// Returns the parameter whose standard deviation is too large by the largest factor. `steep`
    /// holds the bound `u' H u` of each candidate, its index and its name.
    fn widest(&self, mut steep: Vec<(f64, usize, String)>) -> Result<Option<MisjudgedParameter>, Stop> {
        steep.sort_by(|left, right| right.0.total_cmp(&left.0));
        let mut widest: Option<MisjudgedParameter> = None;
        for (_, at, name) in steep.into_iter().take(SOLVED) {
            let Some((approximate, whole)) = self.variance(at)? else {
                continue;
            };
            let curvature = approximate / whole;
            let is_wider = widest.as_ref().is_none_or(|found| curvature > found.curvature);
            if curvature > LEAST.recip() && is_wider {
                widest = Some(MisjudgedParameter { name, curvature });
            }
        }
        Ok(widest)
    }

    /// Returns the variance of a weight under the Gaussian, and its variance under the complete
    /// second derivative. Returns `None` if the complete second derivative is not positive definite
    /// in a direction of the search, or if the iterations do not converge.
    ///
    /// The variances are computed by preconditioned conjugate gradients (Nocedal and Wright,
    /// Numerical Optimization, algorithm 5.3).
    fn variance(&self, at: usize) -> Result<Option<(f64, f64)>, Stop> {
        let elements = self.posterior.elements();
        let mut residual = vec![0.0; elements];
        residual[at] = 1.0;
        let mut solution = vec![0.0; elements];
        // `image` is `P` times the direction, which gives the norm of the direction under `P`.
        let mut direction = self.solve(&residual);
        let mut image = residual.clone();
        let first = dot(&residual, &direction);
        let mut size = first;
        let mut increments = Vec::new();
        for _ in 0..ITERATIONS.min(elements) {
            let norm = dot(&direction, &image);
            let Some(product) = self.product(&direction, norm)? else {
                return Ok(None);
            };
            let step = size / dot(&direction, &product);
            increments.push(step * size);
            let pairs = solution.iter_mut().zip(&direction);
            pairs.for_each(|(value, along)| *value += step * along);
            let pairs = residual.iter_mut().zip(&product);
            pairs.for_each(|(value, along)| *value -= step * along);
            let solved = self.solve(&residual);
            let next = dot(&residual, &solved);
            if !next.is_finite() {
                return Ok(None);
            }
            let last: f64 = increments.iter().rev().take(DELAY).sum();
            let is_steady = increments.len() > DELAY && last <= INCREMENT * solution[at];
            if is_steady || next <= ROUNDING * first {
                return Ok(Some((first, solution[at])));
            }
            let ratio = next / size;
            let pairs = direction.iter_mut().zip(&solved);
            pairs.for_each(|(value, new)| *value = new + ratio * *value);
            let pairs = image.iter_mut().zip(&residual);
            pairs.for_each(|(value, new)| *value = new + ratio * *value);
            size = next;
        }
        Ok((elements <= ITERATIONS).then_some((first, solution[at])))
    }

    /// Returns the product of the complete negative second derivative and a direction. `norm` is
    /// the squared length of the direction under `P`. Returns `None` if the product is not finite,
    /// or if the second derivative along the direction is not positive.
    fn product(&self, direction: &[f64], norm: f64) -> Result<Option<Vec<f64>>, Stop> {
        let [_, distance] = distances(self.evaluation.infer.precision);
        let mut step = distance / norm.sqrt();
        // Each pass divides the distance by the square root of the curvature in its units.
        for _ in 0..ITERATIONS {
            let ahead = self.slopes(direction, step)?;
            let behind = self.slopes(direction, -step)?;
            let pairs = behind.iter().zip(&ahead);
            let product: Vec<f64> = pairs
                .map(|(behind, ahead)| (behind - ahead) / (2.0 * step))
                .collect();
            let curvature = dot(direction, &product);
            let is_usable = curvature.is_finite() && curvature > 0.0;
            if !is_usable {
                return Ok(None);
            }
            let steep = curvature * (step / distance).powi(2);
            if steep <= STEEP {
                return Ok(Some(product));
            }
            step /= steep.sqrt();
        }
        Ok(None)
    }

    /// Returns the product of the covariance matrix of the Gaussian and a vector.
    fn solve(&self, vector: &[f64]) -> Vec<f64> {
        let mut row = Matrix::zeros(1, vector.len());
        let values = vector.iter().enumerate();
        values.for_each(|(at, value)| row[(0, at)] = *value);
        let solved = self.posterior.solve(&row, &self.evaluation.context.pool);
        solved.row(0).to_vec()
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
        let report = infer.report(&weights.site);
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
        let mut unit = vec![0.0; self.posterior.elements()];
        unit[at] = 1.0;
        let column = self.solve(&unit);
        let sd = column[at].sqrt();
        let direction: Vec<f64> = column.iter().map(|value| value / sd).collect();
        direction
            .iter()
            .all(|value| value.is_finite())
            .then_some(direction)
    }

    /// Returns the negative second derivative of the log posterior along a direction in the space
    /// of the random weights.
    fn along(&self, direction: &[f64], distance: f64) -> Result<f64, Stop> {
        let ahead = dot(direction, &self.slopes(direction, distance)?);
        let behind = dot(direction, &self.slopes(direction, -distance)?);
        Ok((behind - ahead) / (2.0 * distance))
    }

    /// Returns the gradient of the log posterior with respect to the random weights, at a distance
    /// from the maximum along a direction.
    fn slopes(&self, direction: &[f64], distance: f64) -> Result<Vec<f64>, Stop> {
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
        Ok(self.factors.iter().enumerate().map(slope).collect())
    }
}
