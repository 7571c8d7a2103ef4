//! Creates the sampler for each transition.

use crate::hmc::hmc;
use crate::metropolis::{mala, random_walk};
use crate::noise::ChainNoise;
use crate::nuts::nuts;
use crate::penalty::PenaltyMethod;
use crate::seam::Sampler;
use crate::stochastic_gradient::{sghmc, sgld};
use bnnc_abi::sampling::Transition;

/// The arguments of every sampler's constructor.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The transition and its options.
    pub transition: &'a Transition,
    /// The start of the chain. Its length is the number of dimensions.
    pub start: &'a [f64],
    /// The number of rows in each shard of the data, in the order of the shards.
    pub shards: &'a [usize],
    /// The number of iterations in the warm-up.
    pub warmup: usize,
    /// The number of iterations after the warm-up.
    pub draws: usize,
    /// The divisor of the log likelihood. With 1, the target is the posterior.
    pub temperature: f64,
    /// The random numbers of the chain.
    pub noise: ChainNoise,
}

impl Setup<'_> {
    /// Returns the number of rows in all shards.
    pub fn rows(&self) -> usize {
        self.shards.iter().sum()
    }
}

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
