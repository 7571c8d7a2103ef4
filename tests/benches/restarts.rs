//! A benchmark of restarts in lockstep. The results of this benchmark are the reason why restarts
//! do not run in lockstep. The benchmark prints a Markdown table of the microseconds per step and
//! restart on one thread. The table compares the training step with a step that advances several
//! restarts. Run it with `cargo bench -p bnnc-tests --bench restarts [-- PROGRAM.bnn ...]`. Without
//! arguments, it measures the programs of `examples`. The option `--steps` also prints the times of
//! kernels and library calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{InferenceBlock, Train};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_core::feed::{Feed, examples};
use bnnc_core::ports;
use bnnc_core::states::{StateValues, start};
use bnnc_data::Dataset;
use bnnc_driver::backends;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_kernels::ports::Port;
use bnnc_loops::backend::{BackendOptions, CodePlacement};
use bnnc_rewrite::{batch, pipeline, pipelines};
use bnnc_tests::compile::{self, ready};
use bnnc_tests::step::training;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The numbers of restarts that run in lockstep.
const LANES: [usize; 3] = [2, 4, 8];
/// The duration of one measurement, and the number of measurements. The shortest time counts,
/// because other work on the machine can only make a measurement longer. A measurement is about as
/// long as a time slice of the operating system's scheduler.
const SPAN: Duration = Duration::from_millis(4);
const ROUNDS: usize = 200;
/// The scalar inputs that are the same for all restarts in lockstep.
const SHARED: [PortName; 4] = [
    PortName::Iteration,
    PortName::Rate,
    PortName::Scale,
    PortName::KlWeight,
];
/// The symbol for the number of restarts in lockstep.
const RESTARTS: Symbol = Symbol::Columns;

/// Returns the training step of an inference block, and the step that advances several restarts.
fn programs(path: &Path, infer: &str, options: &CompileOptions) -> [Artifact; 2] {
    let backend = backends::lookup("cranelift").unwrap();
    compile::from_densities(path, infer, options, |compilation, elaborated, densities| {
        let objective = ready(compilation.objective(elaborated, densities));
        let precision = compilation.precision().unwrap();
        let step = &objective.train;
        let names = step.params.iter().map(|param| step.param_name(*param).unwrap());
        let mapped: Vec<bool> = names
            .map(|name| SHARED.iter().all(|shared| shared.text() != &**name))
            .collect();
        let lockstep = batch::batch(step, &mapped, Dim::Symbol(RESTARTS));
        let lockstep =
            pipeline::run(&lockstep, pipelines::BEFORE_LOWERING, &mut compilation.context).unwrap();
        let states: Vec<String> = objective.states.iter().map(|state| state.name.clone()).collect();
        [step, &lockstep].map(|function| {
            let program = compilation.lower("train", function, &states, precision).unwrap();
            let options = BackendOptions {
                symbols: options.symbols.clone(),
                form: CodePlacement::Memory,
                gpu: None,
            };
            let code = backend.compile(&program, &options).unwrap();
            Artifact {
                plan: Arc::new(program.plan),
                code,
            }
        })
    })
}

/// A machine that advances some restarts.
struct Subject<'a> {
    train: &'a Train,
    machine: Machine,
    feed: Feed,
    lanes: usize,
    sizes: Sizes,
    rows: usize,
    shared: [Option<Port>; SHARED.len()],
    step: Option<Port>,
    loss: Port,
    /// For all restarts: the chosen rows, the indices of the steps, and the losses.
    chosen: Vec<u32>,
    steps: Vec<f64>,
    losses: Vec<f64>,
}

