//! Tests that runs can be resumed after they are killed or interrupted. The results have exactly
//! the same bytes as without the interruption.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

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

/// Returns whether a chain has a checkpoint but not all of its draws.
fn has_half_a_chain(expected: &BTreeMap<String, Vec<u8>>, out: &Path) -> bool {
    let mut draws = expected.iter().filter(|(name, _)| name.ends_with(".draws"));
    draws.any(|(name, bytes)| {
        let path = out.join(name);
        let size = fs::metadata(&path).map_or(0, |file| file.len());
        path.with_extension("chain").exists() && size < bytes.len() as u64
    })
}

/// Kills a run, resumes it after each kill, and finally runs it to its end. `fractions` lists the fraction of its duration after which
/// each run is killed. Returns the number of kills that left an incomplete chain.
fn assert_kills_change_nothing(
    workshop: &Path,
    (expected, time): (&BTreeMap<String, Vec<u8>>, Duration),
    fractions: &[f64],
) -> usize {
    let out = workshop.join("killed");
    let _ = fs::remove_dir_all(&out);
    let (mut how, mut kills) = ("--out", 0);
    for fraction in fractions {
        let running = kill_after(start(workshop, how, &out), time.mul_f64(*fraction));
        kills += usize::from(running && has_half_a_chain(expected, &out));
        if out.join("checkpoint").join("run.json").exists() {
            how = "--resume";
        }
    }
    finish(workshop, how, &out);
    assert_same(expected, &out, &format!("killed at {fractions:?}"));
    kills
}

/// Kills a run as soon as it has an incomplete chain, and then resumes it to its end. Returns whether the kill left an incomplete chain.
fn kill_while_it_samples(workshop: &Path, expected: &BTreeMap<String, Vec<u8>>) -> bool {
    let out = workshop.join("watched");
    let _ = fs::remove_dir_all(&out);
    let mut child = start(workshop, "--out", &out);
    while child.try_wait().unwrap().is_none() && !has_half_a_chain(expected, &out) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let killed = kill_after(child, Duration::ZERO) && has_half_a_chain(expected, &out);
    finish(workshop, "--resume", &out);
    assert_same(expected, &out, "killed while it sampled");
    killed
}

/// Returns fixed numbers between 0 and 1 from an equidistributed sequence.
fn fractions(first: usize, count: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (first..first + count)
        .map(|i| (i as f64 * golden).fract())
        .collect()
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let workshop = workshop("kill");
    let (expected, time) = undisturbed(&workshop);
    let mut kills = assert_kills_change_nothing(&workshop, (&expected, time), &[0.3, 0.3, 0.3]);
    kills += assert_kills_change_nothing(&workshop, (&expected, time), &[0.9]);
    // If the load of the machine varies, two runs may be at different stages after the same
    // fraction of their durations. The test therefore detects the stage from the size of the file
    // of draws.
    let mut tries = 0;
    while kills == 0 && tries < 20 {
        kills += usize::from(kill_while_it_samples(&workshop, &expected));
        tries += 1;
    }
    assert!(kills >= 1, "no run was killed while it sampled");
}

#[test]
#[ignore = "50 kills take minutes"]
fn fifty_kills_change_nothing() {
    let workshop = workshop("kills");
    let (expected, time) = undisturbed(&workshop);
    let (mut kills, mut round) = (0, 0);
    while kills < 50 {
        // A run is killed one, two or three times before its end. Only kills that leave an incomplete chain are counted.
        let count = 1 + round % 3;
        kills += assert_kills_change_nothing(&workshop, (&expected, time), &fractions(7 * round + 1, count));
        round += 1;
        assert!(round < 200, "the runs are not killed while they sample");
    }
    println!("{kills} kills in {round} runs");
}

/// A program with one short inference for every method, named after the method. Some further
/// inferences train several networks concurrently.
const METHODS: &str = "\
use layers::Dense

data rows = csv(\"rows.csv\") {
  target = y
}

model Net(x: real[D]) -> y: real {
  h = Dense(3, prior = Normal(0, 1))
  o = Dense(1, prior = Normal(0, 1))
  y ~ Normal(o(relu(h(x)))[0], 0.5)
}

posterior Field of Net {
  h.* ~ Normal(scale = 0.1)
  o.* ~ Normal(scale = 0.1)
}

