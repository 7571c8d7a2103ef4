//! Distinguishes copies of rows from replicates: rows with the same inputs whose targets agree by chance, because the target is rounded, capped, or often
//! zero.

use super::Column;
use super::copies::are_fewer;
use std::collections::BTreeMap;

/// At most this number of pairs of a group and a target value are examined. Further groups are left out.
const PAIRS: usize = 20_000_000;

/// The rows with the same inputs, as positions among the different values of the target.
type Groups = Vec<Vec<usize>>;

/// Returns whether the number of different targets of rows with the same inputs is clearly below the number that is expected by chance. `inputs` is a
/// number per row, which is the same for rows with the same inputs.
///
/// By chance, a target has the distribution of all targets. If the target is a single column, this distribution is weighted by a normal density around
/// the mean of the rows with the same inputs, because targets depend on inputs.
pub(super) fn are_copies(inputs: &[u64], targets: &[&Column]) -> bool {
    let (values, places) = numbered(inputs.len(), targets);
    let mut by_input: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (key, place) in inputs.iter().zip(&places) {
        by_input.entry(*key).or_default().push(*place);
    }
    let groups: Groups = by_input.into_values().collect();
    let mut counts = vec![0.0; values.len()];
    places.iter().for_each(|place| counts[*place] += 1.0);
    let variance = if targets.len() == 1 {
        within(&groups, &values)
    } else {
        f64::INFINITY
    };
    let (mut different, mut expected) = (0, 0.0);
    for group in groups.iter().take((PAIRS / values.len().max(1)).max(1)) {
        different += kinds(group);
        expected += match group.len() {
            1 => 1.0,
            _ => by_chance(group, (&values, &counts), variance),
        };
    }
    are_fewer(different, expected)
}

/// Returns the different values of the targets, and the position of the value of each row. Several targets are numbered without an order.
fn numbered(rows: usize, targets: &[&Column]) -> (Vec<f64>, Vec<usize>) {
    let key = |row: usize| -> Vec<u64> { targets.iter().map(|target| target.train[row].to_bits()).collect() };
    let (mut known, mut values, mut places) = (BTreeMap::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let place = *known.entry(key(row)).or_insert(values.len());
        if place == values.len() {
            values.push(targets.first().map_or(0.0, |target| target.train[row]));
        }
        places.push(place);
    }
    (values, places)
}

fn kinds(group: &[usize]) -> usize {
    let mut group = group.to_vec();
    group.sort_unstable();
    group.dedup();
    group.len()
}

fn mean(group: &[usize], values: &[f64]) -> f64 {
    group.iter().map(|at| values[*at]).sum::<f64>() / group.len() as f64
}

/// Returns the pooled variance of the targets within the groups that have different targets. Returns infinity if all targets of each group agree.
fn within(groups: &Groups, values: &[f64]) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for group in groups.iter().filter(|group| kinds(group) > 1) {
        let centre = mean(group, values);
        squares += group.iter().map(|at| (values[*at] - centre).powi(2)).sum::<f64>();
        freedom += (group.len() - 1) as f64;
    }
    match freedom > 0.0 && squares > 0.0 {
        true => squares / freedom,
        false => f64::INFINITY,
    }
}

/// Returns the number of different targets that is expected in a group by chance.
fn by_chance(group: &[usize], (values, counts): (&[f64], &[f64]), variance: f64) -> f64 {
    let centre = mean(group, values);
    let exponent = |value: &f64| 0.5 * (value - centre).powi(2) / variance;
    // The weights are relative to the largest one, so that not all of them underflow.
    let least = values.iter().map(exponent).fold(f64::INFINITY, f64::min);
    let weight = |(value, count): (&f64, &f64)| count * (least - exponent(value)).exp();
    let weights: Vec<f64> = values.iter().zip(counts).map(weight).collect();
    let total: f64 = weights.iter().sum();
    let rows = group.len() as i32;
    weights
        .iter()
        .map(|weight| 1.0 - (1.0 - weight / total).powi(rows))
        .sum()
}
