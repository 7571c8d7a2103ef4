//! Tests how programs are understood: their names, scales, links and types.

mod dists;
mod elements;
mod help;
mod limits;
mod links;

use crate::support::trial::Trial;
use serde_json::Value;
use std::fmt::Write;

/// Returns sixty positive numbers. The numbers resemble absolute values of draws from a normal
/// distribution with mean one and standard deviation one.
fn outcomes() -> Vec<f64> {
    // The fractional parts of multiples of the golden ratio are evenly spread probabilities. The
    // quantile function of the logistic distribution is close to the quantile function of the
    // normal distribution.
    let quantile = |at: usize| (at as f64 * 0.618_033_988_749_895 + 0.31).fract();
    (0..60)
        .map(|at| {
            let u = quantile(at);
            (1.0 + (u / (1.0 - u)).ln() / 1.7).abs()
        })
        .collect()
}

/// Returns a table: `x` alternates between 0 and 1, `g` is an integer from 1 to 3, and `event` is 0
/// or 1.
fn table() -> String {
    let mut text = "x,g,event,y\n".to_owned();
    for (at, y) in outcomes().iter().enumerate() {
        writeln!(text, "{},{},{},{y}", at % 2, at % 3 + 1, at % 2).expect("a string takes any text");
    }
    text
}

fn arrays() -> String {
    serde_json::json!({ "y": outcomes() }).to_string()
}

fn trial(program: &str) -> Trial {
    Trial::new()
        .file("d.csv", table())
        .file("d.json", arrays())
        .program(program)
}

fn number(value: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(value, |value, key| &value[*key]);
    found.as_f64().unwrap_or_else(|| panic!("{path:?} is {found}"))
}

/// Trains two forms of one model, and checks that the site `site` has the same final value in both.
fn assert_alike(data: &str, first: &str, second: &str, site: &str) {
    let found = [first, second].map(|model| {
        let program = format!(
            "{data}\n{model}\ninfer f = map(M, d) {{ epochs = 30, batch = 60, optimiser = Adam(0.1) }}\n"
        );
        let result = trial(&program).result(&["--precision", "f64"]);
        number(&result, &["infer", "f", "parameters", site, "mean"])
    });
    // The two forms differ only in the order of summation.
    assert!((found[0] - found[1]).abs() < 1e-6, "{found:?}\n{first}\n{second}");
}

const CSV: &str = "data d = csv(\"d.csv\")\n";

const JSON: &str = "data d = json(\"d.json\")\n";

fn likelihood(output: &str, likelihood: &str) -> Trial {
    trial(&format!(
        "model M(x: real, w: real[3]) -> y: {output} {{\n  b ~ Normal(0, 1)\n  a: positive ~ HalfNormal(1)\n  y ~ {likelihood}\n}}\n"
    ))
}

fn message(program: &str, code: &str, texts: &[&str]) {
    trial(program).bnnc("check", &[]).assert_error(code, 1, texts);
}
