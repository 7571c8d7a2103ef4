//! A benchmark of chains in lockstep. The benchmark justifies the number of chains that bnnc runs
//! in lockstep. The output is a Markdown table. The table shows the nanoseconds per gradient, for a
//! single chain and for chains in lockstep. Run it with
//! `cargo bench -p bnnc-tests --bench chains [-- PROGRAM.bnn ...]`. Without arguments, it measures
//! three kinds of programs: the programs of `examples/posteriors`, the network of
//! `tests/peers/mcmc`, and generated regressions of several sizes in a temporary folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::feed::examples;
use bnnc_data::Dataset;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_tests::compile::{self, ready};
use bnnc_tests::step::give;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The numbers of chains in lockstep.
const CHAINS: [usize; 3] = [2, 4, 8];
/// The duration of one measurement.
const SPAN: Duration = Duration::from_millis(15);
/// The number of measurements. The shortest time counts, because other work on the machine can only
/// make a measurement longer.
const ROUNDS: usize = 20;
/// The numbers of rows and inputs of the generated regressions.
const REGRESSIONS: [(usize, usize); 5] = [(200, 10), (1_000, 5), (1_000, 20), (5_000, 50), (20_000, 20)];

/// The first inference block of a program that samples. The block is compiled for one chain and for
/// several chains in lockstep.
struct Subject {
    infer: InferenceBlock,
    dataset: Dataset,
    rows: usize,
    alone: Artifact,
    lockstep: Artifact,
}

impl Subject {
    fn new(path: &Path) -> Subject {
        let options = compile::options("cranelift", None);
        let compiled = compile::file(path, &options);
        let mut infers = compiled.manifest.infers.iter();
        let infer = infers
            .find(|infer| infer.sampling().is_some())
            .expect("an infer that samples");
        let dataset = compiled.dataset(&infer.data);
        let [alone, lockstep] = densities(path, &infer.name, &options);
        Subject {
            rows: examples(&infer.bindings, &dataset.train),
            infer: infer.clone(),
            dataset,
            alone,
            lockstep,
        }
    }

    /// Returns a machine with all rows and the positions of `chains` chains in lockstep. The first
    /// of these chains has the number `first`. If `chains` is `None`, the machine computes only
    /// chain `first`.
    fn machine(&self, first: usize, chains: Option<usize>, threads: usize) -> Machine {
        let program = if chains.is_some() {
            &self.lockstep
        } else {
            &self.alone
        };
        let chains = chains.unwrap_or(1);
        let sizes = Sizes::default()
            .with(Symbol::Batch, self.rows)
            .with(Symbol::Examples, self.rows)
            .with(Symbol::Draws, chains);
        let mut machine = Machine::new(program, sizes, Arc::new(Pool::new(threads))).unwrap();
        give(&self.infer, &self.dataset, &mut machine, program);
        if machine.has_port("$scale") {
            machine.write_real("$scale", &[1.0]).unwrap();
        }
        for (slot, name) in self.moved().iter().enumerate() {
            if machine.has_port(name) {
                let count = machine.count(name).unwrap() / chains;
                let value =
                    |chain: usize, at: usize| 0.3 * ((1 + slot * 31 + at * 7 + chain * 13) as f64).sin();
                let values =
                    (first..first + chains).flat_map(|chain| (0..count).map(move |at| value(chain, at)));
                machine.write_real(name, &values.collect::<Vec<f64>>()).unwrap();
            }
        }
        machine
    }

    fn moved(&self) -> &[String] {
        self.infer.sampling().map_or(&[], |sampling| &sampling.moved)
    }

    /// Returns the largest difference between an output of chains in lockstep and the same output
    /// of a single chain. The difference is divided by the largest element of the output.
    fn difference(&self, chains: usize) -> f64 {
        let mut lockstep = self.machine(0, Some(chains), 1);
        lockstep.run().unwrap();
        let mut worst: f64 = 0.0;
        for chain in 0..chains {
            let mut alone = self.machine(chain, None, 1);
            alone.run().unwrap();
            let gradients = self.moved().iter().map(|name| format!("{name}/$gradient"));
            let outputs = gradients.chain(["$log_density".to_owned()]);
            for name in outputs.filter(|name| alone.has_port(name)) {
                let (one, all) = (
                    alone.read_real(&name).unwrap(),
                    lockstep.read_real(&name).unwrap(),
                );
                let scale = one
                    .iter()
                    .fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
                let apart = one
                    .iter()
                    .zip(&all[chain * one.len()..])
                    .map(|(one, other)| (one - other).abs());
                worst = apart.fold(worst, |worst, apart| worst.max(apart / scale));
            }
        }
        worst
    }
}

