//! The graph of a KL divergence does not grow with the number of draws. The method of every KL
//! divergence is at least as good as the method in the table.

use super::estimate::{BEST, SUMS, Table, method};
use super::finite;
use super::none;
use super::pairs::Expected;

/// The graph of a KL divergence and its gradient has the same number of nodes for all numbers of
/// draws above one.
#[test]
fn the_number_of_nodes_does_not_depend_on_the_draws() {
    finite(|_, mut subject| {
        let mut nodes = |draws: usize, way| {
            let found = subject.divergence(draws, way).map_err(|rejected| rejected.text)?;
            Ok::<usize, String>(found.gradient_nodes)
        };
        let many = [2, 10, 100, 1000, 1_000_000]
            .into_iter()
            .map(|draws| nodes(draws, SUMS))
            .collect::<Result<Vec<usize>, String>>()?;
        if many.iter().any(|count| *count != many[0]) {
            return Err(format!("the nodes for 2, 10, .. draws are {many:?}"));
        }
        // The graph for one draw does not have an axis of draws, so the test only requires that it
        // does not have more nodes than the graph for several draws.
        let one = nodes(1, SUMS)?;
        if one <= many[0] {
            Ok(())
        } else {
            Err(format!("one draw has {one} nodes, many have {}", many[0]))
        }
    });
}

/// The method of every pair is at least as good as the method in the table.
#[test]
fn methods_are_the_best_known() {
    finite(|pair, mut subject| {
        let found = subject.divergence(10, BEST).map_err(|rejected| rejected.text)?;
        let Expected::Finite(least) = pair.expected else {
            return Ok(());
        };
        if method(&found) <= least {
            Ok(())
        } else {
            Err(format!("expected {least:?} or better: {}", found.reports[0].kl))
        }
    });
}

/// An infinite KL divergence is an error, and its message states that the divergence is infinite.
#[test]
fn infinite_divergences_are_errors() {
    let table = Table::new();
    let mut faults = Vec::new();
    let mut count = 0;
    for (pair, subject) in table.subjects() {
        if matches!(pair.expected, Expected::Finite(_)) {
            continue;
        }
        count += 1;
        let rejected = match subject.and_then(|mut subject| subject.divergence(10, BEST)) {
            Ok(found) => {
                faults.push(format!("{}: not rejected, {}", pair.label(), found.reports[0].kl));
                continue;
            }
            Err(rejected) => rejected,
        };
        if rejected.code != "E0302" {
            faults.push(format!("{}: {} {}", pair.label(), rejected.code, rejected.text));
        }
    }
    none(&faults, count);
}
