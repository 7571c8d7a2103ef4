//! Executables of `bnnc build` compute the same numbers as `bnnc run`. If an executable cannot run,
//! it reports the reason.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod failures;
mod numbers;
mod options;

use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use support::{Output, root, run};

/// A program whose model supports every method.
const PROGRAM: &str = "\
data rows = csv(\"rows.csv\") {
  target     = y
  test       = fraction(0.25)
  validation = 0.2
}

model Curve(x: real[D]) -> y: real {
  hidden = Dense(4)
  last   = Dense(1)
  s: positive ~ HalfNormal(1)
  y ~ Normal(last(tanh(hidden(x)))[0], s)
}
";

/// Creates a folder for one test.
fn workshop(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-build-test-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Builds the static library and the runner beside `bnnc`, once.
fn runtime() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let bnnc = Path::new(env!("CARGO_BIN_EXE_bnnc"));
        let folder = bnnc.parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "build",
            "--offline",
            "-p",
            "bnnc",
            "-p",
            "bnnc-runner",
            "--target-dir",
        ]);
        cargo.arg(folder.parent().unwrap()).current_dir(root());
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.stderr(Stdio::null()).status().unwrap().success());
    });
}

/// Creates a folder with the program and its data. In the data, `y` is a function of `x` and `z`.
fn with_program(name: &str, infers: &str) -> PathBuf {
    let folder = workshop(name);
    fs::write(
        folder.join("curve.bnn"),
        format!("use layers::Dense\n\n{PROGRAM}{infers}"),
    )
    .unwrap();
    fs::write(folder.join("rows.csv"), rows("x,z,y", 48)).unwrap();
    folder
}

fn rows(head: &str, count: i32) -> String {
    let mut text = format!("{head}\n");
    for i in 0..count {
        let (x, z) = (f64::from(i) / 20.0 - 1.0, f64::from(i * 7 % 11) / 5.0 - 1.0);
        let noise = f64::from(i * 13 % 17) / 17.0 - 0.5;
        let mut values = vec![x; head.split(',').count() - 2];
        values.extend([z, (2.0 * x).sin() - 0.7 * z + 0.4 * noise]);
        let words: Vec<String> = values.iter().map(f64::to_string).collect();
        text.push_str(&format!("{}\n", words.join(",")));
    }
    text
}

/// Runs `bnnc build` on the program of a folder. The executable is `folder/name`.
fn build(folder: &Path, name: &str, more: &[&str]) -> Output {
    runtime();
    let (program, executable) = (folder.join("curve.bnn"), folder.join(name));
    let words = [
        "build",
        program.to_str().unwrap(),
        "-o",
        executable.to_str().unwrap(),
    ];
    run(words.iter().chain(more))
}

fn built(folder: &Path, name: &str, more: &[&str]) -> PathBuf {
    let output = build(folder, name, more);
    assert_eq!(output.status, 0, "{}", output.stderr);
    folder.join(name)
}

fn command(executable: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(executable);
    // The working directory differs from the working directory of the build. The paths in an
    // executable must not depend on it.
    command.args(words).current_dir("/").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

fn execute(executable: &Path, words: &[&str]) -> Output {
    // Starting the executable may fail because the file is still open for writing. If another
    // thread starts a process during the build, the new process inherits the open file and may keep
    // it open for a while.
    let output = (0..50)
        .find_map(|_| match command(executable, words).output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(20));
                None
            }
            other => Some(other.unwrap()),
        })
        .unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns whether this machine has a C compiler. Without a C compiler, prints a note that a test
/// is skipped.
fn links() -> bool {
    let links = Command::new("cc").arg("--version").output().is_ok();
    if !links {
        println!("not tested: linking, for want of a C compiler");
    }
    links
}

/// Returns the options of `bnnc build` for each way of making executables that works on this
/// machine.
fn ways() -> Vec<&'static [&'static str]> {
    let mut ways: Vec<&[&str]> = vec![&["--no-linker"]];
    if links() {
        ways.push(&[]);
    }
    ways
}

fn result(text: &str) -> Value {
    let mut result: Value = serde_json::from_str(text).unwrap();
    for (_, infer) in result["infer"].as_object_mut().unwrap() {
        infer.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    result
}

/// An inference that runs quickly.
const QUICK: &str = "infer mode = map(Curve, rows) { epochs = 3 }\n";

/// A program with two tables, and with inferences that have numerical options of every kind.
const ADJUSTABLE: &str = "
data others = csv(\"others.csv\") { target = y }
posterior Q of Curve {
  hidden.*, last.* ~ Normal(scale = 0.1)
  s ~ LogNormal(loc = -1, scale = 0.1)
}
infer varied  = vi(Q, rows) { epochs = 20, batch = 10 }
infer mode    = map(Curve, rows) { epochs = 5 }
infer around  = laplace(Curve, rows) { start = mode }
infer turning = nuts(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
infer leaping = hmc(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
infer sliding = sghmc(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
infer penal   = penalty(Curve, rows) { chains = 2, warmup = 20, draws = 10, batch = 12 }
infer iterate = swag(Curve, rows) { start = mode, epochs = 20, warmup = 5, every = 2 }
infer several = ensemble(Curve, rows) { members = 3, epochs = 10 }
infer boxes   = collapsed(Curve, rows) { iterates = several, over = last_layer }
infer apart   = map(Curve, others) { epochs = 3 }
compare mode, around, apart by log_likelihood
";

fn adjustable(name: &str) -> PathBuf {
    let folder = with_program(name, ADJUSTABLE);
    fs::write(folder.join("others.csv"), rows("x,z,y", 30)).unwrap();
    folder
}

/// Returns the results of `bnnc run` for a program, and the results of the program's executable.
fn both(folder: &Path, executable: &Path, words: &[&str]) -> [Value; 2] {
    let program = folder.join("curve.bnn");
    let outputs = [
        execute(executable, &[&["--json"], words].concat()),
        run([&["run", program.to_str().unwrap(), "--json"], words].concat()),
    ];
    outputs.map(|output| {
        assert_eq!(output.status, 0, "{words:?}: {}", output.stderr);
        result(&output.stdout)
    })
}
