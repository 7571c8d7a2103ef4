//! Tests objectives that have one optimum, and objectives that do not have an optimum.

use crate::support::trial::Trial;

/// Returns a table of 60 rows around the line `1 + 2 x`.
fn rows() -> String {
    let row = |row: i32| {
        let x = f64::from(row) / 30.0 - 1.0;
        format!(
            "{x},{}\n",
            1.0 + 2.0 * x + 0.5 * (f64::from(row * 7 % 11) / 5.0 - 1.0)
        )
    };
    (0..60).map(row).collect()
}

/// Returns a program that fits a line to 60 rows. `infer` is the text of the program's inference.
fn line(infer: &str) -> Trial {
    let program = format!(
        "data d = csv(\"d.csv\")
model Line(x: real) -> y: real {{
  a ~ Normal(0, 5)
  b ~ Normal(0, 5)
  y ~ Normal(a + b * x, 0.3)
}}
model Net(x: real) -> y: real {{
  hidden = Dense(8)
  out = Dense(1)
  y ~ Normal(out(tanh(hidden([x])))[0], 0.3)
}}
infer fit = {infer}
"
    );
    Trial::new()
        .file("d.csv", format!("x,y\n{}", rows()))
        .program(&program)
}

/// The posterior of a linear model has one maximum. The posterior standard deviation of the slope
/// is the noise divided by the square root of the sum of the squared inputs.
#[test]
fn members_of_an_ensemble_that_agree_are_reported() {
    let trial = line("ensemble(Line, d) { members = 4 }");
    let (output, result) = trial.run(&[]);
    output.assert_warning(
        "E0672",
        &[
            "the members of `fit` agree",
            "the same optimum",
            "`laplace`, `vi` or `nuts`",
        ],
    );
    let squares: f64 = (0..60).map(|row| (f64::from(row) / 30.0 - 1.0).powi(2)).sum();
    let sd = result["infer"]["fit"]["parameters"]["b"]["sd"]
        .as_f64()
        .expect("a number");
    assert!(sd < 0.2 * 0.3 / squares.sqrt(), "{sd}");
    for infer in [
        "ensemble(Net, d) { members = 4 }",
        "ensemble(Line, d) { members = 1 }",
        "map(Line, d)",
    ] {
        let output = line(infer).bnnc("run", &[]);
        output.assert_sound();
        assert!(!output.stderr.contains("E0672"), "{infer}: {}", output.stderr);
    }
}

/// Returns a program for eight groups with four rows each. In its hierarchical model, the scale of
/// the group means is the expression `scale`.
fn groups(prior: &str, scale: &str, method: &str) -> Trial {
    let centres = [1.2, -0.3, 0.5, 2.0, 0.1, 1.1, -0.8, 0.6];
    let row = |row: usize| {
        let noise = 0.3 * ((row * 7 % 11) as f64 / 5.0 - 1.0);
        format!("g{},{}\n", row % 8, centres[row % 8] + noise)
    };
    let rows: String = (0..32).map(row).collect();
    let program = format!(
        "data d = csv(\"d.csv\")
model M(g: index(J)) -> y: real {{
  mu ~ Normal(0, 5)
  {prior}
  theta: real[J] ~ Normal(mu, {scale})
  y ~ Normal(theta[g], 1)
}}
infer fit = {method}(M, d)
"
    );
    Trial::new()
        .file("d.csv", format!("g,y\n{rows}"))
        .program(&program)
}

/// As the scale of a hierarchy falls to zero, the joint density rises without bound, whether the parameter is the
/// scale or its logarithm.
#[test]
fn a_hierarchy_on_a_log_scale_has_no_maximum_either() {
    for method in ["map", "laplace"] {
        let output = groups("lt ~ Normal(0, 2)", "exp(lt)", method).bnnc("run", &[]);
        output.assert_warning(
            "E0537",
            &[
                "`fit` has no maximum",
                "`lt` falls from",
                "`nuts` or `vi`",
                "exp(lt) * z",
            ],
        );
        assert!(!output.stderr.contains("E0533"), "{}", output.stderr);
    }
    let output = groups("tau: positive ~ HalfNormal(5)", "tau", "map").bnnc("run", &[]);
    output.assert_warning("E0537", &["`tau` falls from", "InverseGamma(3, 20)"]);
    // If the prior keeps the scale away from zero, the density has a maximum.
    for method in ["map", "laplace"] {
        let output = groups("lt ~ Normal(0, 0.1)", "exp(lt)", method).bnnc("run", &[]);
        output.assert_sound();
        assert!(!output.stderr.contains("E0537"), "{}", output.stderr);
    }
}

