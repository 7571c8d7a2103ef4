//! The nearest valid name to a wrong one.

/// The name at the smallest edit distance, if it is near enough to be a slip of the hand.
///
/// ```
/// use bnnc_base::nearest::nearest;
/// assert_eq!(nearest("epocs", ["epochs", "batch"]), Some("epochs"));
/// assert_eq!(nearest("zebra", ["epochs", "batch"]), None);
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
        .map(|name| (distance(&wrong, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edit distance with transpositions of neighbours (Damerau, restricted).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
