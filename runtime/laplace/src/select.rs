//! Subnetworks: the scores of weights, and the selection of the weights with the highest scores.
//!
//! Equation numbers refer to Daxberger et al. 2021, "Bayesian deep learning via subnetwork inference".

use bnnc_math::philox;
use faer::{MatRef, Side};
use std::cmp::Ordering;

/// The error for a subnetwork with more weights than affect an output on the training rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// The requested number of weights in the subnetwork.
    pub wanted: usize,
    /// The number of weights that can be chosen. These are the weights with a positive diagonal element of the curvature and a score that is not NaN.
    pub alive: usize,
    /// The number of all weights of the model.
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
            "a subnetwork of {wanted} weights was requested, but only {alive} of {parameters} weights affect an output on the training rows"
        )
    }
}

impl std::error::Error for TooFew {}

/// Returns the number of weights in a subnetwork. It is at least 1. If `stated` is at least 1, it is this number. Otherwise, it is a fraction of all
/// weights; `parameters` is the number of all weights.
pub fn size(stated: f64, parameters: usize) -> usize {
    let weights = if stated < 1.0 {
        stated * parameters as f64
    } else {
        stated
    };
    (weights.round() as usize).max(1)
}

/// Returns the indices of the `wanted` weights with the highest scores. The indices are in ascending order. A weight affects the outputs only if
/// its diagonal element of the curvature is positive. All other weights are skipped, because their variance is the prior variance, which would be the
/// highest score. If scores are equal, the weight with the lower index is chosen.
///
/// # Errors
/// Fails if fewer than `wanted` weights affect the outputs.
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
    // The indices are kept for a long time, so the capacity that was needed for the other weights is released.
    alive.shrink_to_fit();
    Ok(alive)
}

/// Returns the posterior variance of each weight as its score, for a diagonal precision. The variance is `1 / (curvature_d / temperature + prior_d)`.
/// With these scores, [`highest`] minimises the distance of equation (23).
pub fn diagonal_variances(curvature_diagonal: &[f64], prior_precision: &[f64], temperature: f64) -> Vec<f64> {
    let elements = curvature_diagonal.iter().zip(prior_precision);
    elements
        .map(|(curvature, prior)| 1.0 / (curvature / temperature + prior))
        .collect()
}

/// Returns the absolute value of each weight as its score.
pub fn magnitudes(weights: &[f64]) -> Vec<f64> {
    weights.iter().map(|weight| weight.abs()).collect()
}

/// Returns a uniform random number for each weight as its score. The numbers belong to the random stream of a site ([`philox::key`]).
pub fn random(key: u64, parameters: usize) -> Vec<f64> {
    (0..parameters as u64)
        .map(|element| philox::uniform(key, [0; 3], element))
        .collect()
}

/// The position of an element in one of several arrays. The elements of all arrays are numbered consecutively, array after array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The index of the array.
    pub array: usize,
    /// The index of the element within the array.
    pub index: usize,
}

/// Returns the arrays and positions of some weights. `chosen` holds the ascending indices of the weights, and `elements` holds the number of elements
/// of each array. Indices beyond the last array are dropped.
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

/// Returns the values of `STATE/index` and `STATE/chosen` for one array. These are inputs of the program that computes selected columns. If the
/// element of a column is in this array, the two values are the index of the element and 1. Otherwise, both are 0.
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

/// Returns the squared 2-Wasserstein distance of equation (22). The distance is between two Gaussians with the same mean. The first Gaussian has the
/// row-major `covariance` `[D, D]`. The second Gaussian has the row-major covariance `subnetwork` `[S, S]` for the `chosen` weights, and zero
/// variance for all other weights.
///
/// Let `A` be the `covariance`, and let `B` be the covariance of the subnetwork, padded with zeros. Then `B^1/2 A B^1/2` is zero outside the chosen
/// rows and columns. Apart from the trace of `A`, the computation therefore needs only `S x S` matrices. The result is NaN if a matrix is not finite.
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
    // With B = U diag(b) U', the eigenvalues of B^1/2 A B^1/2 are the eigenvalues of diag(b)^1/2 U' A U diag(b)^1/2.
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
