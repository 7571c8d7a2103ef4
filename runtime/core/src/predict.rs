//! Posterior predictive quantities of rows: log likelihoods, means, draws and class probabilities.

mod drawn;
mod part;
mod sizes;

use self::drawn::Drawn;
use self::part::Part;
pub use self::sizes::{ROWS, sizes};
use crate::context::{Context, Stop};
use crate::feed::{Feed, examples};
use crate::interrupt::Interrupt;
use crate::ports;
use crate::states::StateValues;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::metrics::{DrawMatrix, log_mean_exp};
use bnnc_data::{Dataset, Preparation, Rows, Standardisation};
use bnnc_kernels::executor::Machine;
use std::ops::Range;

/// The coordinate `step` of the random numbers for predictions. Training steps use other values.
pub const PREDICTIVE_STEP: i32 = -1;

/// One output of the prediction program, of the shape `[draws, rows, ..]`.
#[derive(Clone, Debug)]
pub struct PredictionOutput {
    /// The name of the output's port in the program.
    pub port: String,
    part: Part,
    /// The index of the model output that this prediction output belongs to. `None` if the model has a single output, or if the prediction output
    /// covers all model outputs together.
    output: Option<usize>,
}

/// Returns the outputs that the prediction program of an inference block may have. The first prediction output is the joint log likelihood of all
/// outputs of the model.
pub fn prediction_outputs(infer: &InferenceBlock) -> Vec<PredictionOutput> {
    let of_all = |part: Part| PredictionOutput {
        port: part.port().text().to_owned(),
        part,
        output: None,
    };
    if infer.only_output().is_some() {
        return Part::ALL.map(of_all).to_vec();
    }
    let of_each = infer.outputs.iter().enumerate().flat_map(|(at, output)| {
        Part::ALL.map(|part| PredictionOutput {
            port: infer.port_of(output, part.port()),
            part,
            output: Some(at),
        })
    });
    std::iter::once(of_all(Part::LogLikelihood))
        .chain(of_each)
        .collect()
}

/// The predictions of a block of rows. The predictions are on the model's scale until [`Predictive::undo`] converts them to original units. Arrays
/// have the shape `[draws, rows]` or `[draws, rows, elements]`.
#[derive(Clone, Debug, Default)]
pub struct Predictive {
    /// The predictions of each output, if the model has several outputs. `self` then contains only the joint log likelihood of all outputs.
    pub outputs: Vec<Predictive>,
    /// The number of rows.
    pub rows: usize,
    /// The number of draws.
    pub draws: usize,
    /// The log density of the observed target at each draw. Empty if targets are unknown.
    pub log_likelihood: Vec<f64>,
    /// The mean of the target, given the parameters. Empty if the distribution does not have a mean.
    pub mean: Vec<f64>,
    /// Draws of the target. Empty if the distribution does not have a sampler.
    pub draw: Vec<f64>,
    /// The probabilities of the classes. Empty if the output is not a class.
    pub probabilities: Vec<f64>,
    /// For each row, the epistemic standard deviation: the standard deviation of the target's mean. Empty if it must be computed from the draws.
    pub epistemic: Vec<f64>,
    /// For each row, the aleatoric standard deviation: the standard deviation of the target given the parameters. Empty if it must be computed from
    /// the draws.
    pub aleatoric: Vec<f64>,
    /// The exact quantiles of the target for each row, at the [`PROBABILITIES`]. Empty if they must be computed from the draws.
    pub quantiles: [Vec<f64>; 3],
    /// Additional results of predictions that integrate over weights.
    pub integrated: IntegralResults,
}

/// Additional results of predictions that integrate over weights. All are empty for other predictions.
#[derive(Clone, Debug, Default)]
pub struct IntegralResults {
    /// For each element, the numerical error of its mean. If the output is a class, the largest
    /// numerical error among the probabilities of each row.
    pub error: Vec<f64>,
    /// For each row, the log density of the target, or the log probability of the true class. Empty if targets are unknown.
    pub log_density: Vec<f64>,
    /// The numerical error of the log density.
    pub log_density_error: Vec<f64>,
    /// The value of the predictive distribution function at the target, for each element. Empty for classes, and if targets are unknown.
    pub cdf: Vec<f64>,
}

/// The probabilities of the quantiles in [`Predictive::quantiles`].
pub const PROBABILITIES: [f64; 3] = [0.05, 0.5, 0.95];

impl Predictive {
    /// Returns the predictions of each output of the model, in the order of the outputs.
    pub fn each(&self) -> &[Predictive] {
        match &self.outputs[..] {
            [] => std::slice::from_ref(self),
            outputs => outputs,
        }
    }

    /// Returns mutable references to the predictions of each output of the model, in the order of the outputs.
    pub fn each_mut(&mut self) -> &mut [Predictive] {
        match self.outputs.is_empty() {
            true => std::slice::from_mut(self),
            false => &mut self.outputs,
        }
    }

