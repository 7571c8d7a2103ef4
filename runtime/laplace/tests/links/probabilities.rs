//! Tests the class probabilities of the links.

use crate::models::{classification, close, diagonal, inverse, plus_diagonal, product, transposed};
use crate::{all_close, normals, root, square};
use bnnc_base::dtype::Precision;
use bnnc_laplace::link::{
    OutputDraws, bridge, bridge_normalised, deviation, mixture_quantile, probit, probit_truth,
};

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
