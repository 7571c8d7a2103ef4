//! The samplers by the transition that they make.

use crate::hmc::hmc;
use crate::metropolis::{mala, random_walk};
use crate::noise::Noise;
use crate::nuts::nuts;
use crate::penalty::PenaltyMethod;
use crate::seam::Sampler;
use crate::stochastic_gradient::{sghmc, sgld};
use bnnc_abi::sampling::Transition;

/// What a sampler starts from.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The transition and its options.
    pub transition: &'a Transition,
    /// Where the chain starts; its length is the dimension.
    pub start: &'a [f64],
    /// The rows of each shard of the data, in order.
    pub shards: &'a [usize],
    /// Iterations of warm-up.
    pub warmup: usize,
    /// Iterations after it.
    pub draws: usize,
    /// What the log likelihood is divided by: 1 is the posterior.
    pub temperature: f64,
    /// The random numbers of the chain.
    pub noise: Noise,
}

impl Setup<'_> {
    /// All rows.
    pub fn rows(&self) -> usize {
        self.shards.iter().sum()
    }
}

/// A sampler, ready for its first [`crate::seam::Answer::Go`].
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
