//! Evaluates the programs of a Laplace approximation at a maximum, on blocks of rows.

use crate::laplace::{diagnostics, weights};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::Laplace;
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks::read;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::{Feed, FeedPorts};
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_laplace::root::{RootError, Roots};
use std::ops::Range;
use std::sync::Arc;

/// A maximum, and the rows for evaluating programs at this maximum.
pub struct Evaluator<'a> {
    /// The inference block whose programs are evaluated.
    pub infer: &'a InferenceBlock,
    /// The Laplace part of the inference block, with its programs.
    pub laplace: &'a Laplace,
    /// The states at the maximum.
    pub values: &'a StateValues,
    /// The threads, the seed and the interrupt flag.
    pub context: &'a Context,
    feed: Arc<Feed>,
    ids: Vec<u32>,
}

/// The kind of cotangents that a Jacobian is multiplied by from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// Matrix roots `C` with `C' C = H`, `[batch, outputs, outputs]`. `H` is the negative Hessian of the log
    /// likelihood with respect to the outputs. Its negative eigenvalues are set to zero.
    Roots,
    /// First derivatives of the log likelihood with respect to the outputs: `[batch, 1, outputs]`.
    Slopes,
    /// Unit vectors. The products are then the Jacobian itself.
    Identity,
}

/// The results of the likelihood for a block of rows.
#[derive(Clone, Debug, Default)]
pub struct LikelihoodBlock {
    /// The indices of the rows in the block.
    pub rows: Range<usize>,
    /// The outputs `[batch, outputs]`.
    pub outputs: Vec<f64>,
    /// The log likelihood of each row `[batch]`.
    pub log_likelihood: Vec<f64>,
    /// The derivative of the log likelihood with respect to the outputs `[batch, outputs]`.
    pub slope: Vec<f64>,
    /// Minus the second derivative of the log likelihood with respect to the outputs. Shape: `[batch,
    /// outputs, outputs]`.
    pub curvature: Vec<f64>,
    /// The cotangents `[batch, columns, outputs]`.
    pub cotangents: Vec<f64>,
    /// The number of cotangents per row.
    pub columns: usize,
}

