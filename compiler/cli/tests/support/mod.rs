//! Runs the built `bnnc` and captures its output.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used)]

pub mod rendered;
pub mod trial;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The result of one run of the binary.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit status, or -1 if a signal ended the process.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `bnnc` in the root of the workspace, without a terminal and without input.
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

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Kills a process after a time. Returns whether the process was still running.
pub fn kill_after(mut child: Child, time: Duration) -> bool {
    std::thread::sleep(time);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Returns the result files of a run folder without the durations in them. Checkpoint files that
/// only `--resume` needs are left out.
pub fn numbers(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![out.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(out).unwrap().display().to_string();
            if name.starts_with("checkpoint") && !name.ends_with(".draws") {
                continue;
            }
            found.insert(name.clone(), without_seconds(&name, fs::read(&path).unwrap()));
        }
    }
    found
}

fn without_seconds(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    if name == "report.html" {
        let page = String::from_utf8(bytes).unwrap();
        let dated = page.split_once("<p class=\"facts\">finished ");
        let undated = dated.and_then(|(before, rest)| Some(before.to_owned() + rest.split_once("</p>")?.1));
        let page = undated.unwrap_or(page);
        let lines = page
            .split("<tr>")
            .filter(|line| !line.starts_with("<td>seconds of "));
        return lines.collect::<String>().into_bytes();
    }
    if name != "result.json" {
        return bytes;
    }
    let mut result: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for (_, infer) in result["infer"].as_object_mut().unwrap() {
        infer.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    let compares = result["compare"].as_array_mut().into_iter().flatten();
    for line in compares.flat_map(|compare| compare["lines"].as_array_mut().unwrap()) {
        line.as_object_mut().unwrap().remove("seconds");
    }
    result.to_string().into_bytes()
}
