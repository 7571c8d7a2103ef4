//! Tests comparisons of inference blocks, and their metrics.

use super::{LOCATION, VALUES, line, location, values};
use crate::support::trial::Trial;
use serde_json::Value;

/// Returns the exact leave-one-out log predictive density of `y ~ Normal(mu, 1)` with `mu ~ Normal(0, 10)`.
fn exact_elpd() -> f64 {
    let sum: f64 = VALUES.iter().sum();
    let others = (VALUES.len() - 1) as f64;
    let variance = 1.0 / (0.01 + others);
    let density = |y: &f64| {
        let mean = variance * (sum - y);
        let spread = 1.0 + variance;
        -0.5 * ((y - mean).powi(2) / spread + (std::f64::consts::TAU * spread).ln())
    };
    VALUES.iter().map(density).sum()
}

/// For a conjugate model, chains, a variational approximation and a Laplace approximation all agree
/// with the exact leave-one-out density.
#[test]
fn comparisons_without_test_rows_leave_each_row_out() {
    let trial = location(
        "infer chains = nuts(M, d) { chains = 2, draws = 1000 }
infer wide = nuts(Wide, d) { chains = 2, draws = 1000 }
infer approximation = vi(Q, d) { epochs = 800, optimiser = Adam(0.02), schedule = cosine }
infer gaussian = laplace(M, d) { epochs = 400, optimiser = Adam(0.05) }
compare chains, wide, approximation, gaussian by rmse",
    );
    let result = trial.result(&[]);
    let exact = exact_elpd();
    for infer in ["chains", "approximation", "gaussian"] {
        let found = line(&result, infer)["elpd_loo"].as_f64().unwrap();
        // The Monte Carlo error of 1000 draws is about 0.03.
        assert!(
            (found - exact).abs() < 0.15,
            "{infer}: {found} instead of {exact}"
        );
        assert_eq!(line(&result, infer)["metrics_on"], "train");
    }
    let lines = result["compare"][0]["lines"].as_array().unwrap();
    assert_eq!(lines[3]["infer"], "wide");
    assert_eq!(
        (&lines[0]["difference"], &lines[0]["difference_se"]),
        (&0.0.into(), &0.0.into())
    );
    let difference = lines[3]["difference"].as_f64().unwrap();
    let elpd = |line: &Value| line["elpd_loo"].as_f64().unwrap();
    assert!((difference - (elpd(&lines[3]) - elpd(&lines[0]))).abs() < 1e-9);
    assert!(lines[3]["difference_se"].as_f64().unwrap() > 1.0);
}

/// A noise level that is fixed at the maximum was also fitted to the left-out row. Chains
/// integrate over the noise level, so their estimate is about one nat lower.
#[test]
fn parameters_that_are_held_at_the_maximum_are_reported_beside_elpd() {
    let rows: String = (0..30)
        .map(|i| {
            format!(
                "{},{}\n",
                f64::from(i) / 15.0,
                f64::from(i + 3 * (i * 7 % 11)) / 15.0
            )
        })
        .collect();
    let trial = Trial::new().file("d.csv", format!("x,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model Noise(x: real) -> y: real {
  b ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(5)
  y ~ Normal(b * x, sigma)
}
posterior Half of Noise {
  b ~ Normal(2, 0.2)
  sigma ~ Point(1)
}
infer chains = nuts(Noise, d) { chains = 2, draws = 2000 }
infer gaussian = laplace(Noise, d) { steps = 2000 }
infer half = vi(Half, d) { steps = 8000 }
compare chains, gaussian, half by elpd_loo",
    );
    let (output, result) = trial.run(&[]);
    for infer in ["gaussian", "half"] {
        let text = format!("`elpd_loo` of `{infer}` is too high: every draw has the value of `sigma`");
        output.assert_warning("E0571", &[&text, "so the total is too high by at most about 1"]);
    }
    assert_eq!(output.stderr.matches("warning[").count(), 2, "{}", output.stderr);
    let elpd = |infer: &str| line(&result, infer)["elpd_loo"].as_f64().unwrap();
    for infer in ["gaussian", "half"] {
        let excess = elpd(infer) - elpd("chains");
        assert!((0.3..2.0).contains(&excess), "{infer}: {excess}");
    }
}

#[test]
fn draws_without_spread_are_reported_beside_elpd() {
    let trial = location(
        "infer still = swag(M, d) { steps = 2000, batch = 0 }
infer gaussian = laplace(M, d) { steps = 2000 }
compare still, gaussian by elpd_loo",
    );
    let output = trial.bnnc("run", &[]);
    output.assert_warning(
        "E0572",
        &[
            "`elpd_loo` of `still` treats the posterior as a single point",
            "of 1",
        ],
    );
    assert_eq!(output.stderr.matches("E0572").count(), 1, "{}", output.stderr);
    assert!(!output.stderr.contains("E0571"), "{}", output.stderr);
}

