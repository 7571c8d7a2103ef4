//! Formats numbers for results and tables.

use serde_json::{Value, json};
use std::fmt::Display;

/// Converts a number to JSON. A number that is not finite becomes null, because JSON cannot
/// represent infinities.
pub fn finite(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

/// Formats a number with at most ten characters. Numbers that are too small or too large for four
/// decimals are written with an exponent. NaN is written as a dash.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "-".to_owned()
    } else if size != 0.0 && size.is_finite() && !(5e-4..1e5).contains(&size) {
        format!("{value:.3e}")
    } else {
        format!("{value:.4}")
    }
}

/// Returns a line of the printed table of an inference, with its name on the left and its value on the right.
pub fn table_line(name: &str, value: impl Display) -> String {
    format!("  {name:<21} {value:>10}\n")
}
