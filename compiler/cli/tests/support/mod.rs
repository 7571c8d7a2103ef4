//! Runs the built `bnnc` and keeps what it said.

#![allow(dead_code, reason = "each test program uses a part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one run of the binary came to.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `bnnc` with these arguments in the root of the workspace, without a terminal and without input.
pub fn run(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .args(args)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
