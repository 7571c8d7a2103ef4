//! Lists of names in messages.

use std::fmt::Display;

/// Returns the names in backticks, separated by commas: `` `a`, `b` ``.
pub fn quoted(names: impl IntoIterator<Item = impl Display>) -> String {
    quoted_with(", ", names)
}

/// Returns the names in backticks, with `separator` between them.
pub fn quoted_with(separator: &str, names: impl IntoIterator<Item = impl Display>) -> String {
    let names = names.into_iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(separator)
}

/// Returns the first `most` names in backticks, and the number of the others: `` `a`, `b` and 3 more ``.
pub fn first_quoted<T: Display>(names: impl IntoIterator<Item = T>, most: usize) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let listed = quoted(names.iter().take(most));
    match names.len().saturating_sub(most) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}
