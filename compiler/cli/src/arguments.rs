//! The arguments of the command line.

use bnnc_command::arguments::Running;
use bnnc_driver::options::chip;
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// A compiler for Bayesian neural networks.
#[derive(Parser, Debug)]
#[command(name = "bnnc", version, about, max_term_width = 100)]
pub struct CommandLine {
    /// When to colour diagnostics: always, never, or (`auto`) if standard error is a terminal and `NO_COLOR` is not set.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: Color,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// When diagnostics are coloured.
#[derive(ValueEnum, Clone, Copy, Debug, Default)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands of `bnnc`.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write a first program for a table: guess the types of the columns and the model, and explain each choice in comments.
    New(New),
    /// Compile a program and run its inference blocks (also: `bnnc FILE.bnn`).
    Run(Run),
    /// Check a program and report the cost of a run, without running the program.
    Check(CheckArguments),
    /// Print one stage of the compilation.
    Emit(Emit),
    /// Make an executable that runs a program without a compiler.
    Build(Build),
    /// Format programs.
    Fmt(Fmt),
    /// Explain a diagnostic code.
    Explain(Explain),
    /// Describe a word of programs: an item of the library, a method, an option or its value, a schedule, a data format, a metric, a function, a type
    /// or a keyword (also: `bnnc help WORD`).
    Doc(Doc),
    /// Print the completions of commands and options for a shell.
    Completions(Completions),
    /// Write the manual pages `bnnc.1`, `bnnc-run.1`, .. into a folder.
    Man(Man),
    /// Evaluate expressions, distributions, layers and models interactively.
    Repl(Repl),
    /// Explore the Monte Carlo KL divergence from a posterior family to a prior, on a web page that this computer serves.
    #[cfg(feature = "explore")]
    Explore(Explore),
    /// Predict for new inputs with a saved run.
    Predict(Predict),
    /// Integrate a weight function over the region that a formula describes (weighted model integration). The result is exact, or has a
    /// bound on its error.
    #[cfg(feature = "wmi")]
    Wmi(Wmi),
    /// Internal: worker process of the backend `mlir`.
    #[command(name = "__mlir-worker", hide = true)]
    MlirWorker {
        /// The target and the limits.
        arguments: Vec<String>,
    },
}

/// `bnnc new`.
///
/// The program has a linear or generalised linear model of one column in terms of the others, and a Bayesian neural network in comments.
/// Columns that number or name the rows, or that never change, are left out. If values are missing, a table of the complete rows is written
/// beside the program: `PROGRAM-complete.csv`.
#[derive(Args, Debug)]
pub struct New {
    /// The table: CSV, Parquet or JSON.
    pub file: PathBuf,
    /// The program (a name that ends in `.bnn`), or its folder, which is created if needed. By default, the current folder.
    #[arg(value_name = "DIR|PROGRAM.bnn")]
    pub target: Option<PathBuf>,
    /// The column that the model predicts. By default, the last column that is not an identifier.
    #[arg(long, value_name = "COLUMN")]
    pub output: Option<String>,
    /// Replace an existing program, and the table of complete rows that it reads.
    #[arg(long)]
    pub overwrite: bool,
}

/// Arguments of `bnnc doc`.
#[derive(Args, Debug)]
pub struct Doc {
    /// The word, such as `StudentT`, `nuts`, `warmup` or `crps`.
    pub word: String,
}

/// Arguments of `bnnc completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// Arguments of `bnnc man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The folder, which is created if needed.
    pub folder: PathBuf,
}

/// Options of every command that compiles.
#[derive(Args, Clone, Debug, Default)]
pub struct Compile {
    /// Set an option of an item: `--set radial.epochs=10`, `--set yacht.split=7`.
    #[arg(long = "set", value_name = "ITEM.KEY=VALUE")]
    pub set: Vec<String>,
    /// Read a data item from this file (repeat it for shards, or for inputs and target). `NAME.test` and `NAME.outliers` are the test rows
    /// and the outliers of the data item.
    #[arg(long = "data", value_name = "NAME=PATH")]
    pub data: Vec<String>,
    /// The seed of every random number.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The precision of reals.
    #[arg(long, value_parser = ["f32", "f64"])]
    pub precision: Option<String>,
    /// The backend that generates code: cranelift, reference, or, in builds with these features, mlir and cuda (for NVIDIA GPUs).
    #[arg(long, default_value = bnnc_driver::backends::DEFAULT)]
    pub backend: String,
    /// Run only these inference blocks and the blocks that they need.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Verify the functions that each pass returns.
    #[arg(long)]
    pub verify: bool,
    /// Disable a rewrite.
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
    /// Print each applied rewrite to standard error.
    #[arg(long)]
    pub trace_rewrites: bool,
}

