//! Targets that are cut off, and rows that were chosen by them.

use super::{Column, range};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::codes::audit as codes;
use std::collections::HashMap;

/// Rows below which equal values at an end may be chance.
const LEAST: usize = 20;

/// Rows at an end of a continuous column that are not chance.
const PILED: usize = 5;

/// Returns a warning where at least five rows and one in thirty have the least or the largest value of a target whose other values occur
/// twice at most. An input that has one value in all of these rows, and another elsewhere, tells the model of them.
pub(super) fn cut_off(target: &Column, inputs: &[Column]) -> Option<Diagnostic> {
    let values = &target.train;
    if values.len() < LEAST {
        return None;
    }
    let mut counts: HashMap<u64, usize> = HashMap::new();
    values
        .iter()
        .for_each(|value| *counts.entry(value.to_bits()).or_default() += 1);
    let (low, high) = range(values);
    let found = [(low, "least"), (high, "largest")]
        .into_iter()
        .find_map(|(end, which)| {
            let piled = *counts.get(&end.to_bits())?;
            let is_piled = piled >= PILED && 30 * piled >= values.len() && 2 * piled < values.len();
            let others = counts.iter().filter(|(value, _)| **value != end.to_bits());
            let is_continuous =
                others.clone().count() >= LEAST && others.clone().all(|(_, count)| *count <= 2);
            (is_piled && is_continuous).then_some((end, which, piled))
        });
    let (end, which, piled) = found?;
    let is_told = inputs.iter().any(|input| marks(input, values, end));
    (!is_told).then(|| codes::cut_off(&target.name, (end, which), (piled, values.len())))
}

/// Whether an input with two values has one of them in all rows at the end.
fn marks(input: &Column, target: &[f64], end: f64) -> bool {
    let (low, high) = range(&input.train);
    let is_flag = low < high && input.train.iter().all(|value| *value == low || *value == high);
    let mut at_end = input
        .train
        .iter()
        .zip(target)
        .filter(|(_, target)| **target == end);
    let first = at_end.next().map(|(value, _)| *value);
    is_flag && at_end.all(|(value, _)| Some(*value) == first)
}

/// Returns a warning where the first rows of a file that is sorted by the target are all that is trained on.
pub(super) fn sorted(target: &Column, limit: Option<usize>) -> Option<Diagnostic> {
    let values = &target.train;
    let limit = limit.filter(|limit| *limit == values.len() && values.len() >= LEAST)?;
    let is_sorted = values.is_sorted() || values.iter().rev().is_sorted();
    let (low, high) = range(values);
    (is_sorted && low < high).then(|| codes::sorted_by_target(&target.name, limit))
}

/// The share of rows beyond the bounds of a mean below which noise around a mean near them explains these rows.
const BEYOND: f64 = 0.2;

/// The root mean square of what lies beyond, in standard deviations of the target: noise around a mean that varies over its whole range stays below this
/// unless it is as large as the range.
const EXCESS: f64 = 0.25;

/// Returns a warning where many values of a target lie beyond the bounds of its mean, which no parameters can fit.
pub(super) fn out_of_reach(target: &Column, output: &str, (low, high): (f64, f64)) -> Option<Diagnostic> {
    let values = &target.train;
    let count = values.len() as f64;
    if values.len() < LEAST {
        return None;
    }
    let excess = |value: &f64| (low - value).max(value - high).max(0.0);
    let beyond = values.iter().filter(|value| excess(value) > 0.0).count();
    let mean = values.iter().sum::<f64>() / count;
    let square_of =
        |of: &dyn Fn(&f64) -> f64| values.iter().map(|value| of(value).powi(2)).sum::<f64>() / count;
    let (spread, outside) = (square_of(&|value| value - mean).sqrt(), square_of(&excess).sqrt());
    let is_far = beyond as f64 >= BEYOND * count && outside >= EXCESS * spread && spread > 0.0;
    is_far.then(|| codes::out_of_reach(output, (beyond, values.len()), (low, high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(train: Vec<f64>) -> Column {
        Column {
            name: "y".to_owned(),
            train,
            test: Vec::new(),
        }
    }

    #[test]
    fn values_at_an_end_of_a_continuous_column_are_found() {
        let of = |cut: f64| {
            column(
                (0..60)
                    .map(|at| (f64::from(at * 37 % 60) + 0.1).min(cut))
                    .collect(),
            )
        };
        assert!(cut_off(&of(50.0), &[]).is_some());
        assert!(cut_off(&of(57.0), &[]).is_none());
        assert!(cut_off(&of(100.0), &[]).is_none());
        // Steps of five are ratings, not measurements.
        let coarse = column((0..60).map(|at| f64::from(at / 5)).collect());
        assert!(cut_off(&coarse, &[]).is_none());
        let flag = column(
            of(50.0)
                .train
                .iter()
                .map(|y| f64::from(u8::from(*y < 50.0)))
                .collect(),
        );
        assert!(cut_off(&of(50.0), &[flag]).is_none());
    }

    #[test]
    fn the_first_rows_by_the_target_are_found() {
        let rising = column((0..40).map(f64::from).collect());
        assert!(sorted(&rising, Some(40)).is_some());
        assert!(sorted(&rising, None).is_none());
        assert!(sorted(&rising, Some(50)).is_none());
        let mixed = column((0..40).map(|at| f64::from(at * 7 % 40)).collect());
        assert!(sorted(&mixed, Some(40)).is_none());
    }
}
