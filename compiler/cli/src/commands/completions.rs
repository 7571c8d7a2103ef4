//! `bnnc completions`: prints the completions of commands and options for a shell.

use crate::arguments::{CommandLine, Completions};
use bnnc_command::terminal::{OK, say};
use clap::CommandFactory;

/// Runs the command.
pub fn run(arguments: &Completions) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "bnnc", &mut script);
    say(&String::from_utf8_lossy(&script));
    OK
}
