//! Stochastic-gradient Langevin dynamics (Welling and Teh 2011): `theta' = theta + eta gradient + sqrt(2 eta) noise`.

use super::{GradientBatches, SamplerKind, SamplerPart, sampler, stan};
use crate::method::declare::options;
use crate::method::options::{POSITIVE, from, listed};
use crate::method::{MethodDef, Phase};
use crate::methods::sampling::{ChainOptions, Steps};

/// The record of `sgld`.
pub(crate) const RECORD: MethodDef = sampler(
    "sgld",
    "Stochastic-gradient Langevin dynamics.",
    SamplerKind::Sgld,
    listed![ChainOptions { draws = "10000" }, SgldOptions],
);

options! {
    /// Options of stochastic-gradient Langevin dynamics.
    #[derive(Copy)]
    pub struct SgldOptions {
        /// Rows per gradient; 0 means all rows.
        batch: usize { "128", from(0), Phase::Run, &["batch_size"] };
        /// The step size. The chain is stable if the step size is below 2 divided by the largest curvature of the negative log density. This
        /// curvature grows with the number of rows.
        step_size: f64 { "1e-5", POSITIVE, Phase::Run, &["learning_rate", "lr"] };
        /// The step size over the run: `constant`, `polynomial(b, gamma)` (`step_size * (1 + t / b)^-gamma` in iteration `t`), or
        /// `cyclical(cycles, exploration)` (falls from `step_size` to zero along a cosine in each cycle; the first fraction `exploration` of each
        /// cycle has no noise, and its draws are not kept).
        schedule: Steps { "constant", Steps::KIND, Phase::Run };
    }
}

impl SamplerPart for SgldOptions {
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
        ];
        stan::plain("sgld", &options)
    }
}