    /// Converts means, draws and quantiles of a standardised target to its original units. Classes are not converted, because they do not have units.
    pub fn undo(&mut self, infer: &InferenceBlock, preparation: &Preparation) {
        for (prediction, output) in self.each_mut().iter_mut().zip(&infer.outputs) {
            prediction.undo_one(output, units(infer, output, preparation));
        }
    }

    fn undo_one(&mut self, output: &Output, standardisation: Standardisation) {
        if matches!(output.kind, OutputKind::Real | OutputKind::Count) {
            let quantiles = self.quantiles.iter_mut().flatten();
            for value in self.mean.iter_mut().chain(&mut self.draw).chain(quantiles) {
                *value = standardisation.undo(*value);
            }
            let errors = &mut self.integrated.error;
            for deviation in self.epistemic.iter_mut().chain(&mut self.aleatoric).chain(errors) {
                *deviation *= standardisation.sd;
            }
            for log_density in &mut self.integrated.log_density {
                *log_density -= output.elements() as f64 * standardisation.sd.ln();
            }
        }
    }

    /// Sets the number of rows and the number of draws of the next block, in the predictions of all outputs.
    pub fn begin(&mut self, (rows, draws): (usize, usize), all: &[PredictionOutput]) {
        let places = all.iter().filter_map(|prediction| prediction.output);
        let outputs = places.max().map_or(0, |last| last + 1);
        self.outputs.resize_with(outputs, Predictive::default);
        (self.rows, self.draws) = (rows, draws);
        for prediction in &mut self.outputs {
            (prediction.rows, prediction.draws) = (rows, draws);
        }
    }

    /// Copies `count` draws of an output of the program. The first of these draws becomes draw `draw` of the block. An output that the program does
    /// not have is skipped.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn collect(
        &mut self,
        prediction: &PredictionOutput,
        machine: &Machine,
        (draw, count): (usize, usize),
    ) -> Result<(), Fault> {
        if !machine.has_port(&prediction.port) {
            return Ok(());
        }
        let per_draw = machine.count(&prediction.port)? / count.max(1);
        let draws = self.draws;
        let of = match prediction.output {
            Some(at) => &mut self.outputs[at],
            None => self,
        };
        let target = match prediction.part {
            Part::LogLikelihood => &mut of.log_likelihood,
            Part::Mean => &mut of.mean,
            Part::Draw => &mut of.draw,
            Part::Probabilities => &mut of.probabilities,
        };
        target.resize(draws * per_draw, 0.0);
        machine.read_into(
            &prediction.port,
            &mut target[draw * per_draw..(draw + count) * per_draw],
        )
    }
}

/// Returns the standardisation of an output. Only the target of the data may be standardised. For other outputs, returns the identity.
pub fn units(infer: &InferenceBlock, output: &Output, preparation: &Preparation) -> Standardisation {
    match preparation.target_name.as_deref() == Some(infer.column(output)) {
        true => preparation.target,
        false => Standardisation::IDENTITY,
    }
}

/// Returns the number of draws or iterates in these values. Returns 0 if each state has a single value.
pub fn held(infer: &InferenceBlock, values: &StateValues) -> usize {
    let held = infer.per_draw().into_iter().filter_map(|name| {
        let state = infer.states.iter().find(|state| state.name == name)?;
        let width = state.shape.count(&Sizes::default());
        values.get(name).map(|values| values.len() / width.max(1))
    });
    held.min().unwrap_or(0)
}

/// Returns the number of predictive draws, if the posterior was found by an optimiser. If the posterior is a single point, all draws are
/// this point.
pub fn trained_draws(infer: &InferenceBlock) -> usize {
    match infer.is_point() {
        true => predictive_draws(infer, 1),
        false => infer.predictive_draws(),
    }
}

/// Returns the number of predictive draws, if `held` draws of the parameters are stored. If all outputs
/// are classes, the number is `held`. If not, the
/// number is the smallest multiple of `held` that is at least `predictive_draws`. All stored draws are then used equally often.
pub fn predictive_draws(infer: &InferenceBlock, held: usize) -> usize {
    let held = held.max(1);
    let is_of_classes = |output: &Output| matches!(output.kind, OutputKind::Classes(_) | OutputKind::Bool);
    match infer.outputs.iter().all(is_of_classes) {
        true => held,
        false => held * infer.predictive_draws().div_ceil(held),
    }
}

/// A prediction program that is prepared for some rows.
pub struct Predictor {
    machine: Machine,
    feed: Feed,
    interrupt: Interrupt,
    prediction_outputs: Vec<PredictionOutput>,
    parameters: Vec<String>,
    /// The names of the parameters that have several stored values in the posterior.
    stored: Vec<String>,
    /// The parameters with several values.
    drawn: Vec<Drawn>,
    /// The index of the first draw. It selects the draw's random numbers.
    first_draw: usize,
    draws: usize,
    draws_per_call: usize,
    rows_per_call: usize,
}

