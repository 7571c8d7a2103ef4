//! Stores text columns while a file is read. Each cell is stored as the index of its string in the
//! list of distinct strings.

use crate::table::ArrayValues;
use std::collections::HashMap;

/// The number of bytes that are counted for a cell of a text column. The code of its level takes four
/// bytes. These are counted twice, because a growing list can reserve up to twice the space that it uses.
const CODE: usize = 8;

/// The number of bytes counted for a level in addition to its text, which is stored twice. Each of the
/// two copies has a header of the allocator of at most 32 bytes. The list of levels takes 24 bytes per
/// level. These count twice, because a list that grows may double its capacity. The map takes 33 bytes
/// per slot. While the map grows, its old and new slots together are three times as many as its old
/// slots, and seven of eight old slots are in use.
const LEVEL: usize = 2 * 32 + 2 * 24 + 3 * 33 * 8 / 7;

/// Replaces strings by integer codes.
#[derive(Default)]
pub(crate) struct Levels {
    codes: Vec<u32>,
    levels: Vec<String>,
    places: HashMap<String, u32>,
}

impl Levels {
    /// Adds one string. Returns the number of bytes that its code takes, and its level if the string
    /// did not occur before.
    pub(crate) fn push(&mut self, text: &str) -> usize {
        if let Some(&code) = self.places.get(text) {
            self.codes.push(code);
            return CODE;
        }
        let code = self.levels.len() as u32;
        self.levels.push(text.to_string());
        self.places.insert(text.to_string(), code);
        self.codes.push(code);
        CODE + LEVEL + 2 * text.len()
    }

    /// Returns the codes of all strings, and the list of distinct strings.
    pub(crate) fn finish(self) -> ArrayValues {
        ArrayValues::Level {
            codes: self.codes,
            levels: self.levels,
        }
    }
}
