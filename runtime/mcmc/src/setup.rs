//! The arguments from which every sampler is created.

use crate::noise::ChainNoise;
use bnnc_abi::methods::sampling::Transition;

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