/// `bnnc check`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub compile: Compile,
    /// Print JSON: one object per diagnostic to standard error, and the cost report to standard output.
    #[arg(long)]
    pub json: bool,
    /// Fail if the predicted memory use exceeds this size, such as `500M` or `2G`.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
    /// Print the time of each stage to standard error.
    #[arg(long)]
    pub timings: bool,
}

/// Parses the name of a GPU architecture.
fn chips() -> PossibleValuesParser {
    PossibleValuesParser::new(chip::ALL.iter().map(|chip| chip.name))
}

/// `bnnc emit`.
#[derive(Args, Debug)]
pub struct Emit {
    /// tokens, ast, hir, graph, density, training, loops, clif, mlir, ptx or dot; or the name of a pass, to print the functions that the
    /// pass returns.
    pub stage: String,
    /// The program, or one stage of a program in a file that ends in `.graph` or `.loops`.
    pub file: PathBuf,
    /// The inference block whose stage is printed. By default, the first one.
    #[arg(long)]
    pub infer: Option<String>,
    /// The oldest GPU that must be able to run the code of the stage `ptx`.
    #[arg(long, value_name = "CHIP", default_value = chip::DEFAULT.name, value_parser = chips())]
    pub gpu: String,
    #[command(flatten)]
    pub compile: Compile,
}

/// `bnnc build`.
///
/// The executable has those options of `bnnc run` that need no compiler: `--data`, `--seed`, `--only`, `--set` (only for numbers that are read
/// at run time), `--out`, `--resume`, `--strict`, `--json`, `--threads` and `--max-memory`. By default, the executable reads the data that the
/// program or `--data` named when it was built. Other data must have the same columns. The executable runs on processors that have the
/// features of this one. With `--backend cuda`, the executable runs on NVIDIA GPUs and needs only their driver, no other part of CUDA.
#[derive(Args, Debug)]
pub struct Build {
    /// The program.
    pub file: PathBuf,
    /// The path of the executable.
    #[arg(short, long, value_name = "EXE")]
    pub output: PathBuf,
    /// With `--backend cuda`, the oldest GPU on which the executable must run. The executable also runs on later GPUs. The default is
    /// `sm_80`, whose
    /// code runs on every NVIDIA GPU from the year 2020 on.
    #[arg(long, value_name = "CHIP", value_parser = chips())]
    pub gpu: Option<String>,
    #[command(flatten)]
    pub compile: Compile,
    /// Append the program to a copy of the prebuilt `bnnc-runner`, instead of linking it with the C compiler (`cc`, or the compiler that
    /// `CC` names).
    #[arg(long)]
    pub no_linker: bool,
    /// The path of `libbnnc_runner.a` or `bnnc-runner`, or of its folder. The variable `BNNC_RUNTIME` has the same effect. By
    /// default, the folder of `bnnc`.
    #[arg(long, value_name = "PATH")]
    pub runtime: Option<PathBuf>,
}

/// `bnnc fmt`.
#[derive(Args, Debug)]
pub struct Fmt {
    /// Do not change files; fail if a file is not formatted.
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
    /// The port on 127.0.0.1; 0 chooses a free port.
    #[arg(long, default_value_t = 8420)]
    pub port: u16,
    /// The number of threads.
    #[arg(long)]
    pub threads: Option<usize>,
}

/// How `bnnc predict` handles levels that no training row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NewLevels {
    /// Report an error at the first row with such a level.
    #[default]
    Refuse,
    /// Draw the parameters of such a level from their prior.
    Prior,
}

