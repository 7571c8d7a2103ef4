//! Tests the REPL with transcripts. They contain input lines and the expected output.
//!
//! In a transcript, the first line of an entry begins with `> `, further lines of the entry begin
//! with `. `, and comments begin with `# `. All other lines are expected output. The expected text `{0.5 +- 0.01}` matches every number from
//! 0.49 to 0.51, so that random results can be compared with their closed forms.

#[path = "../support/mod.rs"]
mod support;

mod files;
mod interruptions;
mod plots;
mod posteriors;
mod transcripts;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Runs `bnnc repl` with the input `typed`. Returns the exit status and the output. Results and
/// diagnostics are in their original order.
fn answers(typed: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .args(arguments)
        .current_dir(support::root())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().expect("the pipe has two ends"))
        .stderr(writer)
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let typed = typed.to_owned();
    let writing = std::thread::spawn(move || {
        // A write error is ignored, because a session that ends early does not read the rest of the input.
        let _ = input.write_all(typed.as_bytes());
    });
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("answers are UTF-8");
    writing.join().expect("the writer ends");
    (child.wait().expect("the binary ends").code(), output)
}

/// The program of a conjugate model. The posterior of `w` is `Normal(30.35 / 22, 1 / sqrt(22))`.
const LINE: &str = "compiler/cli/tests/conjugate/line.bnn";
