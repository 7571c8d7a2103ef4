//! Leave-one-out estimates agree with ArviZ, and with models whose exact values are known.
#![allow(clippy::unwrap_used)]

use bnnc_math::philox;
use bnnc_mcmc::loo::pareto::{Pareto, Smoother, tail_length};
use bnnc_mcmc::loo::{LooEstimator, LooRow, Shapes, Total, difference, good_shape};

#[track_caller]
fn assert_near(found: f64, want: f64, relative: f64, what: &str) {
    assert!(
        found == want || (found - want).abs() <= relative * want.abs(),
        "{what}: {found:e} instead of {want:e}"
    );
}

/// Returns the log likelihood of each row for each draw. There are 4 chains of 100 draws.
fn table() -> Vec<Vec<f64>> {
    let lines = include_str!("data/log_likelihood.csv").lines();
    lines
        .map(|line| line.split(',').map(|field| field.parse().unwrap()).collect())
        .collect()
}

/// Returns the relative efficiency and the estimates that ArviZ computes for each row.
fn expected() -> Vec<(usize, f64, LooRow)> {
    let lines = include_str!("data/log_likelihood_expected.csv").lines();
    let read = |line: &str| {
        let (name, numbers) = line.split_once(',').unwrap();
        let (row, efficiency) = name.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split(',').map(|field| field.parse().unwrap()).collect();
        let [elpd, p, k, mcse, elpd_waic, p_waic] = numbers.try_into().unwrap();
        let found = LooRow {
            elpd,
            p,
            k,
            mcse,
            elpd_waic,
            p_waic,
        };
        (row.parse().unwrap(), efficiency.parse().unwrap(), found)
    };
    lines.skip(1).map(read).collect()
}

#[test]
fn row_estimates_agree_with_arviz() {
    let table = table();
    let mut estimator = LooEstimator::default();
    let expected = expected();
    assert_eq!(expected.len(), 3 * table.len());
    for (at, efficiency, want) in expected {
        let found = estimator.row(&table[at], efficiency);
        let pairs = [
            (found.elpd, want.elpd),
            (found.p, want.p),
            (found.k, want.k),
            (found.mcse, want.mcse),
            (found.elpd_waic, want.elpd_waic),
            (found.p_waic, want.p_waic),
        ];
        for (number, (found, want)) in pairs.into_iter().enumerate() {
            assert_near(
                found,
                want,
                1e-9,
                &format!("row {at}, {efficiency}, number {number}"),
            );
        }
    }
}

#[test]
fn totals_are_sums_with_standard_errors() {
    let rows: Vec<LooRow> = expected()
        .into_iter()
        .filter(|entry| entry.1 == 1.0)
        .map(|entry| entry.2)
        .collect();
    let mut total = Total::new(400);
    rows.iter().for_each(|row| total.add(row));
    let check = |value: fn(&LooRow) -> f64, found: bnnc_mcmc::loo::LooEstimate, what| {
        let values: Vec<f64> = rows.iter().map(value).collect();
        let count = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|value| (value - sum / count).powi(2)).sum();
        assert_near(found.sum, sum, 1e-14, what);
        assert_near(found.error, (count * squares / (count - 1.0)).sqrt(), 1e-14, what);
    };
    check(|row| row.elpd, total.elpd(), "elpd");
    check(|row| row.p, total.p(), "p");
    check(|row| row.elpd_waic, total.elpd_waic(), "elpd of WAIC");
    check(|row| row.p_waic, total.p_waic(), "p of WAIC");
    let good = 1.0 - 1.0 / 400_f64.log10();
    assert_eq!(good_shape(400), good);
    assert_eq!(good_shape(4000), 0.7);
    let count = |from: f64, to: f64| rows.iter().filter(|row| row.k > from && row.k <= to).count();
    let shapes = Shapes {
        good: count(f64::NEG_INFINITY, good),
        bad: count(good, 1.0),
        very_bad: count(1.0, f64::INFINITY),
    };
    assert!(shapes.good > 0 && shapes.bad > 0 && shapes.very_bad > 0);
    assert_eq!(total.shapes(), shapes);
    assert_eq!(total.rows(), 8);
    assert!(total.mcse().is_nan(), "a row is not good");
    assert_eq!(
        total.unreliable_waic(),
        rows.iter().filter(|row| row.p_waic > 0.4).count()
    );
}

/// Returns observations of the model `y ~ Normal(theta, 1)`, `theta ~ Normal(0, 2)`, and the posterior mean and variance of `theta`.
fn conjugate() -> (Vec<f64>, f64, f64) {
    let observed = vec![0.3, -0.8, 1.1, 2.4, -1.9, 0.2, 0.9, 3.0];
    let variance = 1.0 / (0.25 + observed.len() as f64);
    let mean = variance * observed.iter().sum::<f64>();
    (observed, mean, variance)
}

