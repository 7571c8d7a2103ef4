//! Alternative spellings of words of the language. Programs may use American spellings of British
//! words, and former names.

/// Pairs of an alternative spelling and the word of the language, sorted by the spelling.
pub static TABLE: &[(&str, &str)] = &[
    ("bridge_normalized", "bridge_normalised"),
    ("non_centred", "non_centered"),
    ("noncenter", "non_centered"),
    ("noncentered", "non_centered"),
    ("noncentre", "non_centered"),
    ("normalize", "normalise"),
    ("optimizer", "optimiser"),
    ("standardize", "standardise"),
];

/// Returns the word of the language for an alternative spelling. Any other word is returned
/// unchanged.
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
    fn spellings_are_sorted_and_lead_to_canonical_words() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(TABLE.iter().all(|(_, word)| super::word(word) == *word));
    }
}
