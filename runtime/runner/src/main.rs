//! The program `bnnc-runner`, an executable that does not contain a compiled program yet. `bnnc
//! build --no-linker` copies it and appends one.

use std::process::ExitCode;

/// The text by which `bnnc build` recognises this executable.
#[used]
static MARK: &str = concat!("\0bnnc-runner ", env!("CARGO_PKG_VERSION"), "\0");

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::carried_main())
}
