//! `bnnc`: the command line.

mod arguments;
mod commands;
mod explore;
mod session;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        session::complain(&format!("error: bug in bnnc: {info}"));
        session::complain("   = help: please report it with the program and the command line");
    }));
    let arguments = arguments::with_default_command(std::env::args_os());
    let parsed = match arguments::Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            let status = if error.use_stderr() { 2 } else { 0 };
            // A closed pipe is no reason to fail.
            let _ = error.print();
            return ExitCode::from(status);
        }
    };
    // Deep programs recurse in the checker and the elaborator; the bound on nesting is set for this stack.
    let worker = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || commands::run(parsed.command));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => ExitCode::from(status),
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => {
            session::complain(&format!("error: cannot start a thread: {error}"));
            ExitCode::from(101)
        }
    }
}
