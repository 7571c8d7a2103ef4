//! Compares the results of executables with those of `bnnc run`.

use crate::support::rendered::hold;
use crate::support::{self, run};
use crate::{QUICK, adjustable, both, built, command, execute, result, rows, ways, with_program};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    assert!(unknown.stderr.contains("E0260") && unknown.stderr.contains("`rows`"));
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
