//! Tests the roots of curvatures, and the links, against closed forms, quadrature and draws.
#![allow(clippy::unwrap_used)]

mod models;

use bnnc_base::dtype::Precision;
use bnnc_laplace::link::{
    Normal, OutputDraws, bridge, bridge_normalised, deviation, mixture_quantile, probit, probit_truth,
    standard_cumulative, standard_quantile,
};
use bnnc_laplace::root::{RootError, Roots};
use bnnc_math::philox;
use models::{classification, close, diagonal, inverse, plus_diagonal, product, transposed};

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

/// Returns a matrix with these eigenvalues: `Q diag Q'`, where `Q` is a Householder reflection.
fn with_eigenvalues(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let v = normals("reflection", n);
    let norm: f64 = v.iter().map(|x| x * x).sum();
    let q = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / norm;
    (0..n * n)
        .map(|at| (0..n).map(|k| q(at / n, k) * values[k] * q(at % n, k)).sum())
        .collect()
}

#[test]
fn squares_of_roots_are_the_curvatures() {
    for n in [1, 2, 3, 10, 40] {
        let factor = normals("factor", n * n);
        let matrix = square(&factor, n);
        let scale = diagonal(&matrix).iter().fold(0.0f64, |a, b| a.max(*b));
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 0);
        all_close(&square(&c, n), &matrix, 1e-14 * n as f64 * scale);
    }
}

/// The curvature of the softmax is singular in the direction of the vector of ones. If a class is certain, the curvature is nearly zero.
#[test]
fn squares_of_roots_are_the_softmax_curvatures() {
    for temperature in [0.1, 1.0, 10.0] {
        let logits: Vec<f64> = normals("logits", 10).iter().map(|x| temperature * x).collect();
        let largest = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let p = classification::softmax(&logits.iter().map(|logit| logit - largest).collect::<Vec<_>>());
        let matrix: Vec<f64> = (0..100)
            .map(|at| f64::from(u8::from(at / 10 == at % 10)) * p[at / 10] - p[at / 10] * p[at % 10])
            .collect();
        let scale = diagonal(&matrix).iter().fold(0.0f64, |a, b| a.max(*b));
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 0, "{temperature}");
        all_close(&square(&c, 10), &matrix, 1e-14 * scale);
        // The root maps a Jacobian that is the same for all logits to zero.
        c.chunks(10)
            .for_each(|row| close(row.iter().sum(), 0.0, 3e-7 * scale.sqrt()));
    }
}

/// The result is the nearest positive semidefinite matrix: negative eigenvalues are replaced by zero, and the other eigenvalues and all
/// eigenvectors stay the same.
#[test]
fn negative_eigenvalues_are_replaced_by_zero() {
    let values = [3.0, -2.0, 0.5, 0.0, -0.25];
    let positive: Vec<f64> = values.iter().map(|value: &f64| value.max(0.0)).collect();
    let (c, clipped) = root(&with_eigenvalues(&values), Precision::F64);
    assert_eq!(clipped, 1);
    all_close(&square(&c, 5), &with_eigenvalues(&positive), 1e-14);
    for (matrix, want) in [
        (vec![-4.0], vec![0.0]),
        (vec![0.0, 1.0, 1.0, 0.0], vec![0.5; 4]),
        (vec![-1.0, 0.0, 0.0, -2.0], vec![0.0; 4]),
        (vec![4.0, 0.0, 0.0, -1.0], vec![4.0, 0.0, 0.0, 0.0]),
    ] {
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 1);
        all_close(&square(&c, matrix.len().isqrt()), &want, 1e-15);
    }
    assert_eq!(root(&[0.0; 9], Precision::F64), (vec![0.0; 9], 0));
}

#[test]
fn negative_eigenvalues_of_rounding_size_are_not_counted() {
    let clipped = |smallest: f64, precision| root(&with_eigenvalues(&[2.0, 1.0, smallest]), precision).1;
    assert_eq!(clipped(-1e-11, Precision::F64), 0);
    assert_eq!(clipped(-1e-9, Precision::F64), 1);
    assert_eq!(clipped(-1e-6, Precision::F32), 0);
    assert_eq!(clipped(-1e-4, Precision::F32), 1);
}