impl Predictor {
    /// Prepares predictions for `rows`.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(
        infer: &InferenceBlock,
        rows: &Rows,
        dataset: &Dataset,
        draws: usize,
        context: &Context,
    ) -> Result<Predictor, Stop> {
        Predictor::with_target(infer, rows, dataset, (draws, true), context)
    }

    /// Prepares predictions as [`Predictor::new`] does. If `target` is false, targets may be unknown. The values of outputs are then
    /// replaced by placeholders. Outputs that other outputs depend on keep their values.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn with_target(
        infer: &InferenceBlock,
        rows: &Rows,
        dataset: &Dataset,
        (draws, target): (usize, bool),
        context: &Context,
    ) -> Result<Predictor, Stop> {
        let sizes = sizes(&infer.predict.plan, examples(&infer.bindings, rows), draws);
        let mut machine = Machine::new(&infer.predict, sizes, context.pool.clone())?;
        let feed = Feed::of_plan((infer, &infer.predict.plan), rows, dataset, target)?;
        feed.write_shared(&mut machine)?;
        let parameters = infer.states.iter().filter(|state| state.parameter);
        let parameters = parameters.map(|state| state.name.clone()).collect();
        Ok(Predictor {
            machine,
            feed,
            interrupt: context.interrupt.clone(),
            prediction_outputs: prediction_outputs(infer),
            parameters,
            stored: infer.per_draw().into_iter().map(str::to_owned).collect(),
            drawn: Vec::new(),
            first_draw: 0,
            draws,
            draws_per_call: sizes.get(Symbol::Draws),
            rows_per_call: sizes.get(Symbol::Batch),
        })
    }

    /// Copies the parameters from the machine of a training run.
    ///
    /// # Errors
    /// Fails if a parameter has different shapes in the two programs. This would be a bug.
    pub fn take_parameters(&mut self, from: &Machine) -> Result<(), Fault> {
        for name in self.parameters.iter().filter(|name| from.has_port(name)) {
            if self.machine.is_per_draw(name) {
                // The training has a single value of the parameter. All draws share this value.
                let values = from.read_real(name)?;
                let drawn = Drawn::new(name, (values.len(), false), values);
                match self.drawn.iter_mut().find(|known| known.name == *name) {
                    Some(known) => *known = drawn,
                    None => self.drawn.push(drawn),
                }
            } else if self.machine.has_port(name) {
                self.machine.copy_state_from(from, name)?;
            }
        }
        Ok(())
    }

    /// Sets the values of the parameters.
    ///
    /// # Errors
    /// Fails if a value has the wrong size. A wrong size can occur if the values come from the folder of another run.
    pub fn set_parameters(&mut self, values: &StateValues) -> Result<(), Fault> {
        self.drawn.clear();
        for (name, values) in self
            .parameters
            .iter()
            .filter_map(|name| values.get_key_value(name))
        {
            if self.machine.is_per_draw(name) {
                let draws = self.machine.sizes().get(Symbol::Draws).max(1);
                let width = self.machine.count(name)? / draws;
                self.drawn.push(Drawn::new(name, (width, false), values.clone()));
            } else if self.stores_several(name, values)? {
                let width = self.machine.count(name)?;
                self.drawn.push(Drawn::new(name, (width, true), values.clone()));
            } else {
                ports::real(&mut self.machine, name, values)?;
            }
        }
        Ok(())
    }

    /// Returns whether `values` contains several values of a parameter, but the program reads only one value of this parameter per call.
    fn stores_several(&self, name: &str, values: &[f64]) -> Result<bool, Fault> {
        if !self.stored.iter().any(|stored| stored == name) || !self.machine.has_port(name) {
            return Ok(false);
        }
        let width = self.machine.count(name)?.max(1);
        Ok(values.len() > width && values.len().is_multiple_of(width))
    }

    /// Replaces the rows to predict for. The new rows need not have targets.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    pub fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, data: &Dataset) -> Result<(), Stop> {
        self.feed = Feed::of_plan((infer, &infer.predict.plan), rows, data, false)?;
        Ok(())
    }

    /// Selects the range of draws that the next predictions use.
    pub fn choose_draws(&mut self, draws: Range<usize>) {
        self.first_draw = draws.start;
        self.draws = draws.len();
    }

    /// Sets another input of the prediction program.
    ///
    /// # Errors
    /// Fails if the input has another size. This would be a bug.
    pub fn set(&mut self, name: &str, values: &[f64]) -> Result<(), Fault> {
        ports::real(&mut self.machine, name, values)
    }

    /// Returns the log predictive density on the model's scale, averaged over the rows.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn log_likelihood(&mut self) -> Result<f64, Fault> {
        let mut sum = 0.0;
        self.each(1, &|| Ok::<(), Fault>(()), |_, block| {
            let draws = DrawMatrix::new(&block.log_likelihood, block.rows);
            sum += (0..block.rows)
                .map(|row| log_mean_exp(draws.of_row(row)))
                .sum::<f64>();
            Ok::<(), Fault>(())
        })?;
        Ok(sum / self.feed.rows as f64)
    }

    /// Computes only the joint log likelihood of all outputs. The result is passed to `take` in blocks of rows, in order.
    ///
    /// # Errors
    /// Fails if the machine has a bug, or if the user interrupts the run.
    pub fn likelihoods(&mut self, take: impl FnMut(Range<usize>, &mut Predictive)) -> Result<(), Stop> {
        self.until_stopped(1, take)
    }

    /// Computes all predictive quantities. The result is passed to `take` in blocks of rows, in order.
    ///
    /// # Errors
    /// Fails if the machine has a bug, or if the user interrupts the run.
    pub fn run(&mut self, take: impl FnMut(Range<usize>, &mut Predictive)) -> Result<(), Stop> {
        self.until_stopped(self.prediction_outputs.len(), take)
    }

    /// Computes the first `count` outputs of the program for all rows. Stops early if the user interrupts the run.
    fn until_stopped(
        &mut self,
        count: usize,
        mut take: impl FnMut(Range<usize>, &mut Predictive),
    ) -> Result<(), Stop> {
        let interrupt = self.interrupt.clone();
        let go_on = || match interrupt.is_overdue() {
            true => Err(Stop::Interrupted),
            false => Ok(()),
        };
        self.each(count, &go_on, |range, block| {
            take(range, block);
            go_on()
        })
    }

    /// Runs the program for all rows and draws. After each call, passes the machine and the index of the first row to `take`.
    ///
    /// # Errors
    /// Fails if the machine has a bug, or if `take` returns an error.
    pub fn visit(&mut self, mut take: impl FnMut(&Machine, usize) -> Result<(), Stop>) -> Result<(), Stop> {
        let rows: Vec<u32> = (0..self.feed.rows as u32).collect();
        for (at, chunk) in rows.chunks(self.rows_per_call).enumerate() {
            let first_row = at * self.rows_per_call;
            let mut draw = 0;
            while draw < self.draws {
                let count = self.count(draw);
                self.call(chunk, first_row, draw, count)?;
                take(&self.machine, first_row)?;
                draw += count;
            }
        }
        Ok(())
    }

    /// Computes the first `count` outputs of the program for all rows. Calls `go_on` after each call of the program. Stops if `go_on`
    /// returns an error.
    fn each<E: From<Fault>>(
        &mut self,
        count: usize,
        go_on: &impl Fn() -> Result<(), E>,
        mut take: impl FnMut(Range<usize>, &mut Predictive) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = self.prediction_outputs[..count].to_vec();
        let rows: Vec<u32> = (0..self.feed.rows as u32).collect();
        let mut block = Predictive::default();
        for (at, chunk) in rows.chunks(self.rows_per_call).enumerate() {
            let first_row = at * self.rows_per_call;
            block.begin((chunk.len(), self.draws), &all);
            let mut draw = 0;
            while draw < self.draws {
                let count = self.count(draw);
                self.call(chunk, first_row, draw, count)?;
                for prediction in &all {
                    block.collect(prediction, &self.machine, (draw, count))?;
                }
                draw += count;
                go_on()?;
            }
            take(first_row..first_row + chunk.len(), &mut block)?;
        }
        Ok(())
    }

    /// Returns the number of draws in the call that begins with this draw.
    fn count(&self, draw: usize) -> usize {
        let most = self.draws_per_call.min(self.draws - draw);
        let same = self.drawn.iter().map(|drawn| drawn.same(draw, self.draws));
        same.fold(most, usize::min)
    }

    fn call(&mut self, rows: &[u32], first_row: usize, draw: usize, count: usize) -> Result<(), Fault> {
        let sizes = Sizes::default()
            .with(Symbol::Batch, rows.len())
            .with(Symbol::Draws, count);
        let machine = &mut self.machine;
        machine.set_sizes(&sizes)?;
        self.feed.write(machine, rows)?;
        for drawn in &mut self.drawn {
            drawn.choose(draw..draw + count, self.draws);
            ports::real(machine, &drawn.name, drawn.chosen())?;
        }
        ports::int(
            machine,
            PortName::FirstDraw.text(),
            (self.first_draw + draw) as i32,
        )?;
        ports::int(machine, PortName::FirstRow.text(), first_row as i32)?;
        ports::int(machine, PortName::Step.text(), PREDICTIVE_STEP)?;
        machine.run()?;
        Ok(())
    }
}
