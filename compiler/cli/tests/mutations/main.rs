//! Runs `bnnc` on random mutants of programs, data files, run folders and executables. A command on
//! a mutant must not panic, abort, hang or use too much memory.
//!
//! A developer starts this test by hand, possibly with a release binary:
//! `BNNC_MUTATIONS_SECONDS=1200 BNNC_MUTATIONS_SEED=7 BNNC_MUTATIONS_BINARY=target/release/bnnc
//! cargo test -p bnnc --test mutations -- --ignored --nocapture`. `BNNC_MUTATIONS_KEEP=DIR` keeps
//! the mutants that failed. `BNNC_MUTATIONS_ONLY=data,programs` selects the kinds of mutants.

mod corpus;
mod mutate;
mod subject;

use mutate::Random;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use subject::{End, Kind, Subject};

fn setting(name: &str) -> Option<String> {
    env::var(format!("BNNC_MUTATIONS_{name}")).ok()
}

fn number(name: &str, default: u64) -> u64 {
    setting(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A summary of the results for all mutants of one kind.
#[derive(Default)]
struct Tally {
    count: u64,
    /// The number of mutants for each exit status.
    statuses: BTreeMap<i32, u64>,
    /// For each kind of failure: the number of mutants that failed in this way, and the index of
    /// the first of these mutants.
    failures: BTreeMap<String, (u64, u64)>,
}

#[test]
#[ignore = "runs for as long as asked for"]
fn mutants_end_with_a_status_and_in_bounds() {
    let seed = number("SEED", 1);
    let chosen = setting("ONLY");
    let folder = setting("KEEP").map_or_else(env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("bnnc-mutations-{}", std::process::id()));
    let binary = setting("BINARY").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_bnnc")), PathBuf::from);
    let binary = binary.canonicalize().expect("the binary exists");
    let is_chosen = |kind: &Kind| chosen.as_ref().is_none_or(|names| names.contains(kind.name()));
    let subjects: Vec<Subject> = Kind::ALL
        .into_iter()
        .filter(is_chosen)
        .filter_map(|kind| Subject::prepare(kind, &binary, &folder))
        .collect();
    assert!(!subjects.is_empty(), "nothing to mutate");
    let end = Instant::now() + Duration::from_secs(number("SECONDS", 60));
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut mutant = number("FIRST", 0);
    while Instant::now() < end {
        let subject = &subjects[(mutant % subjects.len() as u64) as usize];
        let mut random = Random::new(seed, mutant);
        let tally = tallies.entry(subject.kind.name()).or_default();
        tally.count += 1;
        match subject.run(&mut random) {
            End::Status(status) => *tally.statuses.entry(status).or_default() += 1,
            End::Failure(what) => {
                let known = tally.failures.entry(what.clone()).or_insert((0, mutant));
                known.0 += 1;
                if known.0 == 1 {
                    println!("{} {mutant} of seed {seed}: {what}", subject.kind.name());
                    subject.keep(mutant);
                }
            }
        }
        mutant += 1;
    }
    let mut failed = 0;
    for (kind, tally) in &tallies {
        println!("{kind}: {} mutants, statuses {:?}", tally.count, tally.statuses);
        for (what, (count, first)) in &tally.failures {
            println!("  {count} x {what} (first {first})");
            failed += count;
        }
    }
    assert_eq!(
        failed,
        0,
        "mutants of seed {seed} that fail, kept in {}",
        folder.display()
    );
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
