//! Runs single steps of a compiled inference block. The test sets every input of a step.

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{InferenceBlock, Train};
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::{Feed, examples};
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_methods::sample::target;
use bnnc_training::{Task, TrainingResult, train};
use std::sync::Arc;

/// Fits an inference block once to the training rows of a data set. The fit begins at the given
/// start and does not use a checkpoint.
///
/// # Errors
/// Fails in the same cases as [`train`].
pub fn fit(
    infer: &InferenceBlock,
    dataset: &Dataset,
    start: StateValues,
    context: &Context,
) -> Result<TrainingResult, Stop> {
    let context = Context {
        checkpoint: Checkpoint::none(),
        ..context.clone()
    };
    let task = Task {
        infer,
        dataset,
        split: 0,
        name: &infer.name,
        context: &context,
        restart: 0,
    };
    train(&task, start, None)
}

/// The training program of an inference block, and its rows.
pub struct Steps<'a> {
    infer: &'a InferenceBlock,
    machine: Machine,
    feed: Feed,
    rows: usize,
}

fn valid<T>(result: Result<T, Fault>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => panic!("{fault}"),
    }
}

/// Returns the training part of an inference block.
pub fn training(infer: &InferenceBlock) -> &Train {
    match infer.training() {
        Some(train) => train,
        None => panic!("`{}` does not train", infer.name),
    }
}

fn feed(
    infer: &InferenceBlock,
    rows: &Rows,
    dataset: &Dataset,
    machine: &mut Machine,
    program: &Artifact,
) -> Feed {
    let plan = &program.plan;
    match Feed::of_plan((infer, plan), rows, dataset, true) {
        Ok(feed) => {
            valid(feed.write_shared(machine));
            feed
        }
        Err(diagnostic) => panic!("{diagnostic:?}"),
    }
}

impl<'a> Steps<'a> {
    /// Creates a machine for the training step, with the given states and with room for all rows in
    /// one step.
    pub fn new(
        infer: &'a InferenceBlock,
        dataset: &Dataset,
        states: &StateValues,
        threads: usize,
    ) -> Steps<'a> {
        let rows = examples(&infer.bindings, &dataset.train);
        let train = training(infer);
        let sizes = train.sizes(rows).with(Symbol::Batch, rows);
        let mut machine = valid(Machine::new(&train.step, sizes, Arc::new(Pool::new(threads))));
        let feed = feed(infer, &dataset.train, dataset, &mut machine, &train.step);
        let mut steps = Steps {
            infer,
            machine,
            feed,
            rows,
        };
        steps.set(states);
        steps
    }

    /// Returns the number of examples.
    pub fn examples(&self) -> usize {
        self.rows
    }

    /// Writes all states to the machine.
    pub fn set(&mut self, states: &StateValues) {
        for (name, values) in states {
            valid(ports::real(&mut self.machine, name, values));
        }
    }

    /// Runs one step with the given rows and with the given step number as coordinate of the random
    /// numbers. Returns the loss of the step.
    pub fn step(&mut self, rows: &[u32], step: i32) -> f64 {
        self.prepare(rows, step);
        self.run()
    }

    /// Writes all inputs of a step.
    pub fn prepare(&mut self, rows: &[u32], step: i32) {
        let sizes = training(self.infer)
            .sizes(self.rows)
            .with(Symbol::Batch, rows.len());
        let machine = &mut self.machine;
        valid(machine.set_sizes(&sizes));
        valid(self.feed.write(machine, rows));
        valid(ports::int(machine, "$iteration", step.saturating_add(1)));
        valid(ports::int(machine, "$step", step));
        valid(ports::real(machine, "$rate", &[training(self.infer).rate]));
        valid(ports::real(
            machine,
            "$scale",
            &[self.rows as f64 / rows.len() as f64],
        ));
        valid(ports::real(machine, "$kl_weight", &[1.0]));
    }

    /// Copies the rows of a prepared step from `other`, so that both have the same rounded values.
    /// The precision of `other` may differ.
    pub fn copy_rows(&mut self, other: &Steps<'_>) {
        for binding in &self.infer.bindings {
            if self.machine.has_port(&binding.port) {
                valid(self.machine.copy_state_from(&other.machine, &binding.port));
            }
        }
    }

    /// Runs the prepared step. Returns the loss of the step.
    pub fn run(&mut self) -> f64 {
        valid(self.machine.run());
        valid(ports::scalar(&self.machine, "$loss"))
    }

    /// Returns the current values of all states.
    pub fn states(&self) -> StateValues {
        let states = self.infer.states.iter().map(|state| &state.name);
        let present = states.filter(|name| self.machine.has_port(name));
        present
            .map(|name| (name.clone(), valid(self.machine.read_real(name))))
            .collect()
    }
}

