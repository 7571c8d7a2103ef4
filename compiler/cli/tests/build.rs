//! Executables of `bnnc build` compute the same numbers as `bnnc run`. If an executable cannot run,
//! it reports the reason.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use bnnc_abi::artefact;
use serde_json::Value;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use support::rendered::hold;
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

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn every_method_gives_the_numbers_of_a_run() {
    let infers = "
posterior Q of Curve {
  hidden.*, last.* ~ Normal(scale = 0.1)
  s ~ LogNormal(loc = -1, scale = 0.1)
}
infer varied  = vi(Q, rows) { epochs = 20, batch = 10, patience = 5, prune = [0, 0.5] }
infer mode    = map(Curve, rows) { epochs = 30 }
infer around  = laplace(Curve, rows) { start = mode }
infer factors = laplace(Curve, rows) { start = mode, structure = kronecker, prior_precision = marginal_likelihood }
infer turning = nuts(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
infer sliding = sgld(Curve, rows) { chains = 2, warmup = 20, draws = 10, batch = 8, step_size = 1e-4 }
infer penal   = penalty(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
infer iterate = swag(Curve, rows) { start = mode, epochs = 20, warmup = 5, every = 2 }
infer several = ensemble(Curve, rows) { members = 3, epochs = 10 }
infer masked  = dropout(Curve, rows) { epochs = 10 }
infer boxes   = collapsed(Curve, rows) { iterates = several, over = last_layer }
";
    let folder = with_program("methods", infers);
    let program = folder.join("curve.bnn");
    for way in ways() {
        let executable = built(&folder, "curve", way);
        for seed in ["0", "12345"] {
            let words = ["--json", "--seed", seed];
            let expected = run([&["run", program.to_str().unwrap()], &words[..]].concat());
            assert_eq!(expected.status, 0, "{}", expected.stderr);
            let found = execute(&executable, &words);
            assert_eq!(found.status, 0, "{}", found.stderr);
            assert_eq!(
                result(&found.stdout),
                result(&expected.stdout),
                "{way:?} seed {seed}"
            );
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// An inference that runs long enough to be interrupted.
const LONG: &str = "infer found = nuts(Curve, rows) { chains = 2, warmup = 50, draws = 150 }\n";

fn out_of(executable: &Path, how: &str, out: &Path) -> Command {
    command(executable, &["--threads", "2", how, out.to_str().unwrap()])
}

#[test]
fn a_killed_executable_resumes_to_the_same_bytes() {
    let folder = with_program("killed", LONG);
    let executable = built(&folder, "curve", &["--no-linker"]);
    let (whole, parts, plain) = (folder.join("whole"), folder.join("parts"), folder.join("plain"));
    let clock = Instant::now();
    let output = out_of(&executable, "--out", &whole).output().unwrap();
    assert!(output.status.success());
    let time = clock.elapsed();
    let start = |how: &str| -> Child {
        let mut command = out_of(&executable, how, &parts);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    // On a busy machine, a run may be killed before its first checkpoint is written.
    let begun = parts.join("checkpoint").join("run.json");
    let how = || if begun.exists() { "--resume" } else { "--out" };
    support::kill_after(start(how()), time / 3);
    support::kill_after(start(how()), (time / 3).max(Duration::from_millis(50)));
    assert!(start(how()).wait().unwrap().success());
    let expected = support::numbers(&whole);
    assert!(expected.contains_key("posterior.safetensors"));
    assert!(expected == support::numbers(&parts));
    // The folder has the same layout as a folder of `bnnc run`. `bnnc predict` can therefore read
    // it.
    let program = folder.join("curve.bnn");
    let output = run(["run", program.to_str().unwrap(), "--out", plain.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(expected == support::numbers(&plain));
    fs::remove_dir_all(folder).unwrap();
}

/// An inference that runs quickly.
const QUICK: &str = "infer mode = map(Curve, rows) { epochs = 3 }\n";

#[test]
fn other_data_are_accepted_or_rejected_with_the_reason() {
    let folder = with_program("data", QUICK);
    let executable = built(&folder, "curve", &["--no-linker"]);
    let with = |text: &str| {
        let file = folder.join("other.csv");
        fs::write(&file, text).unwrap();
        let word = format!("rows={}", file.display());
        (execute(&executable, &["--json", "--data", &word]), word)
    };
    let (found, word) = with(&rows("x,z,y", 100));
    assert_eq!(found.status, 0, "{}", found.stderr);
    let expected = run([
        "run",
        folder.join("curve.bnn").to_str().unwrap(),
        "--json",
        "--data",
        &word,
    ]);
    let (found, expected) = (result(&found.stdout), result(&expected.stdout));
    assert_eq!(found["infer"]["mode"]["n_test"], 25);
    assert_eq!(found, expected);
    let rejected = [
        ("1,2,3\n", 3, ""),
        (
            &*rows("x,u,z,y", 48),
            3,
            "compiled for 2 inputs, but the data have 3",
        ),
        (&rows("x,z,y", 48).replace("x,z,y", "x,z,w"), 3, "w"),
        (
            "x,z,y\n1,2,high\n2,3,low\n1,1,low\n4,4,low\n",
            3,
            "numbers are needed",
        ),
    ];
    for (text, status, reason) in rejected {
        let (found, word) = with(text);
        if text.contains("x,z,w") {
            // This program names its target, so the target can be any column.
            assert_eq!(found.status, 3, "{}", found.stderr);
            continue;
        }
        assert_eq!(found.status, status, "{}", found.stderr);
        assert!(found.stderr.contains(reason), "{}", found.stderr);
        if !reason.is_empty() {
            assert!(found.stderr.contains("E0631"), "{}", found.stderr);
            hold("E0631", &execute(&executable, &["--data", &word]).stderr, false);
        }
    }
    let missing = execute(&executable, &["--data", "rows=/nowhere.csv"]);
    assert_eq!(missing.status, 3, "{}", missing.stderr);
    let unknown = execute(&executable, &["--data", "row=other.csv"]);
    assert_eq!(unknown.status, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("E0601") && unknown.stderr.contains("`rows`"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn options_of_the_compiler_are_fixed_at_the_build() {
    let folder = with_program("decided", QUICK);
    let executable = built(&folder, "curve", &["--no-linker"]);
    for words in [
        &["--precision", "f64"][..],
        &["--backend", "reference"],
        &["--without", "exact-kl"],
    ] {
        let output = execute(&executable, words);
        assert_eq!(output.status, 2, "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains("E0633") && output.stderr.contains(words[0]));
        hold("E0633", &output.stderr, false);
    }
    let output = execute(&executable, &["--sead", "1"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("--seed"), "{}", output.stderr);
    let output = execute(&executable, &["--epochs", "3"]);
    assert_eq!(output.status, 2);
    assert!(!output.stderr.contains("as a value"), "{}", output.stderr);
    let help = execute(&executable, &["--help"]);
    assert_eq!(help.status, 0);
    for word in ["curve.bnn", "mode", "map", "rows.csv", "--resume"] {
        assert!(help.stdout.contains(word), "{word} in\n{}", help.stdout);
    }
    // The limit already applies while data are read, before the memory of the run is predicted.
    let narrow = execute(&executable, &["--max-memory", "1K"]);
    assert_eq!(narrow.status, 3, "{}", narrow.stderr);
    assert!(narrow.stderr.contains("E0435"), "{}", narrow.stderr);
    fs::remove_dir_all(folder).unwrap();
}

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

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn runtime_options_are_set_when_an_executable_starts() {
    let folder = adjustable("adjustable");
    let settings = [
        "varied.epochs=7",
        "varied.batch=16",
        "varied.patience=2",
        "varied.predictive_draws=30",
        "around.epochs=3",
        "around.temperature=2",
        "turning.chains=3",
        "turning.warmup=15",
        "turning.draws=8",
        "turning.thin=2",
        "turning.temperature=1.5",
        "turning.jitter=0.5",
        "turning.target_acceptance=0.7",
        "turning.max_depth=4",
        "leaping.steps=5",
        "leaping.step_size=1e-2",
        "sliding.batch=12",
        "sliding.step_size=2e-5",
        "sliding.friction=0.2",
        "penal.batch=20",
        "penal.batches=4",
        "iterate.epochs=12",
        "iterate.warmup=2",
        "iterate.every=3",
        "iterate.keep=3",
        "iterate.scale=0.5",
        "several.members=2",
        "several.epochs=4",
        "boxes.predictive_draws=7",
    ];
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    for way in ways() {
        let executable = built(&folder, "curve", way);
        let [found, expected] = both(&folder, &executable, &words);
        assert_eq!(found, expected, "{way:?}");
        let [plain, _] = both(&folder, &executable, &[]);
        // The predicted memory is not compared, because it depends on the results that earlier
        // inferences keep.
        let without_cost = |result: &Value, name: &str| {
            let mut infer = result["infer"][name].clone();
            infer.as_object_mut().unwrap().remove("cost").unwrap();
            infer
        };
        for name in found["infer"].as_object().unwrap().keys() {
            let is_same = without_cost(&plain, name) == without_cost(&found, name);
            assert_eq!(is_same, ["mode", "apart"].contains(&&**name), "{name}");
        }
    }
    // The run folder records the settings, and is the same as the run folder of `bnnc run`.
    let executable = folder.join("curve");
    let words = ["--only", "mode", "--set", "mode.epochs=4"];
    let outs = ["one", "other"].map(|name| folder.join(name));
    let [one, other] = outs.each_ref().map(|out| out.to_str().unwrap());
    let found = execute(&executable, &[&words[..], &["--out", one]].concat());
    assert_eq!(found.status, 0, "{}", found.stderr);
    let program = folder.join("curve.bnn");
    let expected = run([&["run", program.to_str().unwrap(), "--out", other], &words[..]].concat());
    assert_eq!(expected.status, 0, "{}", expected.stderr);
    let [one, other] = outs.each_ref().map(|out| support::numbers(out));
    assert!(one.contains_key("posterior.safetensors") && one == other);
    fs::remove_dir_all(folder).unwrap();
}

/// Settings that are errors. Each entry holds the setting, the code of the error, a part of the message, and
/// whether `bnnc run` prints the same message.
const UNSETTABLE: &[(&str, &str, &str, bool)] = &[
    (
        "mode.epochs=0",
        "E0601",
        "`epochs` must be an integer from 1 to 1000000000000, found 0",
        true,
    ),
    (
        "mode.epochs=2.5",
        "E0601",
        "integer from 1 to 1000000000000, found 2.5",
        true,
    ),
    (
        "mode.epochs=ten",
        "E0601",
        "`epochs` must be an integer from 1 to 1000000000000",
        true,
    ),
    (
        "sliding.friction=1",
        "E0601",
        "`friction` must be a number between 0 and 1, found 1",
        true,
    ),
    (
        "turning.jitter=-1",
        "E0601",
        "`jitter` must be a number of at least 0, found -1",
        true,
    ),
    ("mode.epoch=4", "E0601", "did you mean `epochs`?", true),
    ("made.epochs=4", "E0601", "did you mean `mode`?", true),
    ("epochs=4", "E0601", "is not `ITEM.KEY=VALUE`", true),
    (
        "iterate.epochs=6",
        "E0601",
        "one iterate every 2 give 0 iterates",
        true,
    ),
    (
        "boxes.epochs=6",
        "E0601",
        "the iterates of an earlier inference",
        true,
    ),
    (
        "penal.batches=1",
        "E0601",
        "needs `batches` of at least 2, not 1",
        true,
    ),
    (
        "mode.optimiser=Adam(1e-2)",
        "E0633",
        "it changes the compiled code",
        false,
    ),
    ("varied.samples=2", "E0633", "it changes the compiled code", false),
    (
        "mode.schedule=cosine",
        "E0633",
        "only the compiler reads its values",
        false,
    ),
    (
        "boxes.draws=3",
        "E0633",
        "only the compiler reads its values",
        false,
    ),
    ("rows.split=2", "E0633", "only the compiler reads", false),
];

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn options_that_cannot_be_set_are_rejected_with_the_reason() {
    let folder = adjustable("unset");
    let executable = built(&folder, "curve", &["--no-linker"]);
    let program = folder.join("curve.bnn");
    for &(setting, code, reason, is_shared) in UNSETTABLE {
        let output = execute(&executable, &["--set", setting]);
        assert_eq!(output.status, 2, "{setting}: {}", output.stderr);
        assert!(
            output.stderr.contains(code) && output.stderr.contains(reason),
            "{setting}: {}",
            output.stderr
        );
        if is_shared {
            let reported = run(["run", program.to_str().unwrap(), "--set", setting]).stderr;
            assert!(reported.contains(reason), "{setting}: {reported}");
        }
    }
    let output = execute(&executable, &["--set", "mode.epochs=0", "--set", "mode.batch=-1"]);
    assert!(output.stderr.contains("2 errors"), "{}", output.stderr);
    // The option `patience` needs validation rows, but the data item does not hold out any rows.
    let output = execute(&executable, &["--set", "apart.patience=3"]);
    assert!(
        output.stderr.contains("`others` does not hold out any"),
        "{}",
        output.stderr
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn chosen_inferences_run_with_those_that_they_need() {
    let folder = adjustable("only");
    for way in ways() {
        let executable = built(&folder, "curve", way);
        for (words, names) in [
            (&["--only", "around"][..], &["mode", "around"][..]),
            (&["--only", "boxes,mode"], &["mode", "several", "boxes"]),
            (&["--only", "turning", "--seed", "3"], &["turning"]),
        ] {
            let [found, expected] = both(&folder, &executable, words);
            assert_eq!(found, expected, "{way:?} {words:?}");
            let infers: Vec<&String> = found["infer"].as_object().unwrap().keys().collect();
            assert_eq!(infers, names);
        }
    }
    let executable = folder.join("curve");
    let unknown = execute(&executable, &["--only", "mod"]);
    assert_eq!(unknown.status, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("E0603") && unknown.stderr.contains("did you mean `mode`?"));
    // If no inference reads a data file, the file need not exist.
    fs::remove_file(folder.join("others.csv")).unwrap();
    assert_eq!(execute(&executable, &["--only", "mode"]).status, 0);
    assert_eq!(execute(&executable, &[]).status, 3);
    fs::remove_dir_all(folder).unwrap();
}

/// Splits the bytes of an executable into the runner and the bundle that is appended to it.
fn parts(executable: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = fs::read(executable).unwrap();
    let artefact = artefact::embedded(&mut File::open(executable).unwrap())
        .unwrap()
        .unwrap();
    bytes.truncate(bytes.len() - artefact::appended(&artefact).len());
    (bytes, artefact)
}

#[test]
fn a_damaged_executable_reports_the_damage() {
    let folder = with_program("damaged", QUICK);
    let executable = built(&folder, "curve", &["--no-linker"]);
    let (runner, artefact) = parts(&executable);
    let other = folder.join("other");
    let says = |bytes: &[u8], words: &[&str]| {
        // The file is deleted and created anew each time. The system does not allow writing to an
        // executable that is still running.
        let _ = fs::remove_file(&other);
        // Another process copies the file, so that this process never has it open for writing. Otherwise, child
        // processes of other tests could inherit the open file, and the system does not execute a file that is
        // open for writing.
        let staged = folder.join("staged");
        fs::copy(&executable, &staged).unwrap();
        fs::write(&staged, bytes).unwrap();
        let copied = Command::new("cp").args([&staged, &other]).status().unwrap();
        assert!(copied.success());
        execute(&other, words)
    };
    let (head, built) = artefact::decode(&artefact).unwrap();
    let mut flipped = artefact.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut newer = artefact.clone();
    newer[8] ^= 1;
    let foreign = artefact::encode(&built, [head.features, vec!["avx99".to_owned()]].concat()).unwrap();
    let cases = [
        (runner.clone(), "E0630", "`strip`", 2),
        (
            [&*runner, &artefact::appended(&flipped)].concat(),
            "E0630",
            "damaged",
            2,
        ),
        (
            [&*runner, &artefact::appended(&newer)].concat(),
            "E0630",
            "different builds",
            2,
        ),
        (
            [&*runner, &artefact::appended(&artefact[..900])].concat(),
            "E0630",
            "cut off",
            2,
        ),
        (
            [&*runner, &artefact::appended(&foreign)].concat(),
            "E0632",
            "avx99",
            1,
        ),
        (
            [&*runner, &artefact::appended(&artefact)[..5000]].concat(),
            "E0630",
            "no compiled program",
            2,
        ),
    ];
    for (bytes, code, reason, status) in cases {
        let output = says(&bytes, &[]);
        assert_eq!(output.status, status, "{}", output.stderr);
        assert!(
            output.stderr.contains(code) && output.stderr.contains(reason),
            "{}",
            output.stderr
        );
        hold(code, &output.stderr, false);
        let output = says(&bytes, &["--json"]);
        let line: Value = serde_json::from_str(output.stderr.trim()).unwrap();
        assert_eq!(line["code"], code);
    }
    assert_eq!(says(&fs::read(&executable).unwrap(), &[]).status, 0);
    // The command `strip` removes the bundle, so that only the runner remains.
    match Command::new("strip").arg(&other).status() {
        Ok(status) if status.success() => {
            let output = execute(&other, &[]);
            assert_eq!(output.status, 2, "{}", output.stderr);
            assert!(
                output.stderr.contains("E0630") && output.stderr.contains("`strip`"),
                "{}",
                output.stderr
            );
        }
        _ => println!("not tested: what takes `strip`"),
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Runs `bnnc build` in another environment.
fn build_with(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    runtime();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bnnc"));
    command.arg("build").arg(folder.join("curve.bnn")).args(words);
    command.envs(environment.iter().copied()).env("NO_COLOR", "1");
    command.env_remove("BNNC_MLIR_WORKER");
    let output = command.stdin(Stdio::null()).output().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// If the executable would exceed the file size limit, `bnnc build` reports an error and does not
/// crash. A previous file at the path of the executable remains unchanged.
#[test]
#[cfg(target_os = "linux")]
fn files_above_the_size_limit_of_the_shell_are_not_written() {
    let folder = with_program("limit", QUICK);
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        // The shell counts the limit in blocks of 512 bytes.
        command.args([
            "-c",
            "ulimit -f 16; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_bnnc"),
        ]);
        let output = command.args(words).env("NO_COLOR", "1").output().unwrap();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {reported}");
        reported
    };
    runtime();
    let (program, out) = (folder.join("curve.bnn"), folder.join("curve"));
    let [program, out_word] = [&program, &out].map(|path| path.to_str().unwrap());
    for way in ways() {
        let reported = limited(&[&["build", program, "-o", out_word], way].concat());
        assert!(reported.contains("E0637"), "{reported}");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            2,
            "{way:?} left something"
        );
        fs::write(&out, "old").unwrap();
        limited(&[&["build", program, "-o", out_word], way].concat());
        assert_eq!(fs::read_to_string(&out).unwrap(), "old");
        fs::remove_file(&out).unwrap();
    }
    let results = folder.join("results");
    let reported = limited(&["run", program, "--out", results.to_str().unwrap()]);
    assert!(reported.contains("File too large"), "{reported}");
    for file in fs::read_dir(&results).unwrap() {
        let file = file.unwrap().path();
        // Each file is either complete or missing.
        if file.extension().is_some_and(|kind| kind == "json") {
            serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
        }
        assert_ne!(file.file_name().unwrap(), "report.html");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A runtime of another build cannot read the bundle that this compiler writes, so the executable could not run.
#[test]
fn a_runtime_of_another_build_is_rejected() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let folder = with_program("older", QUICK);
    let mut mark: [u8; artefact::mark_bytes(VERSION)] = artefact::mark(VERSION);
    assert_eq!(artefact::layout_of(&mark, VERSION), Some(artefact::LAYOUT));
    let layout = mark.len() - 8;
    mark[layout..].copy_from_slice(&(artefact::LAYOUT - 1).to_le_bytes());
    let (out, older) = (folder.join("curve"), folder.join("older.a"));
    fs::write(&older, mark).unwrap();
    for more in [&[][..], &["--no-linker"]] {
        let words = ["-o", out.to_str().unwrap(), "--runtime", older.to_str().unwrap()];
        let output = build_with(&folder, &[&words, more].concat(), &[]);
        assert_eq!(output.status, 2, "{}", output.stderr);
        let layouts = format!(
            "layout {}, but this bnnc writes layout {}",
            artefact::LAYOUT - 1,
            artefact::LAYOUT
        );
        for word in ["E0635", "another build", &layouts] {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
        assert!(!out.exists());
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The executable must not replace a file of rows, even if the program names the rows by a pattern.
#[test]
fn an_executable_does_not_replace_rows_that_a_pattern_matches() {
    let folder = with_program("pattern", QUICK);
    let program = folder.join("curve.bnn");
    let text = fs::read_to_string(&program).unwrap();
    assert!(text.contains("\"rows.csv\""));
    fs::write(program, text.replace("\"rows.csv\"", "\"row*.csv\"")).unwrap();
    let rows = folder.join("rows.csv");
    let held = fs::read(&rows).unwrap();
    let output = build_with(&folder, &["-o", rows.to_str().unwrap()], &[]);
    assert_eq!(output.status, 2, "{}", output.stderr);
    assert!(output.stderr.contains("E0515"), "{}", output.stderr);
    assert_eq!(fs::read(&rows).unwrap(), held);
    fs::remove_dir_all(folder).unwrap();
}

/// A test case: the arguments, the environment, the code of the diagnostic, and the exit status.
type Rejection<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, u8);

#[test]
fn failed_builds_report_the_reason_and_leave_no_file() {
    let folder = with_program("refused", QUICK);
    let out = folder.join("curve");
    let (out, at) = (out.to_str().unwrap(), folder.to_str().unwrap());
    let program = folder.join("curve.bnn");
    let rows = folder.join("rows.csv");
    let cases: [Rejection<'_>; 13] = [
        (&["-o", out], &[("PATH", "")], "E0634", 2),
        (&["-o", out], &[("CC", "no-such-compiler -m64")], "E0634", 2),
        (&["-o", out], &[("CC", "false")], "E0636", 2),
        (&["-o", out, "--runtime", at], &[], "E0635", 2),
        (&["-o", out, "--no-linker"], &[("BNNC_RUNTIME", at)], "E0635", 2),
        (&["-o", at], &[], "E0637", 3),
        (&["-o", "/no/such/folder/curve"], &[], "E0637", 3),
        (&["-o", program.to_str().unwrap()], &[], "E0515", 2),
        (&["-o", rows.to_str().unwrap()], &[], "E0515", 2),
        (
            &["-o", out, "--no-linker", "--runtime", "/bin/sh"],
            &[],
            "E0635",
            2,
        ),
        (&["-o", out, "--backend", "reference"], &[], "E0638", 2),
        (&["-o", out, "--gpu", "sm_90"], &[], "E0639", 2),
        (
            &["-o", out, "--backend", "mlir", "--gpu", "sm_90"],
            &[],
            "E0639",
            2,
        ),
    ];
    for (words, environment, code, status) in cases {
        let output = build_with(&folder, words, environment);
        assert_eq!(output.status, i32::from(status), "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains(code), "{words:?}: {}", output.stderr);
        let left = fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 2, "{words:?} left something");
    }
    let message = build_with(&folder, &["-o", out], &[("PATH", "")]).stderr;
    assert!(message.contains("--no-linker"), "{message}");
    let message = build_with(&folder, &["-o", out, "--runtime", at], &[]).stderr;
    assert!(
        message.contains("cargo build --release -p bnnc-runner"),
        "{message}"
    );
    for backend in ["mlir", "cuda"] {
        if cfg!(feature = "mlir") {
            break;
        }
        let output = build_with(&folder, &["-o", out, "--backend", backend], &[]);
        assert_eq!(output.status, 2, "{}", output.stderr);
        for word in ["E0602", backend, "--features mlir", "BNNC_MLIR_WORKER"] {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    }
    // The message suggests `--no-linker`, and the build succeeds with this option.
    let output = build_with(&folder, &["-o", out, "--no-linker"], &[("PATH", "")]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert_eq!(execute(Path::new(out), &[]).status, 0);
    fs::remove_dir_all(folder).unwrap();
}
