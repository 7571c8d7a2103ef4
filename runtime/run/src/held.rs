//! Parameters that an approximation moves to a value and gives no spread.

use crate::laplace::others;
use bnnc_abi::laplace::{Laplace, Over};
use bnnc_abi::manifest::{Infer, State, Work};
use bnnc_base::shape::Sizes;

/// Parameters that have the value of a maximum in all draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Their names, in words.
    pub names: String,
    /// How many numbers they are.
    pub count: usize,
}

/// Sites that are named one by one.
const NAMED: usize = 3;

/// The parameters that an approximation fits to the rows without a spread; none where it is no approximation, or all of them have one.
pub fn held(infer: &Infer) -> Option<Held> {
    let states = infer.states.iter().filter(|state| state.parameter);
    let points: Vec<&State> = match &infer.work {
        Work::Laplace(laplace) => states
            .filter(|state| others::is_other(laplace, &state.name))
            .collect(),
        Work::Train(_) => states.filter(|state| is_moved_point(infer, state)).collect(),
        Work::Sample(_) | Work::Swag(_) | Work::Ensemble(_) | Work::Collapsed(_) => Vec::new(),
    };
    let left = infer.laplace().map_or(0, outside);
    let elements = |state: &&State| state.shape.count(&Sizes::default());
    let count = points.iter().map(elements).sum::<usize>() + left;
    let mut names: Vec<String> = points
        .iter()
        .take(NAMED)
        .map(|state| format!("`{}`", site(state)))
        .collect();
    if points.len() > NAMED {
        names.push(format!("{} more", points.len() - NAMED));
    }
    if left > 0 {
        names.push("the weights outside the subnetwork".to_owned());
    }
    (count > 0).then(|| Held {
        names: names.join(", "),
        count,
    })
}

fn site(state: &State) -> &str {
    state.name.rsplit_once('/').map_or(&*state.name, |(site, _)| site)
}

/// Weights that are outside a subnetwork.
fn outside(laplace: &Laplace) -> usize {
    let all: usize = laplace.weights.iter().map(|weights| weights.elements).sum();
    match laplace.options.over {
        Over::All => 0,
        Over::Subnetwork { size, .. } if size < 1.0 => all - (size * all as f64).round() as usize,
        Over::Subnetwork { size, .. } => all.saturating_sub(size as usize),
    }
}

/// Whether a state is the value of a site that an optimiser moves: it remembers something of it.
fn is_moved_point(infer: &Infer, state: &State) -> bool {
    let is_point = infer
        .reports
        .iter()
        .any(|report| report.is_point && report.name == site(state));
    let own = format!("{}/", state.name);
    let mut others = infer.states.iter();
    is_point && others.any(|other| !other.parameter && other.name.starts_with(&own))
}
