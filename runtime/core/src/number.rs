//! Numbers as results and tables write them.

use serde_json::{Value, json};

/// JSON has no infinities.
pub fn finite(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

/// A number in ten places: with an exponent where four decimals would say nothing, or too much; a dash where there is none.
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
