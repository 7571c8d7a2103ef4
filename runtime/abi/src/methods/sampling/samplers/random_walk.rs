//! Random-walk Metropolis.

use super::{SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::{Mismatch, OptionField, OptionGroup, OptionSource};
use crate::method::options::listed;
use crate::method::{MethodDef, OptionDef};
use crate::methods::sampling::{Adaptation, ChainOptions};
use serde::{Deserialize, Serialize};

/// The record of `random_walk`.
pub(crate) const RECORD: MethodDef = sampler(
    "random_walk",
    "Random-walk Metropolis sampling.",
    SamplerKind::RandomWalk,
    listed![ChainOptions { draws = "10000" }, Adaptation { target_acceptance = "0.234" }],
);

/// The options of `random_walk`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomWalkOptions(pub Adaptation);

impl OptionGroup for RandomWalkOptions {
    const OPTIONS: &'static [OptionDef] = Adaptation::OPTIONS;

    fn read(source: &OptionSource<'_>) -> Result<Self, Mismatch> {
        Adaptation::read(source).map(RandomWalkOptions)
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        self.0.place(option)
    }
}

impl SamplerPart for RandomWalkOptions {
    fn adaptation(&self) -> Option<&Adaptation> {
        Some(&self.0)
    }

    fn adaptation_mut(&mut self) -> Option<&mut Adaptation> {
        Some(&mut self.0)
    }

    fn takes_gradients(&self) -> bool {
        false
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        stan::plain("random_walk", &[("metric", stan::metric(self.0.metric).into())])
    }
}
