//! Static Hamiltonian Monte Carlo.

use super::{SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::options;
use crate::method::options::{from, listed};
use crate::method::{MethodDef, Phase};
use crate::methods::sampling::{Adaptation, ChainOptions};

/// The record of `hmc`.
pub(crate) const RECORD: MethodDef = sampler(
    "hmc",
    "Static Hamiltonian Monte Carlo.",
    SamplerKind::Hmc,
    listed![ChainOptions, HmcOptions],
);

options! {
    /// Options of static Hamiltonian Monte Carlo.
    #[derive(Copy)]
    pub struct HmcOptions {
        /// Leapfrog steps per iteration.
        steps: usize { "16", from(1), Phase::Run };
        ..adaptation: Adaptation;
    }
}

impl SamplerPart for HmcOptions {
    fn adaptation(&self) -> Option<&Adaptation> {
        Some(&self.adaptation)
    }

    fn adaptation_mut(&mut self) -> Option<&mut Adaptation> {
        Some(&mut self.adaptation)
    }

    fn has_trajectories(&self) -> bool {
        true
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        let steps = format!("steps = {}", self.steps);
        stan::hamiltonian("static", vec![(5, "static".into()), (6, steps)], &self.adaptation)
    }
}
