//! The no-U-turn sampler samples known distributions.
#![allow(clippy::unwrap_used)]

mod chains;
mod targets;

use bnnc_abi::methods::sampling::{Adaptation, MetricKind};
use chains::{Density, Length};
use targets::{METRICS, Mean, adapted, check, furthest, no_divergences, normal_means, nuts, place, run};

const LENGTH: Length = Length {
    warmup: 1000,
    draws: 8000,
};

/// The target is a normal distribution with unequal scales and correlations. The target's precision matrix is
/// `[[2, -1, 0], [-1, 2, -1], [0, -1, 2]]`, and its covariance is the inverse, `[[3, 2, 1], [2, 4, 2], [1, 2, 3]] / 4`.
#[test]
fn moments_of_a_correlated_normal_are_exact() {
    let mean = [1.0, -2.0, 0.5];
    let covariance = [[0.75, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.75]].map(|row| row.to_vec());
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        let [x, y, z] = [0, 1, 2].map(|i| at[i] - mean[i]);
        let slopes = [y - 2.0 * x, x - 2.0 * y + z, y - 2.0 * z];
        gradient.copy_from_slice(&slopes);
        0.5 * (x * slopes[0] + y * slopes[1] + z * slopes[2])
    });
    for metric in METRICS {
        let draws = run(&nuts(adapted(metric)), &mut target, &[0.0; 3], LENGTH);
        check(&draws, &normal_means(&mean, &covariance));
        no_divergences(&draws);
    }
}

/// The target has standard deviations from 0.01 to 100. Once the scales are learnt, trajectories are short.
#[test]
fn scales_are_adapted() {
    let scales = [0.01, 0.1, 1.0, 10.0, 100.0];
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        let mut log_density = 0.0;
        for ((at, scale), slope) in at.iter().zip(scales).zip(gradient) {
            *slope = -at / (scale * scale);
            log_density += 0.5 * at * *slope;
        }
        log_density
    });
    let covariance: Vec<Vec<f64>> = (0..5)
        .map(|i| {
            (0..5)
                .map(|j| if i == j { scales[i] * scales[i] } else { 0.0 })
                .collect()
        })
        .collect();
    for metric in METRICS.into_iter().skip(1) {
        let draws = run(
            &nuts(adapted(metric)),
            &mut target,
            &[0.005, 0.1, -1.0, 5.0, 80.0],
            LENGTH,
        );
        check(&draws, &normal_means(&[0.0; 5], &covariance));
        no_divergences(&draws);
        let steps = draws.iter().map(|draw| draw.stats[place("n_steps")]).sum::<f64>() / draws.len() as f64;
        assert!(steps < 10.0, "{steps} steps per draw");
    }
}

/// In the coordinates of a dense metric, a distribution with a correlation of 0.999 is round.
#[test]
fn a_dense_metric_removes_correlation() {
    let (variance, covariance) = (1.0, 0.999);
    let determinant: f64 = variance * variance - covariance * covariance;
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = (covariance * at[1] - variance * at[0]) / determinant;
        gradient[1] = (covariance * at[0] - variance * at[1]) / determinant;
        0.5 * (at[0] * gradient[0] + at[1] * gradient[1])
    });
    let draws = run(&nuts(adapted(MetricKind::Dense)), &mut target, &[0.0; 2], LENGTH);
    check(
        &draws,
        &normal_means(&[0.0; 2], &[vec![1.0, 0.999], vec![0.999, 1.0]]),
    );
    let steps = draws.iter().map(|draw| draw.stats[place("n_steps")]).sum::<f64>() / draws.len() as f64;
    assert!(steps < 8.0, "{steps} steps per draw");
}

/// Student's t distribution with 5 degrees of freedom has the variance 5/3. According to tables, `P(|t| < 2.015048) = 0.9`.
#[test]
fn moments_of_a_student_distribution_are_exact() {
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -6.0 * at[0] / (5.0 + at[0] * at[0]);
        -3.0 * (at[0] * at[0] / 5.0).ln_1p()
    });
    let draws = run(&nuts(adapted(MetricKind::Diagonal)), &mut target, &[1.0], LENGTH);
    let means = [
        Mean::new("mean", 0.0, |at| at[0]),
        Mean::new("middle", 0.9, |at| f64::from(u8::from(at[0].abs() < 2.015_048))),
        Mean::new("lower half", 0.5, |at| f64::from(u8::from(at[0] < 0.0))),
    ];
    check(&draws, &means);
}

