//! Tests the running means of resumed runs.

use crate::support::run;
use crate::{assert_kills_of, assert_resumed, finish, only, workshop};
use std::fs;
use std::path::Path;

/// Running means are part of the checkpoint and of the saved parameters. Predictions from the folder equal the predictions
/// of the run.
#[test]
fn interrupted_trainings_keep_their_running_means() {
    let workshop = workshop("means");
    let program = "data rows = csv(\"rows.csv\") { target = y }\nmodel Line(x: real[D]) -> y: real {\n  hidden = Dense(6)\n  norm = BatchNorm()\n  \
                   out = Dense(1)\n  y ~ Normal(out(flatten(tanh(norm(reshape(hidden(x), 6, 1, 1)))))[0], 0.3)\n}\n\
                   infer found = map(Line, rows) { epochs = 20000, batch = 10 }\n";
    fs::write(workshop.join("line.bnn"), program).unwrap();
    let whole = assert_resumed(&workshop);
    let rows = workshop.join("rows.csv");
    let predicted = |folder: &Path| {
        let output = run([
            "predict".as_ref(),
            folder.as_os_str(),
            "--data".as_ref(),
            rows.as_os_str(),
        ]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        output.stdout
    };
    let first = predicted(&whole);
    assert!(first.lines().count() > 40, "{first}");
    // A training run that starts from the file begins with the weights and the stored means of the first training run, and its
    // only step hardly changes them.
    let still = program
        .replace("BatchNorm()", "BatchNorm(momentum = 1e-12)")
        .replace(
            "epochs = 20000, batch = 10",
            "steps = 1, optimiser = SGD(1e-15), start = safetensors(\"whole/posterior.safetensors\")",
        );
    fs::write(workshop.join("line.bnn"), still).unwrap();
    let again = workshop.join("again");
    finish(&workshop, "--out", &again);
    for (first, second) in first.lines().zip(predicted(&again).lines()).skip(1) {
        let numbers = |line: &str| line.split(',').map(|cell| cell.parse().unwrap_or(0.0)).collect();
        let [first, second]: [Vec<f64>; 2] = [first, second].map(numbers);
        let mut pairs = first.iter().zip(&second);
        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-3), "{first:?} {second:?}");
    }
}

/// A program that applies every method that trains to a network with batch normalisation.
const NORMALISED: &str = "\
data rows = csv(\"rows.csv\") {
  target = y
  test   = csv(\"rows.csv\")
}

model Net(x: real[D]) -> y: real {
  hidden = Dense(4)
  norm   = BatchNorm()
  out    = Dense(1)
  y ~ Normal(out(flatten(tanh(norm(reshape(hidden(x), 4, 1, 1)))))[0], 0.5)
}

infer members  = ensemble(Net, rows) { members = 3, epochs = 4000, batch = 10 }
infer averaged = swag(Net, rows) { epochs = 10000, batch = 10, optimiser = SGD(1e-4), predictive_draws = 20 }
infer gaussian = laplace(Net, rows) { epochs = 10000, batch = 10 }
infer masked   = dropout(Net, rows) { epochs = 10000, batch = 10 }
";

/// Each vector of weights has its own running means, which are part of the checkpoint and of the saved posterior.
#[test]
fn killed_methods_resume_to_the_same_running_means() {
    let workshop = workshop("normalised");
    fs::write(workshop.join("line.bnn"), NORMALISED).unwrap();
    let infers = ["members", "averaged", "gaussian", "masked"];
    let kills = assert_kills_of(&workshop, &infers.join(","), &[0.55, 0.7]);
    assert!(kills >= 1, "the run ended before it was killed");
    let rows = workshop.join("rows.csv");
    let whole = workshop.join("whole");
    for infer in infers {
        let output = run([
            "predict",
            whole.to_str().unwrap(),
            "--infer",
            infer,
            "--data",
            rows.to_str().unwrap(),
        ]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let saved = fs::read_to_string(whole.join(format!("predictions.{infer}.csv"))).unwrap();
        let [saved, again] = [saved, output.stdout].map(|text| means_of(&text));
        assert_eq!(saved.len(), 40);
        assert_eq!(saved, again, "{infer}");
    }
}

/// The advice about a Laplace approximation that is too wide names only methods that support the model.
#[test]
fn advice_about_normalised_networks_leaves_chains_out() {
    let workshop = workshop("advice");
    fs::write(workshop.join("line.bnn"), NORMALISED).unwrap();
    let output = run(only(&workshop, "gaussian", "--out", &workshop.join("out")));
    assert!(output.stderr.contains("E0653"), "{}", output.stderr);
    assert!(output.stderr.contains("`ensemble` or `vi`"), "{}", output.stderr);
}

/// Returns the column `mean` of a table of predictions.
fn means_of(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "mean").unwrap();
    lines
        .map(|line| line.split(',').nth(at).unwrap().to_owned())
        .collect()
}
