//! Tests training that does not converge, that gets worse, that depends on its start, or that is
//! interrupted.

use super::support::trial::Trial;
use super::support::{numbers, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Returns a table of `y = 3 + 2 u - v` with noise, and the root mean square of the residuals about the least-squares plane.
fn plane() -> (String, f64) {
    let count = 60;
    let rows: Vec<[f64; 3]> = (0..count)
        .map(|i| {
            let (u, v) = (f64::from(i) / 30.0 - 1.0, f64::from(i * 7 % 11) / 5.0 - 1.0);
            [u, v, 3.0 + 2.0 * u - v + (f64::from(i * 13 % 17) / 17.0 - 0.47)]
        })
        .collect();
    // The least-squares plane solves the normal equations, here by Cramer's rule.
    let sum = |of: &dyn Fn(&[f64; 3]) -> f64| rows.iter().map(of).sum::<f64>();
    let n = f64::from(count);
    let (u, v, y) = (sum(&|r| r[0]), sum(&|r| r[1]), sum(&|r| r[2]));
    let (uu, uv, vv) = (
        sum(&|r| r[0] * r[0]),
        sum(&|r| r[0] * r[1]),
        sum(&|r| r[1] * r[1]),
    );
    let (uy, vy) = (sum(&|r| r[0] * r[2]), sum(&|r| r[1] * r[2]));
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let columns = [[n, u, v], [u, uu, uv], [v, uv, vv], [y, uy, vy]];
    let with = |at: usize| {
        let mut chosen = [columns[0], columns[1], columns[2]];
        if at < 3 {
            chosen[at] = columns[3];
        }
        determinant(chosen)
    };
    let [a, b, c] = [0, 1, 2].map(|at| with(at) / with(3));
    let squares = sum(&|r| (r[2] - a - b * r[0] - c * r[1]).powi(2));
    let lines = rows.iter().map(|[u, v, y]| format!("{u},{v},{y}\n"));
    let table = std::iter::once("u,v,y\n".to_owned()).chain(lines).collect();
    (table, (squares / n).sqrt())
}

const MODEL: &str = "
data rows = csv(\"rows.csv\")

model Plane(x: real[d]) -> y: real {
  a ~ Normal(0, 10)
  b: real[d]      ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(10)
  y ~ Normal(a + dot(b, x), sigma)
}

posterior Wide of Plane { a, b, sigma ~ Normal(0, 1) }
";

fn planes(infers: &str) -> (Trial, f64) {
    let (table, sigma) = plane();
    let trial = Trial::new()
        .file("rows.csv", table)
        .program(&format!("{MODEL}\n{infers}"));
    (trial, sigma)
}

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

/// A network to which `dropout` can apply masks.
const NET: &str = "
use layers::Dense

model Net(x: real[d]) -> y: real {
  hidden = Dense(4)
  last   = Dense(1)
  y ~ Normal(last(relu(hidden(x)))[0], 1)
}
";

/// One inference for every method that trains. Each inference runs long enough to be interrupted.
const METHODS: &str = "
infer mode = map(Plane, rows) { steps = 16000, restarts = 2 }
infer fit = vi(Wide, rows) { steps = 32000, batch = 16 }
infer several = ensemble(Plane, rows) { steps = 16000, members = 2 }
infer averaged = swag(Plane, rows) { steps = 32000 }
infer masked = dropout(Net, rows) { steps = 16000 }
infer around = laplace(Plane, rows) { steps = 24000, precision = f32 }
infer tuned = laplace(Net, rows) { steps = 16000, online = true }
infer boxes = collapsed(Net, rows) { steps = 16000 }
";

fn spawn(trial: &Trial, how: &str, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("run")
        .arg(trial.path("program.bnn"))
        .args(["--threads", "1", how])
        .arg(out)
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

/// Returns the path of the file with the state of a training run in progress.
fn under_way(out: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(out.join("checkpoint")).ok()?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| path.extension().is_some_and(|extension| extension == "training"))
}

/// Waits until a run has written the state of a training run to a path that is not in `met`.
/// Returns this path, or `None` if the run ends first or a minute passes.
fn wait_for_training(child: &mut Child, out: &Path, met: &[PathBuf]) -> Option<PathBuf> {
    let clock = Instant::now();
    while clock.elapsed() < Duration::from_secs(60) {
        if let Some(path) = under_way(out)
            && !met.contains(&path)
        {
            return Some(path);
        }
        if child.try_wait().expect("the child is known").is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn killed_trainings_of_every_method_are_resumed_to_the_same_bytes() {
    let (trial, _) = planes(&format!(
        "{NET}
         {METHODS}"
    ));
    let whole = trial.path("whole");
    assert!(spawn(&trial, "--out", &whole).wait().expect("it ends").success());
    let expected = numbers(&whole);
    let mut met = Vec::new();
    // On a busy machine, a training run may end before the test finds its state. The test then
    // repeats the whole run.
    for _ in 0..20 {
        let out = trial.path("killed");
        kill_each_training(&trial, &out, &mut met);
        let found = numbers(&out);
        assert!(
            expected.keys().eq(found.keys()),
            "{:?} {:?}",
            expected.keys(),
            found.keys()
        );
        for (name, bytes) in &expected {
            assert!(*bytes == found[name], "{name} differs after {met:?}");
        }
        fs::remove_dir_all(&out).expect("the folder is removed");
        if met.len() >= 8 {
            break;
        }
    }
    assert!(met.len() >= 8, "{met:?}");
}

/// Runs the program, and kills it once during each training run, after the first state is written.
/// Resumes the program after each kill until it ends.
fn kill_each_training(trial: &Trial, out: &Path, met: &mut Vec<PathBuf>) {
    let mut how = "--out";
    loop {
        let mut child = spawn(trial, how, out);
        let Some(path) = wait_for_training(&mut child, out, met) else {
            assert!(child.wait().expect("it ends").success());
            return;
        };
        // The delay varies, so that kills occur at different moments during or after the training
        // run.
        std::thread::sleep(Duration::from_millis(7 * (met.len() as u64 % 5)));
        child.kill().expect("the child can be killed");
        child.wait().expect("it ends");
        met.push(path);
        how = "--resume";
    }
}

#[test]
fn an_absurd_number_of_epochs_runs_until_it_is_interrupted() {
    let (trial, _) = planes("infer best = map(Plane, rows) { epochs = 1000000000000 }");
    let out = trial.path("out");
    let mut child = spawn(&trial, "--out", &out);
    let path = wait_for_training(&mut child, &out, &[]);
    assert!(path.is_some(), "{:?}", child.try_wait());
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    // The run must continue instead of starting again. In this program, an epoch is one step.
    let before = fs::read(out.join("result.json")).expect("a result");
    let before: Value = serde_json::from_slice(&before).expect("JSON");
    let steps = |result: &Value| {
        result["infer"]["best"]["diagnostics"]["steps"]
            .as_u64()
            .unwrap_or(0)
    };
    let mut child = spawn(&trial, "--resume", &out);
    // The signal is sent repeatedly, because a process that starts with signals ignored loses every signal that arrives
    // before `bnnc` installs its handler.
    while child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(300));
        let id = child.id().to_string();
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .expect("kill runs");
    }
    let after = fs::read(out.join("result.json")).expect("a result");
    let after: Value = serde_json::from_slice(&after).expect("JSON");
    assert!(steps(&after) >= steps(&before) && steps(&before) > 0);
}

/// Inferences that take years. Each of them saves its state in one file.
const ENDLESS: [&str; 6] = [
    "map(Plane, rows) { epochs = 1000000000 }",
    "vi(Wide, rows) { epochs = 1000000000 }",
    "swag(Plane, rows) { epochs = 1000000000 }",
    "ensemble(Plane, rows) { epochs = 1000000000, members = 2 }",
    "dropout(Net, rows) { epochs = 1000000000 }",
    "nuts(Plane, rows) { chains = 1, warmup = 100, draws = 1000000 }",
];

/// The number of times a run saves its state before it is killed.
const SAVES: usize = 5;

/// The part of a file with a saved state that has not been read yet. After a magic number and a checksum of eight bytes
/// each, the file has the format of `postcard`: lengths and counts have seven bits per byte, the lowest
/// first, and all bytes except the last have the highest bit set.
struct Saved<'a>(&'a [u8]);

impl Saved<'_> {
    fn count(&mut self) -> u64 {
        let last = self.0.iter().position(|byte| *byte < 0x80).expect("a last byte");
        let (digits, rest) = self.0.split_at(last + 1);
        self.0 = rest;
        let digits = digits.iter().rev();
        digits.fold(0, |count, byte| (count << 7) | u64::from(byte & 0x7f))
    }

    /// Skips an array of numbers of eight bytes.
    fn array(&mut self) {
        let length = 8 * self.count() as usize;
        self.0 = &self.0[length..];
    }
}

