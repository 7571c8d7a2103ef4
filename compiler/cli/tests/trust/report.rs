//! Names, comparisons and everything else a report must show.

use crate::support::trial::Trial;
use serde_json::Value;

/// Thirty values of a normal distribution, to four digits.
const VALUES: [f64; 30] = [
    2.3047, 1.9600, 3.7505, 2.9406, 0.0490, 0.6978, 2.1278, 1.6838, 1.9832, 1.1470, 2.8794, 2.7778, 2.0660,
    3.1272, 2.4675, 1.1407, 2.3688, 1.0411, 2.8784, 1.9501, 1.8151, 1.3190, 3.2225, 1.8453, 1.5716, 1.6479,
    2.5323, 2.3654, 2.4127, 2.4308,
];

/// Exact leave-one-out log predictive density of `y ~ Normal(mu, 1)` with `mu ~ Normal(0, 10)`.
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

fn values() -> String {
    VALUES
        .iter()
        .fold("y\n".to_owned(), |text, value| text + &format!("{value}\n"))
}

const LOCATION: &str = "
data d = csv(\"d.csv\")

model M() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}

model Wide() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 3)
}

posterior Q of M {
  mu ~ Normal(2, 0.2)
}

posterior Fixed of M {
  mu ~ Point(2)
}
";

fn location(rest: &str) -> Trial {
    Trial::new()
        .file("d.csv", values())
        .program(&format!("{LOCATION}\n{rest}"))
}

fn line<'a>(result: &'a Value, infer: &str) -> &'a Value {
    let mut lines = result["compare"][0]["lines"].as_array().unwrap().iter();
    lines.find(|line| line["infer"] == infer).unwrap()
}

/// Chains, a variational approximation and a Laplace approximation of one conjugate model all come to its exact value.
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

#[test]
fn comparisons_name_the_rows_they_are_of() {
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
            "`rmse` is of one output, and its model has several",
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
fn other_observations_have_no_difference() {
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
