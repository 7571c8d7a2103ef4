//! The loss of all training rows as a function of the trained parameters, computed in double
//! precision.

use super::Task;
use crate::step::training;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{InferenceBlock, Train};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::Stop;
use bnnc_core::feed::{Feed, examples};
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::Port;
use std::ops::Range;

/// The maximum number of rows per call of the program.
pub const ROWS: usize = 256;

/// Returns the sizes of a machine that computes the loss of `rows` rows.
pub fn sizes(train: &Train, rows: usize) -> Sizes {
    let batch = ROWS.min(rows.max(1));
    train.sizes(rows).with(Symbol::Batch, batch)
}

/// Returns the number of times that the loss of all rows can be computed with this number of
/// floating-point operations.
pub fn affordable(infer: &InferenceBlock, train: &Train, rows: usize, operations: u64) -> usize {
    let batch = train.options.batch_of(rows);
    let step = infer.cost.step.at(&train.sizes(rows)).flops.max(1);
    let each = step.saturating_mul(rows.div_ceil(batch).max(1) as u64);
    usize::try_from(operations / each).unwrap_or(usize::MAX)
}

/// A trained state. Its elements form a range of the arguments.
pub struct Argument {
    /// The name of the state.
    pub name: String,
    state: Port,
    gradient: Port,
    /// The range of the state's elements in the vector of arguments.
    pub range: Range<usize>,
}

/// The loss as a function of its arguments. The arguments are the elements of the trained states.
pub struct Surface {
    machine: Machine,
    feed: Feed,
    loss: Port,
    /// The port that selects the noise, or `None` if the program does not have it. `scale` is the
    /// port of the factor on the likelihood, and `kl_weight` is the port of the factor on the
    /// prior.
    step: Option<Port>,
    scale: Option<Port>,
    kl_weight: Option<Port>,
    /// The trained states, in the order of their ranges.
    pub arguments: Vec<Argument>,
    /// The indices of all training rows.
    rows: Vec<u32>,
    sizes: Sizes,
    /// Memory for the gradient of one block of rows.
    part: Vec<f64>,
    /// True if the rows form a single block, and the machine already contains them.
    is_fed: bool,
}

impl Surface {
    /// Prepares the loss of the training rows of a task. `gradient` is a program that computes this loss with its gradient.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(task: &Task<'_>, gradient: &Artifact) -> Result<Surface, Stop> {
        let infer = task.infer;
        let rows = examples(&infer.bindings, &task.dataset.train);
        let sizes = sizes(training(infer)?, rows);
        let mut machine = Machine::new(gradient, sizes, task.context.pool.clone())?;
        let feed = Feed::of_plan((infer, &gradient.plan), &task.dataset.train, task.dataset, true)?;
        feed.write_shared(&mut machine)?;
        let missing = || Fault::Bug(format!("`{}` has no loss", infer.name));
        let mut arguments: Vec<Argument> = Vec::new();
        let mut count = 0;
        for state in infer.states.iter().filter(|state| state.parameter) {
            let found = (
                machine.find(&state.name),
                machine.find(&PortName::Gradient.of(&state.name)),
            );
            if let (Some(port), Some(gradient)) = found {
                let size = state.shape.count(&Sizes::default());
                arguments.push(Argument {
                    name: state.name.clone(),
                    state: port,
                    gradient,
                    range: count..count + size,
                });
                count += size;
            }
        }
        ports::int(&mut machine, PortName::Iteration.text(), 1)?;
        Ok(Surface {
            loss: machine.find(PortName::Loss.text()).ok_or_else(missing)?,
            step: machine.find(PortName::Step.text()),
            scale: machine.find(PortName::Scale.text()),
            kl_weight: machine.find(PortName::KlWeight.text()),
            machine,
            feed,
            arguments,
            rows: (0..rows as u32).collect(),
            sizes,
            part: vec![0.0; count],
            is_fed: false,
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Converts the parameters of a training run to arguments. Writes the other states to the
    /// machine.
    ///
    /// # Errors
    /// Fails if the parameters have a wrong size. This would be a bug.
    pub fn take(&mut self, values: &StateValues) -> Result<Vec<f64>, Fault> {
        let mut point = vec![0.0; self.part.len()];
        for (name, values) in values {
            match self.arguments.iter().find(|argument| argument.name == *name) {
                Some(argument) => point[argument.range.clone()].copy_from_slice(values),
                None => ports::real(&mut self.machine, name, values)?,
            }
        }
        Ok(point)
    }

    /// Converts values of the states to arguments.
    pub fn arguments_of(&self, values: &StateValues) -> Vec<f64> {
        let own = self
            .arguments
            .iter()
            .filter_map(|argument| values.get(&argument.name));
        own.flatten().copied().collect()
    }

    /// Returns the arguments at draw `number`. Arguments that are not in the draws have their value
    /// at the centre.
    pub fn draw(&self, centre: &[f64], draws: &StateValues, number: usize) -> Vec<f64> {
        let mut point = centre.to_vec();
        for argument in &self.arguments {
            let size = argument.range.len();
            let own = draws
                .get(&argument.name)
                .and_then(|all| all.get(number * size..(number + 1) * size));
            if let Some(own) = own {
                point[argument.range.clone()].copy_from_slice(own);
            }
        }
        point
    }

    /// Returns the loss of all rows at a point, and writes its gradient.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn value(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64, Fault> {
        gradient.fill(0.0);
        self.add(point, 0, gradient)
    }

    /// Returns the loss of all rows at a point, averaged over the noise that these indices select. Writes
    /// the mean gradient. The steps of the training did not use this noise.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn mean(&mut self, point: &[f64], noise: Range<usize>, gradient: &mut [f64]) -> Result<f64, Fault> {
        gradient.fill(0.0);
        let count = noise.len() as f64;
        let mut sum = 0.0;
        for number in noise {
            sum += self.add(point, number, gradient)?;
        }
        gradient.iter_mut().for_each(|slope| *slope /= count);
        Ok(sum / count)
    }

