//! Creates the sampler for each transition.

use crate::hmc::hmc;
use crate::metropolis::{mala, random_walk};
use crate::nuts::nuts;
use crate::penalty::PenaltyMethod;
use crate::seam::Sampler;
use crate::setup::Setup;
use crate::stochastic_gradient::{sghmc, sgld};
use bnnc_abi::sampling::Transition;

/// Creates a sampler. Its first answer must be [`crate::seam::Answer::Go`].
pub fn sampler(setup: &Setup<'_>) -> Box<dyn Sampler> {
    match setup.transition {
        Transition::Hmc(options) => Box::new(hmc(setup, options)),
        Transition::Mala(options) => Box::new(mala(setup, options)),
        Transition::Nuts(options) => Box::new(nuts(setup, options)),
        Transition::Penalty(options) => Box::new(PenaltyMethod::new(setup, options)),
        Transition::RandomWalk(options) => Box::new(random_walk(setup, options)),
        Transition::Sghmc(options) => Box::new(sghmc(setup, options)),
        Transition::Sgld(options) => Box::new(sgld(setup, options)),
    }
}
