//! Posterior predictive quantities of rows: log likelihoods, means, draws, class probabilities.

use crate::feed::{Feed, Wanted};
use crate::fit::{Context, Stop};
use crate::ports;
use crate::states::Values;
use bnnc_abi::manifest::Infer;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::metrics::log_mean_exp;
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;

/// The `step` coordinate of predictive noise: no training step has it.
const PREDICTIVE_STEP: i32 = -1;

/// Rows per call of the predicting program.
const ROWS: usize = 256;

/// Floats of weight samples that one call may hold.
const WEIGHTS: usize = 4 << 20;

/// What the posterior says of some rows, on the model's scale. Matrices are draws by rows (by elements).
#[derive(Clone, Debug, Default)]
pub struct Predictive {
    /// The number of rows.
    pub rows: usize,
    /// The number of draws.
    pub draws: usize,
    /// Log density of the observed target.
    pub log_likelihood: Vec<f64>,
    /// Mean of the target given the parameters; empty where the distribution has none.
    pub mean: Vec<f64>,
    /// A draw of the target; empty where the distribution has no sampler.
    pub draw: Vec<f64>,
    /// Probabilities of the classes; empty where there are none.
    pub probabilities: Vec<f64>,
}

/// A predicting program with its rows.
pub struct Predictor {
    machine: Machine,
    feed: Feed,
    parameters: Vec<String>,
    draws: usize,
    draws_per_call: usize,
    rows_per_call: usize,
}

impl Predictor {
    /// Prepares predictions for `rows`.
    ///
    /// # Errors
    /// Columns that do not fit, or a limit.
    pub fn new(
        infer: &Infer,
        rows: &Rows,
        dataset: &Dataset,
        draws: usize,
        context: &Context,
    ) -> Result<Predictor, Stop> {
        Predictor::with_target(infer, rows, dataset, (draws, true), context)
    }

    /// As [`Predictor::new`], for rows whose target may be unknown.
    ///
    /// # Errors
    /// Columns that do not fit, or a limit.
    pub fn with_target(
        infer: &Infer,
        rows: &Rows,
        dataset: &Dataset,
        (draws, target): (usize, bool),
        context: &Context,
    ) -> Result<Predictor, Stop> {
        let weights = infer.cost.parameters.max(1);
        let draws_per_call = (WEIGHTS / weights).clamp(1, draws.max(1));
        let rows_per_call = ROWS.min(rows.count.max(1));
        let sizes = Sizes::default()
            .with(Symbol::Batch, rows_per_call)
            .with(Symbol::Draws, draws_per_call);
        let mut machine = Machine::new(&infer.predict, sizes, context.pool.clone())?;
        let plan = infer.predict.plan.clone();
        let storage = |name: &str| plan.port(name).map(|id| plan.buffers[id].storage);
        let wanted = Wanted {
            bindings: &infer.bindings,
            output: &infer.output,
            precision: plan.precision,
            storage: &storage,
        };
        let feed = Feed::new(rows, dataset, &wanted, target)?;
        feed.write_shared(&mut machine)?;
        let parameters = infer.states.iter().filter(|state| state.parameter);
        let parameters = parameters.map(|state| state.name.clone()).collect();
        Ok(Predictor {
            machine,
            feed,
            parameters,
            draws,
            draws_per_call,
            rows_per_call,
        })
    }

    /// Takes the parameters of a training machine.
    ///
    /// # Errors
    /// A bug: programs that disagree about a parameter.
    pub fn take_parameters(&mut self, from: &Machine) -> Result<(), Fault> {
        let machine = &mut self.machine;
        let known = self.parameters.iter().filter(|name| from.has_port(name));
        known.into_iter().try_for_each(|name| {
            if machine.has_port(name) {
                machine.copy_state_from(from, name)
            } else {
                Ok(())
            }
        })
    }