infer map         = map(Net, rows) { epochs = 300 }
infer several     = map(Net, rows) { epochs = 150, restarts = 3 }
infer averaged    = swag(Net, rows) { warmup = 20, epochs = 100, optimiser = SGD(1e-4), restarts = 3 }
infer vi          = vi(Field, rows) { epochs = 200 }
infer ensemble    = ensemble(Net, rows) { members = 3, epochs = 150 }
infer swag        = swag(Net, rows) { warmup = 20, epochs = 200, optimiser = SGD(1e-4) }
infer dropout     = dropout(Net, rows) { epochs = 200 }
infer laplace     = laplace(Net, rows) { epochs = 300 }
infer collapsed   = collapsed(Net, rows) { iterates = ensemble }
infer nuts        = nuts(Net, rows) { chains = 2, warmup = 100, draws = 100 }
infer hmc         = hmc(Net, rows) { chains = 2, warmup = 100, draws = 100 }
infer mala        = mala(Net, rows) { chains = 2, warmup = 300, draws = 300 }
infer random_walk = random_walk(Net, rows) { chains = 2, warmup = 500, draws = 500 }
infer sgld        = sgld(Net, rows) { chains = 2, warmup = 100, draws = 500, batch = 8, step_size = 1e-4 }
infer sghmc       = sghmc(Net, rows) { chains = 2, warmup = 100, draws = 500, batch = 8, step_size = 1e-4 }
infer penalty     = penalty(Net, rows) { chains = 2, warmup = 100, draws = 200, batch = 8 }
";

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

/// Returns the names of all methods.
fn methods() -> impl Iterator<Item = &'static str> {
    bnnc_abi::method::ALL.iter().map(|method| method.name)
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn every_killed_method_resumes_to_the_same_bytes() {
    let workshop = workshop("methods");
    fs::write(workshop.join("line.bnn"), METHODS).unwrap();
    for method in methods() {
        let has = |of: &str| METHODS.contains(&format!(" = {method}({of}, rows)"));
        assert!(has("Net") || has("Field"), "{method}");
    }
    let trained = "map,several,averaged,vi,ensemble,swag,dropout,laplace,collapsed";
    let kills = assert_kills_of(&workshop, trained, &[0.55, 0.7]);
    assert!(kills >= 1, "the run ended before it was killed");
}

