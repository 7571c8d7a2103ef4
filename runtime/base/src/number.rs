//! Formats numbers for diagnostics.

/// Numbers whose absolute value is in this range are printed without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-3..1e7;

/// Formats a number with at least this number of significant digits, but without trailing zeros.
/// Examples are `40.4`, `0.0556` and `270.9`. Only numbers below 0.001 and numbers from ten million on
/// have an exponent.
pub fn rounded(value: f64, digits: usize) -> String {
    if !value.is_finite() || value == 0.0 {
        return value.to_string();
    }
    // Rounding may add a digit: 9.9996 becomes 10. The exponent is therefore taken from the rounded
    // number.
    let scientific = format!("{value:.*e}", digits.max(1) - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !PLAIN.contains(&value.abs()) {
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// Formats a number as a program writes it. The text has all digits that are needed to read the
/// same number back: `0.1`, `20000`, `1e300`.
pub fn exact(value: f64) -> String {
    match value == 0.0 || !value.is_finite() || (1e-4..1e16).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// Removes trailing zeros from the decimals of a number.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_numbers_have_the_requested_digits() {
        for (value, digits, text) in [
            (40.4, 3, "40.4"),
            (0.055_56, 3, "0.0556"),
            (270.904_2, 4, "270.9"),
            (10_000.0, 4, "10000"),
            (9.9996, 4, "10"),
            (-0.5, 3, "-0.5"),
            (1234.6, 3, "1235"),
            (123_456.7, 3, "123457"),
            (0.0, 3, "0"),
            (1e-3, 3, "0.001"),
            (1e300, 3, "1e300"),
            (1.234_5e-9, 3, "1.23e-9"),
            (-2.5e7, 3, "-2.5e7"),
            (f64::INFINITY, 3, "inf"),
        ] {
            assert_eq!(rounded(value, digits), text);
        }
    }

    #[test]
    fn exact_numbers_read_back_unchanged() {
        for (value, text) in [
            (0.1, "0.1"),
            (20_000.0, "20000"),
            (1e300, "1e300"),
            (-1e300, "-1e300"),
            (1.5e-8, "1.5e-8"),
            (0.0, "0"),
        ] {
            assert_eq!(exact(value), text);
            assert_eq!(text.parse::<f64>(), Ok(value));
        }
    }
}