/// Neal's funnel in its non-centred form: nine normal quantities are multiplied by `exp(v / 2)`, with `v ~ Normal(0, 3)`. The variance of
/// `v` is 9. The probability that `|x| < 1` is computed by quadrature over `v`.
#[test]
fn non_centred_funnel_has_its_known_moments() {
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -at[0] / 9.0;
        let mut log_density = -at[0] * at[0] / 18.0;
        for (slope, at) in gradient[1..].iter_mut().zip(&at[1..]) {
            *slope = -at;
            log_density -= 0.5 * at * at;
        }
        log_density
    });
    let draws = run(
        &nuts(adapted(MetricKind::Diagonal)),
        &mut target,
        &[0.5; 10],
        LENGTH,
    );
    let mut means = vec![
        Mean::new("mean of v", 0.0, |at| at[0]),
        Mean::new("variance of v", 9.0, |at| at[0] * at[0]),
    ];
    // The magnitude of x = exp(v / 2) z is below 1 exactly if the magnitude of z is below exp(-v / 2).
    let below = quadrature(|v| normal_within((-0.5 * v).exp()), 3.0);
    for i in 1..10 {
        means.push(Mean::new(format!("x {i} is near 0"), below, move |at| {
            f64::from(u8::from(((at[0] / 2.0).exp() * at[i]).abs() < 1.0))
        }));
    }
    check(&draws, &means);
    no_divergences(&draws);
}

/// Returns the mean of a function of a normal quantity, computed by the trapezoid rule over 12 standard deviations.
fn quadrature(of: impl Fn(f64) -> f64, deviation: f64) -> f64 {
    let nodes = 4000;
    let step = 24.0 / f64::from(nodes);
    (0..=nodes)
        .map(|node| -12.0 + step * f64::from(node))
        .map(|z| of(deviation * z) * (-0.5 * z * z).exp() * step / std::f64::consts::TAU.sqrt())
        .sum()
}

/// Returns `P(|z| < bound)` for a standard normal quantity `z`, computed by Simpson's rule.
fn normal_within(bound: f64) -> f64 {
    let bound = bound.min(10.0);
    let (nodes, density) = (200, |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt());
    let step = bound / f64::from(nodes);
    let sum: f64 = (0..=nodes)
        .map(|node| {
            let weight = if node == 0 || node == nodes {
                1.0
            } else {
                2.0 + 2.0 * f64::from(node % 2)
            };
            weight * density(step * f64::from(node))
        })
        .sum();
    2.0 * sum * step / 3.0
}

/// The eight-schools model in the non-centred parameterisation, with the data of Rubin (1981): `eta_j ~ Normal(0, 1)`,
/// `mu ~ Normal(0, 5)`, `tau ~ Cauchy(0, 5)` above 0, `y_j ~ Normal(mu + tau eta_j, s_j)`. The sampled quantities are `eta`, `mu` and
/// `log tau`.
fn eight_schools(at: &[f64], gradient: &mut [f64]) -> f64 {
    const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
    let (mu, tau) = (at[8], at[9].exp());
    let square = (tau / 5.0).powi(2);
    let mut log_density = -mu * mu / 50.0 - square.ln_1p() + at[9];
    gradient[8] = -mu / 25.0;
    gradient[9] = 1.0 - 2.0 * square / (1.0 + square);
    for j in 0..8 {
        let residual = (EFFECTS[j] - mu - tau * at[j]) / ERRORS[j];
        let slope = residual / ERRORS[j];
        log_density -= 0.5 * (at[j] * at[j] + residual * residual);
        gradient[j] = slope * tau - at[j];
        gradient[8] += slope;
        gradient[9] += slope * tau * at[j];
    }
    log_density
}

/// Reference values for each of `theta_1 .. theta_8`, `mu` and `tau`: the mean, its standard error, and the standard deviation. The
/// values are from the summary of the reference draws of `eight_schools-eight_schools_noncentered` in posteriordb.
const EIGHT_SCHOOLS: [[f64; 3]; 10] = [
    [6.150502293, 0.05615863419, 5.615863419],
    [4.939581141, 0.04645578114, 4.645578114],
    [3.90590609, 0.05408446177, 5.280711952],
    [4.796016751, 0.04770938024, 4.770938024],
    [3.614436325, 0.04632878541, 4.614720692],
    [4.051147579, 0.04849226766, 4.796248401],
    [6.317169759, 0.05002855395, 5.002855395],
    [4.883996944, 0.0542589026, 5.317692056],
    [4.410518337, 0.03309296477, 3.309296477],
    [3.602059524, 0.03200194774, 3.198477671],
];

