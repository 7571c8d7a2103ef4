//! Tests training that is interrupted or killed, and resumed.

use super::planes;
use crate::support::trial::Trial;
use crate::support::{numbers, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A network to which `dropout` can apply masks.
const NET: &str = "
use layers::Dense

model Net(x: real[d]) -> y: real {
  hidden = Dense(4)
  last   = Dense(1)
  y ~ Normal(last(relu(hidden(x)))[0], 1)
}
";

/// One inference for every method that trains. Each inference runs long enough to be interrupted.
const METHODS: &str = "
infer mode = map(Plane, rows) { steps = 16000, restarts = 2 }
infer fit = vi(Wide, rows) { steps = 32000, batch = 16 }
infer several = ensemble(Plane, rows) { steps = 16000, members = 2 }
infer averaged = swag(Plane, rows) { steps = 32000 }
infer masked = dropout(Net, rows) { steps = 16000 }
infer around = laplace(Plane, rows) { steps = 24000, precision = f32 }
infer tuned = laplace(Net, rows) { steps = 16000, online = true }
infer boxes = collapsed(Net, rows) { steps = 16000 }
";

fn spawn(trial: &Trial, how: &str, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("run")
        .arg(trial.path("program.bnn"))
        .args(["--threads", "1", how])
        .arg(out)
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

/// Returns the path of the file with the state of a training run in progress.
fn under_way(out: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(out.join("checkpoint")).ok()?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| path.extension().is_some_and(|extension| extension == "training"))
}

/// Waits until a run has written the state of a training run to a path that is not in `met`.
/// Returns this path, or `None` if the run ends first or a minute passes.
fn wait_for_training(child: &mut Child, out: &Path, met: &[PathBuf]) -> Option<PathBuf> {
    let clock = Instant::now();
    while clock.elapsed() < Duration::from_secs(60) {
        if let Some(path) = under_way(out)
            && !met.contains(&path)
        {
            return Some(path);
        }
        if child.try_wait().expect("the child is known").is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn killed_trainings_of_every_method_are_resumed_to_the_same_bytes() {
    let (trial, _) = planes(&format!(
        "{NET}
         {METHODS}"
    ));
    let whole = trial.path("whole");
    assert!(spawn(&trial, "--out", &whole).wait().expect("it ends").success());
    let expected = numbers(&whole);
    let mut met = Vec::new();
    // On a busy machine, a training run may end before the test finds its state. The test then
    // repeats the whole run.
    for _ in 0..20 {
        let out = trial.path("killed");
        kill_each_training(&trial, &out, &mut met);
        let found = numbers(&out);
        assert!(
            expected.keys().eq(found.keys()),
            "{:?} {:?}",
            expected.keys(),
            found.keys()
        );
        for (name, bytes) in &expected {
            assert!(*bytes == found[name], "{name} differs after {met:?}");
        }
        fs::remove_dir_all(&out).expect("the folder is removed");
        if met.len() >= 8 {
            break;
        }
    }
    assert!(met.len() >= 8, "{met:?}");
}

/// Runs the program, and kills it once during each training run, after the first state is written.
/// Resumes the program after each kill until it ends.
fn kill_each_training(trial: &Trial, out: &Path, met: &mut Vec<PathBuf>) {
    let mut how = "--out";
    loop {
        let mut child = spawn(trial, how, out);
        let Some(path) = wait_for_training(&mut child, out, met) else {
            assert!(child.wait().expect("it ends").success());
            return;
        };
        // The delay varies, so that kills occur at different moments during or after the training
        // run.
        std::thread::sleep(Duration::from_millis(7 * (met.len() as u64 % 5)));
        child.kill().expect("the child can be killed");
        child.wait().expect("it ends");
        met.push(path);
        how = "--resume";
    }
}

#[test]
fn an_absurd_number_of_epochs_runs_until_it_is_interrupted() {
    let (trial, _) = planes("infer best = map(Plane, rows) { epochs = 1000000000000 }");
    let out = trial.path("out");
    let mut child = spawn(&trial, "--out", &out);
    let path = wait_for_training(&mut child, &out, &[]);
    assert!(path.is_some(), "{:?}", child.try_wait());
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    // The run must continue instead of starting again. In this program, an epoch is one step.
    let before = fs::read(out.join("result.json")).expect("a result");
    let before: Value = serde_json::from_slice(&before).expect("JSON");
    let steps = |result: &Value| {
        result["infer"]["best"]["diagnostics"]["steps"]
            .as_u64()
            .unwrap_or(0)
    };
    let mut child = spawn(&trial, "--resume", &out);
    // The signal is sent repeatedly, because a process that starts with signals ignored loses every signal that arrives
    // before `bnnc` installs its handler.
    while child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(300));
        let id = child.id().to_string();
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .expect("kill runs");
    }
    let after = fs::read(out.join("result.json")).expect("a result");
    let after: Value = serde_json::from_slice(&after).expect("JSON");
    assert!(steps(&after) >= steps(&before) && steps(&before) > 0);
}

/// Inferences that take years. Each of them saves its state in one file.
const ENDLESS: [&str; 6] = [
    "map(Plane, rows) { epochs = 1000000000 }",
    "vi(Wide, rows) { epochs = 1000000000 }",
    "swag(Plane, rows) { epochs = 1000000000 }",
    "ensemble(Plane, rows) { epochs = 1000000000, members = 2 }",
    "dropout(Net, rows) { epochs = 1000000000 }",
    "nuts(Plane, rows) { chains = 1, warmup = 100, draws = 1000000 }",
];

/// The number of times a run saves its state before it is killed.
const SAVES: usize = 5;

/// The part of a file with a saved state that has not been read yet. After a magic number and a checksum of eight bytes
/// each, the file has the format of `postcard`: lengths and counts have seven bits per byte, the lowest
/// first, and all bytes except the last have the highest bit set.
struct Saved<'a>(&'a [u8]);

