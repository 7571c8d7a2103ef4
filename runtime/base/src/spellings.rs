//! Other spellings of words of the language, which programs may use: American ones of British words, and former names.

/// Each spelling with the word, sorted by spelling.
static TABLE: &[(&str, &str)] = &[
    ("bridge_normalized", "bridge_normalised"),
    ("non_centred", "non_centered"),
    ("noncenter", "non_centered"),
    ("noncentered", "non_centered"),
    ("noncentre", "non_centered"),
    ("optimizer", "optimiser"),
    ("standardize", "standardise"),
];

/// Each other spelling with the word, sorted by spelling.
pub fn all() -> &'static [(&'static str, &'static str)] {
    TABLE
}

/// The word of the language that a word stands for, mostly itself.
///
/// ```
/// use bnnc_base::spellings::word;
/// assert_eq!(word("optimizer"), "optimiser");
/// assert_eq!(word("optimiser"), "optimiser");
/// ```
pub fn word(written: &str) -> &str {
    let at = TABLE.binary_search_by(|(spelling, _)| (*spelling).cmp(written));
    at.map_or(written, |at| TABLE[at].1)
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn the_table_is_sorted_and_leads_to_words() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(TABLE.iter().all(|(_, word)| super::word(word) == *word));
    }
}