    /// Returns the loss of all rows, with the noise that one index selects. Adds the gradient of
    /// this loss to `gradient`.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn add(&mut self, point: &[f64], noise: usize, gradient: &mut [f64]) -> Result<f64, Fault> {
        self.put(point)?;
        let all = std::mem::take(&mut self.rows);
        let blocks = all.len().div_ceil(ROWS);
        let mut loss = Ok(0.0);
        for (at, rows) in all.chunks(ROWS).enumerate() {
            // The loss is a sum over blocks of rows. The prior is included only in the first block.
            let prior = if at == 0 { 1.0 } else { 0.0 };
            let own = self.block(rows, noise * blocks + at, 1.0, prior, gradient);
            self.is_fed = blocks == 1;
            loss = loss.and_then(|sum| Ok(sum + own?));
        }
        self.rows = all;
        loss
    }

    /// Estimates the loss of all rows from a batch of rows, with the noise that one index selects.
    /// Adds the gradient of this estimate to `gradient`.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn estimate(
        &mut self,
        point: &[f64],
        batch: &[u32],
        noise: usize,
        gradient: &mut [f64],
    ) -> Result<f64, Fault> {
        self.put(point)?;
        self.is_fed = false;
        let blocks = self.rows.len().div_ceil(ROWS);
        let scale = self.rows.len() as f64 / batch.len() as f64;
        self.block(batch, noise * blocks, scale, 1.0, gradient)
    }

    fn put(&mut self, point: &[f64]) -> Result<(), Fault> {
        for argument in &self.arguments {
            self.machine.put(argument.state, &point[argument.range.clone()])?;
        }
        Ok(())
    }

    /// Returns the loss of a block of rows, and adds the gradient of this loss to the gradient of
    /// all rows. The likelihood is multiplied by
    /// `scale`, and the prior by `prior`.
    fn block(
        &mut self,
        rows: &[u32],
        noise: usize,
        scale: f64,
        prior: f64,
        gradient: &mut [f64],
    ) -> Result<f64, Fault> {
        if !self.is_fed {
            self.machine
                .set_sizes(&self.sizes.with(Symbol::Batch, rows.len()))?;
            self.feed.write(&mut self.machine, rows)?;
        }
        // The steps of a training run have indices from 0. Negative indices give noise that no step
        // used.
        let step = -1 - noise as i64;
        ports::put(&mut self.machine, self.step, f64::from(step as i32))?;
        ports::put(&mut self.machine, self.scale, scale)?;
        ports::put(&mut self.machine, self.kl_weight, prior)?;
        self.machine.run()?;
        let mut loss = [0.0];
        self.machine.take(self.loss, &mut loss)?;
        for argument in &self.arguments {
            let part = &mut self.part[argument.range.clone()];
            self.machine.take(argument.gradient, part)?;
            let sums = gradient[argument.range.clone()].iter_mut().zip(&*part);
            sums.for_each(|(sum, slope)| *sum += slope);
        }
        Ok(loss[0])
    }
}
