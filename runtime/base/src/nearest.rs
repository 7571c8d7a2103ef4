//! Finds the valid name that is most similar to a wrong name.

/// Returns the name with the smallest edit distance to `wrong`. Case is ignored. The distance must
/// be small enough for a spelling mistake: at most a third of the length of `wrong`, or 1.
///
/// ```
/// use bnnc_base::nearest::nearest;
/// assert_eq!(nearest("epocs", ["epochs", "batch"]), Some("epochs"));
/// assert_eq!(nearest("zebra", ["epochs", "batch"]), None);
/// assert_eq!(nearest("g", ["x", "y"]), None);
/// assert_eq!(nearest("X", ["x", "y"]), Some("x"));
/// ```
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = wrong.chars().count();
    let limit = (length / 3).max(1);
    let wrong = wrong.to_lowercase();
    // The edit distance is at least the difference of the lengths. Names of very different lengths
    // are skipped, so that their distances need not be computed.
    let may_be_near = |name: &&str| name.chars().count().abs_diff(length) <= limit;
    names
        .into_iter()
        .filter(may_be_near)
        .map(|name| (strsim::osa_distance(&wrong, &name.to_lowercase()), name))
        // If all letters differ, the names are not similar. For example, `g` is not a spelling
        // mistake for `x`.
        .filter(|(distance, name)| *distance <= limit && *distance < length.max(name.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