fn densities(path: &Path, infer: &str, options: &CompileOptions) -> [Artifact; 2] {
    compile::from_densities(path, infer, options, |compilation, elaborated, densities| {
        let sampled = ready(compilation.sampled(elaborated.problem(densities)));
        [false, true].map(|in_lockstep| ready(compilation.density_code(&sampled, in_lockstep)))
    })
}

/// Returns the seconds per run of a machine: the shortest time of several measurements.
fn seconds(machine: &mut Machine) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (clock, mut runs) = (Instant::now(), 0_u32);
        while clock.elapsed() < SPAN {
            machine.run().unwrap();
            runs += 1;
        }
        best = best.min(clock.elapsed().as_secs_f64() / f64::from(runs));
    }
    best
}

/// Returns the seconds per gradient if each of two threads runs its own machine.
fn seconds_of_two(machines: &mut [Machine]) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (stop, runs) = (&AtomicBool::new(false), &AtomicU64::new(0));
        let clock = Instant::now();
        thread::scope(|scope| {
            for machine in machines.iter_mut() {
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        machine.run().unwrap();
                        runs.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(SPAN);
            stop.store(true, Ordering::Relaxed);
        });
        best = best.min(clock.elapsed().as_secs_f64() / runs.load(Ordering::Relaxed) as f64);
    }
    best
}

fn row(path: &Path) -> String {
    let subject = Subject::new(path);
    let alone = seconds(&mut subject.machine(0, None, 1));
    let mut two = [subject.machine(0, None, 1), subject.machine(1, None, 1)];
    let mut times = vec![alone, seconds_of_two(&mut two)];
    let mut pairs = [subject.machine(0, Some(2), 1), subject.machine(2, Some(2), 1)];
    times.push(seconds_of_two(&mut pairs) / 2.0);
    for chains in CHAINS {
        times.push(seconds(&mut subject.machine(0, Some(chains), 1)) / chains as f64);
    }
    let times: Vec<String> = times
        .iter()
        .map(|seconds| format!("{:.0}", seconds * 1e9))
        .collect();
    let cost = &subject.infer.cost;
    format!(
        "| {} | {} | {} | {} | {} | {:.0e} | {} |",
        path.file_stem().unwrap_or_default().to_string_lossy(),
        cost.variational_parameters,
        subject.rows,
        cost.effort.flops,
        times.join(" | "),
        subject.difference(4),
        subject.infer.sampling().map_or(1, |sampling| sampling.lanes),
    )
}

/// Creates a linear regression of this size in a temporary folder.
fn regression((rows, inputs): (usize, usize)) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-chains-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("regression-{rows}x{inputs}");
    let mut table = (0..inputs).map(|at| format!("x{at},")).collect::<String>() + "y\n";
    for row in 0..rows {
        let value = |at: usize| ((row * 37 + at * 101) as f64 * 0.618).fract() * 2.0 - 1.0;
        table.extend(
            (0..=inputs).map(|at| format!("{:.4}{}", value(at), if at < inputs { "," } else { "\n" })),
        );
    }
    std::fs::write(folder.join(format!("{name}.csv")), table).unwrap();
    let program = format!(
        "data rows = csv(\"{name}.csv\") {{ target = y }}
model M(x: real[d]) -> y: real {{
  alpha ~ Normal(0, 10)
  beta: real[d] ~ Normal(0, 1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(alpha + dot(beta, x), sigma)
}}
infer gold = nuts(M, rows) {{ chains = 4 }}
"
    );
    let path = folder.join(format!("{name}.bnn"));
    std::fs::write(&path, program).unwrap();
    path
}

fn main() {
    let words = std::env::args().skip(1);
    let mut programs: Vec<PathBuf> = words
        .filter(|word| word.ends_with(".bnn"))
        .map(PathBuf::from)
        .collect();
    if programs.is_empty() {
        let root = bnnc_tests::root();
        programs = bnnc_tests::files::under("examples/posteriors", &["bnn"])
            .iter()
            .map(|file| root.join(&file.path))
            .collect();
        programs.extend(["yacht", "digits"].map(|name| root.join(format!("tests/peers/mcmc/{name}.bnn"))));
        programs.extend(REGRESSIONS.map(regression));
    }
    println!(
        "| model | dimension | rows | operations | alone | alone, two threads | 2 in lockstep, two threads | 2 in lockstep | 4 | 8 | difference | chosen |"
    );
    println!("|---|{}", "---:|".repeat(11));
    for program in programs {
        println!("{}", row(&program));
    }
}
