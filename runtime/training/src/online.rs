//! Learns from rows that arrive one by one, and makes predictions in between. Bandits and active
//! learning use it.

use crate::diagnostics::losses;
use crate::step::{self, Stepper, Terms, training};
use bnnc_abi::manifest::{InferenceBlock, KlWeight};
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::Feed;
use bnnc_core::predict::{Predictive, Predictor};
use bnnc_core::{rows, states};
use bnnc_data::{Dataset, Preparation, Rows, Standardisation};
use std::collections::HashMap;
use std::ops::Range;

/// An inference block with a memory of rows. A training step improves an approximation of the
/// posterior given the rows in memory. For this purpose, the likelihood of a batch
/// is scaled up to the number of rows in memory. Rows are
/// not standardised, so they must be on the model's scale.
pub struct Online<'a> {
    infer: &'a InferenceBlock,
    context: Context,
    stepper: Stepper<'a>,
    /// The predictor, and the numbers of rows and draws that it was built for.
    predictor: Option<(Predictor, usize, usize)>,
    memory: Option<Feed>,
    capacity: usize,
    /// If the memory is full, the index of the oldest row, which the next row replaces.
    oldest: usize,
    /// The key of the random choice of batches.
    key: u64,
    /// The indices of the rows in memory, in any order.
    order: Vec<u32>,
    /// A dataset without columns. A step reads the columns that all examples share from a dataset.
    /// Such columns are therefore not supported here.
    nothing: Dataset,
}

impl<'a> Online<'a> {
    /// Creates a learner with the initial values of the states. The memory of the learner is empty,
    /// and will hold the last `capacity` rows.
    ///
    /// # Errors
    /// Fails if the model has columns that all examples share, if `kl_weight` depends on epochs, or if there is too little memory.
    pub fn new(infer: &'a InferenceBlock, capacity: usize, context: &Context) -> Result<Online<'a>, Stop> {
        if infer.bindings.iter().any(|binding| binding.from.is_shared()) {
            let why = "has columns that all examples share, so rows cannot arrive one by one";
            return Err(losses::no_stream(&infer.name, why).into());
        }
        if training(infer)?.kl_weight() != KlWeight::Exact {
            let why =
                "spreads its KL divergence over the batches of an epoch, but arriving rows have no epochs";
            return Err(losses::no_stream(&infer.name, why).into());
        }
        if !training(infer)?.options.augment.is_empty() {
            let why = "transforms the images of each epoch at random, but arriving rows have no epochs";
            return Err(losses::no_stream(&infer.name, why).into());
        }
        if training(infer)?.joins_rows {
            let why = "normalises the rows of a step together, so rows cannot arrive one by one";
            return Err(losses::no_stream(&infer.name, why).into());
        }
        let capacity = capacity.max(1);
        let start = states::start(&infer.states, context.seed, &HashMap::new());
        Ok(Online {
            infer,
            stepper: Stepper::new(infer, capacity, &start, context)?,
            context: context.clone(),
            predictor: None,
            memory: None,
            capacity,
            oldest: 0,
            key: rows::key(context.seed, &infer.name),
            order: Vec::with_capacity(capacity),
            nothing: nothing(),
        })
    }

    /// Returns the number of rows in memory.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether there are no rows in memory.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Adds rows to the memory. If the memory is full, each new row replaces the oldest row.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    pub fn observe(&mut self, rows: &Rows) -> Result<(), Stop> {
        let arrived = self.stepper.feed(rows, &self.nothing)?;
        for row in 0..arrived.rows {
            let memory = self.memory.get_or_insert_with(|| arrived.without_rows());
            if self.order.len() < self.capacity {
                self.order.push(self.order.len() as u32);
                memory.push(&arrived, row);
            } else {
                memory.replace(self.oldest, &arrived, row);
                self.oldest = (self.oldest + 1) % self.capacity;
            }
        }
        Ok(())
    }

    /// Trains on random batches from the memory. The learning rate is constant, because a schedule
    /// needs a planned end. Returns the mean loss of the steps, or NaN without rows or steps.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn learn(&mut self, steps: usize) -> Result<f64, Fault> {
        let Some(memory) = self.memory.as_ref() else {
            return Ok(f64::NAN);
        };
        let train = training(self.infer)?;
        let options = &train.options;
        let all = self.order.len();
        let batch = if options.batch == 0 {
            all
        } else {
            options.batch.min(all)
        };
        let terms = Terms {
            rows: all,
            rate: train.rate,
            kl_weight: 1.0,
            epoch: 0,
        };
        let mut sum = 0.0;
        for _ in 0..steps {
            rows::choose(&mut self.order, batch, self.key, self.stepper.count);
            sum += self.stepper.step(memory, &self.order[..batch], terms)?;
            if self.stepper.is_outside {
                return Err(step::outside(self.infer, self.stepper.count).into());
            }
        }
        Ok(sum / steps as f64)
    }

    /// Computes the predictions for blocks of rows, in order. The rows need not have targets. Draws
    /// with the same index have the same noise in all calls. To make a Thompson sample, compute a
    /// single draw with a new index.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn predict(
        &mut self,
        rows: &Rows,
        draws: Range<usize>,
        take: impl FnMut(Range<usize>, &mut Predictive),
    ) -> Result<(), Stop> {
        let count = draws.len();
        let mut predictor = match self.predictor.take() {
            Some((mut predictor, most_rows, most_draws))
                if rows.count <= most_rows && count <= most_draws =>
            {
                predictor.replace_rows(self.infer, rows, &self.nothing)?;
                (predictor, most_rows, most_draws)
            }
            _ => {
                let wanted = (count, false);
                let made = Predictor::with_target(self.infer, rows, &self.nothing, wanted, &self.context)?;
                (made, rows.count, count)
            }
        };
        predictor.0.choose_draws(draws);
        predictor.0.take_parameters(&self.stepper.machine)?;
        predictor.0.run(take)?;
        self.predictor = Some(predictor);
        Ok(())
    }
}

fn nothing() -> Dataset {
    let none = Rows::of(0, Vec::new(), Vec::new());
    Dataset {
        train: none.clone(),
        validation: none.clone(),
        test: none.clone(),
        outliers: none,
        images: None,
        preparation: Preparation {
            inputs: Vec::new(),
            columns: Vec::new(),
            named: Vec::new(),
            zscores: Vec::new(),
            target_name: None,
            target: Standardisation::IDENTITY,
            levels: Vec::new(),
            axes: Vec::new(),
            input_axes: Vec::new(),
            has_byte_inputs: false,
        },
        shared: Vec::new(),
        whole: Vec::new(),
        shards: Vec::new(),
        warnings: Vec::new(),
    }
}
