//! Subnetworks: scores, and the weights with the highest.
//!
//! Equations are those of Daxberger et al. 2021, "Bayesian deep learning via subnetwork inference".

use bnnc_math::philox;
use faer::{MatRef, Side};
use std::cmp::Ordering;

/// Fewer weights than asked for move any output on the training rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// Weights asked for.
    pub wanted: usize,
    /// Weights with a positive diagonal element of the curvature and a score that is a number.
    pub alive: usize,
    /// All weights.
    pub parameters: usize,
}

impl std::fmt::Display for TooFew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooFew {
            wanted,
            alive,
            parameters,
        } = self;
        write!(
            f,
            "a subnetwork of {wanted} weights was asked for, but only {alive} of {parameters} weights move an output on the training rows"
        )
    }
}

impl std::error::Error for TooFew {}

/// The weights of a subnetwork whose size is a number from 1 on, or a fraction below 1 of all `parameters`, of which at least one is taken.
pub fn size(stated: f64, parameters: usize) -> usize {
    let weights = if stated < 1.0 {
        stated * parameters as f64
    } else {
        stated
    };
    (weights.round() as usize).max(1)
}

/// The indices of the `wanted` weights with the highest scores, ascending. Weights whose diagonal element of the generalised Gauss-Newton matrix is
/// not positive do nothing and are passed over, although under the prior alone their variance is the highest; of equal scores the lower index
/// wins. Fails where fewer are left.
pub fn highest(scores: &[f64], curvature_diagonal: &[f64], wanted: usize) -> Result<Vec<usize>, TooFew> {
    let mut alive: Vec<usize> = (0..scores.len())
        .filter(|&d| curvature_diagonal[d] > 0.0 && !scores[d].is_nan())
        .collect();
    if alive.len() < wanted {
        return Err(TooFew {
            wanted,
            alive: alive.len(),
            parameters: scores.len(),
        });
    }
    let order = |a: &usize, b: &usize| {
        let by_score = scores[*b].partial_cmp(&scores[*a]);
        by_score.unwrap_or(Ordering::Equal).then(a.cmp(b))
    };
    if wanted < alive.len() {
        alive.select_nth_unstable_by(wanted, order);
        alive.truncate(wanted);
    }
    alive.sort_unstable();
    // It is kept, of all weights only those.
    alive.shrink_to_fit();
    Ok(alive)
}

/// Scores: the marginal variances under a diagonal precision, `1 / (curvature_d / temperature + prior_d)`; with them [`highest`] minimises
/// the distance of equation (23).
pub fn diagonal_variances(curvature_diagonal: &[f64], prior_precision: &[f64], temperature: f64) -> Vec<f64> {
    let elements = curvature_diagonal.iter().zip(prior_precision);
    elements
        .map(|(curvature, prior)| 1.0 / (curvature / temperature + prior))
        .collect()
}

/// Scores: absolute values.
pub fn magnitudes(weights: &[f64]) -> Vec<f64> {
    weights.iter().map(|weight| weight.abs()).collect()
}

/// Scores: uniform random numbers of the stream of a site ([`philox::key`]).
pub fn random(key: u64, parameters: usize) -> Vec<f64> {
    (0..parameters as u64)
        .map(|element| philox::uniform(key, [0; 3], element))
        .collect()
}

/// An element of one of several arrays that are numbered through one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The number of the array.
    pub array: usize,
    /// The index inside it.
    pub index: usize,
}

/// Where weights with these ascending indices lie in arrays with so many elements each. Indices past the last array are dropped.
pub fn locate(chosen: &[usize], elements: &[usize]) -> Vec<Element> {
    let mut located = Vec::with_capacity(chosen.len());
    let (mut rest, mut start) = (chosen, 0);
    for (array, elements) in elements.iter().enumerate() {
        let (here, later) = rest.split_at(rest.partition_point(|&flat| flat < start + elements));
        located.extend(here.iter().map(|flat| Element {
            array,
            index: flat - start,
        }));
        (rest, start) = (later, start + elements);
    }
    located
}

/// What the inputs `STATE/index` and `STATE/chosen` of a program of selected columns take for one array: the index and 1 where a column is an element
/// of the array, else 0 and 0.
pub fn columns(located: &[Element], array: usize) -> (Vec<i64>, Vec<f64>) {
    let column = |element: &Element| {
        if element.array == array {
            (element.index as i64, 1.0)
        } else {
            (0, 0.0)
        }
    };
    located.iter().map(column).unzip()
}

/// The squared 2-Wasserstein distance of equation (22) between Gaussians with one mean: one with `covariance` `[D, D]`, and one with
/// `subnetwork` `[S, S]` for the `chosen` weights and certainty for the others. Rows one after the other.
///
/// With `B` the subnetwork's covariance among zeros, `B^1/2 A B^1/2` is zero outside the chosen rows and columns, so that the cost beyond a trace is
/// that of `S x S` matrices. NaN where a matrix is not finite.
pub fn wasserstein(covariance: &[f64], subnetwork: &[f64], chosen: &[usize]) -> f64 {
    let (s, d) = (chosen.len(), covariance.len().isqrt());
    let trace = |matrix: &[f64], n: usize| (0..n).map(|i| matrix[i * n + i]).sum::<f64>();
    let separate = trace(covariance, d) + trace(subnetwork, s);
    if s == 0 {
        return separate;
    }
    let Ok(eigen) = MatRef::from_row_major_slice(subnetwork, s, s).self_adjoint_eigen(Side::Lower) else {
        return f64::NAN;
    };
    // With B = U diag(b) U', the eigenvalues of B^1/2 A B^1/2 are those of diag(b)^1/2 U' A U diag(b)^1/2.
    let block = faer::Mat::from_fn(s, s, |i, j| covariance[chosen[i] * d + chosen[j]]);
    let mut inner = eigen.U().transpose() * &block * eigen.U();
    let root = |i: usize| eigen.S()[i].max(0.0).sqrt();
    for j in 0..s {
        for i in 0..s {
            inner[(i, j)] *= root(i) * root(j);
        }
    }
    match inner.self_adjoint_eigenvalues(Side::Lower) {
        Ok(values) => separate - 2.0 * values.iter().map(|value| value.max(0.0).sqrt()).sum::<f64>(),
        Err(_) => f64::NAN,
    }
}
