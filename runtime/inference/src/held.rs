//! Parameters that an approximation moves to a value and gives no spread.

use bnnc_abi::manifest::State;
use bnnc_base::shape::Sizes;

/// Parameters that have the value of a maximum in all draws.
#[derive(Clone, Debug, Default)]
pub struct Held<'a> {
    /// States whose every number is held.
    pub states: Vec<&'a State>,
    /// Weights that are held because they are outside a subnetwork.
    pub outside: usize,
}

/// Sites that are named one by one.
const NAMED: usize = 3;

impl Held<'_> {
    /// How many numbers they are.
    pub fn count(&self) -> usize {
        let elements = |state: &&State| state.shape.count(&Sizes::default());
        self.states.iter().map(elements).sum::<usize>() + self.outside
    }

    /// Their names, in words.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = self
            .states
            .iter()
            .take(NAMED)
            .map(|state| format!("`{}`", site_of(state)))
            .collect();
        if self.states.len() > NAMED {
            names.push(format!("{} more", self.states.len() - NAMED));
        }
        if self.outside > 0 {
            names.push("the weights outside the subnetwork".to_owned());
        }
        names.join(", ")
    }
}

/// The site that a state is of: `hidden.w` of `hidden.w/loc`.
pub fn site_of(state: &State) -> &str {
    state.name.rsplit_once('/').map_or(&*state.name, |(site, _)| site)
}