    /// Sets the parameters.
    ///
    /// # Errors
    /// Values of another size, from the folder of another run.
    pub fn set_parameters(&mut self, values: &Values) -> Result<(), Fault> {
        let machine = &mut self.machine;
        let given = self
            .parameters
            .iter()
            .filter_map(|name| values.get_key_value(name));
        given
            .into_iter()
            .try_for_each(|(name, values)| ports::real(machine, name, values))
    }

    /// The mean log predictive density of the rows, on the model's scale.
    ///
    /// # Errors
    /// A bug of the machine.
    pub fn log_likelihood(&mut self) -> Result<f64, Fault> {
        let predictive = self.run(false)?;
        let (rows, draws) = (predictive.rows, predictive.draws);
        let row = |at: usize| {
            let terms = (0..draws).map(|draw| predictive.log_likelihood[draw * rows + at]);
            log_mean_exp(terms)
        };
        Ok((0..rows).map(row).sum::<f64>() / rows as f64)
    }

    /// All predictive quantities; without `full` only the log likelihood.
    ///
    /// # Errors
    /// A bug of the machine.
    pub fn run(&mut self, full: bool) -> Result<Predictive, Fault> {
        let rows = self.feed.rows;
        let mut result = Predictive {
            rows,
            draws: self.draws,
            ..Predictive::default()
        };
        let names = ["log_likelihood", "mean", "draw", "probabilities"];
        let names = if full { &names[..] } else { &names[..1] };
        let all: Vec<u32> = (0..rows as u32).collect();
        for (at, chunk) in all.chunks(self.rows_per_call).enumerate() {
            let first_row = at * self.rows_per_call;
            let mut draw = 0;
            while draw < self.draws {
                let count = self.draws_per_call.min(self.draws - draw);
                self.call(chunk, first_row, draw, count)?;
                for name in names {
                    self.collect(name, &mut result, (first_row, chunk.len()), (draw, count))?;
                }
                draw += count;
            }
        }
        Ok(result)
    }

    fn call(&mut self, rows: &[u32], first_row: usize, draw: usize, count: usize) -> Result<(), Fault> {
        let sizes = Sizes::default()
            .with(Symbol::Batch, rows.len())
            .with(Symbol::Draws, count);
        let machine = &mut self.machine;
        machine.set_sizes(&sizes)?;
        self.feed.write(machine, rows)?;
        ports::int(machine, "draw0", draw as i32)?;
        ports::int(machine, "row0", first_row as i32)?;
        ports::int(machine, "step", PREDICTIVE_STEP)?;
        machine.run();
        Ok(())
    }

    /// Copies an output `[count, rows, width]` into its place in `[draws, all rows, width]`.
    fn collect(
        &self,
        name: &str,
        result: &mut Predictive,
        rows: (usize, usize),
        draws: (usize, usize),
    ) -> Result<(), Fault> {
        if !self.machine.has_port(name) {
            return Ok(());
        }
        let values = self.machine.read_real(name)?;
        let width = values.len() / (rows.1 * draws.1).max(1);
        let total = result.rows;
        let target = match name {
            "log_likelihood" => &mut result.log_likelihood,
            "mean" => &mut result.mean,
            "draw" => &mut result.draw,
            _ => &mut result.probabilities,
        };
        target.resize(self.draws * total * width, 0.0);
        for draw in 0..draws.1 {
            let source = &values[draw * rows.1 * width..(draw + 1) * rows.1 * width];
            let start = ((draws.0 + draw) * total + rows.0) * width;
            target[start..start + source.len()].copy_from_slice(source);
        }
        Ok(())
    }
}

/// The sizes of one call of the predicting program.
pub fn sizes(infer: &Infer, rows: usize, draws: usize) -> Sizes {
    let weights = infer.cost.parameters.max(1);
    let draws_per_call = (WEIGHTS / weights).clamp(1, draws.max(1));
    Sizes::default().with(Symbol::Batch, ROWS.min(rows.max(1))).with(Symbol::Draws, draws_per_call)
}
