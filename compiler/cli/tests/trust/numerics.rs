//! Tests densities, truncation and KL divergences at the ends of their ranges.

use super::support::trial::Trial;
use serde_json::Value;

/// Rows that do not contain any information about the parameters.
const ROWS: &str = "x,y\n0,0.3\n1,-0.2\n2,0.1\n3,0.4\n";

/// Samples the parameters that `lines` declares in the model. Since the rows do not depend on them, they are sampled from their
/// priors.
fn sampled(lines: &str, inference: &str) -> Value {
    let trial = Trial::new().file("d.csv", ROWS).program(&format!(
        "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
{lines}
  y ~ Normal(0 * x, 1)
}}
infer fit = {inference}
"
    ));
    trial.result(&["--seed", "3"])["infer"]["fit"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A truncated site depends on the location, but the marginal distribution of the location must
/// remain its prior, `Normal(0, 10)`. With rounding in `1 - cdf(0)`, the location could not fall
/// below -8, and its standard deviation would be 6.04. The standard error of a standard deviation
/// is about `sd / sqrt(2 ess)`.
#[test]
fn a_truncated_site_does_not_change_the_prior_of_its_location() {
    let lines = "  mu ~ Normal(0, 10)\n  _w: positive ~ Normal(mu, 1)";
    let found = sampled(
        lines,
        "random_walk(M, d) { draws = 20000, warmup = 2000, thin = 10, report = [mu] }",
    );
    let (mu, ess) = (
        &found["parameters"]["mu"],
        number(&found["diagnostics"]["ess_bulk"]),
    );
    assert!(ess > 2000.0, "{ess}");
    let (mean, sd) = (number(&mu["mean"]), number(&mu["sd"]));
    assert!(
        (sd - 10.0).abs() < 4.0 * 10.0 / (2.0 * ess).sqrt(),
        "{mu}, ESS {ess}"
    );
    assert!(mean.abs() < 4.0 * 10.0 / ess.sqrt(), "{mu}, ESS {ess}");
}

/// If a prior is truncated far out in its tail, its samples have the right mean. The expected means
/// were computed by quadrature (mpmath). One of the priors is a truncated `StudentT`.
#[test]
fn priors_truncated_far_out_have_their_means() {
    let lines = "  _a: real(8, 9) ~ Normal(0, 1)
  _b: real(10, 12) ~ Exponential(0.2)
  _e: real(2, 3) ~ Gamma(2, 1)
  _t: real(2, 5) ~ StudentT(3, 0, 1)";
    let found = sampled(lines, "nuts(M, d) { draws = 1000, warmup = 500 }");
    let ess = number(&found["diagnostics"]["ess_bulk"]);
    assert!(ess > 400.0, "{ess}");
    for (name, mean) in [
        ("_a", 8.121_188_939_988_4),
        ("_b", 10.199_909_370_604_5),
        ("_e", 2.450_829_596_534_6),
        ("_t", 2.859_804_905_878_87),
    ] {
        let found = &found["parameters"][name];
        let error = number(&found["sd"]) / ess.sqrt();
        assert!(
            (number(&found["mean"]) - mean).abs() < 5.0 * error,
            "{name}: {found}, not {mean}"
        );
    }
}

/// A bijection maps a family on the reals to the positive numbers, so that the probability of
/// values below zero is zero. The exact posterior of an exponential rate under `Exponential(1)`
/// with observations 1 and 2 is `Gamma(3, 1 / 4)`, with the mean 0.75.
#[test]
fn families_on_the_reals_are_transformed_to_positive_parameters() {
    let trial = Trial::new().file("d.csv", "t\n1\n2\n").program(
        "data d = csv(\"d.csv\") { target = t }
model M() -> t: positive {
  rate: positive ~ Exponential(1)
  t ~ Exponential(1 / rate)
}
posterior Q of M {
  rate ~ Normal(loc = 0, scale = 0.5)
}
infer fit = vi(Q, d) { steps = 2000, samples = 8 }
",
    );
    let rate = trial.result(&["--seed", "3"])["infer"]["fit"]["parameters"]["rate"].clone();
    let (mean, low) = (number(&rate["mean"]), number(&rate["q05"]));
    assert!((mean - 0.75).abs() < 0.08 && low > 0.0, "{rate}");
}

/// `bnnc` can prove that the KL divergence is finite only if the distribution declares its tails.
#[test]
fn a_kl_is_finite_if_the_distribution_declares_its_tails() {
    let run = |tails: &str| {
        Trial::new()
            .file("d.csv", ROWS)
            .program(&format!(
                "data d = csv(\"d.csv\") {{ target = y }}
dist Peak(loc: real, scale: positive) on real {{
  log_density(x) = -abs(x - loc) / scale - log(2 * scale)
{tails}}}
model M(x: real) -> y: real {{
  b ~ Peak(0, 1)
  y ~ Normal(b * x, 1)
}}
posterior Q of M {{
  b ~ Logistic(loc = 0, scale = 2)
}}
infer fit = vi(Q, d) {{ steps = 50 }}
"
            ))
            .bnnc("run", &[])
    };
    let silent = run("");
    assert_eq!(silent.status, 0, "{silent:?}");
    for text in [
        "E0286",
        "the prior of `b` is not known to be finite",
        "`Peak` does not declare",
    ] {
        assert!(silent.stderr.contains(text), "{}", silent.stderr);
    }
    let known = run("  tails = exponential(1 / scale, 1)\n");
    assert!(known.status == 0 && !known.stderr.contains("E0286"), "{known:?}");
    run("  high_tail = double_exponential(1)\n  low_tail = exponential(1, 1)\n").assert_error(
        "E0302",
        1,
        &["falls like an exponential, whose mean under `Logistic` does not exist"],
    );
}

/// The output is a standard normal variable above zero. The output has the mean `sqrt(2 / pi)`, the
/// standard deviation `sqrt(1 - 2 / pi)` and the median 0.67449. The standard error of the median
/// of 4,000 draws is `1 / (2 p sqrt(4000))`, where `p` = 0.6355 is the density at the median.
#[test]
fn truncated_outputs_have_predictions() {
    let trial = Trial::new()
        .file("d.csv", "x,t\n0,0.3\n1,1.2\n2,0.1\n3,0.4\n")
        .program(
            "data d = csv(\"d.csv\") { target = t }
model M(x: real) -> t: positive {
  a ~ Normal(0, 1)
  t ~ Normal(0 * a * x, 1)
}
infer fit = map(M, d) { steps = 5, predictive_draws = 4000 }
",
        );
    let out = trial.path("run").display().to_string();
    let result = trial.result(&["--out", &out]);
    assert!(number(&result["infer"]["fit"]["metrics"]["crps"]).is_finite());
    let table = std::fs::read_to_string(trial.path("run/predictions.csv")).expect("predictions are written");
    assert!(table.starts_with("row,t,mean,sd,q05,q50,q95"), "{table}");
    let second = table.lines().nth(1).unwrap_or_default();
    let values: Vec<f64> = second.split(',').filter_map(|cell| cell.parse().ok()).collect();
    let (mean, sd, median) = (values[2], values[3], values[5]);
    let exact = (2.0 / std::f64::consts::PI).sqrt();
    assert!((mean - exact).abs() < 1e-5, "{second}");
    assert!(
        (sd - (1.0 - exact * exact).sqrt()).abs() < 5.0 * 0.6 / 8000f64.sqrt(),
        "{second}"
    );
    assert!(
        (median - 0.67449).abs() < 5.0 / (2.0 * 0.6355 * 4000f64.sqrt()),
        "{second}"
    );
}

/// The results for counts include intervals, the CRPS and the coverage. The test reads them from
/// the metrics, from `predictions.csv` and from the store of draws.
#[test]
fn counts_have_intervals_and_scores() {
    let counts = [0, 3, 1, 2, 4, 7, 2, 1];
    let rows: Vec<String> = (0..40)
        .map(|at| format!("{},{}\n", at % 5, counts[at % 8]))
        .collect();
    for likelihood in [
        "Poisson(a + 0 * x)",
        "NegativeBinomial(a + 0 * x, 4)",
        "Binomial(9, a + 0 * x)",
    ] {
        let trial = Trial::new()
            .file("c.csv", format!("x,n\n{}", rows.concat()))
            .program(&format!(
                "data d = csv(\"c.csv\") {{ target = n, test = fraction(0.25) }}
model M(x: real) -> n: count {{
  a ~ Normal(0, 1)
  n ~ {likelihood}
}}
infer fit = nuts(M, d) {{ draws = 200, warmup = 200 }}
"
            ));
        let out = trial.path("run").display().to_string();
        let result = trial.result(&["--out", &out]);
        let metrics = &result["infer"]["fit"]["metrics"];
        for name in ["crps", "coverage_90", "sd"] {
            assert!(
                number(&metrics[name]).is_finite(),
                "{name} of {likelihood}: {metrics}"
            );
        }
        let table =
            std::fs::read_to_string(trial.path("run/predictions.csv")).expect("predictions are written");
        assert!(table.starts_with("row,n,mean,sd,q05,q50,q95"), "{table}");
        assert!(trial.path("run/posterior.zarr/posterior_predictive/n").exists());
    }
}

/// Returns the posterior mean of `sigma ~ Uniform(0, high)` under `mu ~ Normal(0, 10)` and `y ~ Normal(mu, sigma)`, by quadrature.
fn mean_below(high: f64, y: &[f64]) -> f64 {
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n;
    let squares: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let (mut mass, mut moment) = (0.0, 0.0);
    for at in 0..4000 {
        let sigma = (f64::from(at) + 0.5) / 4000.0 * high;
        // Given `sigma`, the mean of the rows is normal with the variance `variance`.
        let variance = 100.0 + sigma * sigma / n;
        let log_density = -(n - 1.0) * sigma.ln()
            - 0.5 * (squares / (sigma * sigma) + variance.ln() + mean * mean / variance);
        mass += log_density.exp();
        moment += log_density.exp() * sigma;
    }
    moment / mass
}

/// The prior's ends bound a parameter without a declared type. A bijection enforces these bounds,
/// so samplers and optimisers do not encounter a boundary.
#[test]
fn a_prior_with_ends_bounds_the_parameter() {
    let y = [9.0, -7.0, 12.0, -11.0, 3.0];
    let rows: String = y.iter().map(|y| format!("{y}\n")).collect();
    let model = |infer: &str| {
        Trial::new().file("d.csv", format!("y\n{rows}")).program(&format!(
            "data d = csv(\"d.csv\")
             model M() -> y: real {{
               mu ~ Normal(0, 10)
               sigma ~ Uniform(0, 10)
               y ~ Normal(mu, sigma)
             }}
             infer fit = {infer}"
        ))
    };
    let chains = model("nuts(M, d) { draws = 2000, target_acceptance = 0.95 }");
    let (output, found) = chains.run(&[]);
    assert!(!output.stderr.contains("E0520"), "{}", output.stderr);
    let sigma = &found["infer"]["fit"]["parameters"]["sigma"];
    let (found, exact) = (sigma["mean"].as_f64().expect("a mean"), mean_below(10.0, &y));
    // The posterior standard deviation is 1.2 and the effective sample size is above 1000, so the
    // bound is about four standard errors.
    assert!((found - exact).abs() < 0.15, "{found} {exact}");
    // An optimiser cannot step outside the bounds, because the density is zero there.
    let output = model("map(M, d)").bnnc("run", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// The log density of the row is minus half the square of 1.2e29. It overflows single precision (at
/// most 3.4e38).
#[test]
fn a_row_that_overflows_is_named() {
    let rows: String = (0..30)
        .map(|i| format!("{i},{}\n", if i == 7 { 1.2e29 } else { 2.0 * f64::from(i) }))
        .collect();
    let program = r#"
data rows = csv("rows.csv") { target = y }
model Line(x: real) -> y: real {
  a ~ Normal(0, 10)
  b ~ Normal(0, 10)
  y ~ Normal(a + b * x, 1)
}
infer fit = map(Line, rows)
"#;
    let trial = Trial::new()
        .file("rows.csv", format!("x,y\n{rows}"))
        .program(program);
    trial.bnnc("run", &[]).assert_error(
        "E0501",
        1,
        &["1 of 30 rows", "row 9 of", "rows.csv", "`y` is 120000000000000"],
    );
}

/// The prior is flat compared with the data, and the noise is 1. The posterior of a normal mean is
/// then centred at the mean of the n observations, with the standard deviation `1 / sqrt(n)`. If a statement outside a `for`
/// observes one element of a series, the other elements must not be treated as observed.
#[test]
fn an_element_of_a_series_is_observed_alone() {
    let fit = |lines: &str| {
        let trial = Trial::new().file("d.csv", "y\n1\n2\n3\n4\n").program(&format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M() -> y: real[n] {{
  b ~ Normal(0, 1000)
{lines}
}}
infer fit = nuts(M, d)
"
        ));
        let b = trial.result(&["--seed", "1"])["infer"]["fit"]["parameters"]["b"].clone();
        [number(&b["mean"]), number(&b["sd"])]
    };
    // The effective sample size of the 4000 draws is about 1700. The standard error of the mean is
    // therefore 0.025 posterior standard deviations, and the standard error of the standard
    // deviation is 0.018. The bounds are five standard errors.
    for (lines, mean, sd) in [
        ("  y[3] ~ Normal(b, 1)", 4.0, 1.0),
        ("  y[0] ~ Normal(b, 1)\n  y[1] ~ Normal(b, 1)", 1.5, 0.5f64.sqrt()),
        (
            "  y[0] ~ Normal(b, 1)\n  for t in 1..n { y[t] ~ Normal(y[t - 1], 1) }",
            1.0,
            1.0,
        ),
    ] {
        let found = fit(lines);
        assert!((found[0] - mean).abs() < 0.125 * sd, "{lines}: {found:?}");
        assert!((found[1] / sd - 1.0).abs() < 0.09, "{lines}: {found:?}");
    }
    let beyond = Trial::new()
        .file("d.csv", "y\n1\n2\n")
        .program(
            "data d = csv(\"d.csv\") { target = y }
model M() -> y: real[n] {
  b ~ Normal(0, 1)
  y[2] ~ Normal(b, 1)
}
infer fit = nuts(M, d)
",
        )
        .bnnc("run", &[]);
    assert_eq!(beyond.status, 1, "{}", beyond.stderr);
    assert!(
        beyond.stderr.contains("2..3 is outside an axis of 2"),
        "{}",
        beyond.stderr
    );
}

/// Integers in a program have 32 bits, but arithmetic on integers of a column must not wrap around.
/// For example, with wrapping, `k * k` would be 1410065408 for `k = 100000`. The expected numbers
/// are computed by exact arithmetic and rounded to single precision.
#[test]
fn arithmetic_on_integers_of_a_column_does_not_overflow() {
    type Exact = fn(f64, f64) -> f64;
    let cases: [(&str, Exact); 9] = [
        ("k * k", |k, _| k * k),
        ("k + j", |k, j| k + j),
        ("k * j - k", |k, j| k * j - k),
        ("k + 3000000000", |k, _| k + 3e9),
        ("(-k - 2000000000) / 7", |k, _| (-k - 2e9) / 7.0),
        ("2 * 3000000000 * k", |k, _| 6e9 * k),
        ("max(k, 3000000000)", |_, _| 3e9),
        // The bounds of integers also propagate through `max` and `if`.
        (
            "max(k, 0) + 147000000 + (max(j + 100000000, 0) + 100000000)",
            |k, j| k.max(0.0) + (j + 1e8).max(0.0) + 2.47e8,
        ),
        ("(if k > 5 { j + 140000000 } else { j }) + 140000000", |k, j| {
            j + 1.4e8 + if k > 5.0 { 1.4e8 } else { 0.0 }
        }),
    ];
    let rows = [(100_000.0, 2e9), (200_000.0, 1.5e9), (3.0, -4.0), (-2e9, 1.0)];
    let file: String = rows.iter().map(|(k, j)| format!("{k},{j},0.5\n")).collect();
    for (expression, exact) in cases {
        let program = format!(
            "data d = csv(\"d.csv\") {{ inputs = [k, j], target = y }}
model M(k: int, j: int) -> y: real {{
  b ~ Normal(0, 1)
  y ~ Normal({expression} + 0.0 * b * j, 1)
}}
infer fit = map(M, d) {{ steps = 1 }}
"
        );
        let trial = Trial::new()
            .file("d.csv", format!("k,j,y\n{file}"))
            .program(&program);
        let folder = trial.path("out");
        let output = trial.bnnc("run", &["--out", folder.to_str().unwrap()]);
        assert_eq!(output.status, 0, "{expression}: {}", output.stderr);
        let table = std::fs::read_to_string(folder.join("predictions.csv")).unwrap();
        let means = table.lines().skip(1).map(|line| line.split(',').nth(2).unwrap());
        let means: Vec<f64> = means.map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(means.len(), rows.len(), "{table}");
        for (mean, (k, j)) in means.iter().zip(rows) {
            let expected = exact(k, j);
            let scale = expected.abs().max(k.abs()).max(j.abs());
            assert!(
                (mean - expected).abs() <= 1e-6 * scale,
                "{expression} at {k}, {j}: {mean}"
            );
        }
    }
}
