//! Metrics agree with calculations by hand and with formulas in closed form.

use super::*;
use bnnc_math::philox;

const SEED: u64 = 11;

fn near(actual: f64, expected: f64, bound: f64) {
    assert!(
        (actual - expected).abs() <= bound,
        "expected {expected} within {bound}, found {actual}"
    );
}

fn get(metrics: &MetricSet, name: &str) -> f64 {
    metrics.iter().find(|(other, _)| other == name).unwrap().1
}

fn normals(count: usize, site: &str) -> Vec<f64> {
    let key = philox::key(SEED, site);
    (0..count)
        .map(|i| philox::normal(key, [0, 0, 0], i as u64))
        .collect()
}

#[test]
fn log_mean_exp_neither_overflows_nor_underflows() {
    near(
        log_mean_exp([0.2_f64.ln(), 0.4_f64.ln()].into_iter()),
        0.3_f64.ln(),
        1e-15,
    );
    near(log_mean_exp([-1000.0, -1000.0].into_iter()), -1000.0, 0.0);
    near(
        log_mean_exp([800.0, f64::NEG_INFINITY].into_iter()),
        800.0 - 2.0_f64.ln(),
        1e-12,
    );
    assert_eq!(
        log_mean_exp([f64::NEG_INFINITY; 2].into_iter()),
        f64::NEG_INFINITY
    );
}

#[test]
fn quantiles_are_those_of_numpy() {
    // The expected values are numpy.quantile([1, 2, 3, 4], [0, 0.25, 0.5, 1]).
    let found = [0.0, 0.25, 0.5, 1.0].map(|p| quantile(&[1.0, 2.0, 3.0, 4.0], p));
    assert_eq!(found, [1.0, 1.75, 2.5, 4.0]);
}

#[test]
fn crps_matches_hand_computation() {
    // The mean distance from y is (|1-2| + |3-2| + |6-2|) / 3 = 2. The mean distance over the three
    // pairs is (|1-3| + |1-6| + |3-6|) / 3 = 10/3. The score is the mean distance from y minus half
    // the mean distance over pairs.
    near(crps(&[1.0, 3.0, 6.0], 2.0), 2.0 - 10.0 / 3.0 / 2.0, 1e-15);
    near(crps(&[1.0], 3.0), 2.0, 0.0);
}

#[test]
fn crps_of_a_normal_sample_converges_to_the_closed_form() {
    // The closed form is equation 21 of Gneiting and Raftery 2007: sigma (z (2 Phi(z) - 1) + 2
    // phi(z) - 1/sqrt(pi)), with z = (y - mu)/sigma.
    let (mu, sigma, y) = (1.0, 2.0, 2.5);
    let sample = sorted(normals(40_000, "crps").into_iter().map(|x| mu + sigma * x));
    let z: f64 = (y - mu) / sigma;
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let two_phi_minus_one = bnnc_math::special::erf(z / 2.0_f64.sqrt());
    let exact = sigma * (z * two_phi_minus_one + 2.0 * density - 1.0 / std::f64::consts::PI.sqrt());
    // The influence function of the estimator has a standard deviation below 1.5 for these numbers.
    // Five standard errors of 40000 draws are therefore at most 5 * 1.5 / sqrt(40000).
    near(crps(&sample, y), exact, 5.0 * 1.5 / 200.0);
}

#[test]
fn the_fair_crps_does_not_depend_on_the_number_of_draws() {
    // With 2 draws per sample, the mean of the estimator is E|X - y| - E|X - X'| / 2. For y = 0
    // this is sqrt(2/pi) - 1/sqrt(pi).
    let x = normals(200_000, "fair");
    let mean = x
        .chunks_exact(2)
        .map(|pair| crps(&sorted(pair.iter().copied()), 0.0))
        .sum::<f64>()
        / 100_000.0;
    let exact = (2.0 / std::f64::consts::PI).sqrt() - 1.0 / std::f64::consts::PI.sqrt();
    near(mean, exact, 5.0 * 0.6 / 100_000_f64.sqrt());
}