fn log_normal_density(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((x - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln())
}

#[test]
fn conjugate_model_is_estimated_within_the_errors() {
    let (observed, mean, variance) = conjugate();
    let draws = 20_000;
    let key = philox::key(5, "posterior");
    let theta: Vec<f64> = (0..draws)
        .map(|at| mean + variance.sqrt() * philox::normal(key, [0, 0, 0], at))
        .collect();
    let mut estimator = LooEstimator::default();
    let mut total = Total::new(theta.len());
    let (mut exact, mut seen, mut error) = (0.0, 0.0, 0.0);
    for y in &observed {
        let log_likelihood: Vec<f64> = theta
            .iter()
            .map(|theta| log_normal_density(*y, *theta, 1.0))
            .collect();
        let row = estimator.row(&log_likelihood, 1.0);
        // The variance of the posterior given all rows except one.
        let without = 1.0 / (1.0 / variance - 1.0);
        let left_out = log_normal_density(*y, without * (mean / variance - y), 1.0 + without);
        let given_all = log_normal_density(*y, mean, 1.0 + variance);
        assert!(
            (row.elpd - left_out).abs() < 4.0 * row.mcse,
            "{y}: {} {left_out}",
            row.elpd
        );
        assert!(row.mcse < 0.02 && row.k < 0.5, "{row:?}");
        // The log likelihood is a quadratic function of a normal variable, so its kurtosis is at most 15.
        let spread = variance * variance / 2.0 + variance * (mean - y).powi(2);
        assert!(
            (row.p_waic / spread - 1.0).abs() < 4.0 * (14.0 / draws as f64).sqrt(),
            "{}",
            row.p_waic
        );
        assert!((row.elpd_waic + row.p_waic - given_all).abs() < 4.0 * row.mcse);
        total.add(&row);
        exact += left_out;
        seen += given_all;
        error += row.mcse;
    }
    // The estimates of all rows use the same draws, so in the worst case the errors of the rows add up.
    assert!((total.elpd().sum - exact).abs() < 4.0 * error);
    assert!((total.p().sum - (seen - exact)).abs() < 4.0 * error);
    assert!(
        (seen - exact).abs() > 8.0 * error,
        "rows that are not left out would pass"
    );
    assert_eq!(total.shapes().good, observed.len());
    assert!(total.mcse() > 0.0 && total.mcse() <= error);
}

/// The Pareto distribution is fitted to its own exact quantiles. The fit shrinks the shape towards 1/2 with the weight of ten values.
#[test]
fn pareto_fit_recovers_the_shape() {
    let count = 5000;
    for (shape, scale) in [(-0.3, 1.0), (0.0, 2.0), (0.3, 1.0), (0.7, 1e-8), (1.2, 1e3)] {
        let pareto = Pareto { shape, scale };
        let values: Vec<f64> = (0..count)
            .map(|at| pareto.quantile((at as f64 + 0.5) / count as f64))
            .collect();
        let found = Pareto::fit(&values).unwrap();
        let want = (shape * count as f64 + 5.0) / (count + 10) as f64;
        assert!((found.shape - want).abs() < 0.01, "{shape}: {}", found.shape);
        assert_near(found.scale, scale, 0.01, "scale");
    }
}

#[test]
fn pareto_quantiles_invert_the_distribution() {
    for shape in [-0.5, 0.0, 0.4, 2.0_f64] {
        let x = Pareto { shape, scale: 3.0 }.quantile(0.9);
        let above = if shape == 0.0 {
            (-x / 3.0).exp()
        } else {
            (1.0 + shape * x / 3.0).powf(-1.0 / shape)
        };
        assert_near(above, 0.1, 1e-13, "quantile");
    }
}

/// With a flat prior, the posterior of one location from `n` rows has the variance `1 / n`. The tail of the ratios `exp((y - theta)^2 / 2)`
/// falls like `t^-n`, so the Pareto shape is `1 / n`. The estimates approach this shape slowly from below.
#[test]
fn pareto_shapes_grow_with_the_influence_of_a_row() {
    let key = philox::key(6, "posterior");
    let shape = |rows: f64| {
        let ratios = (0..40_000).map(|at| philox::normal(key, [0, 0, 0], at) / rows.sqrt());
        let log_likelihood: Vec<f64> = ratios.map(|theta| log_normal_density(0.0, theta, 1.0)).collect();
        LooEstimator::default().row(&log_likelihood, 1.0).k
    };
    let [one, two, many] = [1.05, 2.0, 50.0].map(shape);
    assert!(one > 0.75 && one < 1.1, "{one}");
    assert!(two > 0.35 && two < 0.6, "{two}");
    assert!(many < 0.2, "{many}");
}

/// If the likelihood of a row is an autoregressive sequence over the draws, the relative efficiency is known.
#[test]
fn relative_efficiency_is_that_of_the_likelihood() {
    let key = philox::key(7, "chain");
    let phi = 0.6_f64;
    let chain = |chain: u32| -> Vec<f64> {
        let mut last = philox::normal(key, [chain, 0, 0], 0);
        let step = |at: u64| {
            last = phi * last + (1.0 - phi * phi).sqrt() * philox::normal(key, [chain, 0, 0], at);
            (10.0 + last).ln() - 700.0
        };
        (1..=10_000).map(step).collect()
    };
    let chains: Vec<Vec<f64>> = (0..4).map(chain).collect();
    let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
    // The relative variance of the estimate is 2 (2 W + 1) / N, with a window of about W = 20 lags.
    let bound = 4.0 * (82.0_f64 / 40_000.0).sqrt();
    let mut estimator = LooEstimator::default();
    let found = estimator.relative_efficiency(&chains);
    assert!((found / (0.4 / 1.6) - 1.0).abs() < bound, "{found}");
    assert_eq!(estimator.relative_efficiency(&[&[-1.0; 50]]), 1.0);
}

#[test]
fn tail_length_is_a_fifth_or_three_square_roots() {
    assert_eq!(tail_length(100, 1.0), 20);
    assert_eq!(tail_length(4000, 1.0), 190);
    assert_eq!(tail_length(4000, 0.25), 380);
}

#[test]
fn tails_that_cannot_be_smoothed_have_infinite_shapes() {
    let mut estimator = LooEstimator::default();
    let same = estimator.row(&[-1.5; 100], 1.0);
    assert_eq!(same.k, f64::NEG_INFINITY);
    assert_near(same.elpd, -1.5, 1e-14, "equal ratios");
    assert_eq!(same.p_waic, 0.0);
    for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let row = estimator.row(&[-1.0, broken, -2.0], 1.0);
        assert!(row.k == f64::INFINITY && row.elpd.is_nan() && row.elpd_waic.is_nan());
    }
    assert!(estimator.row(&[], 1.0).elpd.is_nan());
    // The first case has too few draws to fit a tail. In the second case, all ratios of the tail except one are equal to the cutoff.
    assert_eq!(estimator.row(&[-1.0, -2.0, -3.0], 1.0).k, f64::INFINITY);
    let mut one = [-1.0; 100];
    one[3] = -9.0;
    let row = estimator.row(&one, 1.0);
    assert_eq!(row.k, f64::INFINITY);
    assert!(row.elpd.is_finite());
    let mut total = Total::new(100);
    total.add(&row);
    total.add(&same);
    assert_eq!(
        total.shapes(),
        Shapes {
            good: 1,
            bad: 0,
            very_bad: 1
        }
    );
}

