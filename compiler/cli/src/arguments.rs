//! What can be said on the command line.

use bnnc_command::arguments::Running;
use bnnc_driver::options::chip;
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// A compiler for Bayesian neural networks.
#[derive(Parser, Debug)]
#[command(name = "bnnc", version, about, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile a program and run its infers (also: `bnnc FILE.bnn`).
    Run(Run),
    /// Check a program and report what it will cost, without running it.
    Check(Check),
    /// Print one stage of the compilation.
    Emit(Emit),
    /// Make an executable that runs a program without a compiler.
    Build(Build),
    /// Format programs.
    Fmt(Fmt),
    /// Explain a diagnostic code.
    Explain(Explain),
    /// Experiment: expressions, distributions, layers, models.
    Repl(Repl),
    /// Explore the Monte-Carlo KL of a posterior family to a prior on a page of this machine.
    #[cfg(feature = "explore")]
    Explore(Explore),
    /// Predict for new inputs with a saved run.
    Predict(Predict),
    /// Integrate a weight over what a formula allows: weighted model integration, exactly or with a bound of the error.
    #[cfg(feature = "wmi")]
    Wmi(Wmi),
    /// Lower a module that is on standard input: what this executable starts for the backend `mlir`.
    #[command(name = "__mlir-worker", hide = true)]
    MlirWorker {
        /// Target and bounds.
        arguments: Vec<String>,
    },
}

/// Options of every command that compiles.
#[derive(Args, Clone, Debug, Default)]
pub struct Compile {
    /// Set an option of an item: `--set radial.epochs=10`, `--set yacht.split=7`.
    #[arg(long = "set", value_name = "ITEM.KEY=VALUE")]
    pub set: Vec<String>,
    /// Read a data item from this file (repeat it for shards, or for inputs and target), and so the other rows of `NAME.test` and
    /// `NAME.outliers`.
    #[arg(long = "data", value_name = "NAME=PATH")]
    pub data: Vec<String>,
    /// The seed of every random number.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The width of reals.
    #[arg(long, value_parser = ["f32", "f64"])]
    pub precision: Option<String>,
    /// The code generator: cranelift, reference, or, in builds with these features, mlir and cuda (an NVIDIA GPU).
    #[arg(long, default_value = bnnc_driver::backends::DEFAULT)]
    pub backend: String,
    /// Only these infers, and those that they need.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Verify the functions that every pass leaves.
    #[arg(long)]
    pub verify: bool,
    /// Switch a rewrite off.
    #[arg(long, value_name = "REWRITE", value_delimiter = ',')]
    pub without: Vec<String>,
}

/// `bnnc run`.
#[derive(Args, Debug)]
pub struct Run {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub compile: Compile,
    #[command(flatten)]
    pub running: Running,
    /// Print the time of each stage to standard error.
    #[arg(long)]
    pub timings: bool,
    /// Print every rewrite that fires to standard error.
    #[arg(long)]
    pub trace_rewrites: bool,
}

/// `bnnc check`.
#[derive(Args, Debug)]
pub struct Check {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub compile: Compile,
    /// Print JSON: one object per diagnostic on standard error, the cost report on standard output.
    #[arg(long)]
    pub json: bool,
    /// Refuse above this predicted memory: `500M`, `2G`.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
    /// Print the time of each stage to standard error.
    #[arg(long)]
    pub timings: bool,
}

/// The names of graphics processors.
fn chips() -> PossibleValuesParser {
    PossibleValuesParser::new(chip::ALL.iter().map(|chip| chip.name))
}

/// `bnnc emit`.
#[derive(Args, Debug)]
pub struct Emit {
    /// tokens, ast, hir, graph, density, training, loops, clif, mlir, ptx or dot; or a pass, whose functions are printed.
    pub stage: String,
    /// The program, or a stage of it in a file that ends in `.graph` or `.loops`.
    pub file: PathBuf,
    /// The infer whose stage is printed (the first by default).
    #[arg(long)]
    pub infer: Option<String>,
    /// The oldest graphics processor that runs what `ptx` prints.
    #[arg(long, value_name = "CHIP", default_value = chip::DEFAULT.name, value_parser = chips())]
    pub gpu: String,
    #[command(flatten)]
    pub compile: Compile,
}