/// The environment variable `BNNC_KILLS_ONLY=map,vi` restricts this test to these methods.
#[test]
#[ignore = "100 kills of each method take an hour"]
fn a_hundred_kills_of_every_method_change_nothing() {
    let workshop = workshop("hundred");
    fs::write(workshop.join("line.bnn"), METHODS).unwrap();
    let only = std::env::var("BNNC_KILLS_ONLY").ok();
    let is_chosen = |method: &&str| {
        let mut names = only.iter().flat_map(|only| only.split(','));
        only.is_none() || names.any(|name| name == *method)
    };
    for method in methods().filter(is_chosen) {
        let (mut kills, mut round) = (0, 0);
        while kills < 100 {
            // A run is killed one to four times before its end.
            kills += assert_kills_of(&workshop, method, &fractions(7 * round + 1, 1 + round % 4));
            round += 1;
            assert!(round < 400, "{method}: the runs end before they are killed");
        }
        println!("{method}: {kills} kills in {round} runs");
    }
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

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let workshop = workshop("interrupt");
    let (expected, _) = undisturbed(&workshop);
    for (infer, name) in [("turning", "-INT"), ("sliding", "-TERM")] {
        let out = workshop.join(infer);
        let interrupted = || {
            let _ = fs::remove_dir_all(&out);
            let child = start(&workshop, "--out", &out);
            wait_for(&out, &format!("{infer}-0-0.chain"));
            signal(&child, name);
            child.wait_with_output().unwrap()
        };
        // On a busy machine, a run may end before the signal is sent. The test therefore tries
        // several times.
        let outputs = (0..10).map(|_| interrupted());
        let output = outputs
            .into_iter()
            .find(|output| !output.status.success())
            .unwrap();
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{reported}");
        assert!(
            reported.contains("interrupted: ") && reported.contains("--resume"),
            "{reported}"
        );
        let text = fs::read_to_string(out.join("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(result["interrupted"], true);
        assert!(
            result["infer"]["found"]["seconds"].is_object(),
            "what was finished is there"
        );
        finish(&workshop, "--resume", &out);
        assert_same(&expected, &out, &format!("interrupted in {infer}"));
    }
}

/// A failed inference does not remove the results of earlier inferences.
#[test]
fn a_failed_inference_keeps_earlier_results() {
    let workshop = workshop("failure");
    let program = workshop.join("line.bnn");
    let steep = "\ninfer steep = map(Line, rows) {\n  epochs = 5\n  optimiser = SGD(1e200)\n}\n";
    fs::write(&program, format!("{PROGRAM}{steep}")).unwrap();
    let out = workshop.join("out");
    let mut words = arguments(&workshop, "--out", &out);
    words.extend(["--only", "found,steep"].map(str::to_owned));
    let output = run(words);
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(output.stderr.contains("E0501"), "{}", output.stderr);
    assert!(output.stdout.contains("found"), "{}", output.stdout);
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(result["infer"]["found"]["seconds"].is_object());
    assert!(result["infer"]["steep"].is_null());
    assert!(result["stopped"].as_str().unwrap().starts_with("E0501"));
}

/// `timeout` sends its signal to the process and to its group, so that the signal arrives twice.
#[test]
fn a_signal_that_arrives_twice_at_once_keeps_the_results() {
    let workshop = workshop("doubled");
    let out = workshop.join("out");
    let words = arguments(&workshop, "--out", &out)
        .into_iter()
        .chain(["--only", "found", "--set", "found.epochs=100000000"].map(str::to_owned));
    let child = spawn(words.collect());
    wait_for(&out, "run.json");
    let id = child.id();
    let twice = format!("kill -TERM {id}; sleep 0.02; kill -TERM {id}");
    assert!(
        Command::new("sh")
            .args(["-c", &twice])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("continues the run from here"), "{stderr}");
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["interrupted"], true);
}

#[test]
fn a_second_signal_ends_the_process() {
    let workshop = workshop("twice");
    let out = workshop.join("out");
    let mut child = start(&workshop, "--out", &out);
    wait_for(&out, "turning-0-0.chain");
    signal(&child, "-INT");
    // A signal that follows immediately is treated as a repetition of the first one.
    std::thread::sleep(Duration::from_millis(300));
    let _ = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    finish(&workshop, "--resume", &out);
}

#[test]
fn training_stops_after_an_epoch() {
    let workshop = workshop("training");
    let out = workshop.join("out");
    let words = |how: &str| {
        let mut words = arguments(&workshop, how, &out);
        words.extend(["--only", "found", "--set", "found.epochs=100000000"].map(str::to_owned));
        words
    };
    let child = spawn(words("--out"));
    wait_for(&out, "run.json");
    let second = run(words("--resume"));
    assert_eq!(second.status, 3);
    assert!(second.stderr.contains("E0512"), "{}", second.stderr);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{reported}");
    let again = format!(
        "`bnnc run {} --set found.epochs=100000000 --only found --resume {}`",
        workshop.join("line.bnn").display(),
        out.display()
    );
    assert!(
        reported.contains(&again),
        "the command names the program and its settings: {reported}"
    );
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["interrupted"], true);
    let epochs = result["infer"]["found"]["diagnostics"]["epochs"]
        .as_u64()
        .unwrap();
    assert!((1..100_000_000).contains(&epochs), "{epochs}");
    assert!(
        !out.join("checkpoint").join("found-0.fit").exists(),
        "half a fit is not kept"
    );
}

#[test]
fn resuming_with_more_draws_equals_a_longer_run() {
    let workshop = workshop("more");
    let only = |how: &str, out: &Path, draws: usize| {
        let mut words = arguments(&workshop, how, out);
        let draws = format!("turning.draws={draws}");
        words.extend(["--only", "turning", "--set", &draws].map(str::to_owned));
        run(words)
    };
    let (short, long) = (workshop.join("short"), workshop.join("long"));
    assert_eq!(only("--out", &long, 300).status, 0);
    assert_eq!(only("--out", &short, 100).status, 0);
    let output = only("--resume", &short, 300);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let expected = numbers(&long);
    let settings = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("turning.draws=300");
    assert!(settings(&expected["program.json"]));
    assert_same(&expected, &short, "with more draws");
    let fewer = only("--resume", &short, 200);
    assert_eq!(fewer.status, 2);
    assert!(
        fewer.stderr.contains("E0511") && fewer.stderr.contains("was 300"),
        "{}",
        fewer.stderr
    );
}

