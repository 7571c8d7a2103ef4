//! `bnnc-runner`: an executable without a program; `bnnc build --no-linker` copies it and puts a program behind it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bnnc_runner::carried_main())
}
