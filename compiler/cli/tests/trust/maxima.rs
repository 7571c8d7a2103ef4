//! Tests of training without noise, in three situations: it ends at a maximum, it ends before a maximum, or the density grows without bound.

use super::support::rendered::hold;
use super::support::trial::Trial;
use serde_json::Value;

/// A program for a straight line with the slope 2 and noise of standard deviation 0.1. The prior of
/// the slope is `b ~ Normal(0, 1)`. The inference `best` finds the maximum, and the inference `fit` may start from it.
const SLOPE: &str = "
data rows = csv(\"rows.csv\")
model Slope(x: real) -> y: real {
  b ~ Normal(0, 1)
  y ~ Normal(b * x, 0.1)
}
infer best = map(Slope, rows) { steps = 2000, precision = f64 }
infer fit = laplace(Slope, rows) { OPTIONS }
";

fn slope(options: &str) -> (Trial, [f64; 2]) {
    let points: Vec<[f64; 2]> = (0..50)
        .map(|i| {
            let x = f64::from(i) / 25.0 - 1.0;
            [x, 2.0 * x + 0.1 * (f64::from(i * 7 % 11) / 5.0 - 1.0)]
        })
        .collect();
    let lines: String = points.iter().map(|[x, y]| format!("{x},{y}\n")).collect();
    let sums = [0, 1].map(|at| points.iter().map(|point| point[0] * point[at] / 0.01).sum());
    let trial = Trial::new().file("rows.csv", format!("x,y\n{lines}"));
    (trial.program(&SLOPE.replace("OPTIONS", options)), sums)
}

/// If the prior precision is `p`, the posterior of `b` is Normal with the precision
/// `p + sum x^2 / 0.01`. The posterior mean is `sum x y / 0.01` divided by the posterior precision.
#[test]
fn a_given_prior_precision_moves_the_centre() {
    for factor in [1e-3, 100.0, 1e4, 1e8] {
        let (trial, [xx, xy]) = slope(&format!("prior_precision = {factor}"));
        let (output, result) = trial.run(&["--only", "fit"]);
        assert!(
            !output.stderr.contains("E0570") && !output.stderr.contains("E0546"),
            "{}",
            output.stderr
        );
        let b = &result["infer"]["fit"]["parameters"]["b"];
        let precision = factor + xx;
        for (name, wanted, error) in [
            ("mean", xy / precision, 1e-3 / precision.sqrt()),
            ("sd", precision.sqrt().recip(), 1e-6 / precision.sqrt()),
        ] {
            let found = b[name].as_f64().expect("a number");
            assert!(
                (found - wanted).abs() < error,
                "{factor}: {name} {found} {wanted}"
            );
        }
    }
}

#[test]
fn a_centre_of_another_prior_is_reported() {
    for (options, texts) in [
        (
            "start = best, prior_precision = 1e4",
            ["10000 times", "steps = 20000`, `prior_precision = 10000`"],
        ),
        (
            "start = best, temperature = 1e6",
            ["temperature of 1000000", "`nuts`"],
        ),
    ] {
        let (trial, _) = slope(options);
        trial.bnnc("run", &[]).assert_warning("E0570", &texts);
    }
    // A slightly stronger prior moves the maximum by a small fraction of its standard deviation.
    slope("start = best, prior_precision = 2")
        .0
        .bnnc("run", &[])
        .assert_silent();
}

#[test]
fn a_factor_on_a_prior_with_a_learned_scale_is_rejected() {
    let (trial, _) = slope("prior_precision = 10");
    let program = SLOPE.replace("OPTIONS", "prior_precision = 10").replace(
        "b ~ Normal(0, 1)",
        "tau: positive ~ HalfNormal(1)\n b ~ Normal(0, tau)",
    );
    let trial = trial.program(&program);
    trial
        .bnnc("run", &[])
        .assert_error("E0614", 1, &["`tau`", "leave `prior_precision` out"]);
}

/// The eight schools model (Rubin 1981) in the centred parameterisation. The joint density grows
/// without bound as `tau` goes to zero and every `theta` goes to `mu`.
const SCHOOLS: &str = "
data schools = json(\"schools.json\")

model Schools(school: index(J) = row, error: positive) -> y: real {
  mu ~ Normal(0, 5)
  tau: positive  ~ PRIOR
  theta: real[J] ~ Normal(mu, tau)
  y ~ Normal(theta[school], error)
}

infer fit = METHOD
";

fn schools(prior: &str, method: &str) -> Trial {
    let data = r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "error": [15, 10, 16, 11, 9, 11, 10, 18]}"#;
    let program = SCHOOLS.replace("PRIOR", prior).replace("METHOD", method);
    Trial::new().file("schools.json", data).program(&program)
}

#[test]
fn a_scale_that_collapses_is_named_with_what_to_do() {
    for method in [
        "map(Schools, schools)",
        "map(Schools, schools) { steps = 1000 }",
        "map(Schools, schools) { precision = f64, restarts = 2 }",
        "ensemble(Schools, schools) { members = 2 }",
        "swag(Schools, schools)",
        "laplace(Schools, schools)",
    ] {
        for prior in ["HalfNormal(5)", "HalfCauchy(5)"] {
            let output = schools(prior, method).bnnc("run", &[]);
            output.assert_warning(
                "E0537",
                &["`fit` has no maximum", "`tau` falls", "`nuts` or `vi`"],
            );
            assert!(!output.stderr.contains("E0533"), "{}", output.stderr);
        }
    }
}

#[test]
fn a_hierarchy_with_a_maximum_is_silent() {
    // The joint density stays bounded if the prior of `tau` falls to zero faster than every power
    // of `tau`.
    let trial = schools("InverseGamma(3, 20)", "map(Schools, schools)");
    let (output, result) = trial.run(&[]);
    output.assert_silent();
    assert_eq!(result["infer"]["fit"]["diagnostics"]["converged"], true);
}

#[test]
fn a_map_below_the_maximum_is_reported_as_not_converged() {
    let values: Vec<f64> = (0..60)
        .map(|i| 3.0 + f64::from(i * 13 % 17) / 17.0 - 0.47)
        .collect();
    let lines: String = values.iter().map(|y| format!("{y}\n")).collect();
    let trial = |steps: usize| {
        Trial::new()
            .file("rows.csv", format!("y\n{lines}"))
            .program(&format!(
                "data rows = csv(\"rows.csv\")
             model Mean() -> y: real {{
               a ~ Normal(0, 10)
               y ~ Normal(a, 1)
             }}
             infer fit = map(Mean, rows) {{ steps = {steps}, optimiser = Adam(1e-3), schedule = cosine }}"
            ))
    };
    // The log density is a parabola. The precision of the posterior is the precision of the prior
    // plus 60 for the observations. The maximum is at the sum of the observations divided by the
    // precision of the posterior.
    let precision = 60.0 + 0.01;
    let top = values.iter().sum::<f64>() / precision;
    let (mut short, mut long) = (0, 0);
    for steps in [2000, 5000, 6000, 7000, 8000, 10_000, 14_000] {
        let trial = trial(steps);
        let (output, result) = trial.run(&[]);
        let a = &result["infer"]["fit"]["parameters"]["a"]["mean"];
        let excess = 0.5 * precision * (a.as_f64().expect("a mean") - top).powi(2);
        // Training may end up to 0.1 nats per weight below the maximum without a warning, and the
        // model has one weight.
        if excess > 0.11 {
            let double = format!("`steps = {}`", 2 * steps);
            output.assert_warning("E0533", &["`fit` has not converged", &double]);
            short += 1;
        } else if excess < 0.09 {
            output.assert_silent();
            long += 1;
        }
    }
    assert!(short >= 2 && long >= 2, "{short} short, {long} long");
}

/// Returns the number at position `at` of an equidistributed sequence in `[0, 1)`.
fn uniform(at: u32) -> f64 {
    (f64::from(at) * 0.618_033_988_749_894_9).fract()
}

/// Returns a program with a network of two hidden layers for rows of a wave. `sd` is the standard
/// deviation of the prior of the weights.
fn deep(sd: &str, infer: &str) -> Trial {
    let row = |i: u32| {
        let x = 6.0 * uniform(i) - 3.0;
        format!("{x},{}\n", (2.0 * x).sin() + 0.3 * (uniform(7 * i + 3) - 0.5))
    };
    let rows: String = (0..160).map(row).collect();
    let program = r#"
data rows = csv("rows.csv") { standardise = [inputs, target] }
model Net(x: real[d]) -> y: real {
  first  = Dense(40, prior = Normal(0, SD))
  second = Dense(40, prior = Normal(0, SD))
  out    = Dense(1, prior = Normal(0, SD))
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(tanh(second(tanh(first(x)))))[0], sigma)
}
infer fit = INFER
"#;
    let program = program.replace("SD", sd).replace("INFER", infer);
    Trial::new()
        .file("rows.csv", format!("x,y\n{rows}"))
        .program(&program)
}

