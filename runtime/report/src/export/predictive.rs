//! Writes the observed values of the training rows, and their log likelihoods and predictions under the draws.

use super::{Export, Subject, kind_of};
use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_abi::methods::sampling::LooPolicy;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use bnnc_core::predict::{Predictive, Predictor};
use bnnc_core::score::{classes, probabilities, targets};
use bnnc_data::write::zarr::{VariableId, ZarrDim, ZarrLabels, ZarrStore, ZarrType, ZarrVariable};
use bnnc_inference::leave_one_out::log_unit;
use bnnc_math::philox;
use std::ops::Range;

/// Log likelihoods and predictions are written only if the number of rows times the number of all draws is at most this number (128 MiB each). If
/// the program requests PSIS-LOO, they are always written.
pub(super) const MOST: usize = 1 << 24;

/// At most this number of predictions (rows times draws) is in memory at the same time.
const BLOCK: usize = 1 << 20;

impl Subject<'_> {
    pub(super) fn rows(&self) -> usize {
        examples(&self.infer.bindings, &self.outcome.dataset.train)
    }

    /// Returns the dimensions of an output with `elements` elements per row. The first dimension runs over the rows. The labels of this dimension
    /// are the row numbers in the file. If there are several files, rows are counted over all of them.
    fn output_dims(&self, output: &Output, elements: usize) -> Vec<ZarrDim> {
        let (rows, train) = (self.rows(), &self.outcome.dataset.train);
        let mut dims = vec![ZarrDim::named("row", rows)];
        let numbers = train.numbers().unwrap_or_else(|| train.index.clone());
        if numbers.len() == rows {
            dims[0].labels = ZarrLabels::Int(numbers.into_iter().map(|number| number as i64).collect());
        }
        let shape = output.shape.static_sizes();
        let shape = shape.filter(|sizes| sizes.iter().product::<usize>() == elements);
        let shape = shape.unwrap_or_else(|| vec![elements]);
        dims.extend(shape.into_iter().map(ZarrDim::unnamed));
        dims
    }

    /// Writes the observed targets of the training rows, in original units.
    pub(super) fn observed(&self, store: &mut ZarrStore) -> Result<(), Stop> {
        let dataset = &self.outcome.dataset;
        let observed = |output: &Output| {
            let column = self.infer.column(output);
            match output.kind {
                OutputKind::Real => targets(&dataset.train, dataset, column),
                OutputKind::Count | OutputKind::Classes(_) | OutputKind::Bool => {
                    let all = classes(&dataset.train, dataset, column)?;
                    Ok(all.into_iter().map(f64::from).collect())
                }
            }
        };
        let group = store.constants("observed_data")?;
        for output in &self.infer.outputs {
            let values: Vec<f64> = observed(output)?;
            let dims = self.output_dims(output, values.len() / self.rows().max(1));
            let variable = store.variable(group, &variable(output, kind_of(output), &dims))?;
            store.append(variable, 0, &values)?;
        }
        Ok(())
    }

    /// For every row and every draw, writes the log likelihood of the row and a prediction of its target.
    /// `block` computes both for some draws of a chain.
    pub(super) fn write_predictive(
        &self,
        store: &mut ZarrStore,
        (chains, draws): (usize, usize),
        block: &mut BlockOf<'_>,
    ) -> Result<(), Stop> {
        let per_block = per_block(self.rows(), draws);
        let likelihoods = store.samples("log_likelihood", chains, draws)?;
        let mut predictions = None;
        let mut written = vec![Written::default(); self.infer.outputs.len()];
        for number in 0..chains {
            for first in (0..draws).step_by(per_block) {
                let found = block(number, first..(first + per_block).min(draws))?;
                let each = self.infer.outputs.iter().zip(&found).zip(&mut written);
                // If an output is observed only in part, it does not have log likelihoods or
                // predictions.
                for ((output, found), written) in
                    each.filter(|((_, found), _)| !found.log_likelihood.is_empty())
                {
                    if written.likelihood.is_none() {
                        let rows_only = &self.output_dims(output, 1)[..1];
                        let made =
                            store.variable(likelihoods, &variable(output, ZarrType::Real, rows_only))?;
                        written.likelihood = Some(made);
                    }
                    if written.draw.is_none() && !found.draw.is_empty() {
                        let elements = found.draw.len() / found.log_likelihood.len();
                        let group = match predictions {
                            Some(group) => group,
                            None => {
                                *predictions.insert(store.samples("posterior_predictive", chains, draws)?)
                            }
                        };
                        let dims = self.output_dims(output, elements);
                        let made = store.variable(group, &variable(output, kind_of(output), &dims))?;
                        written.draw = Some(made);
                    }
                    let both = [
                        (written.likelihood, &found.log_likelihood),
                        (written.draw, &found.draw),
                    ];
                    for (variable, values) in both {
                        if let Some(variable) = variable {
                            store.append(variable, number, values)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the predictions of each output for all rows, computed from the draws that are set in `predictor`. `first` is the index of the first of
    /// these draws.
    pub(super) fn block(&self, predictor: &mut Predictor, first: usize) -> Result<Vec<Block>, Stop> {
        let (rows, outputs, dataset) = (self.rows(), &self.infer.outputs, &self.outcome.dataset);
        let mut all: Vec<Block> = outputs.iter().map(|_| Block::default()).collect();
        predictor.run(|range, block| {
            block.undo(self.infer, &dataset.preparation);
            for ((output, prediction), found) in outputs.iter().zip(block.each()).zip(&mut all) {
                let size = (prediction.draws, rows);
                put(
                    &mut found.log_likelihood,
                    &prediction.log_likelihood,
                    size,
                    &range,
                );
                match prediction.draw.is_empty() {
                    false => put(&mut found.draw, &prediction.draw, size, &range),
                    true => {
                        let drawn = self.classes(output, prediction, (first, range.start));
                        put(&mut found.draw, &drawn, size, &range);
                    }
                }
            }
        })?;
        for (output, found) in outputs.iter().zip(&mut all) {
            let unit = log_unit(self.infer, output, dataset);
            found.log_likelihood.iter_mut().for_each(|value| *value -= unit);
        }
        Ok(all)
    }

    /// Draws classes from their probabilities, `[draws, rows]`. The result is empty for outputs that are numbers. `first_draw` and `first_row` are
    /// the indices of the first draw and the first row.
    fn classes(
        &self,
        output: &Output,
        block: &Predictive,
        (first_draw, first_row): (usize, usize),
    ) -> Vec<f64> {
        let Some(classes) = output.kind.classes() else {
            return Vec::new();
        };
        let name = self
            .infer
            .quantity_name(output, &format!("classes/{}", self.infer.name));
        let key = philox::key(self.context.seed, &name);
        let probabilities = probabilities(block, output);
        let rows = probabilities.chunks_exact(classes).enumerate();
        let draw = |(at, row): (usize, &[f64])| {
            let (draw, row_number) = (first_draw + at / block.rows, first_row + at % block.rows);
            let counter = [0, (draw >> 32) as u32, draw as u32];
            chosen(row, philox::uniform(key, counter, row_number as u64)) as f64
        };
        rows.map(draw).collect()
    }
}

impl Export<'_> {
    /// For every row and every draw of the chains, writes the log likelihood of the row and a prediction of its target.
    pub(super) fn predictive(&self, store: &mut ZarrStore) -> Result<(), Stop> {
        let (chains, draws, rows) = (self.chains(), self.draws(), self.of.rows());
        let wanted = match self
            .of
            .infer
            .sampling()
            .map(|sampling| sampling.options.leave_one_out)
        {
            Some(LooPolicy::Always) => usize::MAX,
            Some(LooPolicy::Automatic | LooPolicy::Never) | None => MOST,
        };
        if rows == 0 || draws == 0 || chains.len() * draws > wanted / rows {
            return Ok(());
        }
        let (infer, dataset) = (self.of.infer, &self.of.outcome.dataset);
        let per_block = per_block(rows, draws);
        let mut predictor = Predictor::new(infer, &dataset.train, dataset, per_block, self.of.context)?;
        self.of
            .write_predictive(store, (chains.len(), draws), &mut |number, draws| {
                let (earlier, later) = self.sampled.chains.split_at(chains[number]);
                let records = later[0].store.records(draws.clone())?;
                predictor.set_parameters(&self.sampled.states(&later[0], &records))?;
                let before = earlier.iter().map(|chain| chain.store.len());
                let before: usize = before.sum();
                predictor.choose_draws(before + draws.start..before + draws.end);
                self.of.block(&mut predictor, before + draws.start)
            })
    }
}

/// The variables of an output in the store. The variables are created when their first values are written.
#[derive(Clone, Copy, Default)]
struct Written {
    likelihood: Option<VariableId>,
    draw: Option<VariableId>,
}

fn variable<'a>(output: &'a Output, kind: ZarrType, dims: &'a [ZarrDim]) -> ZarrVariable<'a> {
    ZarrVariable {
        name: &output.name,
        kind,
        dims,
    }
}

/// The predictions for all rows, computed from some draws, `[draws, rows, ..]`.
#[derive(Default)]
pub(super) struct Block {
    log_likelihood: Vec<f64>,
    /// Draws of the target. The vector is empty if the distribution does not have a sampler.
    draw: Vec<f64>,
}

/// A function that takes some draws of a chain, and computes the predictions of each output from these draws.
pub(super) type BlockOf<'a> = dyn FnMut(usize, Range<usize>) -> Result<Vec<Block>, Stop> + 'a;

/// Returns the number of draws whose predictions are in memory at the same time.
pub(super) fn per_block(rows: usize, draws: usize) -> usize {
    (BLOCK / rows.max(1)).clamp(1, draws.max(1))
}

/// Returns the class that a uniform random number between 0 and 1 selects.
pub(crate) fn chosen(probabilities: &[f64], uniform: f64) -> usize {
    let mut sum = 0.0;
    let above = probabilities.iter().position(|probability| {
        sum += probability;
        uniform < sum
    });
    // Because of rounding, the sum of the probabilities may be slightly below one. In this case, the last class is drawn.
    above.unwrap_or(probabilities.len().saturating_sub(1))
}

/// Copies a block of rows to its place in a matrix of shape `[draws, rows, ..]`.
fn put(matrix: &mut Vec<f64>, block: &[f64], (draws, rows): (usize, usize), range: &Range<usize>) {
    let width = block.len() / (draws * range.len()).max(1);
    matrix.resize(draws * rows * width, 0.0);
    let targets = matrix.chunks_exact_mut((rows * width).max(1));
    for (target, values) in targets.zip(block.chunks_exact((range.len() * width).max(1))) {
        target[range.start * width..range.end * width].copy_from_slice(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_chosen_by_their_probabilities() {
        let chosen =
            [0.0, 0.19, 0.2, 0.69, 0.7, 0.999_999].map(|uniform| chosen(&[0.2, 0.5, 0.0, 0.3], uniform));
        assert_eq!(chosen, [0, 0, 1, 1, 3, 3]);
        assert_eq!(super::chosen(&[0.5, 0.499_999], 0.999_999_9), 1);
    }

    #[test]
    fn blocks_of_rows_are_copied_to_their_place() {
        let mut matrix = Vec::new();
        put(&mut matrix, &[1.0, 2.0, 4.0, 5.0], (2, 3), &(0..2));
        put(&mut matrix, &[3.0, 6.0], (2, 3), &(2..3));
        assert_eq!(matrix, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        put(&mut matrix, &[], (2, 3), &(0..3));
        assert!(matrix.is_empty());
    }
}
