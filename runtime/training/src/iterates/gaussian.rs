//! The Gaussian over iterates (Maddox et al. 2019, "A Simple Baseline for Bayesian Uncertainty in Deep Learning").
//!
//! The iterates are `w_1 .. w_n`. The mean is their average, and the variances are `1/n sum (w_i -
//! mean)^2`. Deviation `i` is `d_i = w_i - mean of w_1 .. w_i` (algorithm 1: "the i-th column of
//! the deviation matrix uses the running estimate of the mean"). With the last `K` deviations, the
//! low-rank covariance is `scale (diag(variances) / 2 + sum d_i d_i' / (2 (K - 1)))` (equation 1).
//! The diagonal covariance is `scale diag(variances)`.

use bnnc_abi::methods::iterates::Covariance;
use bnnc_math::philox;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A lower bound on the variance of an element. Without this bound, an element that does not change
/// during the training would have the variance zero.
const LEAST_VARIANCE: f64 = 1e-30;

/// The coordinate of the random stream for the noise that is multiplied by the standard deviations.
const OF_ELEMENTS: u32 = 0;
/// The coordinate of the random stream for the noise that is multiplied by the deviations.
const OF_DEVIATIONS: u32 = 1;

/// The moments of iterates, updated one iterate at a time. For `D` elements and `K` deviations,
/// `O((K + 2) D)` numbers are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IterateMoments {
    covariance: Covariance,
    count: usize,
    mean: Vec<f64>,
    /// For each element, the sum of squared deviations from its mean (Welford 1962). Empty if the
    /// covariance does not need variances.
    squares: Vec<f64>,
    /// The most recent deviations, beginning with the oldest of them.
    deviations: VecDeque<Vec<f64>>,
}

impl IterateMoments {
    /// Returns the moments for this number of elements, before any iterate has been added.
    pub fn new(elements: usize, covariance: Covariance) -> IterateMoments {
        IterateMoments {
            covariance,
            count: 0,
            mean: vec![0.0; elements],
            squares: match covariance {
                Covariance::Point => Vec::new(),
                Covariance::Diagonal | Covariance::LowRank(_) | Covariance::Snapshots => vec![0.0; elements],
            },
            deviations: VecDeque::new(),
        }
    }

    /// Returns the number of iterates.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of stored deviations.
    pub fn rank(&self) -> usize {
        self.deviations.len()
    }

    /// Adds an iterate.
    pub fn add(&mut self, iterate: &[f64]) {
        self.count += 1;
        let share = 1.0 / self.count as f64;
        let mut squares = self.squares.iter_mut();
        for (mean, value) in self.mean.iter_mut().zip(iterate) {
            let before = value - *mean;
            *mean += share * before;
            if let Some(square) = squares.next() {
                *square += before * (value - *mean);
            }
        }
        let Covariance::LowRank(rank) = self.covariance else {
            return;
        };
        let mut deviation = match self.deviations.len() < rank {
            true => Vec::with_capacity(iterate.len()),
            false => self.deviations.pop_front().unwrap_or_default(),
        };
        deviation.clear();
        deviation.extend(iterate.iter().zip(&self.mean).map(|(value, mean)| value - mean));
        self.deviations.push_back(deviation);
    }

    /// Returns the mean of all iterates.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Returns the variance of one element over all iterates.
    pub fn variance(&self, element: usize) -> f64 {
        let square = self.squares.get(element).copied().unwrap_or(0.0);
        (square / self.count.max(1) as f64).max(LEAST_VARIANCE)
    }

    /// Returns the two factors of a draw: one for the standard deviations, and one for the stored
    /// deviations.
    fn factors(&self, scale: f64) -> (f64, f64) {
        match self.covariance {
            Covariance::Point | Covariance::Snapshots => (0.0, 0.0),
            Covariance::Diagonal => (scale.sqrt(), 0.0),
            Covariance::LowRank(_) => {
                let freedom = self.rank().saturating_sub(1).max(1) as f64;
                ((0.5 * scale).sqrt(), (0.5 * scale / freedom).sqrt())
            }
        }
    }

