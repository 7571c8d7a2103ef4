//! Compares the estimates of the programs with known values.

use crate::{program_of, results, table};
use serde_json::Value;

/// The negative binomial counts are Poisson counts whose mean is multiplied by a gamma variable with
/// shape 40.
#[test]
fn a_large_dispersion_is_recovered() {
    let text = table("x,y", 400, |_, random| {
        let x = random.normal();
        let factor = (0..40).map(|_| -random.uniform().ln()).sum::<f64>() / 40.0;
        format!("{x:.4},{}", random.poisson(60.0 * (0.3 * x).exp() * factor))
    });
    let fit = results(&text);
    assert_near(&fit, "dispersion", 40.0, 8.0);
    assert_near(&fit, "beta", 0.3, 0.05);
}

/// The prior of the intercept covers the data, even if the spread of the data is small compared
/// with their size.
#[test]
fn the_prior_of_the_intercept_covers_the_data() {
    // The outputs are far from one, and the largest output is about twice the smallest output.
    let text = table("x,y", 80, |at, _| {
        let share = (at as f64 + 0.5) / 80.0;
        format!("{share:.3},{:.4}", 1e6 * (-(1.0 - share).ln()).exp().powf(0.3))
    });
    let (program, _) = program_of(&text, &[]);
    let prior = program
        .lines()
        .find(|line| line.trim().starts_with("alpha ~ Normal("))
        .unwrap();
    let numbers: Vec<f64> = prior
        .split(['(', ',', ')'])
        .filter_map(|part| part.trim().parse().ok())
        .collect();
    let logs = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap().ln());
    let mean = logs.sum::<f64>() / 80.0;
    assert!(
        (numbers[0] - mean).abs() <= 0.1 * numbers[1],
        "{prior}, mean {mean}"
    );
}

/// Checks that the posterior mean of a parameter is within four posterior standard deviations of
/// `truth`, and that the posterior standard deviation is below `most`.
#[track_caller]
fn assert_near(fit: &Value, name: &str, truth: f64, most: f64) {
    let number = |part: &Value| part.as_f64().or_else(|| part[0].as_f64()).unwrap();
    let parameter = &fit["parameters"][name];
    let (mean, sd) = (number(&parameter["mean"]), number(&parameter["sd"]));
    assert!(
        (mean - truth).abs() < 4.0 * sd && sd < most,
        "{name}: {mean} ± {sd}, not {truth}"
    );
}

#[test]
fn a_line_has_the_coefficient_of_least_squares() {
    // If a table has fewer than 40 rows, all of them are training rows. For standardised data, the
    // least-squares slope is the correlation.
    let mut points = Vec::new();
    let text = table("x,y", 36, |_, random| {
        let x = random.normal();
        let y = 3.0 + 2.0 * x + random.normal();
        points.push((x, y));
        format!("{x},{y}")
    });
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(&|p| p.0), mean(&|p| p.1));
    let cross = mean(&|p| (p.0 - mx) * (p.1 - my));
    let correlation = cross / (mean(&|p| (p.0 - mx).powi(2)) * mean(&|p| (p.1 - my).powi(2))).sqrt();
    let fit = results(&text);
    let slope = fit["parameters"]["beta"]["mean"][0].as_f64().unwrap();
    // In this test, the prior `Normal(0, 1)` shrinks the slope by less than 2 %.
    assert!((slope - correlation).abs() < 0.02, "{slope}, not {correlation}");
}

#[test]
fn generalised_linear_models_recover_the_simulated_coefficients() {
    // `x` is standard normal, so its coefficient hardly changes when it is standardised.
    let logistic = table("x,y", 400, |_, random| {
        let x = random.normal();
        let p = 1.0 / (1.0 + (-0.5 - 1.5 * x).exp());
        format!("{x:.4},{}", i64::from(random.uniform() < p))
    });
    assert_near(&results(&logistic), "beta", 1.5, 0.3);
    let counts = table("x,y", 400, |_, random| {
        let x = random.normal();
        format!("{x:.4},{}", random.poisson((0.7 + 0.3 * x).exp()))
    });
    assert_near(&results(&counts), "beta", 0.3, 0.1);
    let prices = table("x,y", 400, |_, random| {
        let x = random.normal();
        format!("{x:.4},{:.5}", (1.0 + 0.6 * x + 0.7 * random.normal()).exp())
    });
    let fit = results(&prices);
    assert_near(&fit, "beta", 0.6, 0.1);
    assert_near(&fit, "sigma", 0.7, 0.1);
}

#[test]
fn effects_of_groups_are_differences_of_their_means() {
    let text = table("make,price", 39, |at, random| {
        let (make, mean) = [("a", 0.0), ("b", 4.0), ("c", 8.0)][at % 3];
        format!("{make},{}", mean + random.normal())
    });
    let values: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line[2..].parse().unwrap())
        .collect();
    let mean = |from: usize| values.iter().skip(from).step_by(3).sum::<f64>() / 13.0;
    let all = values.iter().sum::<f64>() / 39.0;
    let sd = (values.iter().map(|y| (y - all).powi(2)).sum::<f64>() / 39.0).sqrt();
    let fit = results(&text);
    let effects = &fit["parameters"]["effect_make"]["mean"];
    let difference = effects[2].as_f64().unwrap() - effects[0].as_f64().unwrap();
    let expected = (mean(2) - mean(0)) / sd;
    assert!(
        (difference - expected).abs() < 0.05,
        "{difference}, not {expected}"
    );
}

#[test]
fn classes_far_apart_are_told_apart() {
    let text = table("u,v,kind", 120, |at, random| {
        let (name, u, v) = [("a", 0.0, 0.0), ("b", 6.0, 0.0), ("c", 0.0, 6.0)][at % 3];
        format!("{:.3},{:.3},{name}", u + random.normal(), v + random.normal())
    });
    let accuracy = results(&text)["metrics"]["accuracy"].as_f64();
    assert!(accuracy.unwrap() > 0.95, "{accuracy:?}");
}
