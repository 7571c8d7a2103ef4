//! Tests distributions that a program declares, and the distributions of narrower types.

use super::{number, outcomes, trial};

/// Returns the mean and the standard deviation of a density on an interval, by the midpoint rule.
fn moments((low, high): (f64, f64), log_density: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |step: usize| low + (high - low) * (step as f64 + 0.5) / 4000.0;
    let points: Vec<f64> = (0..4000).map(at).collect();
    let highest = points
        .iter()
        .map(|x| log_density(*x))
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = points.iter().map(|x| (log_density(*x) - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean_of =
        |f: &dyn Fn(f64) -> f64| points.iter().zip(&weights).map(|(x, w)| f(*x) * w).sum::<f64>() / total;
    let mean = mean_of(&|x| x);
    (mean, mean_of(&|x| (x - mean).powi(2)).sqrt())
}

#[test]
fn a_dist_of_the_program_called_point_keeps_its_entropy() {
    let program = "data d = json(\"d.json\")

dist Point(loc: real, scale: positive) on real {
  log_density(x) = Normal(loc, scale).log_density(x)
  draw           = loc + scale * standard_normal()
  mean           = loc
  variance       = scale * scale
  entropy        = Normal(loc, scale).entropy
}

model M() -> y: real[n] {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}

posterior Q of M {
  mu ~ Point(scale = 0.1)
}

infer f = vi(Q, d) { epochs = 2000, optimiser = Adam(1e-2) }
";
    let result = trial(program).result(&[]);
    let exact = (1.0_f64 / (60.0 + 0.01)).sqrt();
    let found = number(&result, &["infer", "f", "parameters", "mu", "sd"]);
    // If the entropy were missing from the objective, the scale would shrink below 0.02.
    assert!((found / exact - 1.0).abs() < 0.2, "sd {found}, exact {exact}");
}

/// The prior is truncated far from the data, so that its normalisation matters. The distribution is
/// proper, whatever its name is. If it were treated as the library's `Flat`, its density would not
/// be normalised over the positive numbers. The location could then hardly fall below zero, and its
/// standard deviation would be 6.04 instead of 10.
#[test]
fn a_dist_of_the_program_called_flat_is_proper() {
    let program = "data d = csv(\"d.csv\") { inputs = [x], target = y }

dist Flat(loc: real, scale: positive) on real {
  log_density(x)  = Normal(loc, scale).log_density(x)
  log_cdf(x)      = Normal(loc, scale).log_cdf(x)
  log_survival(x) = Normal(loc, scale).log_survival(x)
}

model M(x: real) -> y: real {
  mu ~ Normal(0, 10)
  _w: positive ~ Flat(mu, 1)
  y ~ Normal(0 * x, 1)
}

infer f = random_walk(M, d) { draws = 20000, warmup = 2000, thin = 10, report = [mu] }
";
    let result = trial(program).result(&["--seed", "3"]);
    let found = |name: &str| number(&result, &["infer", "f", "parameters", "mu", name]);
    let ess = number(&result, &["infer", "f", "diagnostics", "ess_bulk"]);
    assert!(ess > 2000.0, "{ess}");
    // The standard error of a standard deviation is about `sd / sqrt(2 ess)`.
    let bound = 4.0 * 10.0 / (2.0 * ess).sqrt();
    assert!((found("sd") - 10.0).abs() < bound, "{}, ESS {ess}", found("sd"));
}

/// The posterior under a constant prior on the positive numbers is a truncated normal distribution.
/// The program declares no cumulative function, which a proper distribution would need here.
#[test]
fn a_dist_of_the_program_is_improper_where_it_says_so() {
    let program = "data d = json(\"d.json\")

dist Even() on real {
  improper       = true
  tails          = power(-1)
  log_density(x) = 0 * x
}

model M() -> y: real[n] {
  mu: positive ~ Even()
  y ~ Normal(mu, 20)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 2000 }
";
    let result = trial(program).result(&[]);
    let data = outcomes();
    let exact = moments((0.0, 30.0), |mu| {
        data.iter().map(|y| -0.5 * ((y - mu) / 20.0).powi(2)).sum()
    });
    let found = |name: &str| number(&result, &["infer", "f", "parameters", "mu", name]);
    let ess = number(&result, &["infer", "f", "diagnostics", "ess_bulk"]);
    assert!(ess > 400.0, "{ess}");
    let error = 5.0 * exact.1 / ess.sqrt();
    assert!(
        (found("mean") - exact.0).abs() < error,
        "{}, {exact:?}",
        found("mean")
    );
    assert!(
        (found("sd") - exact.1).abs() < error,
        "{}, {exact:?}",
        found("sd")
    );
    trial(&program.replace("  improper       = true\n", ""))
        .bnnc("run", &[])
        .assert_error("E0290", 1, &["`Even` has no `cdf`"]);
}

#[test]
fn a_point_needs_a_value_without_noise() {
    let noisy = "dist P(loc: real) on real {\n  point = true\n  draw  = loc + standard_normal()\n}\n";
    trial(noisy)
        .bnnc("check", &[])
        .assert_error("E0235", 1, &["cannot have `noise`"]);
    let dense = "dist P(loc: real) on real {\n  point          = true\n  log_density(x) = x - loc\n}\n";
    let output = trial(dense).bnnc("check", &[]);
    output.assert_error("E0235", 1, &["needs `draw`", "cannot have `log_density`"]);
}

#[test]
fn a_narrower_type_of_an_output_truncates_its_distribution() {
    let program = "data d = csv(\"d.csv\")

model M(x: real) -> y: positive {
  mu ~ Normal(0, 1)
  y ~ Normal(mu + 0 * x, 1)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 1000 }
";
    let result = trial(program).result(&[]);
    let data = outcomes();
    let exact = moments((-2.0, 3.0), |mu| {
        // `mass` is the probability of the positive reals under a normal distribution with mean
        // `mu`.
        let mass = 0.5 * bnnc_math::special::erfc(-mu / 2.0_f64.sqrt());
        let terms: f64 = data.iter().map(|y| -0.5 * (y - mu).powi(2) - mass.ln()).sum();
        terms - 0.5 * mu * mu
    });
    let (mean, sd) = (
        number(&result, &["infer", "f", "parameters", "mu", "mean"]),
        number(&result, &["infer", "f", "parameters", "mu", "sd"]),
    );
    // The effective sample size of the 2,000 draws is about 500. The bound is five standard errors.
    assert!(
        (mean - exact.0).abs() < 5.0 * exact.1 / 500.0_f64.sqrt(),
        "{mean}, exact {exact:?}"
    );
    assert!(
        (sd / exact.1 - 1.0).abs() < 5.0 / 1000.0_f64.sqrt(),
        "{sd}, exact {exact:?}"
    );
}

#[test]
fn branches_that_are_not_taken_do_not_reach_the_gradient() {
    let program = "data d = csv(\"d.csv\")

model M(x: real) -> y: real {
  p: unit ~ Beta(2, 2)
  y ~ Normal(if x > 0 { log(1 - p ^ x) } else { p }, 1)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 1000 }
";
    let data = outcomes();
    let exact = moments((0.0, 1.0), |p| {
        let terms = data.iter().enumerate().map(|(at, y)| {
            let mean = if at % 2 == 1 { (1.0 - p).ln() } else { p };
            -0.5 * (y - mean).powi(2)
        });
        terms.sum::<f64>() + p.ln() + (1.0 - p).ln()
    });
    for backend in ["cranelift", "reference"] {
        let result = trial(program).result(&["--backend", backend, "--precision", "f64"]);
        let mean = number(&result, &["infer", "f", "parameters", "p", "mean"]);
        let bound = 5.0 * exact.1 / 300.0_f64.sqrt();
        assert!(
            (mean - exact.0).abs() < bound,
            "{backend}: {mean}, exact {exact:?}"
        );
    }
}
