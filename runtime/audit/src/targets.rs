//! Checks for targets that are cut off (censored), and for rows that were selected by their target.

use super::neighbours::Neighbours;
use super::orthogonal::{Basis, dot};
use super::{Column, range};
use crate::diagnostics::data as codes;
use bnnc_abi::manifest::{InferenceBlock, Output};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Dataset;
use std::collections::{BTreeSet, HashMap};

/// With fewer rows than this, equal values at an end of the range may be due to chance.
const LEAST: usize = 20;

/// If at least this number of rows have the same extreme value in a continuous column, this is not due to chance.
const PILED: usize = 5;

/// Returns a warning if many rows have the smallest or the largest value of a target, although its other values occur at most twice. "Many" means
/// at least five rows, and at least one row in thirty. The warning is not given if an input marks these rows. Such an input has only two different
/// values, and has the same value in all of these rows.
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
    let is_marked = inputs.iter().any(|input| marks(input, values, end));
    (!is_marked).then(|| codes::cut_off(&target.name, end, which, piled, values.len()))
}

/// Returns whether an input has exactly two different values, and has the same value in all rows whose target is `end`.
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

/// Returns a warning if the training rows are the first rows of a file that is sorted by the target.
pub(super) fn sorted(target: &Column, limit: Option<usize>) -> Option<Diagnostic> {
    let values = &target.train;
    let limit = limit.filter(|limit| *limit == values.len() && values.len() >= LEAST)?;
    let is_sorted = values.is_sorted() || values.iter().rev().is_sorted();
    let (low, high) = range(values);
    (is_sorted && low < high).then(|| codes::sorted_by_target(&target.name, limit))
}

/// Returns a warning if some classes of an output, which the file names by text, do not occur in the
/// training rows.
pub(super) fn absent_levels(
    infer: &InferenceBlock,
    output: &Output,
    dataset: &Dataset,
    limit: Option<usize>,
) -> Option<Diagnostic> {
    let column = infer.binding(&output.name)?.from.column()?;
    let levels = &dataset.preparation.levels;
    let (_, names) = levels.iter().find(|(name, _)| name == column)?;
    let mut absent: BTreeSet<usize> = (0..names.len()).collect();
    for class in dataset.train.ints(column).ok()? {
        absent.remove(&usize::try_from(class).ok()?);
    }
    let absent: Vec<&str> = absent.into_iter().map(|class| names[class].as_str()).collect();
    match (names.len(), absent.as_slice()) {
        (1, _) => Some(codes::one_class(&output.name, &names[0])),
        (_, []) => None,
        (_, absent) => Some(codes::absent_levels(&output.name, absent, limit)),
    }
}

/// If fewer than this fraction of the rows are beyond the bounds of a mean, these rows are explained by noise around a mean near the bounds.
const BEYOND: f64 = 0.2;

/// The root mean square excess is ignored if it is below this fraction of the target's standard deviation. If the mean varies over its whole range,
/// noise causes a larger excess only if the noise is as large as the range.
const EXCESS: f64 = 0.25;

/// Returns a warning if many values of a target are outside the range that its mean can have. No parameters can fit such values. The warning is not
/// given if noise with the standard deviation `noise` explains these values. `is_standardised` is true if the target is standardised.
pub(super) fn out_of_reach(
    (target, output): (&Column, &str),
    (low, high): (f64, f64),
    noise: f64,
    is_standardised: bool,
) -> Option<Diagnostic> {
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
    // If the mean is exactly at the bound, half of the variance of symmetric noise comes from values beyond the bound. Noise alone therefore has a
    // root mean square excess of at most `sqrt(1/2)` = 0.71 of its standard deviation.
    (is_far && outside > noise)
        .then(|| codes::out_of_reach(output, beyond, values.len(), [low, high], is_standardised))
}

/// Neighbours are searched among at most this number of rows.
const NEIGHBOURS: usize = 1000;

/// If there are more inputs than this, the noise is not estimated.
const INPUTS: usize = 60;

