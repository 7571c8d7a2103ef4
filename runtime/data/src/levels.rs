//! Text columns while a file is read. Each cell is stored as the index of its string in the list of
//! distinct strings.

use crate::table::ArrayValues;
use std::collections::HashMap;

/// Replaces strings by integer codes.
#[derive(Default)]
pub(crate) struct Levels {
    codes: Vec<u32>,
    levels: Vec<String>,
    places: HashMap<String, u32>,
}

impl Levels {
    /// Adds one string. Returns the number of bytes of the stored copies. Returns 0 if the string
    /// occurred before.
    pub(crate) fn push(&mut self, text: &str) -> usize {
        if let Some(&code) = self.places.get(text) {
            self.codes.push(code);
            return 0;
        }
        let code = self.levels.len() as u32;
        self.levels.push(text.to_string());
        self.places.insert(text.to_string(), code);
        self.codes.push(code);
        2 * (text.len() + size_of::<String>()) + size_of::<u32>()
    }

    /// Returns the codes of all strings, and the list of distinct strings.
    pub(crate) fn finish(self) -> ArrayValues {
        ArrayValues::Level {
            codes: self.codes,
            levels: self.levels,
        }
    }
}
