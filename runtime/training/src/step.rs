//! One training step on chosen rows. Also computes the weight of the KL divergence in the step.

use crate::augment::AugmentedInput;
use bnnc_abi::manifest::{InferenceBlock, KlWeight, Train};
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Symbol;
use bnnc_core::context::Context;
use bnnc_core::feed::Feed;
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows, diagnostics};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::Port;

/// The scalars that the host writes before each step. The ports of these scalars are looked up only once, because a look-up takes a tenth of the
/// time of a short step.
const INPUTS: [PortName; 6] = [
    PortName::Iteration,
    PortName::Step,
    PortName::Rate,
    PortName::Scale,
    PortName::KlWeight,
    PortName::Clip,
];

/// A training program and its states, ready to take steps.
pub struct Stepper<'a> {
    infer: &'a InferenceBlock,
    train: &'a Train,
    /// The machine that contains the parameters and the state of the optimiser.
    pub machine: Machine,
    /// The port of each scalar in [`INPUTS`], or `None` if the program does not have it.
    inputs: [Option<Port>; INPUTS.len()],
    /// The ports that the host reads after each step. The loss is always read. A program may count the positions
    /// that depend on parameters and are outside their axes. If the program does this, the count is read too.
    wanted: Vec<Port>,
    /// True if, in the last step, a position that depends on parameters was outside its axis.
    pub is_outside: bool,
    /// The number of steps that have been taken.
    pub count: u64,
    /// The input whose images are transformed, or `None` if the training uses the rows as they are.
    pub images: Option<AugmentedInput>,
    /// A number that is added to the index of a step. The sum selects the random numbers of the
    /// step, so training runs with different numbers have different noise.
    pub noise: i32,
}

/// Returns the training program and the training options of an inference block.
///
/// # Errors
/// Fails if the inference block samples instead of training. This would be a bug.
pub fn training(infer: &InferenceBlock) -> Result<&Train, Fault> {
    let bug = || Fault::Bug(format!("`{}` does not train", infer.name));
    infer.training().ok_or_else(bug)
}

/// Returns the diagnostic of a step in which the parameters selected a position outside its axis. The
/// diagnostic does not name a row, because the row is not known.
pub fn outside(infer: &InferenceBlock, step: u64) -> Diagnostic {
    let first = infer.reached.first();
    let names: Vec<&str> = first.map_or_else(Vec::new, |check| {
        check.inputs.iter().map(String::as_str).collect()
    });
    let size = first.map_or(0, |check| check.size);
    diagnostics::reached_in_step(&infer.name, &names, step, size)
}

/// The scalar inputs of a step.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The number of all training rows. The likelihood of the rows in a step is scaled up to this
    /// number of rows.
    pub rows: usize,
    /// The learning rate.
    pub rate: f64,
    /// The weight of the KL divergence relative to the likelihood of all rows.
    pub kl_weight: f64,
    /// The epoch, counted from 0. It selects the random transformations of images.
    pub epoch: usize,
}

