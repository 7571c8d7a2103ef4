//! `bnnc-runner`: an executable without a program; `bnnc build --no-linker` copies it and puts a program behind it.

use bnnc_abi::artefact::RUNNER;
use std::process::ExitCode;

/// By which `bnnc build` knows this executable.
#[used]
static MARK: [u8; RUNNER.len() + VERSION.len()] = mark();

const VERSION: &str = env!("CARGO_PKG_VERSION");

const fn mark() -> [u8; RUNNER.len() + VERSION.len()] {
    let mut mark = [0; RUNNER.len() + VERSION.len()];
    let mut at = 0;
    while at < mark.len() {
        mark[at] = match at < RUNNER.len() {
            true => RUNNER.as_bytes()[at],
            false => VERSION.as_bytes()[at - RUNNER.len()],
        };
        at += 1;
    }
    mark
}

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::carried_main())
}