/// Returns the number of steps of a training, or the number of iterations of a chain, and the bytes
/// of the file that saves this state. Returns `None` before a state is saved.
fn saved_steps(out: &Path) -> Option<(u64, Vec<u8>)> {
    let is_state = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "training" || end == "chain")
    };
    let files = fs::read_dir(out.join("checkpoint")).ok()?;
    let path = files.filter_map(|file| Some(file.ok()?.path())).find(is_state)?;
    let bytes = fs::read(&path).ok()?;
    let mut saved = Saved(&bytes[16..]);
    if path.extension().is_some_and(|end| end == "training") {
        // The values of all states, and the number of steps.
        (0..saved.count()).for_each(|_| saved.array());
        return Some((saved.count(), bytes));
    }
    // The two lengths of a record, the number of records, and the number of iterations.
    let [_, _, _, iterations] = [(); 4].map(|()| saved.count());
    Some((iterations, bytes))
}

/// Runs the program until it has saved a state `saves` times, and kills it. Returns the number of
/// steps in the last state.
fn killed_after(trial: &Trial, how: &str, out: &Path, saves: usize) -> u64 {
    let mut last = saved_steps(out);
    let mut child = spawn(trial, how, out);
    let clock = Instant::now();
    let mut count = 0;
    while count < saves {
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "{count} saves in a minute"
        );
        assert!(child.try_wait().expect("the child is known").is_none());
        std::thread::sleep(Duration::from_millis(1));
        let found = saved_steps(out);
        if found.is_some() && found != last {
            (count, last) = (count + 1, found);
        }
    }
    child.kill().expect("the child can be killed");
    child.wait().expect("it ends");
    saved_steps(out).map_or(0, |(steps, _)| steps)
}

/// The first state is saved after 10 ms of a training or 50 ms of a chain, and each later interval
/// is twice as long. The last of five states therefore has many more steps than the first state of a
/// run that starts again.
#[test]
fn resumed_runs_continue_from_the_step_of_the_last_state() {
    for infer in ENDLESS {
        let (trial, _) = planes(&format!(
            "{NET}
infer one = {infer}"
        ));
        let out = trial.path("out");
        let before = killed_after(&trial, "--out", &out, SAVES);
        let after = killed_after(&trial, "--resume", &out, 1);
        assert!(after > before, "{infer}: {before}, then {after}");
        // If the run had started again, its state would have advanced by as many steps as the first run took.
        assert!(after < 2 * before, "{infer}: {before}, then {after}");
    }
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
