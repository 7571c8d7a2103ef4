//! The names that a generated program uses for columns and files.

use bnnc_driver::program::is_keyword;
use std::collections::HashSet;

/// The names that every generated program declares, and the names of the functions that it calls.
const OWN: &[&str] = &[
    "_i",
    "alpha",
    "beta",
    "d",
    "df",
    "dispersion",
    "dot",
    "eta",
    "exp",
    "hidden",
    "k",
    "n",
    "out",
    "r2",
    "shape",
    "sigma",
    "tanh",
    "tau",
    "x",
];

/// The names that a program already uses.
pub struct ProgramNames {
    taken: HashSet<String>,
}

impl ProgramNames {
    /// Creates a set with the names that every generated program uses.
    pub fn new() -> ProgramNames {
        ProgramNames {
            taken: OWN.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Returns a new name that is as similar to a text as the language allows. The name is added to
    /// the set.
    pub fn claim(&mut self, text: &str) -> String {
        let mut name = String::new();
        for letter in text.chars() {
            match letter.is_ascii_alphanumeric() {
                true => name.push(letter),
                false if name.is_empty() || name.ends_with('_') => {}
                false => name.push('_'),
            }
        }
        let trimmed = name.trim_end_matches('_');
        let mut name = match trimmed.chars().next() {
            // Names in the language consist of ASCII characters. No name is similar to a text
            // without ASCII letters.
            None => "column".to_owned(),
            Some(first) if first.is_ascii_digit() => format!("c_{trimmed}"),
            Some(_) => trimmed.to_owned(),
        };
        if is_plain(text) {
            text.clone_into(&mut name);
        }
        if !is_plain(&name) || self.taken.contains(&name) {
            let free = (2..).map(|count| format!("{name}_{count}"));
            let mut candidates = std::iter::once(format!("{name}_")).chain(free);
            name = candidates.find(|name| !self.taken.contains(name)).unwrap_or(name);
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Returns whether a text is a valid name of the language.
pub fn is_plain(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(is_part)
        && !is_keyword(text)
}

/// Returns the text by which the options of a data item refer to a column.
pub fn reference(column: &str) -> String {
    match is_plain(column) {
        true => column.to_owned(),
        false => format!("\"{column}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_gets_a_name_of_its_own() {
        let mut names = ProgramNames::new();
        let texts = [
            "age",
            "hours per week",
            "2nd",
            "x",
            "data",
            "größe",
            "%",
            "age ",
            "age.",
            "_a",
            "(km)",
        ];
        let claimed: Vec<String> = texts.iter().map(|text| names.claim(text)).collect();
        let expected = [
            "age",
            "hours_per_week",
            "c_2nd",
            "x_",
            "data_",
            "gr_e",
            "column",
            "age_",
            "age_2",
            "a",
            "km",
        ];
        assert_eq!(claimed, expected);
        assert_eq!(reference("hours per week"), "\"hours per week\"");
        assert_eq!(reference("for"), "\"for\"");
        assert_eq!(reference("age"), "age");
    }
}
