//! Tests that runs can be resumed after they are killed or interrupted. The results have exactly
//! the same bytes as without the interruption.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod extensions;
mod interruptions;
mod kills;
mod running_means;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Output, kill_after, numbers, root, run};

/// A program with a regression that is trained once and sampled three times. One sampler runs four chains, two at a time in lockstep.
/// The other two samplers run two chains each.
const PROGRAM: &str = "\
data rows = csv(\"rows.csv\") {
  target = y
}

model Line(x: real[D]) -> y: real {
  a ~ Normal(0, 1)
  b: real[D]  ~ Normal(0, 1)
  s: positive ~ HalfNormal(1)
  y ~ Normal(a + dot(b, x), s)
}

infer found = map(Line, rows) {
  epochs = 200
}

infer turning = nuts(Line, rows) {
  chains = 4
  warmup = 200
  draws  = 800
  thin   = 10
}

infer walking = random_walk(Line, rows) {
  chains = 2
  warmup = 500
  draws  = 3000
  thin   = 40
  store  = disk
}

infer sliding = sgld(Line, rows) {
  chains    = 2
  warmup    = 100
  draws     = 3000
  thin      = 60
  batch     = 8
  step_size = 1e-3
}
";

/// Creates a folder for one test with the program and its data.
fn workshop(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-resume-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("line.bnn"), PROGRAM).unwrap();
    let mut rows = "u,v,y\n".to_owned();
    for i in 0..40 {
        let (u, v) = (f64::from(i) / 20.0 - 1.0, f64::from(i * 7 % 11) / 5.0 - 1.0);
        let noise = f64::from(i * 13 % 17) / 17.0 - 0.5;
        rows.push_str(&format!("{u},{v},{}\n", 0.5 + u - 0.7 * v + 0.6 * noise));
    }
    fs::write(path.join("rows.csv"), rows).unwrap();
    path
}

/// Returns the arguments of `bnnc run line.bnn` with `--out` or `--resume` and a folder.
fn arguments(workshop: &Path, how: &str, out: &Path) -> Vec<String> {
    let program = workshop.join("line.bnn");
    let words = [
        "run",
        program.to_str().unwrap(),
        "--threads",
        "2",
        how,
        out.to_str().unwrap(),
    ];
    words.map(str::to_owned).to_vec()
}

fn start(workshop: &Path, how: &str, out: &Path) -> Child {
    spawn(arguments(workshop, how, out))
}

fn spawn(arguments: Vec<String>) -> Child {
    Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(workshop: &Path, how: &str, out: &Path) -> Output {
    let output = run(arguments(workshop, how, out));
    assert_eq!(output.status, 0, "{}", output.stderr);
    output
}

fn assert_same(expected: &BTreeMap<String, Vec<u8>>, out: &Path, when: &str) {
    let found = numbers(out);
    let names: Vec<&String> = expected.keys().collect();
    assert_eq!(names, found.keys().collect::<Vec<_>>(), "{when}");
    for (name, bytes) in expected {
        assert!(*bytes == found[name], "{name} differs, {when}");
    }
}

/// Returns the output files and the duration of a run that is not interrupted.
fn undisturbed(workshop: &Path) -> (BTreeMap<String, Vec<u8>>, Duration) {
    let out = workshop.join("undisturbed");
    let clock = Instant::now();
    finish(workshop, "--out", &out);
    let time = clock.elapsed();
    let numbers = numbers(&out);
    for infer in ["turning", "walking", "sliding"] {
        for chain in 0..2 {
            let draws = &numbers[&format!("checkpoint/{infer}-0-{chain}.draws")];
            assert!(draws.len() > 20_000, "{infer} drew");
        }
    }
    assert!(numbers.contains_key("posterior.safetensors"));
    (numbers, time)
}

/// Returns the arguments of `bnnc run line.bnn --only INFERS`, with a folder for the output.
fn only(workshop: &Path, infers: &str, how: &str, out: &Path) -> Vec<String> {
    let mut words = arguments(workshop, how, out);
    words.extend(["--only", infers].map(str::to_owned));
    words
}

/// Kills the run of some inferences, resumes it after each kill, and compares the final results.
/// `fractions` lists the fraction of its duration after which each run is killed.
fn assert_kills_of(workshop: &Path, infers: &str, fractions: &[f64]) -> usize {
    let finished = |how: &str, out: &Path| {
        let clock = Instant::now();
        let output = run(only(workshop, infers, how, out));
        assert_eq!(output.status, 0, "{infers}: {}", output.stderr);
        clock.elapsed()
    };
    let (whole, out) = (workshop.join("whole"), workshop.join("killed"));
    for folder in [&whole, &out] {
        let _ = fs::remove_dir_all(folder);
    }
    let time = finished("--out", &whole);
    let expected = numbers(&whole);
    let (mut how, mut kills) = ("--out", 0);
    for fraction in fractions {
        let child = spawn(only(workshop, infers, how, &out));
        kills += usize::from(kill_after(child, time.mul_f64(*fraction)));
        if out.join("checkpoint").join("run.json").exists() {
            how = "--resume";
        }
    }
    finished(how, &out);
    assert_same(&expected, &out, &format!("{infers} killed at {fractions:?}"));
    kills
}

/// Waits until a run has written the checkpoint file `file`.
fn wait_for(out: &Path, file: &str) {
    let path = out.join("checkpoint").join(file);
    let clock = Instant::now();
    while !path.exists() {
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "{file} does not appear"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs the program without an interruption, and once more with a kill while `found` trains. The resumed run must have the same numbers.
/// Returns the folder of the first run.
fn assert_resumed(workshop: &Path) -> PathBuf {
    let whole = workshop.join("whole");
    finish(workshop, "--out", &whole);
    let out = workshop.join("parts");
    let child = start(workshop, "--out", &out);
    wait_for(&out, "found-0.fit");
    assert!(kill_after(child, Duration::ZERO), "the run was killed");
    finish(workshop, "--resume", &out);
    assert_same(&numbers(&whole), &out, "killed while it trained");
    whole
}