#[test]
fn a_calibrated_normal_has_its_coverage_and_likelihood() {
    let (rows, count) = (4000, 400);
    let targets: Vec<f64> = normals(rows, "targets").iter().map(|x| 3.0 + 2.0 * x).collect();
    let draws: Vec<f64> = normals(rows * count, "draws")
        .iter()
        .map(|x| 3.0 + 2.0 * x)
        .collect();
    let mut scores = RealScores::new(Standardisation { mean: 3.0, sd: 2.0 });
    scores.add_draws(DrawMatrix::new(&draws, rows), &targets);
    scores.add_mean(DrawMatrix::new(&vec![3.0; rows], rows), &targets);
    // The density of the standardised target is the standard normal.
    let log_density = |y: &f64| -((y - 3.0) / 2.0).powi(2) / 2.0 - (2.0 * std::f64::consts::PI).sqrt().ln();
    let log_densities: Vec<f64> = targets.iter().map(log_density).collect();
    scores.add_log_likelihood_of(DrawMatrix::new(&log_densities, rows), 1);
    let metrics = scores.finish();
    let sd = |p: f64| (p * (1.0 - p) / rows as f64).sqrt();
    near(get(&metrics, "coverage_50"), 0.5, 5.0 * sd(0.5));
    near(get(&metrics, "coverage_90"), 0.9, 5.0 * sd(0.9) + 0.005);
    near(get(&metrics, "coverage_95"), 0.95, 5.0 * sd(0.95) + 0.005);
    near(get(&metrics, "rmse"), 2.0, 5.0 * 2.0 / (2.0 * rows as f64).sqrt());
    near(get(&metrics, "sd"), 2.0, 0.01);
    // The expected log likelihood is minus the entropy of Normal(3, 2): -(1 + log(2 pi)) / 2 - log
    // 2.
    let entropy = 0.5 * (1.0 + (2.0 * std::f64::consts::PI).ln()) + 2.0_f64.ln();
    near(
        get(&metrics, "log_likelihood"),
        -entropy,
        5.0 / (2.0 * rows as f64).sqrt(),
    );
    // If the predictive distribution is the normal distribution of the target, the mean CRPS is
    // sigma / sqrt(pi).
    near(get(&metrics, "crps"), 2.0 / std::f64::consts::PI.sqrt(), 0.1);
}

#[test]
fn class_metrics_match_hand_computation() {
    // There are two draws, two rows and two classes. The averages over the draws are [0.7, 0.3] and [0.4, 0.6].
    let probabilities = [0.8, 0.2, 0.5, 0.5, 0.6, 0.4, 0.3, 0.7];
    let mut scores = ClassScores::new(2);
    scores.add_classes(&probabilities, &[0, 0], None);
    let metrics = scores.finish();
    near(get(&metrics, "accuracy"), 0.5, 0.0);
    near(get(&metrics, "nll"), -(0.7_f64.ln() + 0.4_f64.ln()) / 2.0, 1e-15);
    near(get(&metrics, "brier"), (0.09 + 0.09 + 0.36 + 0.36) / 2.0, 1e-15);
    // The correct prediction has the confidence 0.7, which lies in bin 11. The wrong prediction has the confidence 0.6, which lies in bin 9.
    // The mean gap is (|0.7 - 1| + |0.6 - 0|) / 2.
    near(get(&metrics, "ece"), 0.45, 1e-15);
}

/// In one draw, the probability of the true class is `exp(-1200)`; in the other draw, it is zero.
/// The predictive probability is the mean of the two. It is zero in every precision. The `nll` must
/// therefore be computed from the log likelihoods.
#[test]
fn the_nll_of_an_underflowed_probability_is_finite() {
    let mut scores = ClassScores::new(2);
    let log_likelihood = [-1200.0, -0.5, f64::NEG_INFINITY, -0.5];
    scores.add_classes(
        &[1.0, 0.0, 0.4, 0.6, 1.0, 0.0, 0.4, 0.6],
        &[1, 1],
        Some(DrawMatrix::new(&log_likelihood, 2)),
    );
    let expected = (1200.0 + 2f64.ln() - 0.6_f64.ln()) / 2.0;
    near(get(&scores.finish(), "nll"), expected, 1e-12);
}

