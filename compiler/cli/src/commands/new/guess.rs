//! Guesses how a column is used from its name and its values.

use super::facts::{ColumnFacts, shown};

/// How the program uses a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnUse {
    /// The column is an input with a coefficient.
    Number,
    /// The column is an input with one effect for each of its values.
    Groups,
    /// The column is left out. The text is the reason.
    LeftOut(String),
}

/// Words in a column's name that suggest that the column numbers or names the rows.
const IDS: &[&str] = &["id", "ids", "index", "nr", "row", "rownames", "serial", "uuid"];

/// Words in a column's name that suggest that the column measures time.
const TIMES: &[&str] = &[
    "date",
    "datetime",
    "day",
    "hour",
    "minute",
    "month",
    "second",
    "t",
    "time",
    "timestamp",
    "week",
    "year",
];

/// Words in a column's name that suggest that its integers name groups.
const GROUPS: &[&str] = &[
    "category", "class", "cluster", "code", "county", "district", "group", "id", "label", "postcode",
    "region", "school", "shop", "site", "species", "state", "store", "subject", "team", "type", "ward",
    "zip",
];

/// A column of integers is taken as groups if it has at most this number of different values, and
/// at least [`ROWS_OF_A_VALUE`] rows per value on average.
const FEW_VALUES: usize = 5;
const ROWS_OF_A_VALUE: usize = 20;

/// A column is taken as groups only if it has at least this number of rows per group on average.
/// Otherwise, the model would have almost as many effects as rows.
const ROWS_OF_A_GROUP: usize = 3;

/// Guesses how a column is used. `place` is the position of the column in the file.
pub fn guess(name: &str, place: usize, facts: &ColumnFacts) -> ColumnUse {
    if !is_writable(name) {
        return left_out(
            "its name has a double quote or a line break, which cannot appear in a string of a program",
        );
    }
    if facts.is_rounded {
        return left_out("it has integers beyond 2^53, which reals cannot tell apart");
    }
    match &facts.texts {
        Some(texts) if facts.distinct == 1 => {
            let text = texts.first().map(|text| shown(text)).unwrap_or_default();
            left_out(&format!("every row has the value `{text}`"))
        }
        None if facts.distinct == 1 => {
            let value = bnnc_base::number::rounded(facts.extent().0, 4);
            left_out(&format!("every row has the value {value}"))
        }
        Some(_) => text(facts),
        None => numbers(name, place, facts),
    }
}

fn left_out(why: &str) -> ColumnUse {
    ColumnUse::LeftOut(why.to_owned())
}

fn text(facts: &ColumnFacts) -> ColumnUse {
    if facts.is_dates() {
        return left_out("it holds dates as text; add a column with the number of days if there is a trend");
    }
    if facts.is_numbers_as_text() && facts.distinct * ROWS_OF_A_GROUP > facts.rows {
        return left_out("its numbers are written as text");
    }
    if facts.distinct == facts.rows {
        return left_out("every row has a text of its own, as in an identifier");
    }
    if facts.distinct * ROWS_OF_A_GROUP > facts.rows {
        let (values, rows) = (facts.distinct, facts.rows);
        return left_out(&format!(
            "it has {values} different texts in {rows} rows: too few rows for each text"
        ));
    }
    ColumnUse::Groups
}

fn numbers(name: &str, place: usize, facts: &ColumnFacts) -> ColumnUse {
    let is_id = has(name, IDS);
    if !is_time(name) && facts.numbers_the_rows() && (is_id || place == 0 && !matches!(name, "x" | "X")) {
        return left_out("it numbers the rows");
    }
    if is_id && facts.whole && facts.distinct == facts.rows {
        return left_out("every row has a number of its own, as in an identifier");
    }
    let has_rows = |rows: usize| facts.distinct * rows <= facts.rows;
    let is_of_groups = has(name, GROUPS) && has_rows(ROWS_OF_A_GROUP)
        || facts.distinct <= FEW_VALUES && has_rows(ROWS_OF_A_VALUE);
    match facts.whole && facts.distinct > 2 && is_of_groups && !is_time(name) {
        true => ColumnUse::Groups,
        false => ColumnUse::Number,
    }
}

/// Returns whether the name of a column suggests that the column measures time.
pub fn is_time(name: &str) -> bool {
    has(name, TIMES)
}

/// Returns whether the name of a column suggests that the column contains groups.
pub fn is_named_as_groups(name: &str) -> bool {
    has(name, GROUPS)
}

/// Returns whether this name of a column can be written in a program, in double quotes if necessary.
pub fn is_writable(name: &str) -> bool {
    !name.contains(['"', '\n', '\r'])
}

/// Returns whether a name contains one of the words in the list. For example, `customerId`,
/// `customer_id` and `Customer ID` contain the word `id`.
fn has(name: &str, list: &[&str]) -> bool {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.iter().any(|word| list.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_data::table::ArrayValues;

    fn of_ints(name: &str, values: impl IntoIterator<Item = i64>) -> ColumnUse {
        let values: Vec<i64> = values.into_iter().collect();
        let rows: Vec<usize> = (0..values.len()).collect();
        guess(name, 0, &ColumnFacts::of(&ArrayValues::Int(values), &rows))
    }

    #[test]
    fn names_have_words() {
        assert!(has("customerId", IDS) && has("Customer ID", IDS) && has("row", IDS));
        assert!(!has("width", IDS) && !has("idea", IDS) && !has("grid", IDS));
    }

    #[test]
    fn integers_are_numbers_groups_or_identifiers() {
        assert_eq!(of_ints("n", 1..50), left_out("it numbers the rows"));
        assert_eq!(of_ints("year", 1950..2000), ColumnUse::Number);
        assert_eq!(
            of_ints("cylinders", (0..90).map(|i| 4 + 2 * (i % 3))),
            ColumnUse::Groups
        );
        assert_eq!(of_ints("rooms", (0..90).map(|i| i % 9)), ColumnUse::Number);
        assert_eq!(of_ints("school", (0..90).map(|i| 100 + i % 9)), ColumnUse::Groups);
        assert_eq!(of_ints("sold", (0..90).map(|i| i % 2)), ColumnUse::Number);
        let id = of_ints("customer_id", (0..90).map(|i| 1000 + (i * 37) % 101));
        assert!(matches!(id, ColumnUse::LeftOut(why) if why.contains("identifier")));
        assert!(matches!(of_ints("unit", [3; 9]), ColumnUse::LeftOut(why) if why.contains("the value 3")));
    }
}