    /// Draws from the Gaussian whose covariance is multiplied by `scale`. The draw depends only on
    /// `key` and `number`.
    pub fn draw(&self, scale: f64, key: u64, number: u32, into: &mut Vec<f64>) {
        let (of_elements, of_deviations) = self.factors(scale);
        into.clear();
        into.extend_from_slice(&self.mean);
        if of_elements > 0.0 {
            for (element, value) in into.iter_mut().enumerate() {
                let noise = philox::normal(key, [number, OF_ELEMENTS, 0], element as u64);
                *value += of_elements * self.variance(element).sqrt() * noise;
            }
        }
        for (at, deviation) in self.deviations.iter().enumerate() {
            let noise = of_deviations * philox::normal(key, [number, OF_DEVIATIONS, 0], at as u64);
            into.iter_mut()
                .zip(deviation)
                .for_each(|(value, deviation)| *value += noise * deviation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five iterates of two elements.
    const FIVE: [[f64; 2]; 5] = [[1.0, 0.5], [1.2, 0.1], [0.8, 0.4], [1.1, 0.9], [0.9, 0.6]];

    fn five(covariance: Covariance) -> IterateMoments {
        let mut iterates = IterateMoments::new(2, covariance);
        FIVE.iter().for_each(|iterate| iterates.add(iterate));
        iterates
    }

    fn covariance(iterates: &IterateMoments, scale: f64, i: usize, j: usize) -> f64 {
        let (of_elements, of_deviations) = iterates.factors(scale);
        let diagonal = if i == j { iterates.variance(i) } else { 0.0 };
        let outer: f64 = iterates.deviations.iter().map(|d| d[i] * d[j]).sum();
        of_elements.powi(2) * diagonal + of_deviations.powi(2) * outer
    }

    /// The expected numbers are exact fractions. With deviations from the mean of all iterates, the
    /// test would fail: element (0, 0) would be 0.025.
    #[test]
    fn moments_of_five_iterates_match_exact_fractions() {
        let iterates = five(Covariance::LowRank(3));
        let close =
            |got: f64, want: f64, digits: f64| assert!((got - want).abs() < digits, "{got} is not {want}");
        close(iterates.mean()[0], 1.0, 1e-15);
        close(iterates.mean()[1], 0.5, 1e-15);
        close(iterates.variance(0), 0.02, 1e-15);
        close(iterates.variance(1), 0.068, 1e-15);
        let wanted = [
            (0, 0, 0.02390625),
            (0, 1, 0.002_135_416_666_666_667),
            (1, 1, 0.082_767_361_111_111_1),
        ];
        for (i, j, want) in wanted {
            close(covariance(&iterates, 1.0, i, j), want, 1e-15);
            close(covariance(&iterates, 1.0, j, i), want, 1e-15);
            close(covariance(&iterates, 3.0, i, j), 3.0 * want, 1e-14);
        }
        let diagonal = five(Covariance::Diagonal);
        close(covariance(&diagonal, 1.0, 0, 0), 0.02, 1e-15);
        close(covariance(&diagonal, 1.0, 0, 1), 0.0, 1e-15);
    }

    /// The sample covariance of `n` draws of a Gaussian has the variance `(c_ii c_jj + c_ij^2) /
    /// n`.
    #[test]
    fn draws_have_the_covariance() {
        for form in [Covariance::LowRank(3), Covariance::Diagonal] {
            let iterates = five(form);
            let n = 40_000;
            let mut sums = [[0.0; 2]; 2];
            let mut draw = Vec::new();
            for number in 0..n {
                iterates.draw(1.7, 11, number, &mut draw);
                for i in 0..2 {
                    for j in 0..2 {
                        sums[i][j] += (draw[i] - iterates.mean()[i]) * (draw[j] - iterates.mean()[j]);
                    }
                }
            }
            for (i, row) in sums.iter().enumerate() {
                for (j, sum) in row.iter().enumerate() {
                    let c = |i, j| covariance(&iterates, 1.7, i, j);
                    let sd = ((c(i, i) * c(j, j) + c(i, j).powi(2)) / f64::from(n)).sqrt();
                    let z = (sum / f64::from(n) - c(i, j)) / sd;
                    assert!(z.abs() < 4.5, "{form:?} {i} {j}: {z}");
                }
            }
        }
    }

    #[test]
    fn a_point_has_no_spread_and_constant_elements_have_little() {
        let mut draw = Vec::new();
        five(Covariance::Point).draw(1.0, 1, 0, &mut draw);
        assert!((draw[0] - 1.0).abs() < 1e-15 && (draw[1] - 0.5).abs() < 1e-15);
        let mut still = IterateMoments::new(1, Covariance::Diagonal);
        still.add(&[2.0]);
        still.add(&[2.0]);
        assert_eq!(still.variance(0), LEAST_VARIANCE);
        still.draw(1.0, 1, 0, &mut draw);
        assert!(draw[0].is_finite());
    }

    /// Only the last deviations are stored. The memory of older deviations is reused.
    #[test]
    fn old_deviations_are_dropped() {
        let mut iterates = five(Covariance::LowRank(2));
        assert_eq!(iterates.rank(), 2);
        iterates.add(&[1.0, 0.5]);
        assert_eq!(iterates.rank(), 2);
        assert_eq!(iterates.count(), 6);
        assert!((iterates.deviations[0][0] + 0.1).abs() < 1e-15);
    }
}
