//! The registry of the samplers, one module each.

pub mod hmc;
pub mod metropolis;
pub mod nuts;
pub mod penalty;
pub mod stochastic_gradient;

use crate::seam::Sampler;
use crate::setup::Setup;
use bnnc_abi::methods::sampling::Transition;

/// Creates a sampler. Its first answer must be [`crate::seam::Answer::Go`].
pub fn sampler(setup: &Setup<'_>) -> Box<dyn Sampler> {
    match setup.transition {
        Transition::Hmc(options) => Box::new(hmc::hmc(setup, options)),
        Transition::Mala(options) => Box::new(metropolis::mala(setup, options)),
        Transition::Nuts(options) => Box::new(nuts::nuts(setup, options)),
        Transition::Penalty(options) => Box::new(penalty::PenaltyMethod::new(setup, options)),
        Transition::RandomWalk(options) => Box::new(metropolis::random_walk(setup, options)),
        Transition::Sghmc(options) => Box::new(stochastic_gradient::sghmc(setup, options)),
        Transition::Sgld(options) => Box::new(stochastic_gradient::sgld(setup, options)),
    }
}
