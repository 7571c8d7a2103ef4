//! Tests training that does not converge, that gets worse, or that depends on its start.

use super::planes;
use crate::support::trial::Trial;
use serde_json::Value;

/// Options of a training run that is too short. 200 steps of at most 0.001 move a parameter by at
/// most 0.2, but the intercept is 3 and the noise is 0.3.
const SHORT: &str = "steps = 200, optimiser = Adam(1e-3), schedule = constant";

#[test]
fn short_trainings_of_every_method_warn_and_name_the_option() {
    for method in [
        "vi(Wide, rows)",
        "map(Plane, rows)",
        "ensemble(Plane, rows)",
        "swag(Plane, rows)",
    ] {
        let (trial, _) = planes(&format!("infer fit = {method} {{ {SHORT} }}"));
        for seed in ["0", "1", "2"] {
            let output = trial.bnnc("run", &["--seed", seed]);
            output.assert_warning("E0533", &["`fit`", "`steps = 400`"]);
        }
    }
}

#[test]
fn a_falling_rate_does_not_hide_that_a_training_is_short() {
    for schedule in ["cosine", "linear", "cooldown"] {
        let infer = format!(
            "infer a = map(Plane, rows) {{ epochs = 200, optimiser = Adam(1e-3), schedule = {schedule} }}"
        );
        let (trial, _) = planes(&infer);
        let output = trial.bnnc("run", &[]);
        output.assert_warning("E0533", &["`a` has not converged", "`epochs = 400`"]);
    }
}

#[test]
fn the_default_length_converges() {
    let (trial, sigma) = planes("infer mode = map(Plane, rows)\ninfer fit = vi(Wide, rows)");
    for seed in ["0", "1"] {
        let output = trial.bnnc("run", &["--seed", seed]);
        output.assert_silent();
    }
    let result = trial.result(&[]);
    let found = |infer: &str| {
        let sigma = &result["infer"][infer]["parameters"]["sigma"];
        (
            sigma["mean"].as_f64().expect("a mean"),
            result["infer"][infer]["diagnostics"]["steps"].as_u64(),
        )
    };
    // The prior moves the maximum of `sigma` by less than sigma^3 / 100. The posterior mean of
    // `sigma` is larger than the maximum by a fraction of about 2 / 60. The posterior standard
    // deviation of its logarithm is 0.1.
    assert!(
        (found("mode").0 - sigma).abs() < 0.01,
        "{found:?} {sigma}",
        found = found("mode")
    );
    assert!(
        (found("fit").0 / sigma - 1.0).abs() < 0.1,
        "{found:?} {sigma}",
        found = found("fit")
    );
    assert_eq!(found("mode").1, Some(20_000));
    assert_eq!(result["infer"]["fit"]["diagnostics"]["converged"], true);
}

