//! Stochastic-gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin 2014, equation 15).

use super::sgld::SgldOptions;
use super::{GradientBatches, SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::options;
use crate::method::options::listed;
use crate::method::{MethodDef, OptionKind, Phase};
use crate::methods::sampling::{ChainOptions, Steps};

/// The record of `sghmc`.
pub(crate) const RECORD: MethodDef = sampler(
    "sghmc",
    "Stochastic-gradient Hamiltonian Monte Carlo.",
    SamplerKind::Sghmc,
    listed![ChainOptions { draws = "10000" }, SghmcOptions],
);

options! {
    /// Options of stochastic-gradient Hamiltonian Monte Carlo.
    #[derive(Copy)]
    pub struct SghmcOptions {
        /// Rows per gradient, as in [`SgldOptions`].
        batch: usize { like SgldOptions };
        /// The step size, as in [`SgldOptions`].
        step_size: f64 { like SgldOptions };
        /// The fraction of the momentum that is lost in an iteration.
        friction: f64 { "0.1", OptionKind::Real(0.0, 1.0), Phase::Run };
        /// The step size over the run, as in [`SgldOptions`].
        schedule: Steps { like SgldOptions };
    }
}

impl SamplerPart for SghmcOptions {
    fn gradient_batches(&self) -> Option<GradientBatches> {
        Some(GradientBatches {
            batch: self.batch,
            schedule: self.schedule,
        })
    }

    fn stan_settings(&self) -> Vec<(usize, String)> {
        let options = [
            ("batch", self.batch.to_string()),
            ("stepsize", self.step_size.to_string()),
            ("friction", self.friction.to_string()),
        ];
        stan::plain("sghmc", &options)
    }
}
