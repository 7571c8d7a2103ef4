//! Marks that stand for missing values in a CSV file, such as `NA`.

/// Marks that stand for a missing value in every column. In a column of text, they count only if
/// missing values are allowed, and only in this spelling.
const EVERYWHERE: &[&str] = &["#N/A", "?", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"];

/// Marks that stand for a missing value only among numbers. In a column of text, they are ordinary
/// texts. For example, `none` may be one of the classes.
const AMONG_NUMBERS: &[&str] = &["#NA", "#NULL!", "#VALUE!", "-", "--", ".", "none"];

/// Returns whether a text stands for a missing value in every column.
pub fn is_missing_text(text: &str) -> bool {
    EVERYWHERE.contains(&text)
}

/// Returns whether a text stands for a missing value in a column of numbers. The case of the letters
/// is ignored, because a column of numbers has no other texts.
pub(super) fn is_missing_number(text: &str) -> bool {
    let mut all = EVERYWHERE.iter().chain(AMONG_NUMBERS);
    all.any(|mark| mark.eq_ignore_ascii_case(text))
}
