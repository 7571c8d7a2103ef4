//! Tests programs with statistical mistakes that a user may make. Each mistake must cause the
//! diagnostic that describes it.

mod augmentation;
mod columns;
mod densities;
mod elements;
mod inference;
mod likelihoods;
mod pictures;
mod priors;
#[path = "../support/rendered.rs"]
mod rendered;
mod rows;
mod separation;
mod shapes;
mod sound;
mod tables;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A data file: its name and its content.
type File = (&'static str, String);

/// Defines one test per mistake. A case consists of codes, files and a program. The run must report
/// one of the codes.
macro_rules! mistakes {
    ($($(#[$doc:meta])* $name:ident: $codes:expr, $files:expr, $program:expr;)*) => {
        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                crate::must_be_named(&$codes, &$files, $program);
            }
        )*
    };
}
pub(crate) use mistakes;

/// A temporary folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn of(files: &[File], program: &str) -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("bnnc-mistake-{}-{count}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder is created");
        for (name, content) in files {
            fs::write(folder.join(name), content).expect("the file is written");
        }
        fs::write(folder.join("program.bnn"), program).expect("the program is written");
        Folder(folder)
    }

    /// Runs `bnnc` in the folder. Returns the exit status and the whole output of the command.
    fn bnnc(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_bnnc"))
            .args(arguments)
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("the binary starts");
        let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        (output.status.code(), text.into_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test does not fail if the folder cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Panics if the run does not report one of the codes. If the diagnostic is an error, the exit
/// status must be above 0. If it is a warning, the exit status must be 0.
#[track_caller]
fn must_be_named(codes: &[&str], files: &[File], program: &str) {
    let (status, text) = Folder::of(files, program).bnnc(&["run", "program.bnn"]);
    check(codes, status, &text);
}

#[track_caller]
fn check(codes: &[&str], status: Option<i32>, text: &str) {
    let has = |kind: &str| codes.iter().any(|code| text.contains(&format!("{kind}[{code}]")));
    let named = match status {
        Some(0) => has("warning") || has("note"),
        Some(1 | 3) => has("error"),
        _ => false,
    };
    assert!(named, "expected one of {codes:?} (status {status:?}):\n{text}");
    // In diagnostics of chains, the name of the worst quantity depends on the last digits of the
    // results, which differ between processors.
    let is_of_chains = |code: &&&str| code.starts_with("E052") || code.starts_with("E053");
    for code in codes.iter().filter(|code| !is_of_chains(code)) {
        rendered::hold(code, text, true);
    }
}
