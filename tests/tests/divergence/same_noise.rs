//! Estimates from averages over noise agree with the plain mean over the same draws. The plain mean
//! is computed by pairwise summation.

use super::estimate::{DIRECT, Rejection, SUMS, Subject, Table, inputs, states};
use super::finite;
use super::pairs::{self, Pair};
use super::pairwise::{Summed, evaluate};
use bnnc_core::states::StateValues;
use std::collections::HashMap;

/// Returns the values in `found` that differ too much from the values in `expected`. The allowed
/// difference is `tolerance` times the magnitude of the summed terms, plus four times the
/// difference between `shifted` and `expected`. `shifted` was computed from parameters whose last
/// bits were changed.
fn far(
    found: &StateValues,
    expected: &HashMap<String, Summed>,
    shifted: &HashMap<String, Summed>,
    tolerance: f64,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, expected) in expected {
        let values = expected.values.iter().zip(&shifted[name].values);
        for (at, (found, (value, shifted))) in found[name].iter().zip(values).enumerate() {
            let error = (found - value).abs();
            let is_near = error <= tolerance * expected.magnitude.max(1.0) + 4.0 * (shifted - value).abs();
            if !is_near {
                let relative = error / expected.magnitude;
                faults.push(format!("{name}[{at}] is {found}, not {value}: {relative:e}"));
            }
        }
    }
    faults
}

/// Changes the last bits of all parameters.
fn shift(states: &StateValues) -> StateValues {
    let shifted = |values: &Vec<f64>| values.iter().map(|x| x * (1.0 + 4.0 * f64::EPSILON)).collect();
    let shifted = states
        .iter()
        .map(|(name, values)| (name.clone(), shifted(values)));
    shifted.collect()
}

/// Compares the value and the gradient of a KL divergence for this number of draws on one backend.
fn compare(subject: &mut Subject<'_>, (draws, tolerance): (usize, f64), backend: &str) -> Result<(), String> {
    let text = |rejected: Rejection| rejected.text;
    let direct = subject.divergence(draws, DIRECT).map_err(text)?;
    let sums = subject.divergence(draws, SUMS).map_err(text)?;
    let states = states(&direct);
    let reference = |states: &StateValues| evaluate(&direct.gradient, &inputs(states, 3), draws, None);
    let expected = reference(&states);
    let found = subject.machine(&sums, draws, backend).at(&states, 3);
    let mut faults = far(&found, &expected, &expected, tolerance);
    if !faults.is_empty() {
        // A density with a sharp peak may change a lot from one floating-point number to the next.
        faults = far(&found, &expected, &reference(&shift(&states)), tolerance);
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("{draws} draws: {}", faults.join(", ")))
    }
}

#[test]
fn sums_match_the_plain_mean_for_few_draws() {
    finite(|_, mut subject| {
        for draws in [1, 2, 10, 100] {
            compare(&mut subject, (draws, 1e-12), "reference")?;
        }
        Ok(())
    });
}

#[test]
fn sums_match_the_plain_mean_for_a_thousand_draws() {
    finite(|_, mut subject| compare(&mut subject, (1000, 1e-12), "cranelift"));
}

/// The comparison in this file detects results from different noise. A comparison that
/// accepts any noise would show nothing.
#[test]
fn other_noise_is_distinguished() {
    let known = |pair: &Pair| pair.label() == "Normal || Normal";
    let table = Table::of("", pairs::all().into_iter().filter(known).collect());
    for (_, subject) in table.subjects() {
        let mut subject = subject.unwrap();
        let direct = subject.divergence(10, DIRECT).unwrap();
        let states = states(&direct);
        let expected = evaluate(&direct.gradient, &inputs(&states, 3), 10, None);
        let mut machine = subject.machine(&direct, 10, "reference");
        assert!(far(&machine.at(&states, 3), &expected, &expected, 1e-12).is_empty());
        assert!(!far(&machine.at(&states, 4), &expected, &expected, 1e-12).is_empty());
    }
}

#[test]
#[ignore = "minutes; run by name"]
fn sums_match_the_plain_mean_for_a_million_draws() {
    finite(|_, mut subject| compare(&mut subject, (1_000_000, 1e-10), "cranelift"));
}
