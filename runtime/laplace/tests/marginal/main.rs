//! Tests of marginal likelihoods, and of the factors that maximise them. The models are conjugate, so both have closed forms.

#![allow(clippy::unwrap_used)]

#[path = "../models/mod.rs"]
mod models;

mod bounds;
mod evidence;
mod factors;
mod grid;

use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, Prior};
use bnnc_laplace::matrix::Matrix;
use bnnc_math::philox;
use models::{inverse, plus_diagonal, product, transposed};
use std::f64::consts::TAU;

/// A linear regression with eight rows, five weights and known noise. Its log evidence has a closed form.
struct Linear {
    x: Vec<f64>,
    y: Vec<f64>,
    precision: Vec<f64>,
}

const ROWS: usize = 8;
const WEIGHTS: usize = 5;
const NOISE: f64 = 0.7;

impl Linear {
    fn new() -> Linear {
        let key = philox::key(5, "linear");
        let normal = |at: usize| philox::normal(key, [0; 3], at as u64);
        let x: Vec<f64> = (0..ROWS * WEIGHTS).map(normal).collect();
        let weights = [1.2, -0.4, 2.5, 0.1, -3.0];
        let y = product(&x, &weights, WEIGHTS)
            .iter()
            .enumerate()
            .map(|(n, f)| f + NOISE * normal(100 + n))
            .collect();
        Linear {
            x,
            y,
            precision: vec![1.0, 0.5, 2.0, 1.0, 0.25],
        }
    }

    /// Returns the curvature `X'X / sigma^2`.
    fn curvature(&self) -> Vec<f64> {
        let squares = product(&transposed(&self.x, WEIGHTS), &self.x, ROWS);
        squares.iter().map(|element| element / (NOISE * NOISE)).collect()
    }

    fn precisions(&self, factors: &[f64]) -> Vec<f64> {
        self.precision
            .iter()
            .zip(factors)
            .map(|(precision, factor)| precision * factor)
            .collect()
    }

    /// Returns the posterior mean of the weights if their prior precisions are multiplied by these factors.
    fn mean(&self, factors: &[f64]) -> Vec<f64> {
        let mut precision = self.curvature();
        let prior = self.precisions(factors);
        (0..WEIGHTS).for_each(|d| precision[d * WEIGHTS + d] += prior[d]);
        let pulled = product(&transposed(&self.x, WEIGHTS), &self.y, ROWS);
        let pulled: Vec<f64> = pulled.iter().map(|element| element / (NOISE * NOISE)).collect();
        product(&inverse(&precision).0, &pulled, WEIGHTS)
    }

    /// Returns the log marginal density of `y`, which is `N(0, sigma^2 I + X P0^-1 X')`.
    fn exact(&self, factors: &[f64]) -> f64 {
        let prior = self.precisions(factors);
        let scaled: Vec<f64> = (0..ROWS * WEIGHTS)
            .map(|at| self.x[at] / prior[at % WEIGHTS])
            .collect();
        let covariance = plus_diagonal(
            product(&scaled, &transposed(&self.x, WEIGHTS), WEIGHTS),
            NOISE * NOISE,
        );
        let (precision, log_determinant) = inverse(&covariance);
        let quadratic = product(&product(&self.y, &precision, ROWS), &self.y, ROWS)[0];
        -0.5 * (quadratic + log_determinant + ROWS as f64 * TAU.ln())
    }

    fn log_likelihood(&self, weights: &[f64]) -> f64 {
        let f = product(&self.x, weights, WEIGHTS);
        let density = |(y, f): (&f64, &f64)| -0.5 * ((y - f) / NOISE).powi(2) - NOISE.ln() - 0.5 * TAU.ln();
        self.y.iter().zip(&f).map(density).sum()
    }

    fn scatter(&self, weights: &[f64]) -> Vec<f64> {
        weights
            .iter()
            .zip(&self.precision)
            .map(|(w, precision)| precision * w * w)
            .collect()
    }

    fn full(&self) -> Curvature {
        Curvature::Full(Matrix::new(WEIGHTS, WEIGHTS, self.curvature()))
    }

    fn prior(&self) -> Prior {
        Prior::diagonal(self.precision.clone())
    }
}

fn pool() -> Pool {
    Pool::new(1)
}
