//! Data and sizes on command lines: `NAME=PATH` and `500M`.

use crate::diagnostics::BAD_SETTING;
use bnnc_base::diagnostic::Diagnostic;
use std::path::PathBuf;

/// The text of a `--set` value is a separate source. The name of this source is this prefix followed by
/// `ITEM.KEY`.
pub const SET: &str = "--set ";

/// The files of data items, in order, each with the name of its data item. Several files with the same
/// name are shards, or inputs and targets.
pub type Files = Vec<(String, Vec<PathBuf>)>;

/// Splits each `NAME=PATH` into the name and the path.
///
/// # Errors
/// Fails with one diagnostic for each word that does not contain `=`.
pub fn pairs(words: &[String]) -> Result<Vec<(String, PathBuf)>, Vec<Diagnostic>> {
    let mut pairs = Vec::new();
    let mut diagnostics = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((name, path)) => pairs.push((name.to_owned(), path.into())),
            None => {
                let text = format!("`--data {word}` is not `NAME=PATH`");
                diagnostics.push(Diagnostic::usage(&BAD_SETTING, text));
            }
        }
    }
    if diagnostics.is_empty() {
        Ok(pairs)
    } else {
        Err(diagnostics)
    }
}

/// Groups the files by name.
pub fn by_name(pairs: &[(String, PathBuf)]) -> Files {
    let mut all = Files::new();
    for (name, path) in pairs {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, paths)) => paths.push(path.clone()),
            None => all.push((name.clone(), vec![path.clone()])),
        }
    }
    all
}

/// Parses a number of bytes: `500M`, `2G`, `1048576`. Units are powers of 1024.
///
/// # Errors
/// Fails if the text is not a non-negative number with an optional unit.
pub fn bytes(text: &str) -> Result<u64, Box<Diagnostic>> {
    let trimmed = text
        .trim()
        .trim_end_matches(['B', 'b'])
        .trim_end_matches(['i', 'I']);
    let (digits, unit) = match trimmed.char_indices().last() {
        Some((at, unit)) if unit.is_ascii_alphabetic() => (&trimmed[..at], unit.to_ascii_uppercase()),
        _ => (trimmed, ' '),
    };
    let power = [' ', 'K', 'M', 'G', 'T'].iter().position(|known| *known == unit);
    let number: Option<f64> = digits.trim().parse().ok().filter(|number: &f64| *number >= 0.0);
    match (number, power) {
        (Some(number), Some(power)) => Ok((number * 1024f64.powi(power as i32)) as u64),
        _ => Err(Box::new(Diagnostic::usage(
            &BAD_SETTING,
            format!("`{text}` is not a size such as `500M` or `2G`"),
        ))),
    }
}