/// The root mean square error of a constant function is the standard deviation of the target (about 0.71 for a sine).
#[test]
fn a_network_whose_maximum_is_a_constant_is_reported() {
    for infer in [
        "map(Net, rows) { steps = 2000 }",
        "dropout(Net, rows) { steps = 2000 }",
    ] {
        let trial = deep("0.2", infer);
        let (output, result) = trial.run(&[]);
        output.assert_warning(
            "E0652",
            &[
                "`fit` ignores the inputs",
                "all 160 training rows",
                "`first.w`",
                "`prior = Normal(0, 1)`",
                "of only 0.2",
            ],
        );
        // Under such a prior, the functions from the exact posterior are nearly constant, so chains
        // and small networks would find a constant, too.
        assert!(
            !output.stderr.contains("use `nuts`") && !output.stderr.contains("fewer"),
            "{}",
            output.stderr
        );
        let rmse = result["infer"]["fit"]["metrics"]["rmse"].as_f64();
        assert!((rmse.expect("a number") - 0.71).abs() < 0.05, "{rmse:?}");
    }
    let wide = deep("1", "map(Net, rows) { steps = 2000 }");
    let (output, result) = wide.run(&[]);
    assert!(!output.stderr.contains("E0652"), "{}", output.stderr);
    let rmse = result["infer"]["fit"]["metrics"]["rmse"].as_f64();
    assert!(rmse.expect("a number") < 0.3, "{rmse:?}");
}