/// If the class of a row is certain, the row's curvature consists only of rounding errors, which are negligible relative to the curvatures of
/// other rows.
#[test]
fn negligible_rows_are_not_counted() {
    let noise = [0.0, -1e-20, -1e-20, 1e-20];
    assert_eq!(root(&noise, Precision::F64).1, 1);
    let rows = [noise, [0.25, -0.25, -0.25, 0.25]].concat();
    let (mut roots, mut out) = (Roots::new(2, Precision::F64), [0.0; 8]);
    assert_eq!(roots.cotangents(&rows, &mut out), Ok(0));
    // Curvatures are also compared with those of rows in earlier calls.
    assert_eq!(roots.cotangents(&noise, &mut out[..4]), Ok(0));
}

#[test]
fn rows_are_counted_one_by_one() {
    let rows = [
        1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 1.0, 4.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, -1.0,
    ];
    let mut roots = Roots::new(2, Precision::F64);
    let mut out = [0.0; 16];
    assert_eq!(roots.cotangents(&rows, &mut out), Ok(2));
    all_close(&square(&out[8..12], 2), &rows[8..12], 1e-15);
    let mut broken = rows;
    broken[9] = f64::NAN;
    assert_eq!(
        roots.cotangents(&broken, &mut out),
        Err(RootError {
            row: 2,
            reason: "is not finite"
        })
    );
    assert_eq!(Roots::new(0, Precision::F64).cotangents(&[], &mut []), Ok(0));
}

#[test]
#[ignore = "a measurement, in release builds: microseconds per row of ten classes, and of ten outputs with a negative eigenvalue"]
fn time_of_roots() {
    let matrices = [
        (classes(10), "softmax"),
        (
            with_eigenvalues(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, -1.0]),
            "indefinite",
        ),
        (with_eigenvalues(&[1.0, -1.0]), "indefinite"),
    ];
    for (matrix, name) in matrices {
        let n = matrix.len().isqrt();
        let rows: Vec<f64> = matrix
            .iter()
            .copied()
            .cycle()
            .take(matrix.len() * 20_000)
            .collect();
        let mut out = vec![0.0; rows.len()];
        let mut roots = Roots::new(n, Precision::F64);
        let start = std::time::Instant::now();
        roots.cotangents(&rows, &mut out).unwrap();
        println!(
            "{name} {n}: {:.2} us per row",
            start.elapsed().as_secs_f64() / 0.02
        );
    }
}

/// Returns the curvature of a softmax with `n` random logits.
fn classes(n: usize) -> Vec<f64> {
    let p = classification::softmax(&normals("logits", n));
    (0..n * n)
        .map(|at| f64::from(u8::from(at / n == at % n)) * p[at / n] - p[at / n] * p[at % n])
        .collect()
}

/// Returns the mean and the covariance of the logits for the new input of the classifier. Both are computed from the roots of the curvatures of
/// all rows.
fn prediction() -> (Vec<f64>, Vec<f64>) {
    use classification::{NEW, X, jacobian, logits, row_curvature};
    let mut precision = plus_diagonal(vec![0.0; 36], 1.0);
    for x in X {
        let (c, clipped) = root(&row_curvature(x), Precision::F64);
        assert_eq!(clipped, 0);
        let pulled = product(&c, &jacobian(x), 3);
        precision
            .iter_mut()
            .zip(square(&pulled, 6))
            .for_each(|(sum, term)| *sum += term);
    }
    let jacobian = jacobian(NEW);
    let covariance = inverse(&precision).0;
    (
        logits(NEW).to_vec(),
        product(&product(&jacobian, &covariance, 6), &transposed(&jacobian, 6), 6),
    )
}

/// Returns the class probabilities that a link computes.
fn probabilities(link: fn(&[f64], &[f64], &mut [f64]), mean: &[f64], covariance: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; mean.len()];
    link(mean, covariance, &mut out);
    out.iter().map(|logarithm| logarithm.exp()).collect()
}

#[test]
fn links_give_the_known_probabilities_of_the_classifier() {
    let (mean, covariance) = prediction();
    all_close(&mean, &[2.5, 0.0, -1.5], 1e-15);
    all_close(
        &diagonal(&covariance),
        &[3.88178061, 3.58123412, 3.66298247],
        5e-9,
    );
    all_close(
        &classification::softmax(&mean),
        &[0.90875992, 0.07459556, 0.01664452],
        5e-9,
    );
    let got = probabilities(probit, &mean, &covariance);
    all_close(&got, &[0.77720831, 0.16113148, 0.06166021], 5e-9);
}