/// `bnnc build`.
///
/// The executable has the options of `bnnc run` that need no compiler: `--data`, `--seed`, `--only`, `--set` of numbers that steer a run,
/// `--out`, `--resume`, `--strict`, `--json`, `--threads` and `--max-memory`. It reads the data that the program or `--data` named at the build, unless it is given others, which must
/// have the same columns. It runs on processors that have what this one has, and with `--backend cuda` on NVIDIA graphics processors, for
/// which it needs their driver and nothing else of CUDA.
#[derive(Args, Debug)]
pub struct Build {
    /// The program.
    pub file: PathBuf,
    /// The executable.
    #[arg(short, long, value_name = "EXE")]
    pub output: PathBuf,
    /// The oldest graphics processor that has to run the executable, with `--backend cuda`; later ones run it too. Without it `sm_80`, whose code
    /// runs on every processor from the year 2020 on.
    #[arg(long, value_name = "CHIP", value_parser = chips())]
    pub gpu: Option<String>,
    #[command(flatten)]
    pub compile: Compile,
    /// Append the program to a copy of the prebuilt `bnnc-runner` instead of linking it with the C compiler (`cc`, or what `CC` names).
    #[arg(long)]
    pub no_linker: bool,
    /// Where `libbnnc_runner.a` or `bnnc-runner` is, a folder or the file (also `BNNC_RUNTIME`): beside `bnnc` by default.
    #[arg(long, value_name = "PATH")]
    pub runtime: Option<PathBuf>,
}

/// `bnnc fmt`.
#[derive(Args, Debug)]
pub struct Fmt {
    /// Change nothing; fail if a file is not formatted.
    #[arg(long)]
    pub check: bool,
    /// The programs.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

/// `bnnc explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// The code: `E0201`.
    pub code: String,
}

/// `bnnc repl`.
#[derive(Args, Debug)]
pub struct Repl {
    /// A program to load first.
    pub file: Option<PathBuf>,
    /// The seed of draws.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// `bnnc explore`.
#[cfg(feature = "explore")]
#[derive(Args, Debug)]
pub struct Explore {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8420)]
    pub port: u16,
    /// Threads.
    #[arg(long)]
    pub threads: Option<usize>,
}

/// The treatment of levels that no training row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NewLevels {
    /// Stop at the first.
    #[default]
    Refuse,
    /// Draw their parameters from the prior.
    Prior,
}

/// `bnnc predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// A folder that `bnnc run --out` wrote.
    pub run: PathBuf,
    /// The new inputs.
    #[arg(long)]
    pub data: PathBuf,
    /// Where to write; standard output by default.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Where to write the covariance of the outputs of all rows together (of a Laplace approximation), as an `npy` file: in the target's units for a Normal
    /// likelihood, else in the model's.
    #[arg(long)]
    pub joint: Option<PathBuf>,
    /// Where to write the derivatives of the mean and the variance of the outputs in the inputs (of a Laplace approximation), as a table: per unit of an
    /// input before it is standardised, in the target's units for a Normal likelihood, else in the model's (columns `model_..`); `mean/COLUMN/f0` is that of the first output in an input column.
    #[arg(long)]
    pub slopes: Option<PathBuf>,
    /// Rows whose level of a column was in no training row: `refuse` them, or draw the parameters of new levels from their `prior` in each draw
    /// of the posterior. Rows of one new level share these draws.
    #[arg(long, value_enum, default_value_t)]
    pub new_levels: NewLevels,
    /// The infer that predicts; to be said where the run has several.
    #[arg(long)]
    pub infer: Option<String>,
    /// Threads.
    #[arg(long)]
    pub threads: Option<usize>,
}

/// `bnnc wmi`.
#[cfg(feature = "wmi")]
#[derive(Args, Debug)]
pub struct Wmi {
    /// The problem: JSON (an instance, several, or a density of pywmi or wmpy) or SMT-LIB 2.
    pub file: PathBuf,
    /// Print one JSON object per problem instead of a line.
    #[arg(long)]
    pub json: bool,
    /// Calculate in rationals throughout, and print the result as a fraction.
    #[arg(long)]
    pub exact: bool,
    /// The error that is allowed, relative to the result.
    #[arg(long, default_value = "1e-10", value_parser = tolerance)]
    pub tolerance: f64,
    /// Stop after this many regions and print the bounds found by then.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_regions: usize,
    /// Give up on a region after so many steps: comparisons of two rays, or terms of an integral over a face.
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    pub max_steps: u64,
    /// Stop after this many seconds and print the bounds found by then.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<std::time::Duration>,
    /// Give up where the work would take more memory: `500M`, `2G`; by default the memory that is free.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
}

#[cfg(feature = "wmi")]
fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .and_then(|number| std::time::Duration::try_from_secs_f64(number).ok())
        .ok_or_else(|| "expected seconds, such as 10 or 0.5".to_owned())
}

#[cfg(feature = "wmi")]
fn tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| *number >= 0.0 && number.is_finite())
        .ok_or_else(|| "expected a number that is not negative, such as 1e-10".to_owned())
}

/// `bnnc FILE.bnn` means `bnnc run FILE.bnn`, wherever options stand before it.
pub fn with_default_command(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let first = arguments.get(1).map(|word| word.to_string_lossy().into_owned());
    if let Some(first) = first {
        let names_file = first.ends_with(".bnn") || std::path::Path::new(&first).is_file();
        let is_command = first == "help" || Arguments::command().find_subcommand(&first).is_some();
        if names_file && !is_command {
            arguments.insert(1, "run".into());
        }
    }
    arguments
}
