//! Finds integers that a column of a file writes in two ways, with and without leading zeros.

use std::collections::HashMap;

/// After this number of different integers, the search stops. It then uses about two megabytes.
const MOST: usize = 100_000;

/// The spellings of the integers in a column. Spellings are stored only after the first cell with a leading zero.
#[derive(Default)]
pub(super) struct Spellings {
    /// Each integer, and the number of its digits in the file.
    digits: HashMap<i64, usize>,
    found: Option<[String; 2]>,
}

impl Spellings {
    /// Adds a cell. `values` are the integers of the column so far, including this cell.
    pub(super) fn add(&mut self, cell: &[u8], values: &[i64]) {
        let cell = cell.trim_ascii();
        let is_padded = cell.len() > 1 && cell[0] == b'0';
        let is_started = !self.digits.is_empty();
        let is_digits = cell.iter().all(u8::is_ascii_digit);
        let (Some((value, earlier)), true) = (values.split_last(), is_digits && (is_padded || is_started))
        else {
            return;
        };
        if self.found.is_some() || self.digits.len() > MOST {
            return;
        }
        if !is_started {
            let earlier = earlier.iter().filter(|value| **value >= 0).take(MOST);
            self.digits = earlier.map(|value| (*value, value.to_string().len())).collect();
        }
        let digits = cell.len();
        if let Some(other) = self
            .digits
            .insert(*value, digits)
            .filter(|other| *other != digits)
        {
            self.found = Some([other, digits].map(|digits| format!("{value:0digits$}")));
        }
    }

    /// Returns two spellings of the same integer, or `None` if every integer has only one.
    pub(super) fn finish(self) -> Option<[String; 2]> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cells: &[&str]) -> Option<[String; 2]> {
        let (mut spellings, mut values) = (Spellings::default(), Vec::new());
        for cell in cells {
            values.push(cell.parse().unwrap());
            spellings.add(cell.as_bytes(), &values);
        }
        spellings.finish()
    }

    #[test]
    fn only_integers_with_two_spellings_are_found() {
        let pair = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        assert_eq!(found(&["01001", "1001"]), pair("01001", "1001"));
        assert_eq!(found(&["5", "1001", "-3", "01001"]), pair("1001", "01001"));
        assert_eq!(found(&["0", "00"]), pair("0", "00"));
        assert_eq!(found(&["01", "02", "11", "02"]), None);
        assert_eq!(found(&["1", "02", "-1", "3"]), None);
    }
}