/// The bound on the effective number of parameters is relative to the number of parameters that the
/// rows inform. The model has 40 means with four rows each. The variance of their prior is a
/// hundred times the variance of the noise, so the effective number of parameters is about 40. With
/// 1/50 of the posterior variances, a Gaussian has an effective number of parameters of about 0.8.
/// This would be enough for one parameter but is too low for 40.
#[test]
fn spread_is_compared_to_the_number_of_informed_parameters() {
    let scattered = |at: i32| ((f64::from(at) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0);
    let row = |i: i32| {
        let noise: f64 = (1..4).map(|k| scattered(i * 7 + k) - 0.5).sum();
        format!("k{},{:.3}\n", i / 4, f64::from(3 * (i / 4 % 7)) + 2.0 * noise)
    };
    let rows: String = (0..160).map(row).collect();
    let trial = Trial::new().file("d.csv", format!("g,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model Means(g: index(J)) -> y: real {
  theta: real[J] ~ Normal(0, 10)
  y ~ Normal(theta[g], 1)
}
infer best = map(Means, d)
infer exact = laplace(Means, d) { start = best }
infer narrow = laplace(Means, d) { start = best, temperature = 0.02 }
compare exact, narrow by elpd_loo",
    );
    let (output, result) = trial.run(&[]);
    output.assert_warning(
        "E0572",
        &["`elpd_loo` of `narrow`", "about 40 parameters have posteriors"],
    );
    assert_eq!(output.stderr.matches("E0572").count(), 1, "{}", output.stderr);
    let p = |infer: &str| line(&result, infer)["p_loo"].as_f64().unwrap();
    assert!((0.05..2.0).contains(&p("narrow")), "{}", p("narrow"));
    assert!((20.0..50.0).contains(&p("exact")), "{}", p("exact"));
}

#[test]
fn comparisons_name_their_rows() {
    let untested = location("infer chains = nuts(M, d) { chains = 1, draws = 200 }\ncompare chains by rmse");
    let output = untested.bnnc("run", &[]);
    for text in ["elpd_loo", "difference", "train rmse", "each of 30 training rows"] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
    let tested = Trial::new().file("d.csv", values()).program(
        &(LOCATION.replace("csv(\"d.csv\")", "csv(\"d.csv\") { test = fraction(0.2) }")
            + "infer chains = nuts(M, d) { chains = 1, draws = 200 }\ncompare chains by rmse, time"),
    );
    let output = tested.bnnc("run", &[]);
    assert!(
        output.stdout.contains("test rmse") && !output.stdout.contains("difference"),
        "{}",
        output.stdout
    );
}

#[test]
fn metrics_that_do_not_apply_are_rejected_at_their_span() {
    let run = |rest: &str| location(rest).bnnc("run", &[]);
    run("infer fit = map(M, d)\ncompare fit by accuracy").assert_error(
        "E0566",
        1,
        &[
            "`accuracy` does not apply to `fit`",
            "`y` is a number, not a class",
            "program.bnn:",
            "`rmse`",
        ],
    );
    run("infer fit = map(M, d)\ncompare fit by elpd_loo").assert_error(
        "E0566",
        1,
        &["`elpd_loo` does not apply to `fit`", "`map` finds one point"],
    );
    run("infer fit = nuts(M, d) { loo = never }\ncompare fit by elpd_loo").assert_error(
        "E0566",
        1,
        &["`loo = never` turns it off"],
    );
    let several = Trial::new()
        .file("d.csv", "a,b\n1,2\n2,1\n0,3\n")
        .program(
            "data d = csv(\"d.csv\")\nmodel M() -> a: real, b: real {\n  mu ~ Normal(0, 1)\n  a ~ Normal(mu, 1)\n  b ~ Normal(mu, 1)\n}
infer fit = map(M, d)\ncompare fit by rmse",
        );
    several.bnnc("run", &[]).assert_error(
        "E0566",
        1,
        &[
            "`rmse` is a metric of one output, but the model has several",
            "`a.rmse`, `b.rmse`",
        ],
    );
}

#[test]
fn metrics_that_were_not_computed_are_named() {
    let trial = location("infer fit = vi(Fixed, d)\ncompare fit by elpd_loo");
    trial
        .bnnc("run", &[])
        .assert_warning("E0567", &["`elpd_loo` of `fit` was not computed"]);
}

#[test]
fn comparisons_of_different_outputs_have_no_difference() {
    let program = "data d = csv(\"d.csv\") { target = y }\ndata e = csv(\"d.csv\") { target = z }
model M() -> y: real {\n  mu ~ Normal(0, 1)\n  y ~ Normal(mu, 1)\n}
model N() -> z: real {\n  mu ~ Normal(0, 1)\n  z ~ Normal(mu, 1)\n}
infer one = nuts(M, d) { chains = 1, draws = 200 }\ninfer two = nuts(N, e) { chains = 1, draws = 200 }\ncompare one, two by elpd_loo";
    let trial = Trial::new()
        .file("d.csv", "y,z\n1,2\n2,1\n0,3\n1,1\n")
        .program(program);
    trial
        .bnnc("run", &[])
        .assert_warning("E0568", &["`two` and `one` observed different values"]);
}
