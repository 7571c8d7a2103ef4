//! Tests of the KL divergence for every pair of a family and a prior. The tests check the method,
//! the size of the graph, and the distribution of the estimate. Values and gradients are compared
//! with the plain sum over the same noise. Expectations are compared with quadrature.
#![allow(clippy::unwrap_used)]

mod estimate;
mod expectation;
mod integral;
mod known;
mod laws;
mod nodes;
mod pairs;
mod pairwise;
#[path = "../library/quadrature.rs"]
mod quadrature;
mod same_law;
mod same_noise;
mod special;
mod table;

use estimate::{Subject, Table};
use pairs::{Expected, Pair};

/// Runs a check for every pair whose KL divergence should be finite. A failure names the pair.
fn finite(check: impl Fn(&Pair, Subject<'_>) -> Result<(), String>) {
    let table = Table::new();
    let mut faults = Vec::new();
    let mut count = 0;
    for (pair, subject) in table.subjects() {
        if !matches!(pair.expected, Expected::Finite(_)) {
            continue;
        }
        count += 1;
        let result = subject
            .map_err(|rejected| rejected.text)
            .and_then(|subject| check(&pair, subject));
        faults.extend(result.err().map(|fault| format!("{}: {fault}", pair.label())));
    }
    none(&faults, count);
}

fn none(faults: &[String], count: usize) {
    assert!(
        faults.is_empty(),
        "{} of {count}:\n{}\n",
        faults.len(),
        faults.join("\n")
    );
}