#[test]
fn smoothing_keeps_the_order_and_the_values_below_the_tail() {
    let key = philox::key(8, "ratios");
    let mut ratios: Vec<f64> = (0..1000)
        .map(|at| 2.0 * philox::normal(key, [0, 0, 0], at))
        .collect();
    let largest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ratios.iter_mut().for_each(|ratio| *ratio -= largest);
    let before = ratios.clone();
    let k = Smoother::default().smooth(&mut ratios, 95);
    assert!(k.is_finite());
    let mut order: Vec<usize> = (0..1000).collect();
    order.sort_unstable_by(|one, other| before[*one].total_cmp(&before[*other]));
    assert!(order[..905].iter().all(|at| ratios[*at] == before[*at]));
    assert!(order.windows(2).all(|pair| ratios[pair[0]] <= ratios[pair[1]]));
    assert!(ratios.iter().all(|ratio| *ratio <= 0.0));
}

/// The differences of the three rows are 0.5, 0 and -1. The variance of these differences is 7 / 12, so the variance of the sum of three
/// differences is 7 / 4.
#[test]
fn differences_have_the_standard_error_of_paired_rows() {
    let row = |elpd: f64| LooRow {
        elpd,
        p: 0.0,
        k: 0.0,
        mcse: 0.0,
        elpd_waic: 0.0,
        p_waic: 0.0,
    };
    let [one, other] = [[-1.0, -2.0, -4.0], [-1.5, -2.0, -3.0]].map(|rows| rows.map(row));
    let found = difference(&one, &other);
    assert_near(found.sum, -0.5, 1e-12, "difference");
    assert_near(found.error, 1.75f64.sqrt(), 1e-12, "its error");
}
