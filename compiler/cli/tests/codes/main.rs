//! Tests the diagnostics as a terminal shows them. The file `snapshots/CODE.snap` contains the
//! diagnostic of one case for each code.
//!
//! The tables beside this file contain the cases. A line `== CODE` begins a case. A line that
//! begins with `$ ` belongs to the shell script of the case. A line `-- NAME` begins a file in the
//! folder of the case. The file ends at the next line `-- NAME` or `== CODE`. Files before the first
//! case belong to every case of the table. Three options may follow the code. With `masked`, the
//! snapshot shows `#` in place of numbers, because their last digits differ between processors.
//! With `needs FEATURE`, builds without this cargo feature skip the case. With `runtime`, the folder
//! has a file `runtime.a` with the mark by which `bnnc build` recognises a runtime.
//!
//! The environment variable `INSTA_UPDATE=always` makes the test write all snapshots anew.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

#[path = "../support/rendered.rs"]
#[allow(dead_code, reason = "`hold` is for tests of one case each")]
mod rendered;

use bnnc_abi::artefact;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of a case: its name and its text.
type File = (String, String);

#[derive(Clone, Default)]
struct Case {
    code: String,
    masked: bool,
    runtime: bool,
    needs: Option<String>,
    script: Vec<String>,
    files: Vec<File>,
}

/// Reads the cases of a table.
fn cases(table: &str) -> Vec<Case> {
    let mut shared = Case::default();
    let mut cases: Vec<Case> = Vec::new();
    let mut in_file = false;
    for line in table.lines() {
        if let Some(head) = line.strip_prefix("== ") {
            let mut words = head.split(' ').map(str::to_owned);
            let mut case = Case {
                code: words.next().unwrap(),
                ..shared.clone()
            };
            while let Some(word) = words.next() {
                match word.as_str() {
                    "masked" => case.masked = true,
                    "runtime" => case.runtime = true,
                    "needs" => case.needs = words.next(),
                    _ => panic!("{line}"),
                }
            }
            cases.push(case);
            in_file = false;
            continue;
        }
        let case = cases.last_mut().unwrap_or(&mut shared);
        if let Some(name) = line.strip_prefix("-- ") {
            case.files.retain(|(other, _)| other != name);
            case.files.push((name.to_owned(), String::new()));
            in_file = true;
        } else if let Some(command) = line.strip_prefix("$ ") {
            case.script.push(command.to_owned());
        } else if let (true, Some((_, text))) = (in_file, case.files.last_mut()) {
            text.push_str(&format!("{line}\n"));
        }
    }
    cases
}

impl Case {
    fn is_in_build(&self) -> bool {
        match self.needs.as_deref() {
            None => true,
            Some("collapsed") => cfg!(feature = "collapsed"),
            Some("explore") => cfg!(feature = "explore"),
            Some("wmi") => cfg!(feature = "wmi"),
            Some(other) => panic!("{}: no feature `{other}`", self.code),
        }
    }

    /// Returns the script of the case and the diagnostic that the script causes.
    fn shown(&self) -> String {
        let folder = std::env::temp_dir().join(format!("bnnc-codes-{}-{}", self.code, std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in &self.files {
            fs::write(folder.join(name), text.trim_end().to_owned() + "\n").unwrap();
        }
        if self.runtime {
            const VERSION: &str = env!("CARGO_PKG_VERSION");
            let mark: [u8; artefact::mark_bytes(VERSION)] = artefact::mark(VERSION);
            fs::write(folder.join("runtime.a"), mark).unwrap();
        }
        let script = self.script.join("\n");
        let bnnc = Path::new(env!("CARGO_BIN_EXE_bnnc")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([bnnc.to_owned()].into_iter().chain(std::env::split_paths(&path)));
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&folder)
            .env("PATH", path.unwrap())
            .env("NO_COLOR", "1")
            .env_remove("BNNC_RUNTIME")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        let found = rendered::of_code(&self.code, &text);
        let found = found.unwrap_or_else(|| panic!("{} is not in\n{script}\n{text}", self.code));
        let found = found.replace(&format!("{}/", folder.display()), "");
        let found = match self.masked {
            true => rendered::mask(&found),
            false => found,
        };
        let script: String = self.script.iter().map(|line| format!("$ {line}\n")).collect();
        format!("{script}{found}")
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/codes")
}

fn table(name: &str) -> Vec<Case> {
    cases(&fs::read_to_string(folder().join(name)).unwrap())
}

#[track_caller]
fn shown_so(name: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for case in table(name).iter().filter(|case| case.is_in_build()) {
        settings.bind(|| insta::assert_snapshot!(case.code.as_str(), case.shown()));
    }
}

/// Tests diagnostics about programs that cannot be read.
#[test]
fn language() {
    shown_so("language.txt");
}

/// Tests diagnostics about data files.
#[test]
fn data() {
    shown_so("data.txt");
}

/// Tests diagnostics about models, posteriors and inference blocks.
#[test]
fn inference() {
    shown_so("inference.txt");
}

/// Tests diagnostics about training, and about the methods that train.
#[test]
fn training() {
    shown_so("training.txt");
}

/// Tests diagnostics about Markov chains.
#[test]
fn chains() {
    shown_so("chains.txt");
}

/// Tests diagnostics about run folders, executables and the other commands.
#[test]
fn folders() {
    shown_so("folders.txt");
}

/// Tests diagnostics about problems of weighted model integration.
#[test]
fn integrals() {
    shown_so("integrals.txt");
}

/// Returns the files of a folder that have an extension.
fn entries(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// Returns the cases of all tables.
fn all() -> Vec<Case> {
    let tables = entries(&folder(), "txt");
    let names = tables
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy());
    names.flat_map(|name| table(&name)).collect()
}

#[test]
fn every_case_has_one_snapshot() {
    let codes: Vec<String> = all().into_iter().map(|case| case.code).collect();
    let distinct: BTreeSet<String> = codes.iter().cloned().collect();
    assert_eq!(distinct.len(), codes.len(), "a code has two cases");
    let held = entries(&folder().join("snapshots"), "snap");
    let held = held
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    assert_eq!(held.collect::<BTreeSet<String>>(), distinct);
}

/// If a code were missing from the lists of `bnnc explain`, users could get it in a diagnostic but
/// could not look it up.
#[test]
fn every_code_that_is_raised_is_explained() {
    for case in all().iter().filter(|case| case.is_in_build()) {
        let output = Command::new(env!("CARGO_BIN_EXE_bnnc"))
            .args(["explain", &case.code])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", case.code);
    }
}
