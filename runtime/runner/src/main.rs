//! The program `bnnc-runner`, an executable that does not contain a compiled program yet. `bnnc
//! build --no-linker` copies it and appends one.

use std::process::ExitCode;

/// A text in this executable. `bnnc build` recognises the executable by this text.
#[used]
static MARK: &str = concat!("\0bnnc-runner ", env!("CARGO_PKG_VERSION"), "\0");

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::carried_main())
}
