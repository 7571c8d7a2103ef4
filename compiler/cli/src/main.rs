//! The command line program `bnnc`.

mod arguments;
mod build;
mod commands;
mod session;
mod tips;

use bnnc_command::terminal;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    terminal::begin();
    let arguments = arguments::with_default_command(std::env::args_os());
    let parsed = match arguments::CommandLine::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(mut error) => {
            tips::add(&mut error, &arguments);
            let status = if error.use_stderr() { 2 } else { 0 };
            // Errors in printing are ignored, because a closed pipe is not a failure.
            let _ = error.print();
            return ExitCode::from(status);
        }
    };
    match parsed.color {
        arguments::Color::Auto => {}
        arguments::Color::Always => terminal::set_colour(true),
        arguments::Color::Never => terminal::set_colour(false),
    }
    // The checker and the elaborator recurse on nested expressions. The stack of this thread is
    // large enough for the limit on the nesting depth.
    ExitCode::from(terminal::work(move || commands::run(parsed.command)))
}
