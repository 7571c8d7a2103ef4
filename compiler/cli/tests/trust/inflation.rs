//! Tests the reported factor by which the standard deviations of coefficients are too small under `vi` with independent families.
//!
//! For two coefficients with the posterior precision `[[a, b], [b, c]]`, the factor is `1 / sqrt(1 - b^2 / (a c))`. The posterior precision is the
//! prior precision plus the products of the columns, divided by the variance of the noise.

use super::support::trial::Trial;

const ROWS: usize = 200;
const NOISE: f64 = 1.0;

/// Returns numbers with mean zero and variance one, which look random.
fn random(seed: usize) -> Vec<f64> {
    let of = |at: usize| ((at * 7 + seed * 1009 + 1) as f64 * 12.9898).sin().abs() * 43_758.545_3 % 1.0;
    let values: Vec<f64> = (0..ROWS)
        .map(|at| (0..4).map(|part| of(4 * at + part)).sum())
        .collect();
    let mean = values.iter().sum::<f64>() / ROWS as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / ROWS as f64;
    values
        .iter()
        .map(|value| (value - mean) / square.sqrt())
        .collect()
}

/// Returns two correlated columns.
fn columns() -> [Vec<f64>; 2] {
    let (a, e) = (random(1), random(2));
    let b = a.iter().zip(&e).map(|(a, e)| a + 0.04 * e).collect();
    [a, b]
}

/// Returns the factor for columns after subtracting their means, if both priors have this precision.
fn exact(noise: f64, prior: f64) -> f64 {
    let columns = columns().map(|column| {
        let mean = column.iter().sum::<f64>() / ROWS as f64;
        column.iter().map(|value| value - mean).collect::<Vec<f64>>()
    });
    let product = |i: usize, j: usize| -> f64 {
        let pairs = columns[i].iter().zip(&columns[j]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / noise.powi(2)
    };
    let [a, b, c] = [product(0, 0) + prior, product(0, 1), product(1, 1) + prior];
    (1.0 - b * b / (a * c)).powf(-0.5)
}

/// Returns the factor in the warning of a run, if there is a warning. `of` computes the target from a linear predictor with noise.
fn reported(prior: &str, likelihood: &str, centre: f64, noise: f64, of: fn(f64) -> f64) -> Option<f64> {
    let [a, b] = columns();
    let e = random(3);
    let row = |at: usize| {
        let target = of(centre + 0.2 * noise * (a[at] - b[at]) + noise * e[at]);
        format!("{},{},{target}\n", a[at], b[at])
    };
    let rows: String = (0..ROWS).map(row).collect();
    let kind = if likelihood.starts_with("Normal") {
        "real"
    } else {
        "positive"
    };
    let program = format!(
        "data d = csv(\"d.csv\")
        model M(a: real, b: real) -> y: {kind} {{
          p ~ {prior}
          q ~ {prior}
          c ~ Normal({centre}, 10)
          f = c + p * a + q * b
          y ~ {likelihood}
        }}
        posterior Q of M {{ p, q ~ Normal()\n c ~ Normal() }}
        infer fit = vi(Q, d) {{ steps = 20 }}"
    );
    let trial = Trial::new()
        .file("d.csv", format!("a,b,y\n{rows}"))
        .program(&program);
    let text = trial.bnnc("run", &[]).stderr;
    let (_, rest) = text.split_once("warning[E0674]")?;
    let (_, rest) = rest.split_once("is about ").expect("a factor");
    let (factor, _) = rest.split_once(" times").expect("a factor");
    Some(factor.parse().expect("a number"))
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a warning");
    // The variance of the noise is estimated from the rows, and the message has three digits.
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
}

/// The logarithm of a target around 1000 varies much less than the target.
#[test]
fn the_noise_of_a_normal_target_is_that_of_the_target_itself() {
    for centre in [0.0, 1000.0] {
        let found = reported("Normal(0, 1)", "Normal(f, 30)", centre, 30.0, |f| f);
        assert!(exact(30.0, 1.0) < 1.2);
        assert_eq!(found, None, "{centre}");
        let expected = exact(NOISE, 0.01);
        assert!(expected > 6.0);
        let found = reported("Normal(0, 10)", "Normal(f, 1)", centre, NOISE, |f| f);
        close(found, expected);
    }
}

/// Under a logarithmic link, the noise is that of the logarithm. The target itself has a standard deviation of about 100.
#[test]
fn the_noise_under_a_logarithmic_link_is_that_of_the_logarithm() {
    let expected = exact(0.1, 1.0);
    for likelihood in [
        "LogNormal(f, 0.1)",
        "Gamma(100, 100 / exp(f))",
        "Gamma(100, 100 * exp(-f))",
        "Normal(exp(f), 100)",
    ] {
        let found = reported("Normal(0, 1)", likelihood, 7.0, 0.1, f64::exp);
        close(found, expected);
    }
}

/// A prior that is not normal is treated as the normal distribution with the same variance. The variance of `StudentT(3, 0, 1)` is
/// `3 / (3 - 2)`, and that of `Laplace(0, 0.5)` is `2 * 0.5^2`. A prior without a variance is treated as flat.
#[test]
fn priors_that_are_not_normal_count_with_their_variances() {
    for (prior, variance) in [
        ("Normal(0, 0.5)", 0.25),
        ("Cauchy(0, 1)", f64::INFINITY),
        ("StudentT(3, 0, 1)", 3.0),
        ("Laplace(0, 0.5)", 0.5),
    ] {
        let expected = exact(NOISE, 1.0 / variance);
        assert!(expected > 3.3);
        close(reported(prior, "Normal(f, 1)", 0.0, NOISE, |f| f), expected);
    }
    assert!(exact(NOISE, 0.5 * 0.05_f64.powi(-2)) < 2.5);
    assert_eq!(
        reported("Laplace(0, 0.05)", "Normal(f, 1)", 0.0, NOISE, |f| f),
        None
    );
}