impl<'a> Evaluator<'a> {
    /// Prepares the evaluation on `rows`. The targets of the rows may be unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    pub fn new(
        (infer, laplace): (&'a InferenceBlock, &'a Laplace),
        values: &'a StateValues,
        (rows, target): (&Rows, bool),
        dataset: &Dataset,
        context: &'a Context,
    ) -> Result<Evaluator<'a>, Stop> {
        let programs = &laplace.programs;
        let readers = [
            Some(&programs.rows),
            Some(&programs.gradient),
            programs.jacobian.as_ref(),
            programs.selected.as_ref(),
            programs.squares.as_ref(),
            programs.spread.as_ref(),
            programs.rotated.as_ref(),
            programs.factors.as_ref(),
            programs.products.as_ref(),
            Some(&programs.functions),
            Some(&programs.inputs),
        ];
        let plans: Vec<_> = readers
            .into_iter()
            .flatten()
            .map(|artifact| &artifact.plan)
            .collect();
        let storage = |name: &str| {
            let mut found = plans
                .iter()
                .filter_map(|plan| plan.port(name).map(|id| plan.buffers[id].storage));
            found.next()
        };
        let wanted = FeedPorts {
            bindings: &infer.bindings,
            outputs: &infer.outputs,
            precision: infer.precision,
            storage: &storage,
        };
        let feed = Arc::new(Feed::new(rows, dataset, &wanted, target)?);
        let ids = (0..feed.rows as u32).collect();
        Ok(Evaluator {
            infer,
            laplace,
            values,
            context,
            feed,
            ids,
        })
    }

    /// Returns an evaluator at the same maximum on other rows.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    pub fn on(&self, rows: (&Rows, bool), dataset: &Dataset) -> Result<Evaluator<'a>, Stop> {
        Evaluator::new(
            (self.infer, self.laplace),
            self.values,
            rows,
            dataset,
            self.context,
        )
    }

    /// Returns an evaluator for the same rows but other values of the states.
    pub fn at(&self, values: &'a StateValues) -> Evaluator<'a> {
        Evaluator {
            feed: self.feed.clone(),
            ids: self.ids.clone(),
            values,
            ..*self
        }
    }

    /// Returns an evaluator at the same maximum on some of the rows.
    pub fn only(&self, ids: Vec<u32>) -> Evaluator<'a> {
        Evaluator {
            feed: self.feed.clone(),
            ids,
            ..*self
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of outputs of a row.
    pub fn outputs(&self) -> usize {
        self.laplace.outputs
    }

    /// Prepares a machine for a program. Writes the states, and the inputs that all rows share, to
    /// the machine.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn machine(&self, artifact: &Artifact, sizes: Sizes) -> Result<Machine, Fault> {
        let mut machine = Machine::new(artifact, sizes, self.context.pool.clone())?;
        self.write_states(&mut machine)?;
        self.feed.write_shared(&mut machine)?;
        Ok(machine)
    }

    /// Writes each state that the program takes as a single value. States with one value per row or
    /// per draw are left out.
    ///
    /// # Errors
    /// Fails if the states have the wrong size, because they come from the folder of another run.
    pub fn write_states(&self, machine: &mut Machine) -> Result<(), Fault> {
        weights::write_shared(machine, self.infer, self.values)
    }

    /// Returns an error if the user has interrupted the run.
    ///
    /// # Errors
    /// Returns [`Stop::Interrupted`].
    pub fn heed(&self) -> Result<(), Stop> {
        match self.context.interrupt.is_raised() {
            true => Err(Stop::Interrupted),
            false => Ok(()),
        }
    }

    /// Runs a machine on some rows.
    ///
    /// # Errors
    /// Fails if the sizes exceed the capacity of the machine. This would be a bug.
    pub fn call(&self, machine: &mut Machine, rows: &Range<usize>, sizes: Sizes) -> Result<(), Fault> {
        machine.set_sizes(&sizes.with(Symbol::Batch, rows.len()))?;
        self.feed.write(machine, &self.ids[rows.clone()])?;
        machine.run()?;
        Ok(())
    }

    /// Runs a machine that multiplies Jacobians on the rows of a block, with the cotangents of the block.
    ///
    /// # Errors
    /// Fails if the sizes exceed the capacity of the machine. This would be a bug.
    pub fn pull(&self, machine: &mut Machine, block: &LikelihoodBlock, sizes: Sizes) -> Result<(), Fault> {
        machine.set_sizes(&sizes.with(Symbol::Batch, block.rows.len()))?;
        machine.write_real(PortName::Cotangents.text(), &block.cotangents)?;
        self.call(machine, &block.rows, sizes)
    }

    /// Evaluates the likelihood of all rows, in order. A block has at most `size` rows.
    ///
    /// # Errors
    /// Fails if a curvature is not finite.
    pub fn blocks(&self, size: usize, pulled: Pulled) -> Result<Blocks<'_>, Stop> {
        let sizes = Sizes::default().with(Symbol::Batch, size);
        Ok(Blocks {
            evaluation: self,
            machine: self.machine(&self.laplace.programs.rows, sizes)?,
            roots: Roots::new(self.outputs(), self.infer.precision),
            block: LikelihoodBlock::default(),
            size,
            pulled,
            clipped: Clipped::default(),
        })
    }
}

/// Returns the number of cotangents per row.
pub fn columns(pulled: Pulled, outputs: usize) -> usize {
    match pulled {
        Pulled::Roots | Pulled::Identity => outputs,
        Pulled::Slopes => 1,
    }
}

/// Runs the program `rows` on one block after another.
pub struct Blocks<'a> {
    evaluation: &'a Evaluator<'a>,
    machine: Machine,
    roots: Roots,
    block: LikelihoodBlock,
    size: usize,
    pulled: Pulled,
    /// The numbers of clipped rows so far.
    pub clipped: Clipped,
}

/// The numbers of clipped rows. Before clipping, the second derivative of such a row with respect
/// to the outputs was not positive semidefinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clipped {
    /// The number of rows with negative eigenvalues. These eigenvalues were set to zero.
    pub rows: usize,
    /// The number of rows, clipped or not, that have at least one nonzero cotangent.
    pub left: usize,
}

