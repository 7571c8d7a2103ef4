//! The program `bnnc-runner`, an executable that does not contain a compiled program yet.
//! `bnnc build --no-linker` copies this executable and appends a compiled program to the copy.

use std::process::ExitCode;

/// The mark by which `bnnc build` recognises this executable.
#[used]
static MARK: [u8; bnnc_runner::MARK.len()] = bnnc_runner::MARK;

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::embedded_main())
}
