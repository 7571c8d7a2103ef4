//! Tests the agents of `examples/bandit`. The regret of Thompson sampling levels off.

#[path = "../../../examples/bandit/mushrooms.rs"]
mod mushrooms;
#[path = "../../../examples/bandit/play.rs"]
mod play;

use bnnc_core::context::Context;
use bnnc_kernels::pool::Pool;
use mushrooms::{ATTRIBUTES, COLUMNS, Forest};
use play::{Policy, Settings, compiled, regrets};
use std::sync::Arc;

fn context(seed: u64) -> Context {
    Context::new(Arc::new(Pool::new(2)), seed)
}

/// Returns the regret per play over the last quarter of the plays.
fn last_quarter(sums: &[f64]) -> f64 {
    let from = sums.len() * 3 / 4;
    (sums[sums.len() - 1] - sums[from - 1]) / (sums.len() - from) as f64
}

fn curve(policy: Policy, settings: Settings, seed: u64) -> Vec<f64> {
    let manifest = match compiled(seed) {
        Ok(manifest) => manifest,
        Err(why) => panic!("{why}"),
    };
    match regrets(&manifest, policy, settings, &context(seed)) {
        Ok(sums) => sums,
        Err(stop) => panic!("{stop:?}"),
    }
}

/// A random choice is wrong half of the time. Not eating an edible mushroom has a regret of 5, and
/// eating a poisonous mushroom has a mean regret of 15. The two mistakes are equally frequent, so
/// the mean regret is 5 per play.
#[test]
fn random_choices_have_the_expected_regret() {
    // A greedy agent that always explores also chooses at random.
    for (policy, plays) in [(Policy::Uniform, 20_000), (Policy::Greedy(1.0), 2000)] {
        let sums = curve(policy, Settings { plays, steps: 0 }, 1);
        // The squared regret of a play has the mean (25 + 225) / 4 = 62.5. The mean regret is 5, so
        // the variance is 62.5 - 25 = 37.5. The bound is five standard errors.
        let bound = 5.0 * (37.5 / plays as f64).sqrt();
        let mean = sums[plays - 1] / plays as f64;
        assert!((mean - 5.0).abs() < bound, "{policy:?}: {mean}");
    }
}

#[test]
fn mushrooms_have_one_value_of_each_attribute() {
    assert_eq!(ATTRIBUTES.iter().sum::<usize>(), COLUMNS);
    let forest = Forest::new(3);
    for play in 0..100 {
        let columns = forest.mushroom(play).columns;
        let mut start = 0;
        for count in ATTRIBUTES {
            assert_eq!(columns[start..start + count].iter().sum::<f64>(), 1.0);
            start += count;
        }
        assert_eq!(columns.len(), start);
    }
}

/// The late regret per play is below 1.25. An agent that eats nothing has a regret of 2.5 per play,
/// and random choices have a regret of 5 per play.
#[test]
fn the_regret_of_thompson_sampling_falls() {
    let settings = Settings {
        plays: 1000,
        steps: 16,
    };
    let sums = curve(Policy::Thompson, settings, 1);
    let late = last_quarter(&sums);
    assert!(late < 1.25, "{late} per play");
    assert!(
        sums[249] > 2.0 * 250.0 * late,
        "{} and then {late} per play",
        sums[249]
    );
}

/// Two runs with the same seed are identical.
#[test]
fn plays_are_reproducible() {
    let settings = Settings { plays: 40, steps: 4 };
    let first = curve(Policy::Thompson, settings, 5);
    assert_eq!(first, curve(Policy::Thompson, settings, 5));
    assert_ne!(first, curve(Policy::Thompson, settings, 6));
}