/// `bnnc predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// A folder that `bnnc run --out` wrote.
    pub run: PathBuf,
    /// The file with the new inputs; `*` in its name stands for any characters, and the rows of all matching files are read.
    #[arg(long)]
    pub data: PathBuf,
    /// Write the predictions to this file instead of standard output.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Write the joint covariance of the outputs of all rows (of a Laplace approximation) to this `npy` file: in the target's units for a Normal
    /// likelihood, otherwise in the model's units.
    #[arg(long)]
    pub joint: Option<PathBuf>,
    /// Write the derivatives of the mean and the variance of the outputs with respect to the inputs (of a Laplace approximation) to this
    /// table. The derivatives are per unit of an input before standardisation, and in the target's units for a Normal likelihood, otherwise
    /// in the model's units (columns `model_..`). For example, `mean/COLUMN/f0` is the derivative of the mean of the first output with
    /// respect
    /// to an input column.
    #[arg(long)]
    pub slopes: Option<PathBuf>,
    /// Replace files even if they are not outputs of the same kind.
    #[arg(long)]
    pub overwrite: bool,
    /// How to handle rows with a level that no training row has: `refuse` them, or draw the parameters of new levels from their
    /// `prior` in each draw of the posterior. Rows with the same new level share these draws.
    #[arg(long, value_enum, default_value_t)]
    pub new_levels: NewLevels,
    /// The inference block that predicts; required if the run has several inference blocks.
    #[arg(long)]
    pub infer: Option<String>,
    /// The number of threads.
    #[arg(long)]
    pub threads: Option<usize>,
}

/// `bnnc wmi`.
#[cfg(feature = "wmi")]
#[derive(Args, Debug)]
pub struct Wmi {
    /// The problem, as JSON (an instance, a list of instances, or a density in the format of pywmi or wmpy) or as SMT-LIB
    /// 2.
    pub file: PathBuf,
    /// Print one JSON object per problem instead of a line.
    #[arg(long)]
    pub json: bool,
    /// Calculate with exact fractions only, and print the result as a fraction.
    #[arg(long)]
    pub exact: bool,
    /// The allowed relative error of the result.
    #[arg(long, default_value = "1e-10", value_parser = tolerance)]
    pub tolerance: f64,
    /// Stop after this many regions, and print the bounds found so far.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_regions: usize,
    /// Leave out a region that needs more steps than this. A step is a comparison of two rays, or a term of an integral
    /// over a face.
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    pub max_steps: u64,
    /// Stop after this many seconds, and print the bounds found so far.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<std::time::Duration>,
    /// Stop if more memory than this is needed, such as `500M` or `2G`. By default, the limit is the free memory.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
}

#[cfg(feature = "wmi")]
fn seconds(text: &str) -> Result<std::time::Duration, &'static str> {
    let number: Option<f64> = text.parse().ok();
    number
        .and_then(|number| std::time::Duration::try_from_secs_f64(number).ok())
        .ok_or("expected seconds, such as 10 or 0.5")
}

#[cfg(feature = "wmi")]
fn tolerance(text: &str) -> Result<f64, &'static str> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| *number >= 0.0 && number.is_finite())
        .ok_or("expected a number that is not negative, such as 1e-10")
}

/// Inserts the command `run` if the first argument is a program, or an option of `run` with a program after it: `bnnc FILE.bnn` means
/// `bnnc run FILE.bnn`.
pub fn with_default_command(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let words: Vec<String> = arguments
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let command = CommandLine::command();
    let is_command = |word: &String| word == "help" || command.find_subcommand(word).is_some();
    let is_program = |word: &String| word.ends_with(".bnn") || std::path::Path::new(word).is_file();
    if let [first, word, ..] = &words[..]
        && first == "help"
        && !is_command(word)
        && !word.starts_with('-')
    {
        arguments[1] = "doc".into();
        return arguments;
    }
    let named = words.iter().find(|word| is_command(word) || is_program(word));
    let begins = words
        .first()
        .is_some_and(|first| first.starts_with('-') || is_program(first));
    if begins && named.is_some_and(|word| !is_command(word)) {
        arguments.insert(1, "run".into());
    }
    arguments
}