/// Returns an estimate of the standard deviation that a target has around the best function of the inputs. Two estimates are computed, and
/// the smaller estimate is returned. The first estimate is the standard deviation of the residuals after a linear function has been fitted. The
/// second estimate is the difference between rows
/// with neighbouring inputs, divided by the square root of two (Rice 1984). If the model does not have inputs, the result is the standard deviation
/// of the target.
pub(super) fn noise(target: &Column, inputs: &[Column]) -> f64 {
    let rows = target.train.len();
    let is_whole = |input: &&Column| input.train.len() == rows;
    let inputs: Vec<Vec<f64>> = inputs
        .iter()
        .filter(is_whole)
        .filter_map(|input| standardised(&input.train))
        .collect();
    let all = deviation(&target.train);
    if inputs.is_empty() || inputs.len() > INPUTS || rows < 3 * (inputs.len() + 1) {
        return all;
    }
    all.min(linear_rest(&target.train, &inputs))
        .min(difference(&target.train, &inputs))
}

/// Returns a column that is scaled to mean 0 and standard deviation 1. Returns `None` if the column does not vary.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let sd = deviation(values);
    (sd > 0.0 && sd.is_finite()).then(|| values.iter().map(|value| (value - mean) / sd).collect())
}

fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Fits a linear function of centred inputs to a target. Returns the standard deviation of the
/// residuals.
fn linear_rest(target: &[f64], inputs: &[Vec<f64>]) -> f64 {
    let count = target.len() as f64;
    let mean = target.iter().sum::<f64>() / count;
    let mut basis = Basis::default();
    inputs.iter().for_each(|input| basis.add(input.clone()));
    let rest = basis.rest(target.iter().map(|value| value - mean).collect());
    (dot(&rest, &rest) / (count - 1.0 - basis.len() as f64)).sqrt()
}

/// Computes the differences between the target of each row and the target of its nearest row, and the root mean square of these differences.
/// Returns this root mean square divided by the square root of two.
fn difference(target: &[f64], inputs: &[Vec<f64>]) -> f64 {
    let square = |one: usize, other: usize| (target[one] - target[other]).powi(2);
    let neighbours = Neighbours::new(target.len(), NEIGHBOURS, inputs);
    (neighbours.nearby(&square) / 2.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::neighbours::random::normal;
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
        // The values have steps of five, so they are ratings and not measurements.
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
    fn noise_is_estimated_from_neighbours_and_lines() {
        let (x, e) = (normal(1, 400), normal(2, 400));
        let of = |f: &dyn Fn(f64) -> f64, size: f64| {
            let y = (0..400).map(|at| f(x[at]) + size * e[at]).collect();
            noise(&column(y), &[column(x.clone())])
        };
        for found in [
            of(&|x| 3.0 * x, 1.0),
            of(&|x| (5.0 * x).sin(), 1.0),
            of(&|x| x.max(0.0), 1.0),
        ] {
            assert!((0.8..1.15).contains(&found), "{found}");
        }
        let steep = of(&|x| 5.0 * (3.0 * x).sin(), 0.1);
        assert!(steep < 0.5, "{steep}");
    }

    #[test]
    fn noise_beside_a_binary_input_is_that_of_the_target() {
        for seed in 0..20 {
            let flag = normal(2 * seed, 400)
                .iter()
                .map(|x| f64::from(u8::from(*x > 0.0)))
                .collect();
            let found = noise(&column(normal(2 * seed + 1, 400)), &[column(flag)]);
            assert!((0.85..1.15).contains(&found), "{seed}: {found}");
        }
    }

    #[test]
    fn noise_around_a_bounded_mean_is_not_out_of_reach() {
        let (x, e) = (normal(1, 400), normal(2, 400));
        let found = |f: &dyn Fn(f64) -> f64, size: f64| {
            let y = column((0..400).map(|at| f(x[at]) + size * e[at]).collect());
            let noise = noise(&y, &[column(x.clone())]);
            out_of_reach((&y, "y"), (0.0, f64::INFINITY), noise, false).is_some()
        };
        assert!(!found(&|x| x.max(0.0), 1.0));
        assert!(!found(&|x| x.max(0.0), 3.0));
        assert!(!found(&|_| 0.0, 1.0));
        assert!(found(&|x| x, 0.2));
        assert!(found(&|x| x - 3.0, 1.0));
        assert!(found(&|x| (2.0 * x).sin(), 0.1));
    }

    #[test]
    fn the_first_rows_of_a_sorted_file_are_reported() {
        let rising = column((0..40).map(f64::from).collect());
        assert!(sorted(&rising, Some(40)).is_some());
        assert!(sorted(&rising, None).is_none());
        assert!(sorted(&rising, Some(50)).is_none());
        let mixed = column((0..40).map(|at| f64::from(at * 7 % 40)).collect());
        assert!(sorted(&mixed, Some(40)).is_none());
    }
}