/// A program for data whose classes are far apart.
const CLASSES: &str = r#"
data rows = csv("train.csv") { target = k, test = csv("test.csv") DATA }
model Classes(x: real[d]) -> k: index(3) {
  out = Dense(3, prior = Normal(0, 1))
  k ~ Categorical(logits = out(x))
}
infer best = map(Classes, rows) { steps = 3000 }
infer last = laplace(Classes, rows) { start = best, OPTIONS }
infer chain = nuts(Classes, rows) { warmup = 300, draws = 300 }
"#;

/// Returns a table with the inputs `x0` to `x11` and the class `k`. The rows form `classes` groups
/// that are far apart.
fn apart(classes: u32, from: u32, count: u32) -> String {
    let heads: Vec<String> = (0..12).map(|at| format!("x{at}")).collect();
    let row = |i: u32| {
        let class = i % classes;
        let value = |j: u32| {
            let noise: f64 = (0..3).map(|k| uniform(1000 * i + 37 * j + 311 * k) - 0.5).sum();
            let mean = if j % classes == class { 3.0 } else { 0.0 };
            format!("{:.3},", mean + 2.0 * noise)
        };
        let values: String = (0..12).map(value).collect();
        format!("{values}{class}\n")
    };
    let rows: String = (from..from + count).map(row).collect();
    format!("{},k\n{rows}", heads.join(","))
}

/// Returns the negative log predictive density (`nll`) of an inference.
fn nll(result: &Value, infer: &str) -> f64 {
    result["infer"][infer]["metrics"]["nll"]
        .as_f64()
        .expect("a number")
}

#[test]
fn an_approximation_that_predicts_worse_than_its_centre_is_reported() {
    let run = |data: &str, options: &str| {
        let program = CLASSES.replace("DATA", data).replace("OPTIONS", options);
        let trial = Trial::new()
            .file("train.csv", apart(3, 0, 120))
            .file("test.csv", apart(3, 1000, 90))
            .program(&program);
        trial.run(&[])
    };
    let (glm, result) = run("", "link = glm");
    hold("E0653", &glm.stderr, true);
    glm.assert_warning(
        "E0653",
        &[
            "`last` predicts worse than its own centre",
            "test rows",
            "`link = bridge`",
        ],
    );
    assert!(!glm.stderr.contains("validation"), "{}", glm.stderr);
    let (chain, best) = (nll(&result, "chain"), nll(&result, "best"));
    // The predictions of the exact posterior are close to the predictions at the maximum.
    assert!(chain < best + 0.05, "{chain} {best}");
    assert!(nll(&result, "last") > chain + 0.05, "{result}");
    // The validation rows select a factor on the prior precision that leaves the Gaussian almost
    // without spread. A search for the maximum under this factor would find a worse model. Even with this option, the cause of the bad
    // predictions is therefore the link.
    let (validation, _) = run(", validation = 0.1", "prior_precision = validation");
    validation.assert_warning("E0551", &["without spread", "`link = bridge`"]);
    for absent in ["E0570", "prior_precision = 1`", "steps = 20000"] {
        assert!(!validation.stderr.contains(absent), "{}", validation.stderr);
    }
    for (data, options) in [
        ("", "link = bridge"),
        (
            ", validation = 0.1",
            "prior_precision = validation, link = bridge",
        ),
    ] {
        let (cured, result) = run(data, options);
        for code in ["E0653", "E0551", "E0570"] {
            assert!(!cured.stderr.contains(code), "{}", cured.stderr);
        }
        assert!(nll(&result, "last") < nll(&result, "chain") + 0.05, "{result}");
    }
}

