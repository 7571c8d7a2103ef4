//! Step-size schedules for samplers without an acceptance step.

use bnnc_abi::methods::sampling::Steps;
use std::f64::consts::PI;

/// The step sizes of all iterations of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSizeSchedule {
    steps: Steps,
    step_size: f64,
    /// The number of iterations in a cycle.
    cycle: u64,
}

/// The step of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledStep {
    /// The step size.
    pub size: f64,
    /// True if the step only explores. An exploration step does not have noise, and its position is not a draw of the
    /// posterior.
    pub explores: bool,
}

impl StepSizeSchedule {
    /// Returns the step sizes of a run. `iterations` is the number of all iterations, including the warm-up.
    pub fn new(steps: Steps, step_size: f64, iterations: usize) -> StepSizeSchedule {
        StepSizeSchedule {
            steps,
            step_size,
            cycle: steps.cycle(iterations) as u64,
        }
    }

    /// Returns the step of an iteration, counted from 0. The formula for cycles is equation 1 of Zhang et al. (2020), with
    /// `k = iteration + 1`. If the number of iterations is not divisible by the number of cycles, the last cycle is shorter.
    pub fn at(&self, iteration: u64) -> ScheduledStep {
        let sampling = |size| ScheduledStep {
            size,
            explores: false,
        };
        match self.steps {
            Steps::Constant => sampling(self.step_size),
            Steps::Polynomial { b, gamma } => {
                sampling(self.step_size * (1.0 + iteration as f64 / b).powf(-gamma))
            }
            Steps::Cyclical { .. } => {
                let part = (iteration % self.cycle) as f64 / self.cycle as f64;
                ScheduledStep {
                    size: 0.5 * self.step_size * ((PI * part).cos() + 1.0),
                    explores: self.steps.explores(iteration, self.cycle),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(steps: Steps, iterations: usize, at: &[u64]) -> Vec<f64> {
        let schedule = StepSizeSchedule::new(steps, 0.5, iterations);
        at.iter().map(|iteration| schedule.at(*iteration).size).collect()
    }

    #[test]
    fn constant_steps_do_not_change() {
        assert_eq!(sizes(Steps::Constant, 10, &[0, 5, 1 << 40]), [0.5; 3]);
    }

    /// With `a = step_size b^gamma`, the step sizes are `a (b + t)^-gamma`. For the values in this test, the step sizes are
    /// `0.5 sqrt(3 / (3 + t))`.
    #[test]
    fn polynomial_steps_follow_their_formula() {
        let steps = Steps::Polynomial { b: 3.0, gamma: 0.5 };
        let want = [0.5, 0.25, 0.5 / 10.0];
        for (size, want) in sizes(steps, 10, &[0, 9, 297]).iter().zip(want) {
            assert!((size - want).abs() < 1e-15);
        }
    }

    /// The run has two cycles of three iterations. The step sizes of a cycle depend on the cosines of 0, 60 and 120 degrees.
    #[test]
    fn cyclical_steps_follow_their_formula() {
        let steps = Steps::Cyclical {
            cycles: 2,
            exploration: 0.5,
        };
        for (size, want) in sizes(steps, 6, &[0, 1, 2, 3, 4, 5])
            .iter()
            .zip([0.5, 0.375, 0.125].iter().cycle())
        {
            assert!((size - want).abs() < 1e-15);
        }
        let schedule = StepSizeSchedule::new(steps, 0.5, 6);
        let explores: Vec<bool> = (0..6).map(|iteration| schedule.at(iteration).explores).collect();
        assert_eq!(explores, [true, true, false, true, true, false]);
        // If a run has seven iterations in two cycles, the first cycle has four iterations and the second has three.
        assert_eq!(StepSizeSchedule::new(steps, 0.5, 7).at(4).size, 0.5);
    }

    /// Step sizes are positive even if the run has more cycles than iterations, or the number of cycles or iterations is 0.
    #[test]
    fn degenerate_cycles_have_positive_steps() {
        for (cycles, iterations) in [(0, 5), (9, 5), (3, 0)] {
            let schedule = StepSizeSchedule::new(
                Steps::Cyclical {
                    cycles,
                    exploration: 0.0,
                },
                0.5,
                iterations,
            );
            assert!((0..5).all(|iteration| schedule.at(iteration).size > 0.0));
        }
    }
}
