//! The Metropolis-adjusted Langevin algorithm.

use super::{SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::{Mismatch, OptionField, OptionGroup, OptionSource};
use crate::method::options::listed;
use crate::method::{MethodDef, OptionDef};
use crate::methods::sampling::{Adaptation, ChainOptions};
use serde::{Deserialize, Serialize};

/// The record of `mala`.
pub(crate) const RECORD: MethodDef = sampler(
    "mala",
    "Metropolis-adjusted Langevin sampling.",
    SamplerKind::Mala,
    listed![ChainOptions, Adaptation { target_acceptance = "0.574" }],
);

/// The options of `mala`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MalaOptions(pub Adaptation);

impl OptionGroup for MalaOptions {
    const OPTIONS: &'static [OptionDef] = Adaptation::OPTIONS;

    fn read(source: &OptionSource<'_>) -> Result<Self, Mismatch> {
        Adaptation::read(source).map(MalaOptions)
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        self.0.place(option)
    }
}

impl SamplerPart for MalaOptions {
    fn adaptation(&self) -> Option<&Adaptation> {
        Some(&self.0)
    }

    fn adaptation_mut(&mut self) -> Option<&mut Adaptation> {
        Some(&mut self.0)
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        stan::plain("mala", &[("metric", stan::metric(self.0.metric).into())])
    }
}
