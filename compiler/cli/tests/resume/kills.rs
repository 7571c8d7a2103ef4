//! Tests runs that are killed at random moments.

use crate::support::kill_after;
use crate::{assert_kills_of, assert_same, finish, start, undisturbed, workshop};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

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
