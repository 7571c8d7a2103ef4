//! The choice of the weights to integrate over. bnnc chooses all weights that differ between
//! iterates, the incoming weights of some units, or the weights that change the outputs most.

use crate::collapsed::boxes::Boxes;
use crate::collapsed::local::{LocalProgram, LocationBlock};
use crate::collapsed::memory;
use crate::collapsed::moves::{Sets, across, to_base};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::{Collapsed, CollapsedSettings, LocationForm};
use bnnc_core::context::{Context, Stop};
use bnnc_data::Dataset;
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_training::iterates::Collected;
use serde::{Deserialize, Serialize};

/// The weights that are integrated over. A weight is given by its index: the position among the
/// elements of all sites that may be collapsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The weights that may be integrated over, in ascending order. Each row chooses from these weights.
    pub columns: Vec<u32>,
    /// The weights to integrate over for each output, if all rows share one choice. If each row has
    /// its own choice, the list is empty.
    pub fixed: Vec<Vec<u32>>,
}

/// The tensors that store the choice have names with this prefix.
pub const PREFIX: &str = "collapsed/";

/// The names of these tensors.
const COLUMNS: &str = "collapsed/columns";
const FIXED: &str = "collapsed/fixed";

impl Choice {
    /// Returns the choice as two tensors: `collapsed/columns` `[columns]` and `collapsed/fixed`
    /// `[outputs, columns]`. Shorter rows of `collapsed/fixed` are padded with -1 at the end.
    pub fn arrays(&self) -> Vec<PosteriorArray<'static>> {
        let numbers = |numbers: &[u32]| {
            numbers
                .iter()
                .map(|number| f64::from(*number))
                .collect::<Vec<f64>>()
        };
        let mut arrays = Vec::new();
        if !self.columns.is_empty() {
            arrays.push((
                COLUMNS.to_owned(),
                vec![self.columns.len()],
                numbers(&self.columns).into(),
            ));
        }
        let longest = self.fixed.iter().map(Vec::len).max().unwrap_or(0);
        if longest > 0 {
            let line = |line: &Vec<u32>| {
                let mut line = numbers(line);
                line.resize(longest, -1.0);
                line
            };
            let all: Vec<f64> = self.fixed.iter().flat_map(line).collect();
            arrays.push((FIXED.to_owned(), vec![self.fixed.len(), longest], all.into()));
        }
        arrays
    }

    /// Restores the choice from its tensors.
    pub fn restore(arrays: &[PosteriorArray<'_>]) -> Choice {
        let numbers = |values: &[f64]| -> Vec<u32> {
            let known = values.iter().filter(|value| **value >= 0.0);
            known.map(|value| *value as u32).collect()
        };
        let mut choice = Choice::default();
        for (name, shape, values) in arrays {
            match (name.as_str(), shape.last()) {
                (COLUMNS, _) => choice.columns = numbers(values),
                (FIXED, Some(width)) => {
                    choice.fixed = values.chunks_exact((*width).max(1)).map(numbers).collect()
                }
                _ => {}
            }
        }
        choice
    }
}

/// Chooses the weights that are integrated over. The choice may depend on the training rows. If the
/// user interrupts the run, the choice is based on the rows that were visited so far.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn choose(
    (infer, collapsed): (&InferenceBlock, &Collapsed),
    found: &Collected,
    dataset: &Dataset,
    context: &Context,
) -> Result<Choice, Stop> {
    let mut boxes = Boxes::new(collapsed, &found.values, found.draws);
    let options = &collapsed.options;
    let numbers = |boxes: &Boxes| {
        boxes
            .columns
            .iter()
            .map(|column| column.number)
            .collect::<Vec<u32>>()
    };
    let given = (dataset, context);
    if let (LocationForm::Piecewise { direct, .. }, 1..) = (&collapsed.form, options.units) {
        let direct = (&boxes, *direct);
        let kept = match options.is_published() {
            true => feeding_first((infer, collapsed), found, direct, given)?,
            false => feeding((infer, collapsed), found, direct, given)?,
        };
        boxes = boxes.only(collapsed, &found.values, &kept);
    }
    let is_fixed = options.fixed && collapsed.local.is_some() && options.weights > 0;
    let fixed = match is_fixed && options.weights < boxes.columns.len() {
        true => movers((infer, collapsed), found, &boxes, given)?,
        false => Vec::new(),
    };
    Ok(Choice {
        columns: numbers(&boxes),
        fixed,
    })
}

