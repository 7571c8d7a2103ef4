//! Tests how columns, levels and indices of data are bound to a model.

mod columns;
mod expressions;
mod levels;
mod positions;
mod vectors;

use serde_json::Value;
use std::fmt::Write as _;

fn parameters(result: &Value) -> &Value {
    &result["infer"]["fit"]["parameters"]
}

/// Returns the posterior mean of a parameter, or of one of its elements.
fn mean(result: &Value, name: &str) -> f64 {
    let found = &parameters(result)[name]["mean"];
    found
        .as_f64()
        .unwrap_or_else(|| panic!("no `{name}` in {}", parameters(result)))
}

/// Returns a table with the columns `g, y` and four rows for each group. The targets are 10 times
/// the position of the group, plus 0 to 3.
fn groups(ids: &[i64]) -> String {
    let mut text = "g,y\n".to_owned();
    for (position, id) in ids.iter().enumerate() {
        for row in 0..4 {
            let _ = writeln!(text, "{id},{}", 10 * position as i64 + row);
        }
    }
    text
}

fn groups_program(data: &str, size: &str, size_of_mu: &str) -> String {
    format!(
        "data d = {data}\nmodel Groups(g: index({size})) -> y: real {{\n  mu: real[{size_of_mu}] ~ Normal(0, 100)\n  \
         y ~ Normal(mu[g], 1)\n}}\ninfer fit = nuts(Groups, d) {{ chains = 2, warmup = 200, draws = 200, report = [mu] }}\n"
    )
}

/// Returns a table with the columns `x, y` and one row for each number from 1 to 30. `write`
/// returns the text of `x` for a number, and `y` is twice the number.
fn doubled(write: impl Fn(u32) -> String) -> String {
    let rows = (1..=30).map(|row| format!("{},{}\n", write(row), 2 * row));
    std::iter::once("x,y\n".to_owned()).chain(rows).collect()
}