/// The mean of the softmax over draws is within four standard errors of its exact expectation.
#[test]
fn mean_softmax_of_draws_is_the_exact_expectation() {
    let (mean, covariance) = prediction();
    let draws = 40_000;
    let mut functions = vec![0.0; 3 * draws];
    let noise = normals("functions", 3 * draws);
    assert_eq!(
        OutputDraws::new(3).write(&mean, &covariance, &noise, &mut functions),
        Ok(0)
    );
    let each: Vec<Vec<f64>> = functions.chunks(3).map(classification::softmax).collect();
    for (k, want) in [0.74619207, 0.18579715, 0.06801079].into_iter().enumerate() {
        let values = each.iter().map(|p| p[k]);
        let mean = values.clone().sum::<f64>() / draws as f64;
        let variance = values.map(|p| (p - mean).powi(2)).sum::<f64>() / draws as f64;
        close(mean, want, 4.0 * (variance / draws as f64).sqrt());
    }
}

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

/// The probit approximation for one logit agrees with quadrature. The error of this approximation is known to be below 0.02.
#[test]
fn probit_of_one_logit_agrees_with_quadrature() {
    for (mean, variance) in [(0.0, 1.0), (0.7, 0.3), (-1.5, 4.0), (3.0, 9.0), (2.0, 0.0)] {
        let [no, yes] = probit_truth(mean, variance).map(f64::exp);
        close(no + yes, 1.0, 1e-15);
        let deviation = f64::sqrt(variance);
        let exact: f64 = (-4000..=4000)
            .map(|i| f64::from(i) * 0.002)
            .map(|z| {
                0.002 * (-0.5 * z * z).exp()
                    / std::f64::consts::TAU.sqrt()
                    / (1.0 + (-mean - deviation * z).exp())
            })
            .sum();
        close(yes, exact, 0.02);
    }
    let [no, yes] = probit_truth(2.0, 0.0);
    close(yes, -(1.0 + (-2f64).exp()).ln(), 1e-15);
    close(no, -(1.0 + 2f64.exp()).ln(), 1e-15);
    // For a logit of -1000 with variance 24 / pi, the probit approximation multiplies the logit by one half.
    let [no, yes] = probit_truth(-1000.0, 24.0 / std::f64::consts::PI);
    close(no, 0.0, 1e-200);
    close(yes, -500.0, 1e-10);
}

/// Returns the mean and the covariance of the Laplace approximation of a Dirichlet distribution in the softmax basis. The bridge recovers the
/// Dirichlet distribution from this mean and this covariance.
fn dirichlet(alpha: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let k = alpha.len() as f64;
    let logs: Vec<f64> = alpha.iter().map(|a| a.ln()).collect();
    let inverses: f64 = alpha.iter().map(|a| 1.0 / a).sum();
    let centre = logs.iter().sum::<f64>() / k;
    let n = alpha.len();
    let covariance = (0..n * n).map(|at| {
        let (a, b) = (1.0 / alpha[at / n], 1.0 / alpha[at % n]);
        f64::from(u8::from(at / n == at % n)) * a - (a + b) / k + inverses / (k * k)
    });
    (
        logs.iter().map(|log| log - centre).collect(),
        covariance.collect(),
    )
}

#[test]
fn bridge_recovers_a_dirichlet_distribution() {
    for alpha in [
        vec![3.0, 0.5, 1.25],
        vec![2.0; 5],
        vec![0.1, 40.0, 7.0, 0.9],
        vec![2.0, 3.0],
    ] {
        let (mean, covariance) = dirichlet(&alpha);
        let total: f64 = alpha.iter().sum();
        let want: Vec<f64> = alpha.iter().map(|a| a / total).collect();
        all_close(&probabilities(bridge, &mean, &covariance), &want, 1e-13);
        // Adding the same constant to all logits does not change the probabilities.
        let shifted: Vec<f64> = mean.iter().map(|m| m + 5.0).collect();
        let widened: Vec<f64> = covariance.iter().map(|v| v + 2.5).collect();
        all_close(&probabilities(bridge, &shifted, &widened), &want, 1e-12);
    }
}