/// Returns, for each output, the weights that change this output most. The score of a weight is the
/// width of its box times the slope of the output along this weight. Scores are summed over the
/// training rows and the iterates.
fn movers(
    programs: (&InferenceBlock, &Collapsed),
    found: &Collected,
    boxes: &Boxes,
    given: (&Dataset, &Context),
) -> Result<Vec<Vec<u32>>, Stop> {
    let outputs = programs.1.outputs;
    let bends = matches!(programs.1.form, LocationForm::Piecewise { .. });
    let mut sums = vec![vec![0.0; boxes.columns.len()]; outputs];
    let mut other = LocationBlock::default();
    each(programs, (found, boxes), given, |at, block, local| {
        if bends {
            let moves = across(boxes, at.0, &Sets::all(boxes), block);
            local.evaluate(at.0, &at.1, Some(&moves), &mut other)?;
        }
        let across = if bends { &other } else { block };
        for row in 0..block.rows {
            for (output, sums) in sums.iter_mut().enumerate() {
                let scores = scores(boxes, (row, output), [block, across]);
                sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
            }
        }
        Ok(())
    })?;
    let chosen = sums.iter().map(|sums| chosen(boxes, &programs.1.options, sums));
    Ok(chosen
        .map(|places| places.into_iter().map(|at| boxes.columns[at].number).collect())
        .collect())
}

/// Returns a score for each weight. The score is the approximate change of one output of one row when the
/// weight moves across its box. The score is the width of the box times the larger of two absolute slopes.
/// One slope is computed near the middle of the box. The other slope is computed at a corner of the box,
/// on the other side of the kinks.
pub fn scores(boxes: &Boxes, (row, output): (usize, usize), blocks: [&LocationBlock; 2]) -> Vec<f64> {
    let [here, across] = blocks.map(|block| block.slope_of(row, output));
    let slopes = here
        .iter()
        .zip(across)
        .map(|(here, across)| here.abs().max(across.abs()));
    let widths = boxes.columns.iter().map(|column| column.width());
    widths.zip(slopes).map(|(width, slope)| width * slope).collect()
}

/// Returns the weights to integrate over, as ascending indices into the box. The result contains
/// every weight that is integrated over in all rows. Of the other weights, it contains those with
/// the highest scores. Weights with score 0 are left out.
pub fn chosen(boxes: &Boxes, options: &CollapsedSettings, scores: &[f64]) -> Vec<usize> {
    let is_always = |at: usize| options.always.contains(&boxes.columns[at].site);
    let part = |always: bool| -> Vec<f64> {
        let scores = scores.iter().enumerate();
        scores
            .map(|(at, score)| if is_always(at) == always { *score } else { 0.0 })
            .collect()
    };
    let mut places = most(&part(false), options.weights);
    places.extend(most(&part(true), 0));
    places.sort_unstable();
    places
}

/// Returns the indices of the `count` largest positive scores, in ascending order. If two scores
/// are equal, the one with the lower index ranks first. A count of 0 takes all positive scores.
pub fn most(scores: &[f64], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
    if count > 0 && places.len() > count {
        let order = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
        places.select_nth_unstable_by(count - 1, order);
        places.truncate(count);
        places.sort_unstable();
    }
    places
}

/// Returns the incoming weights of the kinks with the highest scores. The score of a kink is a product:
/// the width of the range of its values over the box, times the change of the outputs per unit of this
/// value. Scores are summed over the training rows and the iterates. Only kinks that do not
/// depend on other kinks are scored. A kink may be affected by kinks of earlier layers. The incoming
/// weights of such a kink include the incoming weights of the earlier kinks.
fn feeding(
    programs: (&InferenceBlock, &Collapsed),
    found: &Collected,
    (boxes, direct): (&Boxes, usize),
    given: (&Dataset, &Context),
) -> Result<Vec<u32>, Stop> {
    let mut effects = vec![0.0; direct];
    let mut feeds = vec![vec![false; boxes.columns.len()]; direct];
    let mut other = LocationBlock::default();
    each(programs, (found, boxes), given, |at, block, local| {
        let moves = across(boxes, at.0, &Sets::all(boxes), block);
        local.evaluate(at.0, &at.1, Some(&moves), &mut other)?;
        for row in 0..block.rows {
            let both = block
                .kinks_of(row)
                .zip(other.kinks_of(row))
                .take(direct)
                .enumerate();
            for (kink, ((_, here), (_, there))) in both {
                let spread = |slope: &[f64]| -> f64 {
                    let columns = boxes.columns.iter().zip(slope);
                    columns.map(|(column, slope)| column.width() * slope.abs()).sum()
                };
                let effect = |block: &LocationBlock, slope: &[f64]| spread(slope) * jump(block, row, slope);
                effects[kink] += effect(block, here).max(effect(&other, there));
                let fed = feeds[kink].iter_mut().zip(here.iter().zip(there));
                fed.for_each(|(fed, (here, there))| *fed |= *here != 0.0 || *there != 0.0);
            }
        }
        Ok(())
    })?;
    let kept = most(&effects, programs.1.options.units);
    let kept: Vec<&Vec<bool>> = kept.iter().map(|kink| &feeds[*kink]).collect();
    Ok(fed(boxes, &kept))
}