#[test]
fn calibration_bins_hold_their_upper_end() {
    // The confidences 0.6 = 9/15 and 0.61 lie in different bins, so their errors do not cancel.
    let mut scores = ClassScores::new(2);
    scores.add_classes(&[0.6, 0.4, 0.61, 0.39], &[0, 1], None);
    near(get(&scores.finish(), "ece"), (0.4 + 0.61) / 2.0, 1e-15);
}

/// Three rows of three classes. Each number is a sum over the bins of the definition.
#[test]
fn errors_of_calibration_match_hand_computation() {
    let mut scores = ClassScores::new(3);
    let p = [0.72, 0.16, 0.12, 0.68, 0.28, 0.04, 0.2, 0.23, 0.57];
    scores.add_classes(&p, &[0, 1, 2], None);
    let metrics = scores.finish();
    // The confidences 0.72 (correct), 0.68 (wrong) and 0.57 (correct) share bins as follows.
    // 15 bins: bins 11 (0.68, 0.72) and 9; 10 bins: 8, 7, 6; 20 bins: 15, 14, 12.
    near(get(&metrics, "ece"), ((0.72 + 0.68 - 1.0) + 0.43) / 3.0, 1e-14);
    near(get(&metrics, "ece_10"), (0.28 + 0.68 + 0.43) / 3.0, 1e-14);
    near(get(&metrics, "ece_20"), (0.28 + 0.68 + 0.43) / 3.0, 1e-14);
    // With 15 bins and three rows, each row has a bin of its own.
    near(get(&metrics, "adaptive_ece"), (0.28 + 0.68 + 0.43) / 3.0, 1e-14);
    // Class 0: {0.72, 0.68} with one hit, {0.2}. Class 1: {0.16}, {0.28} with a hit, {0.23}.
    // Class 2: {0.12}, {0.04}, {0.57} with a hit.
    let classes = [0.40 + 0.2, 0.16 + 0.72 + 0.23, 0.12 + 0.04 + 0.43];
    near(
        get(&metrics, "classwise_ece"),
        classes.iter().sum::<f64>() / 9.0,
        1e-14,
    );
    // The error rates of the 1, 2 and 3 most confident rows are 0, 1/2 and 1/3.
    near(get(&metrics, "aurc"), (0.5 + 1.0 / 3.0) / 3.0, 1e-14);
}

#[test]
fn no_rows_give_no_metrics() {
    assert_eq!(RealScores::new(Standardisation::IDENTITY).finish(), []);
    assert_eq!(ClassScores::new(3).finish(), []);
}

#[test]
fn standard_errors_over_splits_divide_by_n_minus_1() {
    // The standard deviation of 1, 2, 3, 4 with the divisor n - 1 is sqrt(5/3).
    let (mean, error) = mean_and_standard_error(&[1.0, 2.0, 3.0, 4.0]);
    near(mean, 2.5, 0.0);
    near(error.unwrap(), (5.0_f64 / 3.0).sqrt() / 2.0, 1e-15);
    assert_eq!(mean_and_standard_error(&[7.0]), (7.0, None));
    let sets = [vec![("rmse".to_string(), 1.0)], vec![("rmse".to_string(), 3.0)]];
    assert_eq!(over_splits(&sets), [("rmse".to_string(), 2.0, Some(1.0))]);
}

/// Weights that are not finite predict NaN probabilities. The mean `nll` is then NaN. An output
/// without predictions does not have metrics.
#[test]
fn nan_probabilities_give_nan_and_missing_ones_no_metrics() {
    let mut scores = ClassScores::new(2);
    scores.add_classes(&[f64::NAN, f64::NAN, 0.25, 0.75], &[0, 1], None);
    let metrics = scores.finish();
    let nll = metrics.iter().find(|(name, _)| name.as_str() == "nll");
    assert!(nll.is_some_and(|(_, value)| value.is_nan()), "{metrics:?}");
    let mut scores = ClassScores::new(2);
    scores.add_classes(&[], &[0, 1], None);
    assert_eq!(scores.finish(), []);
}
