//! The commands of `bnnc`. Each command has its own file.

mod build;
mod check;
mod completions;
mod doc;
mod emit;
mod explain;
#[cfg(feature = "explore")]
mod explore;
mod fmt;
mod man;
mod mlir_worker;
pub mod new;
mod predict;
mod repl;
mod run;
#[cfg(feature = "wmi")]
mod wmi;

use crate::arguments::Command;

/// Runs a command and returns the exit status.
pub fn run(command: Command) -> u8 {
    // A command that ends early returns its status as an error.
    let status = |ended: Result<u8, u8>| ended.unwrap_or_else(|status| status);
    match command {
        Command::New(arguments) => new::run(&arguments),
        Command::Run(arguments) => status(run::run(&arguments)),
        Command::Check(arguments) => status(check::run(&arguments)),
        Command::Emit(arguments) => status(emit::run(&arguments)),
        Command::Build(arguments) => status(build::run(&arguments)),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Doc(arguments) => doc::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        #[cfg(feature = "explore")]
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Repl(arguments) => repl::run(&arguments),
        Command::Predict(arguments) => status(predict::run(&arguments)),
        #[cfg(feature = "wmi")]
        Command::Wmi(arguments) => wmi::run(&arguments),
        Command::MlirWorker { arguments } => mlir_worker::run(&arguments),
    }
}