/// An inference cannot be extended by more draws if another inference uses its draws, because the other inference's results would become
/// stale.
#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn draws_that_another_inference_uses_cannot_be_extended() {
    let workshop = workshop("others");
    let out = workshop.join("out");
    let program =
        format!("{PROGRAM}\ninfer boxed = collapsed(Line, rows) {{ iterates = turning, over = [b] }}\n");
    fs::write(workshop.join("line.bnn"), program).unwrap();
    let with = |how: &str, draws: &str| {
        let mut words = arguments(&workshop, how, &out);
        words.extend(["--only", "boxed", "--set", draws].map(str::to_owned));
        run(words)
    };
    let first = with("--out", "turning.draws=20");
    assert_eq!(first.status, 0, "{}", first.stderr);
    let more = with("--resume", "turning.draws=40");
    assert_eq!(more.status, 2, "{}", more.stderr);
    assert!(
        more.stderr
            .contains("the draws of `turning`: 20 in the earlier run, 40 now"),
        "{}",
        more.stderr
    );
    assert_eq!(with("--resume", "turning.draws=20").status, 0);
}

/// A run with a cyclical schedule cannot be extended, because its step sizes depend on the number
/// of draws.
#[test]
fn cyclical_schedules_cannot_be_extended() {
    let workshop = workshop("cycles");
    let out = workshop.join("out");
    let with = |how: &str, draws: &str| {
        let mut words = arguments(&workshop, how, &out);
        let schedule = "sliding.schedule=cyclical(4, 0.5)";
        words.extend(["--only", "sliding", "--set", schedule, "--set", draws].map(str::to_owned));
        run(words)
    };
    assert_eq!(with("--out", "sliding.draws=100").status, 0);
    let more = with("--resume", "sliding.draws=200");
    assert_eq!(more.status, 2);
    assert!(
        more.stderr
            .contains("the draws of `sliding`: 100 in the earlier run, 200 now"),
        "{}",
        more.stderr
    );
    assert_eq!(with("--resume", "sliding.draws=100").status, 0);
}

