//! Step sizes of methods with a single step per iteration, adapted by stochastic approximation so that the acceptance rate approaches its target.
//!
//! The acceptance of one step is too noisy for dual averaging, whose gains are chosen for the mean acceptance over a trajectory: step sizes would
//! vary by large factors, and the acceptance at the mean step size would differ from the mean acceptance. The gains here are smaller. The gains
//! shrink only when the error changes its sign (Kesten 1958), so that a start that is wrong by orders of magnitude costs few iterations.

use serde::{Deserialize, Serialize};

/// A step size that is adapted to a mean acceptance rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSize {
    target: f64,
    log_step: f64,
    /// The mean of the logarithm of the step size. Recent iterations have the largest weights.
    log_mean: f64,
    count: u64,
    /// The number of sign changes of the error.
    crossings: u64,
    /// True if the last acceptance was above the target.
    above: bool,
}

impl StepSize {
    /// The gain of the first iterations.
    const GAIN: f64 = 1.5;
    /// The exponent with which the gains decay. It must be between 1/2 and 1 for convergence (Andrieu and Thoms 2008, section 4.1).
    const DECAY: f64 = 0.6;
    /// The rate at which old iterations are forgotten in the mean.
    const FORGETTING: f64 = 0.75;

    /// Begins at a step size.
    pub fn new(target: f64, step_size: f64) -> StepSize {
        StepSize {
            target,
            log_step: step_size.ln(),
            log_mean: step_size.ln(),
            count: 0,
            crossings: 0,
            above: false,
        }
    }

    /// Learns from the acceptance rate of an iteration with the step size [`StepSize::current`].
    pub fn learn(&mut self, acceptance: f64) {
        let error = acceptance - self.target;
        if self.count > 0 && (error > 0.0) != self.above {
            self.crossings += 1;
        }
        self.above = error > 0.0;
        self.count += 1;
        self.log_step += StepSize::GAIN * (1.0 + self.crossings as f64).powf(-StepSize::DECAY) * error;
        let newest = (self.count as f64).powf(-StepSize::FORGETTING);
        self.log_mean += newest * (self.log_step - self.log_mean);
    }

    /// Returns the step size of the next iteration of the warm-up.
    pub fn current(&self) -> f64 {
        self.log_step.exp()
    }

    /// Returns the step size to keep after the warm-up.
    pub fn mean(&self) -> f64 {
        self.log_mean.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three iterations agree with a calculation by hand, with target 0.5 and step 1. The gain is constant until the error changes its sign.
    #[test]
    fn gains_shrink_with_crossings() {
        let mut step = StepSize::new(0.5, 1.0);
        step.learn(0.1);
        assert!((step.current().ln() + 1.5 * 0.4).abs() < 1e-12);
        assert!((step.mean().ln() + 1.5 * 0.4).abs() < 1e-12);
        step.learn(0.3);
        assert!((step.current().ln() + 1.5 * 0.6).abs() < 1e-12);
        step.learn(1.0);
        let last = -1.5 * 0.6 + 1.5 * 2.0_f64.powf(-0.6) * 0.5;
        assert!((step.current().ln() - last).abs() < 1e-12);
    }

    /// From a step that is wrong by ten orders of magnitude, the adaptation converges to the target. The probability of acceptance falls with
    /// the step, and the adaptation only observes acceptances and rejections.
    #[test]
    fn step_size_converges_to_the_target() {
        for start in [1e-10, 1.0, 1e10] {
            let mut step = StepSize::new(0.6, start);
            for iteration in 0..4000_u32 {
                let coin = f64::from(iteration.wrapping_mul(2_654_435_769)) / f64::from(u32::MAX);
                let acceptance = (-step.current()).exp();
                step.learn(f64::from(u8::from(coin < acceptance)));
            }
            let acceptance = (-step.mean()).exp();
            assert!((acceptance - 0.6).abs() < 0.02, "{acceptance}");
        }
    }
}