/// A program for two groups that are far apart. The Gaussian over the weights of its network is too
/// wide, and the inference does not use `link = bridge`.
const GROUPS: &str = r#"
data rows = csv("train.csv") { target = k, test = csv("test.csv") }
model Groups(x: real[d]) -> k: bool {
  hidden = Dense(12, prior = Normal(0, 1))
  out = Dense(1, prior = Normal(0, 1))
  k ~ Bernoulli(logit = out(tanh(hidden(x)))[0])
}
infer best = map(Groups, rows) { steps = 3000 }
infer last = laplace(Groups, rows) { start = best, structure = diagonal }
infer chain = nuts(Groups, rows) { warmup = 300, draws = 300 }
"#;

#[test]
fn chains_are_advised_where_a_gaussian_is_too_wide_for_a_boolean() {
    let trial = Trial::new()
        .file("train.csv", apart(2, 0, 80))
        .file("test.csv", apart(2, 1000, 90))
        .program(GROUPS);
    let output = trial.bnnc("run", &["--only", "last"]);
    output.assert_warning("E0653", &["`last`", "`nuts`", "use the centre alone"]);
    for absent in ["bridge", "validation"] {
        assert!(!output.stderr.contains(absent), "{}", output.stderr);
    }
    let result = trial.result(&[]);
    let (chain, best) = (nll(&result, "chain"), nll(&result, "best"));
    assert!(chain < best + 0.05, "{chain} {best}");
    assert!(nll(&result, "last") > chain + 0.05, "{result}");
}

/// If validation rows selected the factor on the prior precision, the message must not advise using
/// this factor in the search for a maximum. For normal outputs, the message advises tuning the
/// factor by the marginal likelihood during the search.
#[test]
fn tuning_by_marginal_likelihood_is_advised_instead_of_validation() {
    // Unlike the numbers of `uniform`, neighbouring numbers of `scattered` are unrelated, so their
    // sums are nearly normal.
    let scattered = |at: u32| ((f64::from(at) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0);
    let row = |i: u32| {
        let x = [1, 8, 15, 22].map(|j| 4.0 * scattered(100 * i + j) - 2.0);
        let noise: f64 = (0..12).map(|k| scattered(100_000 + 50 * i + k) - 0.5).sum();
        let y = 0.5 * f64::sin(x[0]) + 0.5 * x[1] + noise;
        format!("{:.3},{:.3},{:.3},{:.3},{y:.3}\n", x[0], x[1], x[2], x[3])
    };
    let table =
        |from: u32, count: u32| format!("a,b,c,d,y\n{}", (from..from + count).map(row).collect::<String>());
    let program = |options: &str| {
        format!(
            r#"
data rows = csv("train.csv") {{ target = y, validation = 0.2, test = csv("test.csv") }}
model Net(x: real[d]) -> y: real {{
  first = Dense(20, prior = Normal(0, 1))
  second = Dense(20, prior = Normal(0, 1))
  out = Dense(1, prior = Normal(0, 1))
  y ~ Normal(out(tanh(second(tanh(first(x)))))[0], 1)
}}
infer best = map(Net, rows) {{ steps = 3000 }}
infer fit = laplace(Net, rows) {{ start = best, {options} }}
"#
        )
    };
    let trial = Trial::new()
        .file("train.csv", table(0, 60))
        .file("test.csv", table(1000, 100))
        .program(&program("prior_precision = validation"));
    let score = |result: &Value| {
        let value = &result["infer"]["fit"]["metrics"]["log_likelihood"];
        value.as_f64().expect("a number")
    };
    let (output, result) = trial.run(&[]);
    output.assert_warning(
        "E0570",
        &["may predict far worse", "`online = true, steps = 20000`"],
    );
    let before = score(&result);
    let trial = trial.program(&program("online = true, steps = 20000"));
    let (output, result) = trial.run(&[]);
    for code in ["E0570", "E0546", "E0653", "E0551"] {
        assert!(!output.stderr.contains(code), "{}", output.stderr);
    }
    assert!(score(&result) > before, "{} {before}", score(&result));
}
