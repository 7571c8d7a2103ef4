//! Tests expressions of columns that feed inputs.

use super::mean;
use crate::support::trial::Trial;
use std::fmt::Write as _;

/// Options of chains that are long enough to compare equivalent programs, and short enough for a
/// test.
const SHORT: &str = "{ chains = 2, warmup = 60, draws = 40 }";

/// Returns a table of forty rows with the columns `x, age, exposure, claims`. `write` computes the
/// age and the exposure that the file contains.
fn claims(write: impl Fn(f64, f64) -> (f64, f64)) -> String {
    let mut text = "x,age,exposure,claims\n".to_owned();
    for row in 0..40 {
        let (age, exposure) = write(f64::from(20 + row), f64::from(1 + row % 5));
        let (x, claims) = (f64::from(row % 7) / 2.0, row % 4);
        let _ = writeln!(text, "{x:?},{age:?},{exposure:?},{claims}");
    }
    text
}

const CLAIMS: &str = "model Claims(x: real, age: real, exposure: real) -> claims: count {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  c ~ Normal(0, 1)
  claims ~ Poisson(a + b * x + c * age + exposure)
}
";

fn claims_program(inputs: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ inputs = [{inputs}], target = claims }}\n{CLAIMS}infer fit = nuts(Claims, d) {}\n",
        SHORT
    )
}

#[test]
fn expressions_of_inputs_feed_the_inputs_of_their_columns() {
    let (mean, sd) = (39.5, (1599.0_f64 / 12.0).sqrt());
    let raw = |age: f64, exposure: f64| (age, exposure);
    let computed = |age: f64, exposure: f64| ((age - mean) / sd, exposure.ln());
    let by_entries = Trial::new()
        .file("d.csv", claims(raw))
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let by_hand = Trial::new()
        .file("d.csv", claims(computed))
        .program(&claims_program("x, age, exposure"));
    let named = Trial::new()
        .file("d.csv", claims(raw))
        .program(&claims_program("x, exposure = log(exposure), age = zscore(age)"));
    let expected = by_hand.result(&[]);
    for trial in [by_entries, named] {
        let found = trial.result(&[]);
        for name in ["a", "b", "c"] {
            let (found, expected) = (self::mean(&found, name), self::mean(&expected, name));
            assert!(
                (found - expected).abs() < 1e-6,
                "{name}: {found}, by hand {expected}"
            );
        }
    }
}

#[test]
fn saved_runs_predict_with_the_same_expressions() {
    let trial = Trial::new()
        .file("d.csv", claims(|age, exposure| (age, exposure)))
        .file("new.csv", "x,age,exposure\n1,39.5,1\n1,39.5,2\n")
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let out = trial.path("out");
    let out = out.to_string_lossy();
    assert_eq!(trial.bnnc("run", &["--out", &out]).status, 0);
    let new = trial.path("new.csv");
    let predicted = crate::support::run(["predict", &*out, "--data", &new.to_string_lossy()]);
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    let means: Vec<f64> = predicted
        .stdout
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .nth(1)
                .and_then(|cell| cell.parse().ok())
                .expect("a mean")
        })
        .collect();
    // Doubling the exposure doubles the rate in every draw.
    assert!((means[1] / means[0] - 2.0).abs() < 1e-5, "{means:?}");
}

#[test]
fn an_expression_that_feeds_nothing_is_an_error() {
    let check = |inputs: &str| {
        let trial = Trial::new()
            .file("d.csv", claims(|age, exposure| (age, exposure)))
            .program(&claims_program(inputs));
        trial.bnnc("check", &[])
    };
    check("x, age, log(exposure) * age").assert_error(
        "E0264",
        1,
        &[
            "no model uses `log(exposure) * age`",
            "NAME = log(exposure) * age",
        ],
    );
    // The message always advises the name of the model's input, even if the user chose another
    // name. With the advised name, the program is correct.
    check("x, wage = log(age)").assert_error(
        "E0264",
        1,
        &["`Claims` has an input `age`: write `age = log(age)`"],
    );
    check("x, age = log(age)").assert_sound();
    check("x, zscore(age), log_exposure = log(exposure)").assert_error(
        "E0264",
        1,
        &["write `exposure = log(exposure)`"],
    );
    check("x, zscore(age), exposure = log(exposure)").assert_sound();
    check("x, age, exposure, log_age = log(age)").assert_error(
        "E0264",
        1,
        &["give `Claims` an input `log_age: real`, or remove this entry"],
    );
    check("x, age, zscore(age)").assert_error("E0268", 1, &["choose one of them: `age = zscore(age)`"]);
}

#[test]
fn check_prints_what_feeds_each_input() {
    let trial = Trial::new()
        .file("d.csv", claims(|age, exposure| (age, exposure)))
        .program(&claims_program("x, zscore(age), log(exposure)"));
    let output = trial.bnnc("check", &[]);
    let words: Vec<String> = output
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "input x column x",
        "input age zscore(age) (mean 39.5, sd 11.54)",
        "input exposure log(exposure)",
        "output claims column claims",
    ] {
        assert!(
            words.iter().any(|found| found == line),
            "`{line}` is not in\n{}",
            output.stdout
        );
    }
}
