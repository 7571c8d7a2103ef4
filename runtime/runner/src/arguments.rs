//! The command line of a built executable.

use bnnc_abi::artefact::Built;
use bnnc_command::arguments::Running;
use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

/// The options of `bnnc run` that do not need a compiler.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100)]
pub struct RunnerArguments {
    /// Read a data item from this file. Repeat the option for shards, or for inputs and target. `NAME.test` and `NAME.outliers` set the test rows and
    /// the outliers.
    #[arg(long = "data", value_name = "NAME=PATH")]
    pub data: Vec<String>,
    /// Set a run-time option of an inference block that is a number, such as `radial.epochs=10`.
    #[arg(long = "set", value_name = "INFER.KEY=VALUE")]
    pub set: Vec<String>,
    /// Run only these inferences, and those that they need.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The seed of every random number. Default: that of the build.
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub decided: BuildArguments,
}

/// Options of `bnnc run` that are fixed at the build.
#[derive(Args, Debug)]
pub struct BuildArguments {
    #[arg(long, hide = true)]
    precision: Option<String>,
    #[arg(long, hide = true)]
    backend: Option<String>,
    #[arg(long, hide = true)]
    without: Option<String>,
}

impl BuildArguments {
    /// Returns the first of these options that is on the command line, or `None`.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            (self.precision.is_some(), "--precision"),
            (self.backend.is_some(), "--backend"),
            (self.without.is_some(), "--without"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// Parses the command line of an executable that contains a program.
///
/// # Errors
/// Returns a usage error, or the help text if it was requested.
pub fn parse(words: Vec<OsString>, built: &Built) -> Result<RunnerArguments, clap::Error> {
    let file = built.origin.file.display();
    let mut command = RunnerArguments::command().about(format!("Run {file}, compiled by bnnc."));
    let lines = built.manifest.infers.iter().map(|infer| {
        let (name, method, precision) = (&infer.name, infer.method, infer.precision);
        format!(
            "  {name:<20} {method}, {precision}, of the data `{}`\n",
            infer.data
        )
    });
    let infers: String = lines.collect();
    let data: String = built.manifest.data.iter().map(data).collect();
    command = command.after_help(format!("Inferences:\n{infers}\nData:\n{data}"));
    let matches = command.try_get_matches_from_mut(words).map_err(|mut error| {
        // clap would suggest "to pass '--epochs' as a value, use '-- --epochs'". The suggestion is
        // wrong here, because this command line does not have positional values.
        if error.kind() == ErrorKind::UnknownArgument {
            error.remove(ContextKind::Suggested);
        }
        error
    })?;
    RunnerArguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Returns the line of the help text that describes a data item and its files.
fn data(spec: &bnnc_abi::data::DataSpec) -> String {
    let files: Vec<String> = spec.files.iter().map(|file| file.display().to_string()).collect();
    format!("  {:<20} {}\n", spec.name, files.join(", "))
}
