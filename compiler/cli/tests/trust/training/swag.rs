//! Tests the iterates of `swag`.

use super::planes;
use crate::support::trial::Trial;
use serde_json::Value;

#[test]
fn swag_collects_iterates_from_the_second_half() {
    let (trial, _) = planes("infer fit = swag(Plane, rows) { epochs = 40, covariance = diagonal }");
    let diagnostics = &trial.result(&[])["infer"]["fit"]["diagnostics"];
    assert_eq!(diagnostics["iterates"], 20);
}

/// In this test, validation rows stop `swag` while its loss still falls. If a network has more weights than there are rows,
/// such a run must not be regarded as converged.
#[test]
fn swag_that_patience_ends_is_judged_like_any_other() {
    let rows = (0..40).map(|i| {
        let y = f64::from(i * i * 29 % 37) / 12.0 - 1.5;
        format!("{},{},{y}\n", i * 13 % 17, i * 7 % 11)
    });
    let trial = Trial::new()
        .file("noise.csv", format!("u,v,y\n{}", rows.collect::<String>()))
        .program(
            "data rows = csv(\"noise.csv\") { target = y, validation = 0.3, standardise = [inputs] }
model Net(x: real[d]) -> y: real {
  hidden = Dense(30, prior = Normal(0, 1))
  out = Dense(1, prior = Normal(0, 1))
  y ~ Normal(out(tanh(hidden(x)))[0], 0.1)
}
infer fit = swag(Net, rows) {
  epochs    = 2000
  warmup    = 2
  every     = 1
  batch     = 5
  patience  = 60
  optimiser = Adam(1e-3)
  schedule  = constant
}
",
        );
    let output = trial.bnnc("run", &["--json"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).unwrap();
    let found = &result["infer"]["fit"]["diagnostics"];
    assert!(found["epochs"].as_u64().unwrap() < 2000, "{found}");
    assert_eq!(found["converged"], false);
    for text in ["E0533", "patience = 240"] {
        assert!(output.stderr.contains(text), "{}", output.stderr);
    }
}

#[test]
fn swag_without_noise_is_reported() {
    for (options, is_still) in [
        ("batch = 0", true),
        ("batch = 0, covariance = diagonal", true),
        ("batch = 0, covariance = point", false),
        ("batch = 4, schedule = constant", false),
    ] {
        let (trial, _) = planes(&format!(
            "infer fit = swag(Plane, rows) {{ steps = 4000, {options} }}"
        ));
        let output = trial.bnnc("run", &[]);
        if is_still {
            output.assert_warning("E0569", &["`fit`", "`batch = "]);
        } else {
            assert!(!output.stderr.contains("E0569"), "{}", output.stderr);
        }
    }
}

/// If gradient noise is the only cause of the scatter of iterates, their standard deviation is
/// proportional to the square root of the learning rate.
#[test]
fn swag_with_a_rate_that_falls_is_reported() {
    for (options, falls) in [
        ("", false),
        ("schedule = constant", false),
        ("schedule = step(0.5, 0.1)", false),
        ("schedule = step(0.7, 0.1)", true),
        ("schedule = cooldown", true),
        ("schedule = cosine, covariance = diagonal", true),
        ("schedule = cosine, covariance = snapshots", true),
        ("schedule = cosine, covariance = point", false),
        // The learning rate is proportional to the number of remaining steps, so it falls about
        // tenfold over the last ten iterates.
        ("schedule = linear, keep = 10", true),
    ] {
        let (trial, _) = planes(&format!(
            "infer fit = swag(Plane, rows) {{ steps = 4000, batch = 4, {options} }}"
        ));
        let output = trial.bnnc("run", &[]);
        if falls {
            output.assert_warning(
                "E0569",
                &["`fit`", "its learning rate falls", "schedule = constant"],
            );
        } else {
            assert!(!output.stderr.contains("E0569"), "{options}: {}", output.stderr);
        }
    }
}

/// The posterior of the slope of a line is Normal if the noise has the standard deviation 1. The
/// precision of this posterior is the sum of the squared inputs plus the precision of the prior.
#[test]
fn swag_whose_scatter_is_not_that_of_the_posterior_is_reported() {
    let points: Vec<[f64; 2]> = (0..1000)
        .map(|i| {
            let x = f64::from(i * 13 % 997) / 300.0 - 1.6;
            [x, 2.0 * x + f64::from(i * 7 % 11) / 3.0 - 1.6]
        })
        .collect();
    let precision = points.iter().map(|[x, _]| x * x).sum::<f64>() + 0.01;
    let rows: String = points.iter().map(|[x, y]| format!("{x},{y}\n")).collect();
    // `run` returns the standard deviation of `swag` divided by the standard deviation of the
    // posterior, and the output of the run.
    let run = |options: &str| {
        let trial = Trial::new()
            .file("d.csv", format!("x,y\n{rows}"))
            .program(&format!(
                "data d = csv(\"d.csv\") {{ target = y }}
             model Line(x: real) -> y: real {{
               b ~ Normal(0, 10)
               y ~ Normal(b * x, 1)
             }}
             infer fit = swag(Line, d) {{ {options} }}"
            ));
        let (output, result) = trial.run(&[]);
        let sd = result["infer"]["fit"]["parameters"]["b"]["sd"].as_f64();
        (sd.expect("a number") * precision.sqrt(), output)
    };
    let (narrow, output) = run("");
    output.assert_warning("E0573", &["times too narrow", "`scale = "]);
    assert!(narrow < 0.2, "{narrow}");
    let (_, scale) = output.stderr.split_once("`scale = ").expect("a scale");
    let (scale, _) = scale.split_once('`').expect("its end");
    let (right, output) = run(&format!("scale = {scale}"));
    assert!(!output.stderr.contains("E0573"), "{}", output.stderr);
    assert!((0.75..1.33).contains(&right), "{right}");
    let (wide, output) = run("optimiser = Adam(0.5), batch = 10");
    output.assert_warning("E0573", &["times too wide"]);
    assert!(wide > 5.0, "{wide}");
    // If the learning rate is twice the batch size divided by the sum of squared inputs, the iterates of stochastic gradient
    // descent have the same variance as the posterior (Mandt et al. 2017).
    let (fitting, output) = run("optimiser = SGD(2e-4), batch = 100");
    assert!(!output.stderr.contains("E0573"), "{}", output.stderr);
    assert!((0.2..5.0).contains(&fitting), "{fitting}");
}

/// The input has a standard deviation of 20, so a step of 0.005 is long for the slope and short for
/// the intercept. The average of the spread over both parameters therefore looks right. The noise
/// has a standard deviation of 0.3, so the posterior standard deviation of the intercept is
/// `0.3 / sqrt(300)` = 0.0173.
#[test]
fn swag_that_is_too_narrow_for_one_parameter_names_it() {
    let row = |i: u32| {
        let number = |k: u32| (f64::from(7 * i + k) * 0.618_033_988_749_894_9).fract() - 0.5;
        let noise: f64 = (1..4).map(number).sum();
        let x = 69.0 * number(0);
        format!("{x},{}\n", 1.0 + 0.1 * x + noise)
    };
    let rows: String = (0..300).map(row).collect();
    let program = r#"
data rows = csv("rows.csv") OPTIONS
model Line(x: real) -> y: real {
  a ~ Normal(0, 100)
  b ~ Normal(0, 100)
  s: positive ~ HalfNormal(2)
  y ~ Normal(a + b * x, s)
}
infer fit = swag(Line, rows) { batch = 100 }
"#;
    let trial = Trial::new().file("rows.csv", format!("x,y\n{rows}"));
    let trial = trial.program(&program.replace("OPTIONS", ""));
    let (output, result) = trial.run(&[]);
    output.assert_warning("E0573", &["too narrow", "in `fit`", "standardise"]);
    let sd = result["infer"]["fit"]["parameters"]["a"]["sd"].as_f64();
    assert!(sd.expect("a number") < 0.0173 / 5.0, "{sd:?}");
    // If the inputs are already standardised, the warning must not advise standardisation.
    let trial = trial.program(&program.replace("OPTIONS", "{ standardise = [inputs] }"));
    let output = trial.bnnc("run", &[]);
    assert!(
        !output.stderr.contains("standardise = [inputs"),
        "{}",
        output.stderr
    );
}
