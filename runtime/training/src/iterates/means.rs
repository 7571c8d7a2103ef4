//! Recomputes running means for weights that did not occur in a training step.
//!
//! Batch normalisation divides by stored statistics of the rows. A training step updates these statistics for the weights of this step. The average
//! of iterates, and the draws around it, need their own statistics. These are computed in one pass over the
//! training rows (Maddox et al. 2019, following Izmailov et al. 2018). The
//! result depends only on the weights, the seed and the batch size of the training. It does not depend on the number of threads.

use crate::Task;
use crate::augment::{self, AugmentedInput};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::iterates::Swag;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Stop;
use bnnc_core::feed::{Feed, examples};
use bnnc_core::states::StateValues;
use bnnc_core::{memory, ports, rows};
use bnnc_kernels::executor::Machine;
use std::ops::Range;

/// A pass over the training rows that computes the running means of given weights.
pub struct MeansPass<'a> {
    task: &'a Task<'a>,
    swag: &'a Swag,
    machine: Machine,
    feed: Feed,
    /// The input whose images are transformed as in an epoch after the training. `None` if the training uses the rows as they are.
    images: Option<AugmentedInput>,
    /// The training rows in random order. In the order of the file, a block could contain
    /// only one class if the file is sorted by class.
    order: Vec<u32>,
    sizes: Sizes,
    means: Vec<Mean<'a>>,
}

/// A running mean.
struct Mean<'a> {
    /// The name of its state.
    name: &'a str,
    /// The output of the program that contains the mean over the rows of a block.
    port: String,
    /// The mean over the rows of one block.
    of_block: Vec<f64>,
}

impl<'a> MeansPass<'a> {
    /// Prepares passes over the training rows of `task`. A pass runs the program [`Swag::means`].
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(task: &'a Task<'a>, swag: &'a Swag, program: &Artifact) -> Result<MeansPass<'a>, Stop> {
        let Task {
            infer,
            dataset,
            context,
            ..
        } = *task;
        let count = examples(&infer.bindings, &dataset.train);
        let sizes = swag.train.sizes(count);
        let mut machine = Machine::new(program, sizes, context.pool.clone())?;
        let mut feed = Feed::of_plan((infer, &program.plan), &dataset.train, dataset, true)?;
        feed.write_shared(&mut machine)?;
        let images = AugmentedInput::new(infer, &swag.train, &dataset.preparation, context.seed);
        if let Some(images) = &images {
            images.prepare(&mut feed);
        }
        let mut order: Vec<u32> = (0..count as u32).collect();
        rows::shuffle(&mut order, rows::key(context.seed, &infer.name), 0);
        Ok(MeansPass {
            task,
            swag,
            machine,
            feed,
            images,
            order,
            sizes,
            means: means(infer),
        })
    }

    /// Recomputes the running means in `values` for the weights in `values`. States that differ between draws have the shape `[draws, ..]`.
    ///
    /// # Errors
    /// Fails if the machine has a bug, or if the user interrupts the run.
    pub fn replace(&mut self, values: &mut StateValues, draws: usize) -> Result<(), Stop> {
        let mut columns: Vec<Vec<f64>> = self.means.iter().map(|_| Vec::new()).collect();
        for draw in 0..draws {
            if self.task.context.interrupt.is_overdue() {
                return Err(Stop::Interrupted);
            }
            self.write(values, draw, draws)?;
            for (column, mean) in columns.iter_mut().zip(self.pass()?) {
                column.extend(mean);
            }
        }
        for (mean, column) in self.means.iter().zip(columns) {
            values.insert(mean.name.to_owned(), column);
        }
        Ok(())
    }

    /// Writes the weights of draw `draw` to the machine. `draws` is the number of all draws.
    fn write(&mut self, values: &StateValues, draw: usize, draws: usize) -> Result<(), Fault> {
        let states = self.task.infer.states.iter();
        for state in states.filter(|state| state.parameter && !state.is_running_mean) {
            let Some(all) = values.get(&state.name) else {
                continue;
            };
            let own = match self.swag.moved.contains(&state.name) {
                true => {
                    let width = all.len() / draws;
                    &all[draw * width..(draw + 1) * width]
                }
                false => all.as_slice(),
            };
            ports::real(&mut self.machine, &state.name, own)?;
        }
        Ok(())
    }

    /// Returns the average of each mean over the blocks of rows. Each block is weighted by its number of rows.
    fn pass(&mut self) -> Result<Vec<Vec<f64>>, Fault> {
        let count = self.order.len();
        let mut sums: Vec<Vec<f64>> = (self.means.iter())
            .map(|mean| vec![0.0; mean.of_block.len()])
            .collect();
        for block in blocks(count, self.sizes.get(Symbol::Batch)) {
            let share = block.len() as f64 / count as f64;
            let machine = &mut self.machine;
            machine.set_sizes(&self.sizes.with(Symbol::Batch, block.len()))?;
            let rows = &self.order[block];
            self.feed.write(machine, rows)?;
            if let Some(images) = &mut self.images {
                images.apply(
                    machine,
                    &self.feed,
                    rows,
                    self.swag.train.options.epochs_of(count),
                )?;
            }
            ports::int(machine, PortName::Step.text(), 0)?;
            machine.run()?;
            for (mean, sum) in self.means.iter_mut().zip(&mut sums) {
                machine.read_into(&mean.port, &mut mean.of_block)?;
                let terms = sum.iter_mut().zip(&mean.of_block);
                terms.for_each(|(sum, value)| *sum += share * value);
            }
        }
        Ok(sums)
    }
}

/// Returns the running means of an inference block.
fn means(infer: &InferenceBlock) -> Vec<Mean<'_>> {
    let states = infer.states.iter().filter(|state| state.is_running_mean);
    let mean = states.map(|state| Mean {
        name: &state.name,
        port: PortName::Mean.of(&state.name),
        of_block: vec![0.0; state.shape.count(&Sizes::default())],
    });
    mean.collect()
}

/// Splits `rows` rows into as few blocks of at most `batch` rows as possible. The sizes of the blocks differ by at most one row. With blocks of
/// exactly `batch` rows, 129 rows and `batch = 128` would give a block with a single row. The variance within this block would be zero.
fn blocks(rows: usize, batch: usize) -> impl Iterator<Item = Range<usize>> {
    let count = rows.div_ceil(batch.max(1));
    (0..count).map(move |at| rows * at / count..rows * (at + 1) / count)
}

/// Returns the number of bytes that a pass over `rows` training rows needs, or 0 if the model has no running means.
pub fn bytes(infer: &InferenceBlock, swag: &Swag, rows: usize) -> u64 {
    let of = |program: &Artifact| {
        let order = rows as u64 * 4;
        let images = augment::bytes(infer, &swag.train, rows);
        memory::machine(program, &swag.train.sizes(rows))
            + memory::feed(infer, program, rows)
            + order
            + images
    };
    swag.means.as_ref().map_or(0, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_rows_and_differ_by_at_most_one_row() {
        for (rows, batch, wanted) in [
            (129, 128, vec![64, 65]),
            (8, 3, vec![2, 3, 3]),
            (8, 8, vec![8]),
            (5, 100, vec![5]),
            (0, 4, vec![]),
        ] {
            let all: Vec<Range<usize>> = blocks(rows, batch).collect();
            let sizes: Vec<usize> = all.iter().map(ExactSizeIterator::len).collect();
            assert_eq!(sizes, wanted, "{rows} rows in blocks of {batch}");
            let covered: Vec<usize> = all.into_iter().flatten().collect();
            assert_eq!(covered, (0..rows).collect::<Vec<_>>());
        }
    }
}
