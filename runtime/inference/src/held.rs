//! Parameters that have only a point estimate in an approximation, without uncertainty.

use bnnc_abi::manifest::State;
use bnnc_base::shape::Sizes;
use bnnc_core::states::site_of;

/// Parameters that have the same value in all draws. This value is their value at a maximum.
#[derive(Clone, Debug, Default)]
pub struct FixedParameters<'a> {
    /// The states whose elements are all fixed.
    pub states: Vec<&'a State>,
    /// The number of weights that are fixed because they are outside a subnetwork.
    pub outside: usize,
}

/// Messages list at most this number of sites by name.
const NAMED: usize = 3;

impl FixedParameters<'_> {
    /// Returns the number of fixed parameters.
    pub fn count(&self) -> usize {
        let elements = |state: &&State| state.shape.count(&Sizes::default());
        self.states.iter().map(elements).sum::<usize>() + self.outside
    }

    /// Returns the names of the fixed parameters, as text for a message.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = self
            .states
            .iter()
            .take(NAMED)
            .map(|state| format!("`{}`", site_of(&state.name)))
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