/// After the conditioning, the scaled logits have the mean variance `(K / 2)^1/2`.
#[test]
fn normalised_bridge_scales_logits_to_the_stated_variance() {
    let (mean, covariance) = prediction();
    let (sums, total): (Vec<f64>, f64) = {
        let sums: Vec<f64> = covariance.chunks(3).map(|row| row.iter().sum()).collect();
        (sums.clone(), sums.iter().sum())
    };
    let centred: Vec<f64> = mean
        .iter()
        .zip(&sums)
        .map(|(m, s)| m - s * mean.iter().sum::<f64>() / total)
        .collect();
    let conditioned: Vec<f64> = (0..9)
        .map(|at| covariance[at] - sums[at / 3] * sums[at % 3] / total)
        .collect();
    let c = diagonal(&conditioned).iter().sum::<f64>() / 3.0 / 1.5f64.sqrt();
    let scaled_mean: Vec<f64> = centred.iter().map(|m| m / c.sqrt()).collect();
    let scaled: Vec<f64> = conditioned.iter().map(|v| v / c).collect();
    close(diagonal(&scaled).iter().sum::<f64>() / 3.0, 1.5f64.sqrt(), 1e-14);
    let inverses: f64 = scaled_mean.iter().map(|m| (-m).exp()).sum();
    let alpha: Vec<f64> = (0..3)
        .map(|k| (1.0 / 3.0 + scaled_mean[k].exp() / 9.0 * inverses) / scaled[4 * k])
        .collect();
    let want: Vec<f64> = alpha.iter().map(|a| a / alpha.iter().sum::<f64>()).collect();
    all_close(
        &probabilities(bridge_normalised, &mean, &covariance),
        &want,
        1e-14,
    );
}

#[test]
fn extreme_logits_keep_their_probabilities() {
    let (mean, covariance) = (
        [900.0, -900.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    );
    for link in [probit, bridge, bridge_normalised] {
        let mut out = [0.0; 3];
        link(&mean, &covariance, &mut out);
        assert!(out.iter().all(|p| p.is_finite()), "{out:?}");
        close(out.iter().map(|p| p.exp()).sum(), 1.0, 1e-14);
        assert!(out[0] > out[2] && out[2] >= out[1] && out[1] < -100.0, "{out:?}");
    }
    // If the variance is zero, every link gives the softmax.
    for link in [probit, bridge, bridge_normalised] {
        let got = probabilities(link, &[1.0, 2.0, 3.0], &[0.0; 9]);
        all_close(&got, &classification::softmax(&[1.0, 2.0, 3.0]), 1e-15);
    }
}

/// With these covariances, conditioning the logits to sum to zero gives a logit with zero variance, so the bridge would divide by rounding
/// errors. In some cases, a single weight affects one logit or all logits. In the other cases, two weights affect two logits.
#[test]
fn bridge_is_the_softmax_if_a_logit_has_no_variance() {
    let mean = [0.3, -1.2, 0.7];
    let outer = |v: [f64; 3]| v.iter().flat_map(|a| v.map(|b| a * b)).collect::<Vec<f64>>();
    let two = [2.0, 0.3, 0.0, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0];
    for covariance in [
        outer([0.0, 0.9, 0.0]),
        outer([0.1, 0.7, -0.4]),
        outer([1.0; 3]),
        two.to_vec(),
    ] {
        for link in [bridge, bridge_normalised] {
            let got = probabilities(link, &mean, &covariance);
            all_close(&got, &classification::softmax(&mean), 1e-15);
        }
    }
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

/// NaN inputs must not give ordinary numbers, because such numbers would look like certainty.
#[test]
fn nan_inputs_give_nan_outputs() {
    let nan = f64::NAN;
    assert!(deviation(nan, 1.0).epistemic.is_nan() && deviation(nan, 1.0).total.is_nan());
    assert_eq!(deviation(-1e-20, 1.0).epistemic, 0.0);
    assert!(probit_truth(0.3, nan).iter().all(|log| log.is_nan()));
    assert!(mixture_quantile(0.3, &[0.0, nan], &[1.0, 1.0]).is_nan());
    assert!(mixture_quantile(0.3, &[0.0, 1.0], &[nan, 1.0]).is_nan());
    for link in [probit, bridge, bridge_normalised] {
        for k in [2, 3] {
            let mut logs = vec![0.0; k];
            link(&vec![0.5; k], &vec![nan; k * k], &mut logs);
            assert!(logs.iter().all(|log| log.is_nan()), "{logs:?}");
            // The covariance has a single NaN, on its diagonal.
            let mut covariance = plus_diagonal(vec![0.0; k * k], 1.0);
            covariance[0] = nan;
            link(&vec![0.5; k], &covariance, &mut logs);
            assert!(logs.iter().all(|log| log.is_nan()), "{logs:?}");
        }
    }
}