impl<'a> Subject<'a> {
    fn new(infer: &'a InferenceBlock, dataset: &Dataset, artifact: &Artifact, lanes: usize) -> Subject<'a> {
        let rows = examples(&infer.bindings, &dataset.train);
        let train = training(infer);
        let sizes = train.sizes(rows).with(RESTARTS, lanes);
        let mut machine = Machine::new(artifact, sizes, Arc::new(Pool::new(1))).unwrap();
        let feed = Feed::of_plan((infer, &artifact.plan), &dataset.train, dataset, true).unwrap();
        let mut states = StateValues::default();
        for lane in 0..lanes {
            for (name, values) in start(&infer.states, lane as u64, &HashMap::new()) {
                states.entry(name).or_default().extend(values);
            }
        }
        for (name, values) in &states {
            ports::real(&mut machine, name, values).unwrap();
        }
        let batch = sizes.get(Symbol::Batch);
        let row = |lane: usize, at: usize| ((at * 7 + lane * 11) % rows) as u32;
        Subject {
            train,
            feed,
            lanes,
            sizes,
            rows,
            shared: SHARED.map(|name| machine.find(name.text())),
            step: machine.find(PortName::Step.text()),
            loss: machine.find(PortName::Loss.text()).unwrap(),
            chosen: (0..lanes)
                .flat_map(|lane| (0..batch).map(move |at| row(lane, at)))
                .collect(),
            steps: vec![0.0; lanes],
            losses: vec![0.0; lanes],
            machine,
        }
    }

    /// Advances every restart by one step. The inputs are the same as in a training run.
    fn step(&mut self, at: usize) {
        let machine = &mut self.machine;
        machine.set_sizes(&self.sizes).unwrap();
        self.feed.write(machine, &self.chosen).unwrap();
        let scale = self.rows as f64 / self.sizes.get(Symbol::Batch) as f64;
        let values = [at as f64 + 1.0, self.train.rate, scale, 1.0];
        for (port, value) in self.shared.iter().zip(values) {
            ports::put(machine, *port, value).unwrap();
        }
        if let Some(port) = self.step {
            let own = self.steps.iter_mut().enumerate();
            own.for_each(|(lane, step)| *step = (at + 100_000 * lane) as f64);
            machine.put(port, &self.steps).unwrap();
        }
        machine.run().unwrap();
        machine.take(self.loss, &mut self.losses).unwrap();
    }

    /// Returns the seconds per step and restart.
    fn seconds(&mut self) -> f64 {
        let (clock, mut count) = (Instant::now(), 0);
        while clock.elapsed() < SPAN {
            self.step(count);
            count += 1;
        }
        clock.elapsed().as_secs_f64() / (count * self.lanes) as f64
    }

    /// Prints the shortest time of each kernel and each library call.
    fn print_steps(&mut self) {
        let names = self.machine.step_names();
        let mut least = vec![f64::INFINITY; names.len()];
        for _ in 0..3000 {
            let mut seconds = vec![0.0; names.len()];
            self.machine.run_timed(&mut seconds).unwrap();
            let pairs = least.iter_mut().zip(seconds);
            pairs.for_each(|(least, seconds)| *least = least.min(seconds));
        }
        println!("{} restarts", self.lanes);
        for (name, seconds) in names.iter().zip(least) {
            let name: String = name.chars().take(70).collect();
            println!("{:8.2} us {name}", seconds * 1e6 / self.lanes as f64);
        }
    }
}

fn row(path: &Path, is_detailed: bool) -> Option<String> {
    let options = compile::options("cranelift", None);
    let compiled = compile::file(path, &options);
    let infers = &compiled.manifest.infers;
    let infer = infers.iter().find(|infer| infer.training().is_some())?;
    let dataset = compiled.dataset(&infer.data);
    let [alone, lockstep] = programs(path, &infer.name, &options);
    let mut subjects = vec![Subject::new(infer, &dataset, &alone, 1)];
    subjects.extend(LANES.map(|lanes| Subject::new(infer, &dataset, &lockstep, lanes)));
    let mut best = vec![f64::INFINITY; subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, best) in subjects.iter_mut().zip(&mut best) {
            *best = best.min(subject.seconds());
        }
    }
    if is_detailed {
        subjects.iter_mut().for_each(Subject::print_steps);
    }
    let times: Vec<String> = best
        .iter()
        .map(|seconds| format!("{:.2}", seconds * 1e6))
        .collect();
    let sizes = &subjects[0].sizes;
    Some(format!(
        "| {} {} | {} | {} | {} | {} |",
        path.file_stem().unwrap_or_default().to_string_lossy(),
        infer.name,
        infer.cost.variational_parameters,
        sizes.get(Symbol::Batch),
        infer.cost.step.at(sizes).flops,
        times.join(" | "),
    ))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut programs: Vec<PathBuf> = words
        .iter()
        .filter(|word| word.ends_with(".bnn"))
        .map(PathBuf::from)
        .collect();
    if programs.is_empty() {
        programs = compile::examples();
    }
    println!("| program | parameters | rows | operations | alone | 2 in lockstep | 4 | 8 |");
    println!("|---|{}", "---:|".repeat(7));
    for program in programs {
        if let Some(row) = row(&program, words.iter().any(|word| word == "--steps")) {
            println!("{row}");
        }
    }
}
