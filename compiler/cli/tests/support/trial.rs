//! A temporary folder with a program and its data. Tests run `bnnc` in this folder as a user would.

use super::{Output, run};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A temporary folder that is removed when the trial ends.
pub struct Trial {
    folder: PathBuf,
}

impl Trial {
    /// Creates an empty folder.
    pub fn new() -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("bnnc-trial-{}-{count}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder is created");
        Trial { folder }
    }

    /// Writes a file in the folder.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.folder.join(name), content).expect("the file is written");
        self
    }

    /// Writes the file `program.bnn`.
    pub fn program(self, text: &str) -> Self {
        self.file("program.bnn", text)
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `bnnc COMMAND program.bnn` with further arguments.
    pub fn bnnc(&self, command: &str, arguments: &[&str]) -> Output {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        self.command(command, &arguments)
    }

    fn command(&self, command: &str, arguments: &[&OsStr]) -> Output {
        let program = self.path("program.bnn");
        let mut all: Vec<&OsStr> = vec![command.as_ref(), program.as_ref()];
        all.extend(arguments);
        run(all)
    }

    /// Runs the program. Returns the output and the result. Panics if the run fails.
    pub fn run(&self, arguments: &[&str]) -> (Output, Value) {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let out = self.path(&format!("run-{count}"));
        let mut all = vec![OsStr::new("--out"), out.as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        let output = self.command("run", &all);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let text = fs::read_to_string(out.join("result.json")).expect("the result is written");
        (output, serde_json::from_str(&text).expect("the result is JSON"))
    }

    /// Runs the program with `--json`, and parses the result. Panics if the run fails.
    pub fn result(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.bnnc("run", &all);
        assert_eq!(output.status, 0, "{}", output.stderr);
        serde_json::from_str(&output.stdout).expect("the result is JSON")
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // A test does not fail if the folder cannot be removed.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Output {
    /// Panics if the exit status is not `status`, or if standard error does not contain the error
    /// with the code `code` and each of the texts.
    #[track_caller]
    pub fn assert_error(&self, code: &str, status: i32, texts: &[&str]) {
        self.assert_diagnostic(&format!("error[{code}]"), texts);
        assert_eq!(self.status, status, "{}", self.stderr);
    }

    /// Panics if the run failed, or if standard error does not contain the warning with the code
    /// `code` and each of the texts.
    #[track_caller]
    pub fn assert_warning(&self, code: &str, texts: &[&str]) {
        self.assert_diagnostic(&format!("warning[{code}]"), texts);
        assert_eq!(self.status, 0, "{}", self.stderr);
    }

    /// Panics if the command failed.
    #[track_caller]
    pub fn assert_sound(&self) {
        assert_eq!(self.status, 0, "{}", self.stderr);
    }

    /// Panics if standard error is not empty.
    #[track_caller]
    pub fn assert_silent(&self) {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
    }

    #[track_caller]
    fn assert_diagnostic(&self, head: &str, texts: &[&str]) {
        for text in std::iter::once(&head).chain(texts) {
            assert!(
                self.stderr.contains(text),
                "`{text}` is not in\n{}\n{}",
                self.stderr,
                self.stdout
            );
        }
    }
}