/// Returns the incoming weights of the first `units` kinks. Such a kink has the same slopes
/// everywhere in the box, because it does not depend on other kinks.
fn feeding_first(
    programs: (&InferenceBlock, &Collapsed),
    found: &Collected,
    (boxes, direct): (&Boxes, usize),
    given: (&Dataset, &Context),
) -> Result<Vec<u32>, Stop> {
    let units = programs.1.options.units.min(direct);
    let mut feeds = vec![false; boxes.columns.len()];
    each(programs, (found, boxes), given, |_, block, _| {
        for (_, slope) in (0..block.rows).flat_map(|row| block.kinks_of(row).take(units)) {
            let fed = feeds.iter_mut().zip(slope);
            fed.for_each(|(fed, slope)| *fed |= *slope != 0.0);
        }
        Ok(())
    })?;
    Ok(fed(boxes, &[&feeds]))
}

/// Returns the indices of the weights that feed at least one of these kinks.
fn fed(boxes: &Boxes, feeds: &[&Vec<bool>]) -> Vec<u32> {
    let columns = boxes.columns.iter().enumerate();
    columns
        .filter(|(at, _)| feeds.iter().any(|feeds| feeds[*at]))
        .map(|(_, column)| column.number)
        .collect()
}

/// Returns the change of the outputs of a row if the value of a kink changes by one. Absolute
/// changes are summed over the outputs. `kink` is the gradient of the kink's value with respect to
/// the weights.
fn jump(block: &LocationBlock, row: usize, kink: &[f64]) -> f64 {
    let square: f64 = kink.iter().map(|slope| slope * slope).sum();
    if square == 0.0 {
        return 0.0;
    }
    let outputs = block.location.len() / block.rows.max(1);
    let along = |output: usize| {
        let pairs = block.slope_of(row, output).iter().zip(kink);
        (pairs.map(|(slope, kink)| slope * kink).sum::<f64>() / square).abs()
    };
    (0..outputs).map(along).sum()
}

/// Evaluates the training rows near the middle of the box at every iterate. Calls `take` with the
/// iterate, the range of rows, and the results for these rows.
fn each(
    programs: (&InferenceBlock, &Collapsed),
    (found, boxes): (&Collected, &Boxes),
    (dataset, context): (&Dataset, &Context),
    mut take: impl FnMut(
        (usize, std::ops::Range<usize>),
        &LocationBlock,
        &mut LocalProgram<'_>,
    ) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let iterates = (&*found.values, boxes);
    let numbers = memory::choosing_per_row(programs.1, boxes.columns.len());
    let mut local = LocalProgram::new(
        programs,
        iterates,
        (&dataset.train, false),
        (dataset, numbers),
        context,
    )?;
    let (rows, size) = (local.rows(), local.rows_per_call);
    let mut block = LocationBlock::default();
    for first in (0..rows).step_by(size.max(1)) {
        if first > 0 && context.interrupt.is_raised() {
            return Ok(());
        }
        let range = first..rows.min(first + size);
        for iterate in 0..boxes.iterates {
            let moves = to_base(boxes, iterate, &Sets::all(boxes), range.len());
            local.evaluate(iterate, &range, Some(&moves), &mut block)?;
            take((iterate, range.clone()), &block, &mut local)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_takes_the_largest_scores() {
        let scores = [0.5, 0.0, 2.0, 0.5, 1.0];
        assert_eq!(most(&scores, 0), [0, 2, 3, 4]);
        assert_eq!(most(&scores, 2), [2, 4]);
        // If two scores are equal, the one with the lower index ranks first.
        assert_eq!(most(&scores, 3), [0, 2, 4]);
        assert_eq!(most(&scores, 9), [0, 2, 3, 4]);
    }

    #[test]
    fn tensors_restore_the_choice() {
        let choice = Choice {
            columns: vec![0, 3, 4, 9],
            fixed: vec![vec![3, 9], vec![4]],
        };
        assert_eq!(Choice::restore(&choice.arrays()), choice);
        assert_eq!(Choice::restore(&Choice::default().arrays()), Choice::default());
    }
}
