//! Step sizes: Nesterov's dual averaging, and the search for its first step size.

use serde::{Deserialize, Serialize};

/// Adapts the logarithm of a step size by dual averaging, so that the mean acceptance rate approaches its target. The formula and the
/// constants come from Hoffman and Gelman (2014, equation 6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DualAveraging {
    target: f64,
    count: u64,
    /// The number of iterates that are averaged so far.
    averaged: u64,
    /// The weighted mean of `target - acceptance` (`H bar` in the paper).
    error: f64,
    /// The log step size that the iterates shrink towards (`mu` in the paper).
    centre: f64,
    log_step: f64,
    log_mean: f64,
}

impl DualAveraging {
    /// The strength of the shrinkage of iterates towards the centre (`gamma` in the paper).
    const SHRINKAGE: f64 = 0.05;
    /// This number is added to the number of iterations, so that the first iterations change the step size less (`t0` in the paper).
    const DELAY: f64 = 10.0;
    /// The exponent in the weights of the mean of the iterates. The higher it is, the more slowly old iterates are forgotten (`kappa` in the
    /// paper).
    const FORGETTING: f64 = 0.75;
    /// The dual averaging shrinks the step size towards this multiple of the initial step size. The multiple is large because it is cheaper to
    /// try a large step than a small one.
    const OPTIMISM: f64 = 10.0;

    /// Starts the dual averaging with this step size.
    pub fn new(target: f64, step_size: f64) -> DualAveraging {
        DualAveraging {
            target,
            count: 0,
            averaged: 0,
            error: 0.0,
            centre: (DualAveraging::OPTIMISM * step_size).ln(),
            log_step: step_size.ln(),
            log_mean: step_size.ln(),
        }
    }

    /// Learns from an iteration with the step size [`DualAveraging::step_size`]. `acceptance` is its acceptance rate; NaN counts as 0.
    pub fn learn(&mut self, acceptance: f64) {
        self.count += 1;
        let count = self.count as f64;
        let weight = 1.0 / (count + DualAveraging::DELAY);
        let acceptance = if acceptance.is_nan() {
            0.0
        } else {
            acceptance.min(1.0)
        };
        self.error += weight * (self.target - acceptance - self.error);
        self.log_step = self.centre - count.sqrt() / DualAveraging::SHRINKAGE * self.error;
        self.averaged += 1;
        let newest = (self.averaged as f64).powf(-DualAveraging::FORGETTING);
        self.log_mean += newest * (self.log_step - self.log_mean);
    }

    /// Restarts the mean with the next iterate. The iterates themselves continue from their current value. If the iterates were restarted,
    /// they would oscillate widely, and their mean would be too small. In a test with restarts, the acceptance rates after 150 iterations were
    /// 0.83 to 0.86 at a target of 0.8.
    pub fn forget(&mut self) {
        self.averaged = 0;
    }

    /// Returns the step size of the next iteration of the warm-up.
    pub fn step_size(&self) -> f64 {
        self.log_step.exp()
    }

    /// Returns the step size to keep after the warm-up.
    pub fn mean(&self) -> f64 {
        self.log_mean.exp()
    }
}

/// The search for a step size of the right order of magnitude. The search doubles or halves the step size until the acceptance probability of
/// a single step crosses 0.8 (Hoffman and Gelman 2014, algorithm 4; the threshold is from Stan).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSizeSearch {
    step_size: f64,
    trials: u32,
    direction: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Longer,
    Shorter,
}

impl StepSizeSearch {
    /// The search ends when the acceptance probability of a step crosses this value.
    const ACCEPTANCE: f64 = 0.8;
    /// The search ends if the step size leaves this range. Above the range, bnnc assumes that the density is flat. Below the range, it
    /// assumes that all steps are rejected.
    const RANGE: (f64, f64) = (1e-12, 1e7);

    /// Starts the search with this step size.
    pub fn new(step_size: f64) -> StepSizeSearch {
        StepSizeSearch {
            step_size,
            trials: 0,
            direction: None,
        }
    }

    /// Returns the step size to try. After the search, returns the step size that the search found.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// Returns the number of steps that were tried.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Learns from a step with a fresh momentum. `gain` is the energy before the step minus the energy after it. Returns true if the search
    /// has ended.
    pub fn learn(&mut self, gain: f64) -> bool {
        self.trials += 1;
        let accepted = gain > StepSizeSearch::ACCEPTANCE.ln();
        let direction = if accepted {
            Direction::Longer
        } else {
            Direction::Shorter
        };
        if self.direction.is_some_and(|before| before != direction) {
            return true;
        }
        self.step_size *= match direction {
            Direction::Longer => 2.0,
            Direction::Shorter => 0.5,
        };
        self.direction = Some(direction);
        !(StepSizeSearch::RANGE.0..StepSizeSearch::RANGE.1).contains(&self.step_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two iterations agree with a calculation by hand. The target is 0.8 and the initial step size is 1, so `mu = ln 10`. The acceptance
    /// rates are 0.4 and 1.
    #[test]
    fn dual_averaging_follows_its_formula() {
        let mut dual = DualAveraging::new(0.8, 1.0);
        dual.learn(0.4);
        let error = 0.4 / 11.0;
        let first = 10.0_f64.ln() - error / 0.05;
        assert!((dual.step_size().ln() - first).abs() < 1e-12);
        assert!((dual.mean().ln() - first).abs() < 1e-12);
        dual.learn(1.0);
        let error = (1.0 - 1.0 / 12.0) * error - 0.2 / 12.0;
        let second = 10.0_f64.ln() - 2.0_f64.sqrt() / 0.05 * error;
        let weight = 2.0_f64.powf(-0.75);
        assert!((dual.step_size().ln() - second).abs() < 1e-12);
        assert!((dual.mean().ln() - (weight * second + (1.0 - weight) * first)).abs() < 1e-12);
    }

    /// If the acceptance rate is a smooth function of the step size, the adaptation converges to the target.
    #[test]
    fn dual_averaging_converges_to_the_target() {
        let mut dual = DualAveraging::new(0.8, 1e-3);
        for _ in 0..2000 {
            let acceptance = (-0.5 * dual.step_size().powi(2)).exp();
            dual.learn(acceptance);
        }
        let want = (-2.0 * 0.8_f64.ln()).sqrt();
        assert!((dual.mean() / want - 1.0).abs() < 0.02, "{}", dual.mean());
    }

    #[test]
    fn nan_acceptance_counts_as_zero() {
        let (mut with, mut without) = (DualAveraging::new(0.8, 1.0), DualAveraging::new(0.8, 1.0));
        with.learn(f64::NAN);
        without.learn(0.0);
        assert_eq!(with, without);
    }

    /// The acceptance falls below 0.8 at a step size of 3. The search therefore ends at a power of two next to 3.
    #[test]
    fn search_ends_next_to_the_threshold() {
        for start in [1e-4, 1.0, 64.0] {
            let mut search = StepSizeSearch::new(start);
            let gain = |step: f64| if step < 3.0 { 0.0 } else { -10.0 };
            while !search.learn(gain(search.step_size())) {}
            assert!(
                (1.5..=6.0).contains(&search.step_size()),
                "{}",
                search.step_size()
            );
        }
    }

    #[test]
    fn search_ends_if_no_step_or_every_step_is_accepted() {
        let mut search = StepSizeSearch::new(1.0);
        assert!((0..200).any(|_| search.learn(f64::NAN)));
        let mut search = StepSizeSearch::new(1.0);
        assert!((0..200).any(|_| search.learn(0.0)));
    }
}
