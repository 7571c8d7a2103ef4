//! The states of an inference block. These are the parameters and the state of the optimiser. A state has a
//! start value, and another value after training.

use bnnc_abi::manifest::{Init, State};
use bnnc_base::shape::Sizes;
use bnnc_math::philox;
use std::collections::HashMap;
use std::sync::Arc;

/// The values of states, by the name of the state.
pub type StateValues = HashMap<String, Vec<f64>>;

/// Returns the start value of every state. A random start value depends only on the seed and the
/// name of the state.
pub fn start(states: &[State], seed: u64, earlier: &HashMap<String, Arc<StateValues>>) -> StateValues {
    let one = |state: &State| {
        let start = taken(state, earlier).map_or_else(|| initial(state, seed), <[f64]>::to_vec);
        (state.name.clone(), start)
    };
    states.iter().map(one).collect()
}

/// Returns the name of the site that a state belongs to, for example `hidden.w` for `hidden.w/loc`. A running mean does not belong to a site. For a
/// running mean, returns the name of the state, which differs from the names of all sites.
pub fn site_of(state: &str) -> &str {
    state.rsplit_once('/').map_or(state, |(site, _)| site)
}

/// Returns the values that a state takes from an earlier inference block. Returns `None` if the state does not take values, or if the earlier block
/// does not have a state with this name and size. The second case can occur for running means.
pub fn taken<'e>(state: &State, earlier: &'e HashMap<String, Arc<StateValues>>) -> Option<&'e [f64]> {
    let (infer, name) = state.from.as_ref()?;
    let values = earlier.get(infer)?.get(name)?;
    (values.len() == state.shape.count(&Sizes::default())).then_some(values)
}

fn initial(state: &State, seed: u64) -> Vec<f64> {
    let count = state.shape.count(&Sizes::default());
    let key = philox::key(seed, &format!("start/{}", state.name));
    let at = |element: usize| element as u64;
    match &state.init {
        Init::Constant(value) => vec![*value; count],
        Init::Values(values) => values.clone(),
        Init::Uniform(low, high) => (0..count)
            .map(|i| low + (high - low) * philox::uniform(key, [0, 0, 0], at(i)))
            .collect(),
        Init::Normal(mean, sd) => (0..count)
            .map(|i| mean + sd * philox::normal(key, [0, 0, 0], at(i)))
            .collect(),
    }
}
