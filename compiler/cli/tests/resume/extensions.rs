//! Tests which runs can be continued, and which can be extended by more draws.

use crate::support::{Output, numbers, run};
use crate::{PROGRAM, arguments, assert_same, workshop};
use std::fs;
use std::path::Path;

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