fn eight_schools_means() -> Vec<Mean<'static>> {
    let value = |at: &[f64], i: usize| match i {
        8 => at[8],
        9 => at[9].exp(),
        _ => at[8] + at[9].exp() * at[i],
    };
    let mut means = Vec::new();
    for (i, [mean, error, deviation]) in EIGHT_SCHOOLS.into_iter().enumerate() {
        means.push(Mean {
            error,
            ..Mean::new(format!("mean {i}"), mean, move |at| value(at, i))
        });
        // The reference has about 10000 independent draws. Each fourth moment is below ten times the squared variance.
        means.push(Mean {
            error: deviation * deviation * 0.03,
            ..Mean::new(format!("variance {i}"), deviation * deviation, move |at| {
                (value(at, i) - mean).powi(2)
            })
        });
    }
    means
}

#[test]
fn eight_schools_agrees_with_the_published_draws() {
    let adaptation = Adaptation {
        target_acceptance: 0.95,
        ..adapted(MetricKind::Diagonal)
    };
    let draws = run(&nuts(adaptation), &mut Density(eight_schools), &[0.1; 10], LENGTH);
    check(&draws, &eight_schools_means());
    no_divergences(&draws);
}

/// If the Jacobian of `log tau` is omitted, the chain samples a different posterior, and the check detects the difference.
#[test]
fn missing_jacobian_is_detected() {
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        let log_density = eight_schools(at, gradient) - at[9];
        gradient[9] -= 1.0;
        log_density
    });
    let draws = run(
        &nuts(adapted(MetricKind::Diagonal)),
        &mut target,
        &[0.1; 10],
        LENGTH,
    );
    let (distance, name) = furthest(&draws, &eight_schools_means());
    assert!(distance > 10.0, "{name}: {distance}");
}

/// The target is a regression on an input far from zero, so that intercept and slope have a correlation of -0.99. The priors of
/// intercept, slope and `log sigma` are flat. Then `sigma^2` is `(n - 2) s^2` over a chi-square quantity with `n - 2` degrees of freedom,
/// and the coefficients have a Student-t distribution around the least-squares estimate (Gelman et al., Bayesian Data Analysis, section
/// 14.2).
#[test]
fn correlated_regression_agrees_with_its_closed_form() {
    let rows: Vec<[f64; 2]> = (0..60_u32)
        .map(|row| {
            let input = 70.0 + f64::from(row);
            [
                input,
                26.0 + 0.6 * input + 18.0 * f64::from(row * 37 % 60) / 30.0 - 18.0,
            ]
        })
        .collect();
    let count = rows.len() as f64;
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| rows.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|row| row[0]), mean(&|row| row[1]));
    let spread = count * mean(&|row| (row[0] - x).powi(2));
    let slope = count * mean(&|row| (row[0] - x) * (row[1] - y)) / spread;
    let intercept = y - slope * x;
    let squares = count * mean(&|row| (row[1] - intercept - slope * row[0]).powi(2));
    let variance = squares / (count - 4.0);
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        let precision = (-2.0 * at[2]).exp();
        let mut log_density = -count * at[2];
        gradient.copy_from_slice(&[0.0, 0.0, -count]);
        for [input, output] in &rows {
            let residual = output - at[0] - at[1] * input;
            log_density -= 0.5 * precision * residual * residual;
            gradient[0] += precision * residual;
            gradient[1] += precision * residual * input;
            gradient[2] += precision * residual * residual;
        }
        log_density
    });
    let means = [
        Mean::new("intercept", intercept, |at| at[0]),
        Mean::new("slope", slope, |at| at[1]),
        Mean::new("variance", variance, |at| (2.0 * at[2]).exp()),
        Mean::new("spread of the slope", variance / spread, |at| {
            (at[1] - slope).powi(2)
        }),
        Mean::new(
            "spread of the intercept",
            variance * (1.0 / count + x * x / spread),
            |at| (at[0] - intercept).powi(2),
        ),
        Mean::new("covariance", -variance * x / spread, |at| {
            (at[0] - intercept) * (at[1] - slope)
        }),
    ];
    for metric in METRICS.into_iter().skip(1) {
        let draws = run(&nuts(adapted(metric)), &mut target, &[0.0, 0.0, 1.0], LENGTH);
        check(&draws, &means);
        no_divergences(&draws);
    }
}
