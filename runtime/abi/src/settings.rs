//! Data and sizes on command lines: `NAME=PATH` and `500M`.

use bnnc_base::diagnostic::{Code, Diagnostic};
use std::path::PathBuf;

/// An option of the command line that cannot be parsed.
pub static BAD_SETTING: Code = Code {
    id: "E0601",
    title: "bad setting",
    explain: "`--set` needs `ITEM.KEY=VALUE`: the name of an `infer` or `data` item, one of its options, and a value as it \
              would be written in the file.\n\n```\nbnnc model.bnn --set radial.epochs=10 --set yacht.split=7\n```",
};

/// A name on the command line that is not the name of an inference block.
pub static NO_INFER: Code = Code {
    id: "E0603",
    title: "no such inference",
    explain: "`--only` and `--infer` need the names of `infer` items of the program.",
};

/// The text of a `--set` value is a source of its own. The name of this source is this prefix followed by
/// `ITEM.KEY`.
pub const SET: &str = "--set ";

/// Files by the name of their data item, in order. Several files with one name are shards, or inputs and target.
pub type Files = Vec<(String, Vec<PathBuf>)>;

/// Splits each `NAME=PATH` into the name and the path.
///
/// # Errors
/// Returns the words that do not contain `=`.
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

/// Returns the diagnostic for a `--set` that is not `ITEM.KEY=VALUE`.
pub fn no_setting(word: &str) -> Diagnostic {
    let text = format!("`--set {word}` is not `ITEM.KEY=VALUE`");
    let diagnostic = Diagnostic::usage(&BAD_SETTING, text);
    match word.split_once('=') {
        Some((key, _)) if !key.contains('.') => {
            diagnostic.help(format!("name the `infer` or `data` item: `--set NAME.{word}`"))
        }
        _ => diagnostic,
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

/// Returns the diagnostic for the name of an inference block that does not exist.
pub fn no_infer(name: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::usage(&NO_INFER, format!("there is no inference `{name}`"))
        .suggest(name, known.iter().copied())
        .note(format!("the program has {}", known.join(", ")))
}
