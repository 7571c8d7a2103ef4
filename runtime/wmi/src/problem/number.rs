//! Reads numbers exactly as they are written, for example `1/3`, `-0.1` or `1e-9`.

use super::diagnostics::Flaw;
use super::tree::{Position, short};
use crate::rational::{self, Rational};

/// A number with more characters than this is rejected.
const DIGITS: usize = 1000;

/// Returns whether a word looks like a number, even if it is malformed.
pub(super) fn looks_like_number(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// Reads a number. It may be a decimal number with or without an exponent, or a quotient of two
/// decimal numbers.
pub(super) fn read(word: &str, at: Position) -> Result<Rational, Flaw> {
    if word.len() > DIGITS {
        return Err(Flaw::large(at, format!("a number of more than {DIGITS} digits")));
    }
    let Some(number) = rational::parse(word) else {
        let text = format!(
            "expected a number such as `1/3`, `0.1` or `1e-9`, found `{}`",
            short(word)
        );
        return Err(
            Flaw::problem(at, text).help("a denominator must not be 0, and an exponent is at most 4096")
        );
    };
    Ok(number)
}
