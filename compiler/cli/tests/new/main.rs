//! Tests the programs that `bnnc new` writes for tables of every kind, and its errors.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

#[path = "../support/mod.rs"]
mod support;

mod estimates;
mod inputs;
mod outputs;
mod tables;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::run;
use support::trial::Trial;

/// The first line of the commented network in a program.
const NETWORK: &str = "// model Network(";

/// Runs `bnnc new`, and returns the program and the lines on the terminal.
#[track_caller]
fn written(trial: &Trial, arguments: &[&str]) -> (String, String) {
    let program = trial.path("program.bnn");
    let file = trial.path(arguments[0]);
    let mut all = vec![
        "new".into(),
        file.into_os_string(),
        program.clone().into_os_string(),
    ];
    all.extend(arguments[1..].iter().map(Into::into));
    let output = run(all);
    output.assert_silent();
    (fs::read_to_string(program).unwrap(), output.stdout)
}

/// Checks that a program does not have errors, and that `bnnc fmt` does not change it.
#[track_caller]
fn assert_clean(program: &Path) {
    let text = fs::read_to_string(program).unwrap();
    let checked = run([Path::new("check"), program]);
    assert_eq!(checked.status, 0, "{}\n{text}", checked.stderr);
    let formatted = run([Path::new("fmt"), Path::new("--check"), program]);
    assert_eq!(formatted.status, 0, "{}\n{text}", formatted.stdout);
}

/// Checks a program as it is, and then the same program after uncommenting its network.
#[track_caller]
fn assert_sound(program: &Path) {
    assert_clean(program);
    let text = fs::read_to_string(program).unwrap();
    let Some(at) = text.find(NETWORK) else { return };
    let network = text[at..].lines().map(|line| {
        let code = line.strip_prefix("//").unwrap();
        code.strip_prefix(' ').unwrap_or(code)
    });
    let network: Vec<&str> = network.collect();
    let both = program.with_file_name("both.bnn");
    fs::write(&both, text[..at].to_owned() + &network.join("\n") + "\n").unwrap();
    assert_clean(&both);
}

/// Writes a table, runs `bnnc new` on it, and checks the program. Returns the program and the lines
/// on the terminal.
#[track_caller]
fn program_of(table: &str, arguments: &[&str]) -> (String, String) {
    let trial = Trial::new().file("cars.csv", table);
    let mut all = vec!["cars.csv"];
    all.extend(arguments);
    let found = written(&trial, &all);
    assert_sound(&trial.path("program.bnn"));
    found
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    // A comment may break the line at any word, so line breaks are removed before the comparison.
    let flat = |text: &str| {
        text.replace("//", " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for part in parts {
        assert!(flat(text).contains(&flat(part)), "`{part}` is not in\n{text}");
    }
}

/// Generates uniform numbers by a linear congruential generator with the constants of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a standard normal number, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns a Poisson number with the mean `mean`, by Knuth's product of uniform numbers.
    fn poisson(&mut self, mean: f64) -> i64 {
        let (mut product, mut count) = (self.uniform(), 0);
        while product > (-mean).exp() {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

/// Returns a table with the header `header` and `rows` rows. The function `row` creates each row.
fn table(header: &str, rows: usize, mut row: impl FnMut(usize, &mut Random) -> String) -> String {
    let mut random = Random(7);
    let mut text = format!("{header}\n");
    for at in 0..rows {
        text += &row(at, &mut random);
        text.push('\n');
    }
    text
}

/// Writes the program of a table, runs it, and returns the results of its inference.
#[track_caller]
fn results(text: &str) -> Value {
    let trial = Trial::new().file("cars.csv", text);
    written(&trial, &["cars.csv"]);
    let result = trial.result(&[]);
    let fit = result["infer"]["fit"].clone();
    let rhat = fit["diagnostics"]["rhat"].as_f64().unwrap();
    assert!(rhat < 1.02, "{fit}");
    fit
}
