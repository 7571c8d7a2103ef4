//! Chains of `nuts-rs`.

use crate::densities::Law;
use crate::{Chain, DRAWS, WARMUP};
use nuts_rs::{
    Chain as _, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings,
};
use rand::SeedableRng;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Debug, thiserror::Error)]
#[error("the density is not a number")]
struct NotFinite;

impl LogpError for NotFinite {
    fn is_recoverable(&self) -> bool {
        true
    }
}

struct Counted<'a> {
    law: &'a Law,
    gradients: Rc<Cell<usize>>,
}

impl HasDims for Counted<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_string(), self.law.dimension as u64)])
    }
}

impl CpuLogpFunc for Counted<'_> {
    type LogpError = NotFinite;
    type ExpandedVector = Vec<f64>;
    type FlowParameters = ();

    fn dim(&self) -> usize {
        self.law.dimension
    }

    fn logp(&mut self, at: &[f64], gradient: &mut [f64]) -> Result<f64, NotFinite> {
        self.gradients.set(self.gradients.get() + 1);
        let log_density = (self.law.density)(at, gradient);
        let finite = log_density.is_finite() && gradient.iter().all(|slope| slope.is_finite());
        if finite { Ok(log_density) } else { Err(NotFinite) }
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        position: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}

/// Runs one chain with the default settings of `nuts-rs`.
pub fn chain(law: &Law, number: u64) -> Chain {
    let settings = DiagNutsSettings {
        num_tune: WARMUP as u64,
        num_draws: DRAWS as u64,
        ..DiagNutsSettings::default()
    };
    let gradients = Rc::new(Cell::new(0));
    let counted = Counted {
        law,
        gradients: gradients.clone(),
    };
    let mut generator = rand::rngs::StdRng::seed_from_u64(number + 100);
    let mut sampler = settings
        .new_chain(number, CpuMath::new(counted), &mut generator)
        .expect("settings");
    sampler.set_position(&law.start(number)).expect("a start");
    for _ in 0..WARMUP {
        sampler.draw().expect("a draw");
    }
    let before = gradients.get();
    let mut divergences = 0;
    let draws = (0..DRAWS)
        .map(|_| {
            let (draw, progress) = sampler.draw().expect("a draw");
            divergences += usize::from(progress.diverging);
            draw.to_vec()
        })
        .collect();
    Chain {
        draws,
        gradients: [before, gradients.get() - before],
        divergences,
    }
}