/// Writes all training rows to the machine of a program.
///
/// # Panics
/// Panics if the columns do not fit the program.
pub fn give(infer: &InferenceBlock, dataset: &Dataset, machine: &mut Machine, program: &Artifact) {
    let feed = sampling_feed(infer, dataset, &StateValues::new(), machine, program);
    let all: Vec<u32> = (0..examples(&infer.bindings, &dataset.train) as u32).collect();
    valid(feed.write(machine, &all));
}

/// Returns the feed of a program whose inference block samples. The feed includes the prepared
/// values, which are computed once for these states.
fn sampling_feed(
    infer: &InferenceBlock,
    dataset: &Dataset,
    states: &StateValues,
    machine: &mut Machine,
    program: &Artifact,
) -> Feed {
    let mut rows = feed(infer, &dataset.train, dataset, machine, program);
    let prepare = |sampling| target::prepare(infer, sampling, dataset, states, &Arc::new(Pool::new(1)));
    match infer.sampling().map(prepare) {
        Some(Ok(Some(once))) => rows.join(once),
        Some(Err(stop)) => panic!("{stop:?}"),
        Some(Ok(None)) | None => {}
    }
    valid(rows.write_shared(machine));
    rows
}

/// Returns the outputs of the two programs of an inference block that samples. The programs are
/// evaluated at a position, on the first `rows` training rows.
///
/// # Panics
/// Panics if the inference block does not sample.
pub fn sampled(infer: &InferenceBlock, dataset: &Dataset, states: &StateValues, rows: usize) -> StateValues {
    let Some(sampling) = infer.sampling() else {
        panic!("`{}` does not sample", infer.name);
    };
    let all = examples(&infer.bindings, &dataset.train);
    let sizes = Sizes::default()
        .with(Symbol::Batch, rows.min(all))
        .with(Symbol::Examples, all)
        .with(Symbol::Draws, sampling.lanes);
    let chosen: Vec<u32> = (0..rows.min(all) as u32).collect();
    let mut found = StateValues::new();
    for program in [&sampling.density, &sampling.rows] {
        let mut machine = valid(Machine::new(program, sizes, Arc::new(Pool::new(2))));
        let feed = sampling_feed(infer, dataset, states, &mut machine, program);
        valid(feed.write(&mut machine, &chosen));
        for (name, values) in states {
            // All chains that run in lockstep get the same position.
            let copies = if machine.is_per_draw(name) {
                sampling.lanes
            } else {
                1
            };
            valid(ports::real(&mut machine, name, &values.repeat(copies)));
        }
        valid(ports::real(&mut machine, "$scale", &[0.7]));
        valid(machine.run());
        let gradients = sampling.moved.iter().map(|name| format!("{name}/$gradient"));
        let outputs = ["$log_density", "$log_prior", "$log_likelihood"].map(str::to_owned);
        for name in gradients.chain(outputs).filter(|name| machine.has_port(name)) {
            let values = valid(machine.read_real(&name));
            found.insert(name, values);
        }
    }
    found
}

/// Returns the outputs of one call of the prediction program on the first training rows, in the
/// order of the names below. An output that the program does not have is left out.
pub fn predictions(
    infer: &InferenceBlock,
    dataset: &Dataset,
    states: &StateValues,
    (rows, draws): (usize, usize),
) -> Vec<(&'static str, Vec<f64>)> {
    let rows = rows.min(examples(&infer.bindings, &dataset.train));
    let sizes = Sizes::default()
        .with(Symbol::Batch, rows)
        .with(Symbol::Draws, draws);
    let mut machine = valid(Machine::new(&infer.predict, sizes, Arc::new(Pool::new(1))));
    let feed = feed(infer, &dataset.train, dataset, &mut machine, &infer.predict);
    for (name, values) in states {
        // If the inference block samples, each draw has its own states.
        let copies = if machine.is_per_draw(name) { draws } else { 1 };
        valid(ports::real(&mut machine, name, &values.repeat(copies)));
    }
    let chosen: Vec<u32> = (0..rows as u32).collect();
    valid(feed.write(&mut machine, &chosen));
    for (name, value) in [("$draw0", 0), ("$row0", 0), ("$step", -1)] {
        valid(ports::int(&mut machine, name, value));
    }
    valid(machine.run());
    let names = ["$log_likelihood", "$mean", "$draw", "$probabilities"];
    let present = names.into_iter().filter(|name| machine.has_port(name));
    present
        .map(|name| (name, valid(machine.read_real(name))))
        .collect()
}

/// Returns `||a - b|| / ||b||`, or `||a - b||` if `b` is zero.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| a - b));
    let scale = norm(&mut b.iter().copied());
    if scale > 0.0 {
        difference / scale
    } else {
        difference
    }
}
