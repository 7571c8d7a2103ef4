//! The nearest valid name to a wrong one.

/// The name at the smallest edit distance, if it is near enough to be a slip of the hand.
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
    // The distance is at least the difference of the lengths: no table is made for a name that cannot be near.
    let may_be_near = |name: &&str| name.chars().count().abs_diff(length) <= limit;
    names
        .into_iter()
        .filter(may_be_near)
        .map(|name| (strsim::osa_distance(&wrong, &name.to_lowercase()), name))
        // One letter for another has nothing in common with it: `g` is not a slip for `x`.
        .filter(|(distance, name)| *distance <= limit && *distance < length.max(name.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
