//! Adapts the step sizes of samplers that take a single step per iteration. The adaptation is a stochastic approximation that brings the
//! acceptance rate to its target.
//!
//! The acceptance of a single step is too noisy for dual averaging. The gains of dual averaging are chosen for the mean acceptance over a
//! trajectory. With single steps, these gains would make step sizes vary by large factors, so that the acceptance rate at the mean step size
//! would differ from the mean acceptance rate. The gains here are smaller. A gain shrinks only when the error changes its sign (Kesten 1958).
//! An initial step size that is wrong by orders of magnitude therefore costs only a few iterations.

use serde::{Deserialize, Serialize};

/// The adaptation of a step size. It brings the mean acceptance rate to its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSize {
    target: f64,
    log_step: f64,
    /// The weighted mean of the logarithm of the step size. Recent iterations have larger weights.
    log_mean: f64,
    count: u64,
    /// The number of times that the error (acceptance minus target) has changed its sign.
    crossings: u64,
    /// True if the acceptance of the last iteration was above the target.
    above: bool,
}

impl StepSize {
    /// The gain before the first change of sign.
    const GAIN: f64 = 1.5;
    /// The exponent of the decay of the gains. The adaptation converges if it is between 1/2 and 1 (Andrieu and Thoms 2008, section 4.1).
    const DECAY: f64 = 0.6;
    /// The exponent in the weights of the mean. The higher it is, the more slowly old iterations are forgotten.
    const FORGETTING: f64 = 0.75;

    /// Starts the adaptation with this step size.
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

    /// Learns from an iteration with the step size [`StepSize::current`]. `acceptance` is its acceptance probability.
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

    /// Three iterations agree with a calculation by hand. The target is 0.5, and the initial step size is 1. The gain is constant until the error
    /// changes its sign.
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

    /// Although the initial step size is wrong by ten orders of magnitude, the acceptance rate converges to its target. The acceptance
    /// probability falls with the step size. The adaptation learns only whether a step was accepted, not the probability.
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