/// If a training run is far too short, the diagnostic must name this cause, even though the intercept still moves
/// far.
#[test]
fn an_intercept_that_moves_far_is_not_a_scale() {
    for likelihood in ["Normal(a + b * x, 1)", "Normal(exp(a + b * x), 1)"] {
        let rows: String = (0..40)
            .map(|row| format!("{},{}\n", f64::from(row) / 20.0 - 1.0, 60 + row % 3))
            .collect();
        let program = format!(
            "data d = csv(\"d.csv\")
model M(x: real) -> y: real {{
  a ~ Normal(0, 100)
  b ~ Normal(0, 100)
  y ~ {likelihood}
}}
infer fit = map(M, d) {{ steps = 200 }}
"
        );
        let output = Trial::new()
            .file("d.csv", format!("x,y\n{rows}"))
            .program(&program)
            .bnnc("run", &[]);
        output.assert_warning("E0533", &["`fit` has not converged"]);
        assert!(!output.stderr.contains("E0537"), "{}", output.stderr);
    }
}

/// A scale that falls from 1e32 is the result of a divergence. It does not show that the density lacks a maximum.
#[test]
fn a_search_that_diverged_is_named_alone() {
    let program = "data d = csv(\"d.csv\")
model M(x: real) -> y: real {
  a ~ Normal(0, 10)
  b ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(5)
  y ~ Normal(a + b * x, sigma)
}
infer fit = laplace(M, d) { steps = 500, optimiser = Adam(100), batch = 0 }
";
    let trial = Trial::new()
        .file("d.csv", format!("x,y\n{}", rows()))
        .program(program);
    let output = trial.bnnc("run", &[]);
    output.assert_warning("E0533", &["`fit` diverged", "lower the rate"]);
    for code in ["E0537", "E0546"] {
        assert!(!output.stderr.contains(code), "{}", output.stderr);
    }
}

/// The true slope of the line is 2. Training starts at `b = 0`, where the gradient is zero because
/// the loss is symmetric in `b`.
#[test]
fn a_training_that_stays_at_a_saddle_is_reported() {
    let trial = |slope: &str, infer: &str| {
        let program = format!(
            "data d = csv(\"d.csv\")
model M(x: real) -> y: real {{
  a ~ Normal(0, 5)
  b ~ Normal(0, 5)
  c ~ Normal(0, 5)
  sigma: positive ~ HalfNormal(5)
  y ~ Normal(a + {slope} * x + 0 * c, sigma)
}}
infer fit = {infer}
"
        );
        Trial::new()
            .file("d.csv", format!("x,y\n{}", rows()))
            .program(&program)
    };
    for slope in ["b * b", "b * c"] {
        for infer in ["map(M, d)", "laplace(M, d)", "ensemble(M, d) { members = 2 }"] {
            let output = trial(slope, infer).bnnc("run", &[]);
            output.assert_warning("E0673", &["`fit` ended at a saddle", "`restarts = 4`"]);
            assert!(!output.stderr.contains("E0672"), "{infer}: {}", output.stderr);
        }
        let fit = trial(slope, "map(M, d) { restarts = 4 }");
        let (output, result) = fit.run(&[]);
        assert!(!output.stderr.contains("E0673"), "{slope}: {}", output.stderr);
        let parameters = result["infer"]["fit"]["parameters"].clone();
        let [b, c] = ["b", "c"].map(|name| parameters[name]["mean"].as_f64().expect("a number"));
        let found = if slope == "b * b" { b * b } else { b * c };
        assert!((found - 2.0).abs() < 0.3, "{slope}: {parameters}");
    }
    for infer in ["map(M, d)", "laplace(M, d)"] {
        let output = trial("b", infer).bnnc("run", &[]);
        output.assert_sound();
        assert!(!output.stderr.contains("E0673"), "{infer}: {}", output.stderr);
    }
}