impl<'a> Stepper<'a> {
    /// Prepares steps of at most `rows` rows. The parameters have the values in `start`.
    ///
    /// # Errors
    /// Fails if there is too little memory, or if the inference block does not train.
    pub fn new(
        infer: &'a InferenceBlock,
        rows: usize,
        start: &StateValues,
        context: &Context,
    ) -> Result<Stepper<'a>, Fault> {
        let train = training(infer)?;
        let sizes = train.sizes(rows);
        let mut machine = Machine::new(&train.step, sizes, context.pool.clone())?;
        for (name, values) in start {
            ports::real(&mut machine, name, values)?;
        }
        let missing = || Fault::Bug(format!("`{}` has no loss", infer.name));
        Ok(Stepper {
            infer,
            train,
            inputs: INPUTS.map(|name| machine.find(name.text())),
            wanted: std::iter::once(machine.find(PortName::Loss.text()).ok_or_else(missing)?)
                .chain(machine.find(PortName::Outside.text()))
                .collect(),
            is_outside: false,
            machine,
            count: 0,
            images: None,
            noise: 0,
        })
    }

    /// Returns rows in the form that the training program reads.
    ///
    /// # Errors
    /// Fails if the elements of a column do not fit the program.
    pub fn feed(&self, rows: &Rows, dataset: &Dataset) -> Result<Feed, Diagnostic> {
        let plan = &self.train.step.plan;
        let mut feed = Feed::of_plan((self.infer, plan), rows, dataset, true)?;
        if let Some(images) = &self.images {
            images.prepare(&mut feed);
        }
        Ok(feed)
    }

    /// Takes one step on those rows of `feed` whose indices are in `batch`. Returns the loss.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn step(&mut self, feed: &Feed, batch: &[u32], terms: Terms) -> Result<f64, Fault> {
        let machine = &mut self.machine;
        let sizes = self.train.sizes(terms.rows);
        machine.set_sizes(&sizes.with(Symbol::Batch, batch.len()))?;
        feed.write(machine, batch)?;
        if let Some(images) = &mut self.images {
            images.apply(machine, feed, batch, terms.epoch)?;
        }
        let count = self.count as i32;
        let inputs = [
            f64::from(count.wrapping_add(1)),
            f64::from(count.wrapping_add(self.noise)),
            terms.rate,
            terms.rows as f64 / batch.len() as f64,
            terms.kl_weight,
            // The loss is a sum over all rows, whereas the option limits the norm for a single row.
            self.train.options.clip.unwrap_or(f64::INFINITY) * terms.rows as f64,
        ];
        for (port, value) in self.inputs.iter().zip(inputs) {
            ports::put(machine, *port, value)?;
        }
        machine.run_for(&self.wanted)?;
        self.count += 1;
        let mut values = [0.0; 2];
        for (port, value) in self.wanted.iter().zip(&mut values) {
            machine.take(*port, std::slice::from_mut(value))?;
        }
        let [loss, outside] = values;
        self.is_outside = outside > 0.0;
        Ok(loss)
    }

    /// Returns the parameters.
    ///
    /// # Errors
    /// Fails if the machine does not hold one of the parameters. This would be a bug in bnnc.
    pub fn parameters(&self) -> Result<StateValues, Fault> {
        let parameters = self.infer.states.iter().filter(|state| state.parameter);
        parameters
            .map(|state| Ok((state.name.clone(), self.machine.read_real(&state.name)?)))
            .collect()
    }
}

/// Returns the weight of the KL divergence in batch `at`, as a fraction of its total weight in the epoch.
/// The epoch has `batches` batches. Batches are counted from 0, and the fractions of an epoch sum to 1.
pub fn share(how: KlWeight, at: usize, batches: usize) -> f64 {
    match how {
        KlWeight::Exact | KlWeight::Graves => 1.0 / batches as f64,
        // The formula is 2^(M - i) / (2^M - 1), where M is the number of batches and i = at + 1.
        // Numerator and denominator are divided by 2^M, because 2^M would overflow from M = 1024
        // on.
        KlWeight::Blundell => (-(at as f64 + 1.0)).exp2() / (1.0 - (-(batches as f64)).exp2()),
    }
}

/// Returns the weight of the KL divergence in a step on `batch` of `rows` rows. The likelihood of
/// these rows is multiplied by `rows / batch`.
pub fn kl_weight(how: KlWeight, (at, batches): (usize, usize), batch: usize, rows: usize) -> f64 {
    match how {
        KlWeight::Exact => 1.0,
        KlWeight::Graves | KlWeight::Blundell => share(how, at, batches) * rows as f64 / batch as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [KlWeight; 3] = [KlWeight::Exact, KlWeight::Graves, KlWeight::Blundell];

    #[test]
    fn blundells_shares_halve_with_each_batch() {
        let shares = [0, 1, 2, 3].map(|at| share(KlWeight::Blundell, at, 4));
        // The floating-point results are exact, because the numerators are powers of two and all
        // fractions have the same divisor 15/16.
        assert_eq!(shares, [8.0 / 15.0, 4.0 / 15.0, 2.0 / 15.0, 1.0 / 15.0]);
    }

    #[test]
    fn the_shares_of_an_epoch_sum_to_one() {
        for how in ALL {
            for batches in [1, 2, 3, 4, 60, 1024, 5000] {
                let shares: Vec<f64> = (0..batches).map(|at| share(how, at, batches)).collect();
                assert!(shares.iter().all(|share| share.is_finite() && *share >= 0.0));
                let sum: f64 = shares.iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{how:?} {batches}: {sum}");
            }
        }
    }

    /// In an epoch, the mean of the weights is 1 if each weight counts in proportion to the size of
    /// its batch. The sum of the losses over the steps is then the evidence lower bound.
    #[test]
    fn the_weights_of_uneven_batches_have_the_mean_one() {
        let sizes = [30, 30, 30, 10];
        for how in ALL {
            let weights = sizes
                .iter()
                .enumerate()
                .map(|(at, size)| kl_weight(how, (at, 4), *size, 100) * *size as f64);
            assert!((weights.sum::<f64>() / 100.0 - 1.0).abs() < 1e-15);
        }
        assert_eq!(kl_weight(KlWeight::Graves, (3, 4), 10, 100), 2.5);
        assert_eq!(kl_weight(KlWeight::Exact, (3, 4), 10, 100), 1.0);
    }
}