impl Blocks<'_> {
    /// Returns the next block, or `None` after the last block.
    ///
    /// # Errors
    /// Fails if a curvature is not finite, if the machine has a bug, or if the user interrupts the run.
    pub fn advance(&mut self) -> Result<Option<&LikelihoodBlock>, Stop> {
        self.advance_to(self.size)
    }

    /// Returns the next block. The block has at most `size` rows, and at most [`Blocks::size`]
    /// rows.
    ///
    /// # Errors
    /// Fails in the same cases as [`Blocks::advance`].
    pub fn advance_to(&mut self, size: usize) -> Result<Option<&LikelihoodBlock>, Stop> {
        let (from, all) = (self.block.rows.end, self.evaluation.rows());
        if from >= all {
            return Ok(None);
        }
        // After an interruption, predictions are still computed, to report the work done so far.
        // All evaluations other than predictions end after an interruption.
        if self.pulled != Pulled::Identity {
            self.evaluation.heed()?;
        }
        let rows = from..all.min(from + size.min(self.size));
        self.evaluation.call(&mut self.machine, &rows, Sizes::default())?;
        let (machine, block) = (&self.machine, &mut self.block);
        block.rows = rows;
        read(machine, PortName::Outputs.text(), &mut block.outputs)?;
        read(machine, PortName::LogLikelihood.text(), &mut block.log_likelihood)?;
        read(machine, PortName::Slope.text(), &mut block.slope)?;
        read(machine, PortName::Curvature.text(), &mut block.curvature)?;
        self.pull()?;
        Ok(Some(&self.block))
    }

    /// Returns the largest number of rows of a block.
    pub fn size(&self) -> usize {
        self.size
    }

    fn pull(&mut self) -> Result<(), Stop> {
        let (outputs, block) = (self.evaluation.outputs(), &mut self.block);
        block.columns = columns(self.pulled, outputs);
        block
            .cotangents
            .resize(block.rows.len() * block.columns * outputs, 0.0);
        match self.pulled {
            Pulled::Roots => {
                let made = self.roots.cotangents(&block.curvature, &mut block.cotangents);
                let first = block.rows.start;
                self.clipped.rows += made.map_err(|failure| self.evaluation.no_root(first, failure))?;
            }
            Pulled::Slopes => block.cotangents.copy_from_slice(&block.slope),
            Pulled::Identity => {
                block.cotangents.fill(0.0);
                let ones = block.cotangents.iter_mut().enumerate();
                ones.filter(|(at, _)| (at / outputs) % outputs == at % outputs)
                    .for_each(|(_, one)| *one = 1.0);
            }
        }
        let rows = block.cotangents.chunks_exact((block.columns * outputs).max(1));
        let is_left = |row: &&[f64]| row.iter().any(|value| *value != 0.0);
        self.clipped.left += rows.filter(is_left).count();
        Ok(())
    }
}

impl Evaluator<'_> {
    fn no_root(&self, first: usize, failure: RootError) -> Stop {
        diagnostics::no_curvature(&self.infer.name, first + failure.row, failure.reason).into()
    }
}

/// Returns the reals of a port in the precision of the program.
///
/// # Errors
/// Fails if the program does not have the port. This would be a bug.
pub fn reals<'a>(machine: &'a Machine, precision: Precision, name: &str) -> Result<Reals<'a>, Fault> {
    Ok(match precision {
        Precision::F64 => Reals::F64(machine.view(name)?),
        Precision::F32 => Reals::F32(machine.view(name)?),
    })
}

/// The elements of a port. The elements are read in place, without a copy.
#[derive(Clone, Copy, Debug)]
pub enum Reals<'a> {
    /// The elements are in single precision.
    F32(&'a [f32]),
    /// The elements are in double precision.
    F64(&'a [f64]),
}

impl Reals<'_> {
    /// Copies a range of the elements, converted to double precision.
    pub fn copy(&self, range: Range<usize>, to: &mut [f64]) {
        match self {
            Reals::F64(from) => to.copy_from_slice(&from[range]),
            Reals::F32(from) => to
                .iter_mut()
                .zip(&from[range])
                .for_each(|(to, from)| *to = f64::from(*from)),
        }
    }

    /// Adds the first `to.len()` elements to `to`.
    pub fn add(&self, to: &mut [f64]) {
        self.add_range(0..to.len(), to);
    }

    /// Adds a range of the elements to `to`.
    pub fn add_range(&self, range: Range<usize>, to: &mut [f64]) {
        match self {
            Reals::F64(from) => to.iter_mut().zip(&from[range]).for_each(|(to, from)| *to += from),
            Reals::F32(from) => to
                .iter_mut()
                .zip(&from[range])
                .for_each(|(to, from)| *to += f64::from(*from)),
        }
    }
}