#[test]
fn two_lengths_of_a_training_are_rejected() {
    let (trial, _) = planes("infer fit = map(Plane, rows) { epochs = 10, steps = 10 }");
    let output = trial.bnnc("check", &[]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(
        output.stderr.contains("`epochs` and `steps`"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_training_that_gets_worse_keeps_its_best_parameters() {
    let (trial, sigma) = planes(
        "infer fit = map(Plane, rows) { steps = 6000, batch = 8, optimiser = Adam(0.01), schedule = step(0.8, 100) }
         infer wide = vi(Wide, rows) { steps = 6000, optimiser = Adam(0.01), schedule = step(0.8, 100) }",
    );
    let output = trial.bnnc("run", &["--json"]);
    assert_eq!(output.stderr.matches("\"E0534\"").count(), 2, "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).expect("the result is JSON");
    let fit = &result["infer"]["fit"];
    let found = fit["parameters"]["sigma"]["mean"].as_f64().expect("a mean");
    assert!((found - sigma).abs() < 0.05, "{found} {sigma}");
    for (infer, last) in [("fit", 600), ("wide", 5900)] {
        let found = &result["infer"][infer];
        let epoch = found["diagnostics"]["best_epoch"].as_u64().expect("an epoch");
        assert!(epoch <= last, "{infer}: {epoch}");
        // The error of the least-squares plane is `sigma`. If each of the three coefficients is
        // wrong by one posterior standard deviation, the error rises by the fraction 3 / (2 * 60).
        // At the end of `wide`, the error is 16 % higher.
        let error = found["metrics"]["rmse"].as_f64().expect("an error");
        assert!((1.0..1.05).contains(&(error / sigma)), "{infer}: {error} {sigma}");
    }
}

/// A program with two maxima, because the data determine only that `w^2` is 1. The prior of `w` prefers the
/// positive maximum by 16 nats. The starts are on both sides of zero.
const TWO_OPTIMA: &str = "
data rows = csv(\"rows.csv\")

model Square(x: real) -> y: real {
  w ~ Normal(2, 0.5)
  y ~ Normal(w * w + 0 * x, 0.1)
}

infer fit = map(Square, rows) { steps = 2000, restarts = 8 }
";

#[test]
fn the_best_of_several_restarts_is_kept_and_their_spread_reported() {
    let rows: String = (0..20)
        .map(|i| format!("{i},{}\n", 1.0 + f64::from(i % 3 - 1) / 50.0))
        .collect();
    let trial = Trial::new()
        .file("rows.csv", format!("x,y\n{rows}"))
        .program(TWO_OPTIMA);
    let output = trial.bnnc("run", &["--json"]);
    assert_eq!(output.stderr.matches("\"E0535\"").count(), 1, "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).expect("the result is JSON");
    let fit = &result["infer"]["fit"];
    let restarts = fit["diagnostics"]["restarts"].as_array().expect("restarts");
    assert_eq!(restarts.len(), 8);
    let losses: Vec<f64> = restarts
        .iter()
        .filter_map(|restart| restart["loss"].as_f64())
        .collect();
    let (least, most) = losses
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), loss| {
            (loss.min(least), loss.max(most))
        });
    // The expected difference of the losses is (3^2 - 1^2) / (2 * 0.5^2) = 16. The prior moves both maxima by less than
    // 0.002, which changes the difference by less than 0.1.
    assert!((most - least - 16.0).abs() < 0.2, "{losses:?}");
    let w = fit["parameters"]["w"]["mean"].as_f64().expect("a mean");
    assert!((w - 1.0).abs() < 0.01, "{w}");
    let table = trial.bnnc("run", &[]);
    let line = table.stdout.lines().find(|line| line.contains("of 8 restarts"));
    assert!(
        line.is_some_and(|line| line.ends_with(", means of the last epochs")),
        "{}",
        table.stdout
    );
}

#[test]
fn inputs_of_very_different_scale_warn_and_standardised_ones_do_not() {
    let rows: String = (0..40)
        .map(|i| {
            let (u, v) = (f64::from(i * 7 % 40) * 40.0, f64::from(i * 11 % 40) / 1000.0);
            format!("{u},{v},{}\n", f64::from(i % 5))
        })
        .collect();
    let program = |options: &str, method: &str| {
        format!(
            "data rows = csv(\"rows.csv\") {{ {options} }}
             model Line(x: real[d]) -> y: real {{
               b: real[d] ~ Normal(0, 1)
               y ~ Normal(dot(b, x), 1)
             }}
             posterior Q of Line {{ b ~ Normal() }}
             infer fit = {method}"
        )
    };
    let trial = |text: &str| {
        Trial::new()
            .file("rows.csv", format!("metres,kilometres,y\n{rows}"))
            .program(text)
    };
    for method in [
        "vi(Q, rows) { steps = 10 }",
        "map(Line, rows) { steps = 10 }",
        "nuts(Line, rows) { chains = 1, warmup = 10, draws = 10 }",
    ] {
        let output = trial(&program("", method)).bnnc("run", &[]);
        let texts = ["`metres`", "`kilometres`", "standardise = [inputs]"];
        output.assert_warning("E0536", &texts);
        let output = trial(&program("standardise = [inputs]", method)).bnnc("run", &[]);
        assert!(!output.stderr.contains("E0536"), "{}", output.stderr);
    }
    // A single large input that is not standardised is enough for the advice to standardise.
    let output = trial(&program(
        "inputs = [metres], target = y",
        "vi(Q, rows) { steps = 10 }",
    ))
    .bnnc("run", &[]);
    output.assert_warning("E0536", &["`metres`"]);
    // Inputs with separate names are also compared with each other. A single large input does not
    // cause the advice, because it may be an exposure.
    let named = |inputs: &str, location: &str| {
        format!(
            "data rows = csv(\"rows.csv\") {{ inputs = [{inputs}], target = y }}
             model Line(metres: real, kilometres: real) -> y: real {{
               a ~ Normal(0, 1)
               b ~ Normal(0, 1)
               y ~ Normal({location}, 1)
             }}
             infer fit = map(Line, rows) {{ steps = 10 }}"
        )
    };
    let location = "a * metres + b * kilometres";
    let output = trial(&named("metres, kilometres", location)).bnnc("run", &[]);
    output.assert_warning("E0536", &["`metres`", "`kilometres`"]);
    let scaled = "zscore(metres), zscore(kilometres)";
    let output = trial(&named(scaled, location)).bnnc("run", &[]);
    assert!(!output.stderr.contains("E0536"), "{}", output.stderr);
    let alone = named("metres", "a * metres").replace("metres: real, kilometres: real", "metres: real");
    let output = trial(&alone).bnnc("run", &[]);
    assert!(!output.stderr.contains("E0536"), "{}", output.stderr);
}

/// If every parameter of a family is fixed, the losses differ only by the noise of the draws.
#[test]
fn a_family_whose_parameters_are_all_fixed_has_no_training_to_warn_about() {
    let rows = (0..20).map(|row| format!("{row},{}\n", 1_000_000 * row));
    let table: String = std::iter::once("x,y\n".to_owned()).chain(rows).collect();
    let program = |spread: &str| {
        format!(
            "data d = csv(\"d.csv\")
model M(x: real) -> y: real {{
  b ~ Normal(0, 1000000)
  y ~ Normal(b * x, 1)
}}
posterior Q of M {{
  b ~ Normal(fixed(0), {spread})
}}
infer fit = vi(Q, d) {{ steps = 100 }}
"
        )
    };
    let warned = |spread: &str| {
        let trial = Trial::new().file("d.csv", &table).program(&program(spread));
        let output = trial.bnnc("run", &[]);
        output.assert_sound();
        output.stderr.contains("E0533")
    };
    assert!(warned("0.5"));
    assert!(!warned("fixed(0.5)"));
}

/// The advice of `laplace` uses the same unit as the program, because `steps` and `epochs` cannot be given together.
#[test]
fn a_search_that_is_too_short_is_continued_in_the_unit_of_the_program() {
    for (length, advice) in [("steps = 20", "`steps = 40`"), ("epochs = 20", "`epochs = 40`")] {
        let (trial, _) = planes(&format!("infer fit = laplace(Plane, rows) {{ {length} }}"));
        let output = trial.bnnc("run", &[]);
        output.assert_warning("E0546", &["the search ended before the maximum", advice]);
    }
}

/// If the target is of size 1e18, the loss is too noisy to judge. The advice depends on the method.
#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn a_target_of_a_huge_scale_is_to_be_standardised() {
    let rows = (0..40).map(|row| format!("{},{row}e17\n", 0.05 * f64::from(row)));
    let table: String = std::iter::once("x,y\n".to_owned()).chain(rows).collect();
    let trial = Trial::new().file("d.csv", table).program(
        "data d = csv(\"d.csv\") { target = y, standardise = [inputs] }
model M(x: real) -> y: real {
  h = Dense(4)
  o = Dense(1)
  y ~ Normal(o(relu(h([x])))[0], 1)
}
infer fit = collapsed(M, d) { over = last_layer, epochs = 40 }
",
    );
    let output = trial.bnnc("run", &[]);
    output.assert_warning("E0533", &["`standardise = [target]`"]);
    assert!(
        !output.stderr.contains("`vi`") && !output.stderr.contains("samples"),
        "{}",
        output.stderr
    );
}
