//! Columns of text as they are read: codes into distinct strings.

use crate::table::ArrayValues;
use std::collections::HashMap;

/// Collects strings into codes.
#[derive(Default)]
pub(crate) struct Levels {
    codes: Vec<u32>,
    levels: Vec<String>,
    places: HashMap<String, u32>,
}

impl Levels {
    /// Adds one string.
    pub(crate) fn push(&mut self, text: &str) {
        let code = match self.places.get(text) {
            Some(&code) => code,
            None => {
                let code = self.levels.len() as u32;
                self.levels.push(text.to_string());
                self.places.insert(text.to_string(), code);
                code
            }
        };
        self.codes.push(code);
    }

    /// All strings so far.
    pub(crate) fn finish(self) -> ArrayValues {
        ArrayValues::Level {
            codes: self.codes,
            levels: self.levels,
        }
    }
}
