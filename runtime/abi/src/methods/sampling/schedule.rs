//! The step sizes of samplers without an acceptance step.

use super::ChainOptions;
use super::samplers::sgld::SgldOptions;
use crate::method::conflict::OptionConflict;
use crate::method::declare::forms;
use serde::{Deserialize, Serialize};

/// The schedule of the step size of a sampler without an acceptance step. `t` counts iterations
/// from 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Steps {
    /// The step size is constant.
    Constant,
    /// The step size is `step_size * (1 + t / b)^-gamma` (Welling and Teh 2011 with
    /// `a b^-gamma = step_size`).
    Polynomial {
        /// The `b` in the formula.
        b: f64,
        /// The `gamma` in the formula. The chain converges only if it is above 0.5 and at most 1.
        gamma: f64,
    },
    /// The run consists of `cycles` cycles. In each cycle, the step size falls from `step_size` to
    /// zero along a cosine. The first part of a cycle explores without noise; draws are kept only
    /// in the rest of the cycle (Zhang et al. 2020).
    Cyclical {
        /// The number of cycles.
        cycles: usize,
        /// The fraction of each cycle that explores.
        exploration: f64,
    },
}

forms!(Steps {
    "constant" => Steps::Constant,
    "polynomial"(b, gamma) => Steps::Polynomial { b, gamma },
    "cyclical"(cycles, exploration) => Steps::Cyclical { cycles: cycles as usize, exploration },
});

impl Steps {
    /// Returns the number of iterations in one cycle, at least 1. The run has `iterations`
    /// iterations, including the warm-up. A schedule without cycles counts as one cycle.
    pub fn cycle(self, iterations: usize) -> usize {
        let cycles = match self {
            Steps::Constant | Steps::Polynomial { .. } => 1,
            Steps::Cyclical { cycles, .. } => cycles.max(1),
        };
        iterations.div_ceil(cycles).max(1)
    }

    /// Returns whether an iteration, counted from 0, explores without noise. `cycle` is the result of [`Steps::cycle`].
    pub fn explores(self, iteration: u64, cycle: u64) -> bool {
        match self {
            Steps::Constant | Steps::Polynomial { .. } => false,
            Steps::Cyclical { exploration, .. } => part(iteration, cycle) < exploration,
        }
    }
}

/// Returns the fraction of the current cycle that has passed when an iteration begins.
fn part(iteration: u64, cycle: u64) -> f64 {
    (iteration % cycle) as f64 / cycle as f64
}

impl ChainOptions {
    /// Returns whether a run with this schedule keeps at least one draw.
    fn leave_draws(&self, steps: Steps) -> bool {
        let (warmup, thin) = (self.warmup, self.thin);
        let cycle = steps.cycle(self.iterations()) as u64;
        let mut last = (1..=self.draws).map(|draw| warmup.saturating_add(draw.saturating_mul(thin)) - 1);
        last.any(|iteration| !steps.explores(iteration as u64, cycle))
    }
}

impl Steps {
    /// Checks that the numbers of the schedule are valid, and that the run keeps at least one draw.
    pub(super) fn check(self, chains: &ChainOptions) -> Result<(), OptionConflict> {
        match self {
            Steps::Polynomial { b, gamma } if !(b > 0.0 && gamma > 0.0) => OptionConflict::new(
                SgldOptions::schedule(),
                format!("`polynomial({b}, {gamma})` needs two positive numbers"),
                "the steps shrink as `(1 + t / b)^-gamma`, such as `polynomial(1000, 0.55)`",
            ),
            Steps::Cyclical { cycles, exploration } if cycles == 0 || !(0.0..1.0).contains(&exploration) => {
                OptionConflict::new(
                    SgldOptions::schedule(),
                    format!(
                        "`cyclical({cycles}, {exploration})` needs at least one cycle and a fraction from 0 to below 1"
                    ),
                    "such as `cyclical(4, 0.5)`, which explores in the first half of each of four cycles",
                )
            }
            Steps::Cyclical { .. } if !chains.leave_draws(self) => OptionConflict::new(
                SgldOptions::schedule(),
                "no draw would be kept: every iteration that could give a draw lies in the exploration part of its cycle",
                "use fewer cycles, a smaller fraction, or more `draws`",
            ),
            Steps::Constant | Steps::Polynomial { .. } | Steps::Cyclical { .. } => Ok(()),
        }
    }
}
