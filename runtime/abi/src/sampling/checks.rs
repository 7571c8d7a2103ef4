//! Which options of samplers go together.

use super::{ChainOptions, SgldOptions, Steps, Transition};
use crate::steering::Refusal;

impl ChainOptions {
    /// Returns whether a schedule leaves any of the draws.
    fn leave_draws(&self, steps: Steps) -> bool {
        let (warmup, thin) = (self.warmup, self.thin);
        let cycle = steps.cycle(self.iterations()) as u64;
        let mut last = (1..=self.draws).map(|draw| warmup.saturating_add(draw.saturating_mul(thin)) - 1);
        last.any(|iteration| !steps.explores(iteration as u64, cycle))
    }
}

impl Transition {
    /// Checks that the options of a transition go together on this number of rows.
    ///
    /// # Errors
    /// The first that do not.
    pub fn check(&self, rows: usize, chains: &ChainOptions) -> Result<(), Refusal> {
        match self {
            Transition::Sgld(_) | Transition::Sghmc(_) => self.schedule().check(chains),
            Transition::Penalty(penalty) => penalty.check(rows),
            Transition::Nuts(_) | Transition::Hmc(_) | Transition::Mala(_) | Transition::RandomWalk(_) => {
                Ok(())
            }
        }
    }
}

impl Steps {
    /// Checks that the schedule is valid and leaves draws.
    fn check(self, chains: &ChainOptions) -> Result<(), Refusal> {
        match self {
            Steps::Polynomial { b, gamma } if !(b > 0.0 && gamma > 0.0) => Refusal::new(
                SgldOptions::schedule(),
                format!("`polynomial({b}, {gamma})` needs two positive numbers"),
                "the steps shrink as `(1 + t / b)^-gamma`, such as `polynomial(1000, 0.55)`",
            ),
            Steps::Cyclical { cycles, exploration } if cycles == 0 || !(0.0..1.0).contains(&exploration) => {
                Refusal::new(
                    SgldOptions::schedule(),
                    format!(
                        "`cyclical({cycles}, {exploration})` needs at least one cycle and a fraction from 0 to below 1"
                    ),
                    "such as `cyclical(4, 0.5)`, which explores in the first half of each of four cycles",
                )
            }
            Steps::Cyclical { .. } if !chains.leave_draws(self) => Refusal::new(
                SgldOptions::schedule(),
                "no draw would be kept: every iteration that could be one only explores",
                "take fewer cycles, a smaller fraction, or more `draws`",
            ),
            Steps::Constant | Steps::Polynomial { .. } | Steps::Cyclical { .. } => Ok(()),
        }
    }
}