#[test]
fn only_the_same_run_is_continued() {
    let workshop = workshop("same");
    let out = workshop.join("out");
    let only = |how: &str, more: &[&str]| {
        let mut words = arguments(&workshop, how, &out);
        words.extend(["--only", "turning"].map(str::to_owned));
        words.extend(more.iter().map(|word| (*word).to_owned()));
        run(words)
    };
    let first = only("--resume", &[]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    assert!(first.stderr.contains("E0513"), "{}", first.stderr);
    let rejected = |output: Output, why: &str| {
        assert_eq!(output.status, 2, "{}", output.stderr);
        assert!(
            output.stderr.contains("E0511") && output.stderr.contains(why),
            "{}",
            output.stderr
        );
    };
    rejected(
        only("--resume", &["--seed", "3"]),
        "the seed: 0 in the earlier run, 3 now",
    );
    rejected(
        only("--resume", &["--backend", "reference"]),
        "the backend: cranelift in the earlier run, reference now",
    );
    rejected(
        only("--resume", &["--precision", "f32"]),
        "the inference `turning`: nuts in f64 in the earlier run, nuts in f32 now",
    );
    rejected(
        only("--resume", &["--set", "turning.max_depth=5"]),
        "`--set turning.max_depth`: not given in the earlier run, 5 now",
    );
    let rows = fs::read_to_string(workshop.join("rows.csv")).unwrap();
    fs::write(workshop.join("rows.csv"), rows.replacen("0.", "0.1", 1)).unwrap();
    rejected(only("--resume", &[]), "`rows.csv` of `rows` has changed");
    fs::write(workshop.join("rows.csv"), &rows).unwrap();
    fs::write(
        workshop.join("line.bnn"),
        PROGRAM.replace("Normal(0, 1)", "Normal(0, 2)"),
    )
    .unwrap();
    rejected(only("--resume", &[]), "the program has changed");
    fs::write(workshop.join("line.bnn"), PROGRAM).unwrap();
    assert_eq!(only("--resume", &[]).status, 0);
    assert_eq!(only("--resume", &["--out", "elsewhere"]).status, 2);
    fs::write(out.join("checkpoint").join("turning-0-1.draws"), "short").unwrap();
    let damaged = only("--resume", &[]);
    assert_eq!(damaged.status, 3);
    assert!(damaged.stderr.contains("E0510"), "{}", damaged.stderr);
    assert_eq!(only("--out", &[]).status, 0, "a new run does not care");
    let checkpoint = out.join("checkpoint");
    fs::copy(
        checkpoint.join("turning-0-0.draws"),
        checkpoint.join("turning-0-1.draws"),
    )
    .unwrap();
    let swapped = only("--resume", &[]);
    assert_eq!(swapped.status, 3);
    assert!(
        swapped.stderr.contains("E0510") && swapped.stderr.contains("the draws of another chain"),
        "{}",
        swapped.stderr
    );
}

#[test]
fn strict_runs_fail_where_chains_warn() {
    let workshop = workshop("strict");
    let few = [
        "--only",
        "turning",
        "--set",
        "turning.draws=20",
        "--set",
        "turning.warmup=5",
    ];
    let program = workshop.join("line.bnn");
    let run_with = |more: &[&str]| {
        let words = ["run", program.to_str().unwrap()].into_iter().chain(few);
        run(words.chain(more.iter().copied()))
    };
    let lenient = run_with(&[]);
    assert_eq!(lenient.status, 0, "{}", lenient.stderr);
    assert!(lenient.stderr.contains("E052"), "{}", lenient.stderr);
    assert_eq!(run_with(&["--strict"]).status, 4);
    let words = ["run", program.to_str().unwrap(), "--only", "found", "--strict"];
    assert_eq!(run(words).status, 0, "training has no chains");
}

/// The transformations of an epoch depend on the number of the epoch and on the rows. A run that goes on in the middle of an epoch has the same
/// images as a run without a pause. The report shows some of the images.
#[test]
fn interrupted_trainings_on_transformed_images_resume_to_the_same_bytes() {
    let workshop = workshop("images");
    let pixel = |row: usize, at: usize| ((row * 31 + at * 17 + row * at * 7) % 23) as f64 / 10.0;
    let image = |row: usize| {
        let line = |y: usize| {
            format!(
                "{:?}",
                (0..5).map(|x| pixel(row, 5 * y + x)).collect::<Vec<f64>>()
            )
        };
        format!("[[{}]]", (0..4).map(line).collect::<Vec<String>>().join(", "))
    };
    let images: Vec<String> = (0..30).map(image).collect();
    let targets: Vec<f64> = (0..30).map(|row| (row * 5 % 8) as f64 / 3.0).collect();
    let rows = format!("{{\"x\": [{}], \"y\": {targets:?}}}", images.join(", "));
    fs::write(workshop.join("rows.json"), rows).unwrap();
    let program = "data rows = json(\"rows.json\") { target = y }\nmodel Net(x: real[1, 4, 5]) -> y: real {\n  hidden = Dense(8)\n  \
                   out = Dense(1)\n  y ~ Normal(out(tanh(hidden(flatten(x))))[0], 0.3)\n}\n\
                   infer found = map(Net, rows) { epochs = 10000, batch = 7, augment = [crop(1), flip, rotate(15), cutout(2), mixup(0.2)] }\n";
    fs::write(workshop.join("line.bnn"), program).unwrap();
    let whole = assert_resumed(&workshop);
    let report = fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(
        report.contains("with crop(1), flip, rotate(15), cutout(2), mixup(0.2)</text>"),
        "{report}"
    );
    assert_eq!(
        report.matches("href=\"data:image/png;base64,iVBORw0KGgo").count(),
        1
    );
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

/// Running means are part of the checkpoint and of the saved parameters. Predictions from the folder equal the predictions
/// of the run.
#[test]
fn interrupted_trainings_keep_their_running_means() {
    let workshop = workshop("means");
    let program = "data rows = csv(\"rows.csv\") { target = y }\nmodel Line(x: real[D]) -> y: real {\n  hidden = Dense(6)\n  norm = BatchNorm()\n  \
                   out = Dense(1)\n  y ~ Normal(out(flatten(tanh(norm(reshape(hidden(x), 6, 1, 1)))))[0], 0.3)\n}\n\
                   infer found = map(Line, rows) { epochs = 20000, batch = 10 }\n";
    fs::write(workshop.join("line.bnn"), program).unwrap();
    let whole = assert_resumed(&workshop);
    let rows = workshop.join("rows.csv");
    let predicted = |folder: &Path| {
        let output = run([
            "predict".as_ref(),
            folder.as_os_str(),
            "--data".as_ref(),
            rows.as_os_str(),
        ]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        output.stdout
    };
    let first = predicted(&whole);
    assert!(first.lines().count() > 40, "{first}");
    // A training run that starts from the file begins with the weights and the stored means of the first training run, and its
    // only step hardly changes them.
    let still = program
        .replace("BatchNorm()", "BatchNorm(momentum = 1e-12)")
        .replace(
            "epochs = 20000, batch = 10",
            "steps = 1, optimiser = SGD(1e-15), start = safetensors(\"whole/posterior.safetensors\")",
        );
    fs::write(workshop.join("line.bnn"), still).unwrap();
    let again = workshop.join("again");
    finish(&workshop, "--out", &again);
    for (first, second) in first.lines().zip(predicted(&again).lines()).skip(1) {
        let numbers = |line: &str| line.split(',').map(|cell| cell.parse().unwrap_or(0.0)).collect();
        let [first, second]: [Vec<f64>; 2] = [first, second].map(numbers);
        let mut pairs = first.iter().zip(&second);
        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-3), "{first:?} {second:?}");
    }
}

/// A program that applies every method that trains to a network with batch normalisation.
const NORMALISED: &str = "\
data rows = csv(\"rows.csv\") {
  target = y
  test   = csv(\"rows.csv\")
}

model Net(x: real[D]) -> y: real {
  hidden = Dense(4)
  norm   = BatchNorm()
  out    = Dense(1)
  y ~ Normal(out(flatten(tanh(norm(reshape(hidden(x), 4, 1, 1)))))[0], 0.5)
}

infer members  = ensemble(Net, rows) { members = 3, epochs = 4000, batch = 10 }
infer averaged = swag(Net, rows) { epochs = 10000, batch = 10, optimiser = SGD(1e-4), predictive_draws = 20 }
infer gaussian = laplace(Net, rows) { epochs = 10000, batch = 10 }
infer masked   = dropout(Net, rows) { epochs = 10000, batch = 10 }
";

/// Each vector of weights has its own running means, which are part of the checkpoint and of the saved posterior.
#[test]
fn killed_methods_resume_to_the_same_running_means() {
    let workshop = workshop("normalised");
    fs::write(workshop.join("line.bnn"), NORMALISED).unwrap();
    let infers = ["members", "averaged", "gaussian", "masked"];
    let kills = assert_kills_of(&workshop, &infers.join(","), &[0.55, 0.7]);
    assert!(kills >= 1, "the run ended before it was killed");
    let rows = workshop.join("rows.csv");
    let whole = workshop.join("whole");
    for infer in infers {
        let output = run([
            "predict",
            whole.to_str().unwrap(),
            "--infer",
            infer,
            "--data",
            rows.to_str().unwrap(),
        ]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let saved = fs::read_to_string(whole.join(format!("predictions.{infer}.csv"))).unwrap();
        let [saved, again] = [saved, output.stdout].map(|text| means_of(&text));
        assert_eq!(saved.len(), 40);
        assert_eq!(saved, again, "{infer}");
    }
}

/// The advice about a Laplace approximation that is too wide names only methods that support the model.
#[test]
fn advice_about_normalised_networks_leaves_chains_out() {
    let workshop = workshop("advice");
    fs::write(workshop.join("line.bnn"), NORMALISED).unwrap();
    let output = run(only(&workshop, "gaussian", "--out", &workshop.join("out")));
    assert!(output.stderr.contains("E0653"), "{}", output.stderr);
    assert!(output.stderr.contains("`ensemble` or `vi`"), "{}", output.stderr);
}

/// Returns the column `mean` of a table of predictions.
fn means_of(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "mean").unwrap();
    lines
        .map(|line| line.split(',').nth(at).unwrap().to_owned())
        .collect()
}
