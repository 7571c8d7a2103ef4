//! Tests the roots of curvatures, and the links, against closed forms, quadrature and draws.

#![allow(clippy::unwrap_used)]

#[path = "../models/mod.rs"]
mod models;

mod normals;
mod probabilities;
mod roots;

use bnnc_base::dtype::Precision;
use bnnc_laplace::root::Roots;
use bnnc_math::philox;
use models::{close, product, transposed};

/// Returns `n` standard normal numbers from the random stream of a site.
fn normals(site: &str, n: usize) -> Vec<f64> {
    let key = philox::key(11, site);
    (0..n as u64)
        .map(|element| philox::normal(key, [0; 3], element))
        .collect()
}

/// Returns the root of one matrix, and the number of matrices whose negative eigenvalues were replaced.
fn root(matrix: &[f64], precision: Precision) -> (Vec<f64>, usize) {
    let mut out = vec![0.0; matrix.len()];
    let clipped = Roots::new(matrix.len().isqrt(), precision)
        .cotangents(matrix, &mut out)
        .unwrap();
    (out, clipped)
}

/// Returns `C' C` for the matrix `C` `[k, n]`.
fn square(c: &[f64], n: usize) -> Vec<f64> {
    product(&transposed(c, n), c, c.len() / n)
}

#[track_caller]
fn all_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    got.iter()
        .zip(want)
        .for_each(|(got, want)| close(*got, *want, tolerance));
}
