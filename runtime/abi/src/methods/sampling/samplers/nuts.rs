//! The no-U-turn sampler.

use super::{SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::options;
use crate::method::options::listed;
use crate::method::{MethodDef, OptionKind, Phase};
use crate::methods::sampling::{Adaptation, ChainOptions};

/// The record of `nuts`.
pub(crate) const RECORD: MethodDef = sampler(
    "nuts",
    "The no-U-turn sampler.",
    SamplerKind::Nuts,
    listed![ChainOptions, NutsOptions],
);

options! {
    /// Options of the no-U-turn sampler.
    #[derive(Copy)]
    pub struct NutsOptions {
        /// The largest number of doublings of a trajectory.
        max_depth: usize { "10", OptionKind::Int(1, 30), Phase::Run, &["max_tree_depth", "max_treedepth"] };
        ..adaptation: Adaptation;
    }
}

impl SamplerPart for NutsOptions {
    fn adaptation(&self) -> Option<&Adaptation> {
        Some(&self.adaptation)
    }

    fn adaptation_mut(&mut self) -> Option<&mut Adaptation> {
        Some(&mut self.adaptation)
    }

    fn has_trajectories(&self) -> bool {
        true
    }

    fn max_depth(&self) -> Option<usize> {
        Some(self.max_depth)
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        let max_depth = format!("max_depth = {}", self.max_depth);
        stan::hamiltonian("nuts", vec![(5, "nuts".into()), (6, max_depth)], &self.adaptation)
    }
}