impl Saved<'_> {
    fn count(&mut self) -> u64 {
        let last = self.0.iter().position(|byte| *byte < 0x80).expect("a last byte");
        let (digits, rest) = self.0.split_at(last + 1);
        self.0 = rest;
        let digits = digits.iter().rev();
        digits.fold(0, |count, byte| (count << 7) | u64::from(byte & 0x7f))
    }

    /// Skips an array of numbers of eight bytes.
    fn array(&mut self) {
        let length = 8 * self.count() as usize;
        self.0 = &self.0[length..];
    }
}

/// Returns the number of steps of a training, or the number of iterations of a chain, and the bytes
/// of the file that saves this state. Returns `None` before a state is saved.
fn saved_steps(out: &Path) -> Option<(u64, Vec<u8>)> {
    let is_state = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "training" || end == "chain")
    };
    let files = fs::read_dir(out.join("checkpoint")).ok()?;
    let path = files.filter_map(|file| Some(file.ok()?.path())).find(is_state)?;
    let bytes = fs::read(&path).ok()?;
    let mut saved = Saved(&bytes[16..]);
    if path.extension().is_some_and(|end| end == "training") {
        // The values of all states, and the number of steps.
        (0..saved.count()).for_each(|_| saved.array());
        return Some((saved.count(), bytes));
    }
    // The two lengths of a record, the number of records, and the number of iterations.
    let [_, _, _, iterations] = [(); 4].map(|()| saved.count());
    Some((iterations, bytes))
}

/// Runs the program until it has saved a state `saves` times, and kills it. Returns the number of
/// steps in the last state.
fn killed_after(trial: &Trial, how: &str, out: &Path, saves: usize) -> u64 {
    let mut last = saved_steps(out);
    let mut child = spawn(trial, how, out);
    let clock = Instant::now();
    let mut count = 0;
    while count < saves {
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "{count} saves in a minute"
        );
        assert!(child.try_wait().expect("the child is known").is_none());
        std::thread::sleep(Duration::from_millis(1));
        let found = saved_steps(out);
        if found.is_some() && found != last {
            (count, last) = (count + 1, found);
        }
    }
    child.kill().expect("the child can be killed");
    child.wait().expect("it ends");
    saved_steps(out).map_or(0, |(steps, _)| steps)
}

/// The first state is saved after 10 ms of a training or 50 ms of a chain, and each later interval
/// is twice as long. The last of five states therefore has many more steps than the first state of a
/// run that starts again.
#[test]
fn resumed_runs_continue_from_the_step_of_the_last_state() {
    for infer in ENDLESS {
        let (trial, _) = planes(&format!(
            "{NET}
infer one = {infer}"
        ));
        let out = trial.path("out");
        let before = killed_after(&trial, "--out", &out, SAVES);
        let after = killed_after(&trial, "--resume", &out, 1);
        assert!(after > before, "{infer}: {before}, then {after}");
        // If the run had started again, its state would have advanced by as many steps as the first run took.
        assert!(after < 2 * before, "{infer}: {before}, then {after}");
    }
}
