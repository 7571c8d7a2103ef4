//! Tests the draws, densities and quantiles of normal outputs.

use crate::models::{close, inverse};
use crate::{all_close, square};
use bnnc_laplace::link::{
    Normal, OutputDraws, deviation, mixture_quantile, standard_cumulative, standard_quantile,
};

/// If the noise consists of unit vectors, the draws deviate from the mean by the rows of a root of the covariance. The covariance of the second
/// row is singular.
#[test]
fn draws_have_the_given_covariance() {
    let covariance = [2.0, 0.5, 0.5, 1.0, 4.0, -2.0, -2.0, 1.0];
    let mean = [1.0, -1.0, 10.0, 20.0];
    let noise = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    let mut out = [0.0; 8];
    assert_eq!(
        OutputDraws::new(2).write(&mean, &covariance, &noise, &mut out),
        Ok(0)
    );
    for row in 0..2 {
        let deviations: Vec<f64> = (0..4)
            .map(|at| out[at / 2 * 4 + 2 * row + at % 2] - mean[2 * row + at % 2])
            .collect();
        all_close(&square(&deviations, 2), &covariance[4 * row..4 * row + 4], 1e-14);
    }
    let broken = [2.0, 0.5, 0.5, 1.0, 4.0, f64::INFINITY, -2.0, 1.0];
    let failure = OutputDraws::new(2).write(&mean, &broken, &noise, &mut out);
    assert_eq!(
        failure.map_err(|failure| (failure.row, failure.reason)),
        Err((1, "is not finite"))
    );
    let negative = [2.0, 0.5, 0.5, 1.0, 4.0, 0.0, 0.0, -1.0];
    assert_eq!(
        OutputDraws::new(2).write(&mean, &negative, &noise, &mut out),
        Ok(1)
    );
}

/// The weights of the two outputs are correlated. The joint density of the outputs agrees with a density computed by an explicit matrix inverse,
/// and integrates to one.
#[test]
fn normal_density_covers_all_outputs_jointly() {
    let (mean, noise) = ([0.3, -0.2], [0.5, 0.25]);
    let covariance = [1.0, 0.9, 0.9, 1.2];
    let mut normal = Normal::new(2);
    let total = [1.5, 0.9, 0.9, 1.45];
    let (precision, log_determinant) = inverse(&total);
    let y = [1.0, -1.5];
    let r = [0.7, -1.3];
    let quadratic: f64 = (0..4).map(|at| r[at / 2] * precision[at] * r[at % 2]).sum();
    let want = -0.5 * (quadratic + log_determinant) - std::f64::consts::TAU.ln();
    close(normal.log_density(&mean, &covariance, &noise, &y), want, 1e-14);
    let step = 0.1;
    let grid = || (-100..=100).map(|i| f64::from(i) * step);
    let integral: f64 = grid()
        .flat_map(|a| grid().map(move |b| [a, b]))
        .map(|y| normal.log_density(&mean, &covariance, &noise, &y).exp() * step * step)
        .sum();
    close(integral, 1.0, 1e-10);
    // If the covariance has rank one, the outputs have a density only with noise.
    let flat = normal.log_density(&mean, &[1.0; 4], &noise, &y);
    assert!(flat.is_finite());
    assert!(normal.log_density(&mean, &[1.0; 4], &[0.0; 2], &y).is_nan());
    // If outputs are independent, their joint density is the product of their densities.
    let one = |mean: f64, variance: f64, y: f64| {
        -0.5 * ((y - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln())
    };
    let separate = one(0.3, 1.5, 1.0) + one(-0.2, 1.45, -1.5);
    close(
        normal.log_density(&mean, &[1.0, 0.0, 0.0, 1.2], &noise, &y),
        separate,
        1e-14,
    );
}

#[test]
fn deviations_add_as_squares() {
    let got = deviation(9.0, 16.0);
    assert_eq!((got.epistemic, got.aleatoric, got.total), (3.0, 4.0, 5.0));
    assert_eq!(deviation(-1e-18, 4.0).epistemic, 0.0);
}

/// Quantiles of the Normal distribution agree with tables (Abramowitz and Stegun 26.5) and with a continued fraction that was evaluated to forty
/// digits. Quantiles of mixtures agree with the cumulative probabilities of the mixtures.
#[test]
fn quantiles_agree_with_tables() {
    for (p, want) in [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054),
        (0.95, 1.644_853_626_951_472_2),
        (0.025, -1.959_963_984_540_054),
        (0.999, 3.090_232_306_167_813_5),
        (1e-6, -4.753_424_308_822_899),
        (1e-19, -9.013_271_153_126_675),
    ] {
        close(standard_quantile(p), want, 1e-10);
    }
    assert_eq!(standard_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(standard_quantile(1.0), f64::INFINITY);
    assert!(standard_quantile(1.5).is_nan() && standard_quantile(f64::NAN).is_nan());
    close(standard_cumulative(1.959_963_984_540_054), 0.975, 1e-14);
    close(standard_cumulative(-10.0) * 1e24, 7.619_853_024_160_526, 1e-13);
    close(
        mixture_quantile(0.975, &[3.0], &[2.0]),
        3.0 + 2.0 * 1.959_963_984_540_054,
        1e-12,
    );
    let (means, deviations) = ([-3.0, 0.5, 10.0], [0.5, 2.0, 0.1]);
    for p in [0.01, 0.2, 1.0 / 3.0, 0.5, 0.8, 0.99] {
        let q = mixture_quantile(p, &means, &deviations);
        let below: f64 = (0..3)
            .map(|i| standard_cumulative((q - means[i]) / deviations[i]))
            .sum();
        close(below / 3.0, p, 1e-12);
    }
    // In some mixtures, the members agree, and in some, members have zero variance.
    assert_eq!(mixture_quantile(0.3, &[2.0, 2.0], &[0.0, 0.0]), 2.0);
    close(mixture_quantile(0.75, &[1.0, 2.0], &[0.0, 0.0]), 2.0, 1e-12);
    assert_eq!(mixture_quantile(0.0, &[1.0, 2.0], &[1.0, 1.0]), f64::NEG_INFINITY);
}
