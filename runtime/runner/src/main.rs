//! `bnnc-runner`: an executable without a program; `bnnc build --no-linker` copies it and puts a program behind it.

use std::process::ExitCode;

/// By which `bnnc build` knows this executable.
#[used]
static MARK: &str = concat!("\0bnnc-runner ", env!("CARGO_PKG_VERSION"), "\0");

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::carried_main())
}
