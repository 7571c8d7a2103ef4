//! Metrics from positions and gradients together.
//!
//! Note \[Spreads\]. For independent normal quantities, suppose that an element of the position has the variance `v`. The same element of the
//! gradient then has the variance `1 / v`. The square root of the ratio of the two variances is therefore `v`. The equation holds even for very few
//! draws, and before the chain has converged. For other distributions, these square roots form the diagonal metric that minimises a Fisher divergence
//! between the whitened target and a standard normal distribution. The warm-up of nutpie uses the same metric. After every iteration, the metric is
//! computed again from the draws of a window. The first windows are short, so that draws from before the chain reached the bulk of the posterior are
//! soon forgotten. Later windows are longer.
//!
//! A dense metric begins as this diagonal metric. From the first long window on, the metric is the covariance of the positions, provided that there
//! are at least twice as many draws as dimensions. In whitened coordinates, the noise of the estimated covariance is the same in all directions.
//! With `n` draws in `d` dimensions, a round posterior appears `(1 + sqrt(d / n)) / (1 - sqrt(d / n))` times as long as wide. This ratio is 5.8 for
//! two draws per dimension and 2.6 for five. If there are fewer than five draws per dimension, the correlations are shrunk in proportion to their
//! noise ([`RunningMoments::noise`]). With five or more draws per dimension the correlations are not shrunk. Shrinking would mostly reduce
//! correlations near 1, although these are the reason to use a dense metric.
//!
//! Note \[Lengths\]. For a normal distribution in `d` dimensions and the right metric, the squared lengths of whitened gradients have the mean `d`
//! and the variance `2 d`. If the curvature varies between regions, as for a Gaussian process with an unknown length scale, a dense metric can be
//! worse than a diagonal metric. Under a dense metric, steps are long on average, and too long for regions where the posterior is narrow. A chain
//! then cannot leave such a region. For the
//! Poisson process `gp_pois_regr` of posteriordb (target acceptance 0.9), R-hat was above 1.1 for two of eight seeds with the dense metric. The
//! squared lengths of the whitened gradients reveal such a metric. In this model with 13 dimensions, the mean of the squared lengths under the dense
//! metric was 60 to 90. The variance of the squared lengths was 10 to 14 times the variance for a normal distribution with the same mean. Under the
//! diagonal metric, it was 7.5 to 8 times this variance. At the end of the last window, the dense metric is therefore replaced by the diagonal metric
//! if two conditions hold. First, the mean squared length under the dense metric is above `2 d`. Second, this mean, or the ratio of the variance to
//! the squared mean, is larger under the dense metric than under the diagonal metric. For a correlated normal distribution, the mean under the dense
//! metric is between `d` and `1.2 d`, so the dense metric is kept.

use super::Change;
use super::metric::{RunningMoments, Whitening};
use crate::vector::dot;
use serde::{Deserialize, Serialize};

/// The sums for computing the mean and the variance of the squared lengths of whitened gradients: see Note \[Lengths\].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lengths {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Lengths {
    fn add(&mut self, length: f64) {
        self.count += 1.0;
        self.sum += length;
        self.squares += length * length;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Returns the variance of the squared lengths, divided by the square of their mean.
    fn variation(&self) -> f64 {
        self.squares / self.count / self.mean().powi(2) - 1.0
    }
}

/// The moments of positions and of their gradients, and the lengths of the whitened gradients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pairs {
    positions: RunningMoments,
    gradients: RunningMoments,
    /// The squared lengths of gradients that are whitened with the dense metric.
    dense: Lengths,
    /// The squared lengths of gradients that are whitened with the diagonal metric, which could replace the dense metric.
    diagonal: Lengths,
}

impl Pairs {
    fn new(dimension: usize, dense: bool) -> Pairs {
        Pairs {
            positions: RunningMoments::new(dimension, dense),
            gradients: RunningMoments::new(dimension, false),
            dense: Lengths::default(),
            diagonal: Lengths::default(),
        }
    }

    /// Returns the variance of an element of the position, estimated from the variances of positions and gradients: see Note \[Spreads\].
    fn agreed(&self, at: usize) -> f64 {
        (self.positions.variance(at) / self.gradients.variance(at)).sqrt()
    }

    fn add(&mut self, position: &[f64], gradient: &[f64]) {
        self.positions.add(position);
        self.gradients.add(gradient);
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.gradients.clear();
        (self.dense, self.diagonal) = (Lengths::default(), Lengths::default());
    }
}

/// The statistics of positions and gradients that a warm-up uses to learn a metric: see Note
/// \[Spreads\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spreads {
    /// The index of the first iteration after the short windows.
    early: usize,
    /// From this iteration on, only the step size is adapted.
    end: usize,
    /// True if enough iterations remain after the last change of the metric for the step size to adapt to the new metric.
    settles: bool,
    /// The number of draws in a window. At the end of a window, the draws before it are forgotten.
    width: u64,
    /// True if the metric has already been computed from draws.
    renewed: bool,
    /// True if the metric is already computed as a full matrix.
    correlated: bool,
    /// The draws that determine the metric.
    used: Pairs,
    /// The most recent draws. Once all older draws are forgotten, the metric is computed from these.
    kept: Pairs,
}

impl Spreads {
    /// The number of draws in a short window.
    const SHORT: u64 = 10;
    /// The number of draws in the first long window.
    const LONG: u64 = 80;
    /// Two numbers of draws per dimension. A window with fewer than the first number does not give a covariance. With fewer than the second number,
    /// the covariance is shrunk.
    const ENOUGH: [u64; 2] = [2, 5];
    /// If a window has fewer draws than this, no metric is computed.
    const LEAST: u64 = 3;
    /// The number of iterations that the step size needs to converge after a restart, as in the last stage of Stan's warm-up.
    const SETTLING: usize = 50;
    /// A dense metric may be replaced if the mean squared length of whitened gradients, divided by the dimension, is above this value: see Note
    /// \[Lengths\].
    const STIFF: f64 = 2.0;
    /// The valid range of the scale (standard deviation) of an element. If a new scale is outside this range, the element keeps its old scale.
    const RANGE: (f64, f64) = (1e-10, 1e10);

    /// Begins a warm-up of `warmup` iterations. The first 30 % of the iterations have short windows, and the last 15 % adapt only the step size.
    pub fn new(dimension: usize, warmup: usize, dense: bool) -> Spreads {
        Spreads {
            early: 3 * warmup / 10,
            end: warmup - 15 * warmup / 100,
            settles: 15 * warmup / 100 >= Spreads::SETTLING,
            width: Spreads::SHORT,
            renewed: false,
            correlated: false,
            used: Pairs::new(dimension, dense),
            kept: Pairs::new(dimension, dense),
        }
    }

    /// Adds the start of the chain, and writes the first metric. From this single draw, the variance `v` of an element is estimated as the reciprocal
    /// of the gradient's magnitude.
    pub fn begin(&mut self, position: &[f64], gradient: &[f64], whitening: &mut Whitening) {
        self.used.add(position, gradient);
        self.kept.add(position, gradient);
        scale(whitening, |at| 1.0 / gradient[at].abs());
    }

    /// Learns from an iteration, and renews the metric. The caller must pass all iterations in order.
    pub fn learn(
        &mut self,
        iteration: usize,
        position: &[f64],
        gradient: &[f64],
        whitening: &mut Whitening,
    ) -> Change {
        if iteration >= self.end {
            if iteration > self.end {
                return Change::Step;
            }
            return match (self.drop(whitening), self.settles) {
                (true, true) => Change::Order,
                (true, false) => Change::Metric,
                (false, true) => Change::Last,
                (false, false) => Change::Step,
            };
        }
        self.measure(gradient, whitening);
        self.used.add(position, gradient);
        self.kept.add(position, gradient);
        if iteration == self.early {
            self.width = Spreads::LONG.max(self.kept.positions.count());
        }
        let next = if iteration < self.early {
            Spreads::SHORT
        } else {
            self.width * 3 / 2
        };
        let fits = iteration as u64 + next <= self.end as u64;
        if self.kept.positions.count() >= self.width && fits {
            std::mem::swap(&mut self.used, &mut self.kept);
            self.kept.clear();
            self.width = next;
        }
        if self.used.positions.count() < Spreads::LEAST {
            return Change::Step;
        }
        self.renew(iteration, whitening);
        let first = !std::mem::replace(&mut self.renewed, true);
        if first { Change::Order } else { Change::Metric }
    }

    fn renew(&mut self, iteration: usize, whitening: &mut Whitening) {
        let positions = &self.used.positions;
        let dimension = positions.dimension();
        let each = positions.count() / dimension.max(1) as u64;
        let [enough, many] = Spreads::ENOUGH;
        if let Whitening::Dense(lower) = whitening
            && iteration >= self.early
            && (self.correlated || each >= enough)
        {
            // If too few draws are left for a new matrix, the old matrix is kept.
            if each < enough {
                return;
            }
            self.correlated = true;
            // The Cholesky factor is not computed in every iteration, because in high dimensions a factorisation costs as much as many steps.
            if iteration.is_multiple_of(1 + dimension / 8) {
                let share = if each < many { positions.noise() } else { 0.0 };
                positions.correlate(lower, share);
            }
            return;
        }
        scale(whitening, |at| self.used.agreed(at));
    }

    /// Adds the squared length of a gradient twice: whitened with the dense metric, and whitened with the diagonal
    /// metric.
    fn measure(&mut self, gradient: &[f64], whitening: &Whitening) {
        if !self.correlated {
            return;
        }
        let mut pulled = vec![0.0; gradient.len()];
        whitening.pull(&mut pulled, gradient);
        let dense = dot(&pulled, &pulled);
        let terms = gradient.iter().enumerate();
        let diagonal: f64 = terms
            .map(|(at, slope)| slope * slope * self.used.agreed(at))
            .sum();
        for pairs in [&mut self.used, &mut self.kept] {
            pairs.dense.add(dense);
            pairs.diagonal.add(diagonal);
        }
    }

    /// Replaces a dense metric by the diagonal metric if two conditions hold: the gradients whitened with the dense metric are too long, and they are
    /// longer or vary more than those whitened with the diagonal metric (Note \[Lengths\]). Returns whether the metric was replaced.
    fn drop(&mut self, whitening: &mut Whitening) -> bool {
        let (dense, diagonal) = (&self.used.dense, &self.used.diagonal);
        let limit = Spreads::STIFF * self.used.gradients.dimension() as f64;
        let worse = dense.variation() > diagonal.variation() || dense.mean() > diagonal.mean();
        let worse = worse && self.correlated && dense.mean() > limit;
        if worse {
            self.correlated = false;
            scale(whitening, |at| self.used.agreed(at));
        }
        worse
    }

    /// Returns whether the statistics belong to a chain with this number of dimensions.
    pub fn fits(&self, dimension: usize) -> bool {
        let moments = [
            &self.used.positions,
            &self.used.gradients,
            &self.kept.positions,
            &self.kept.gradients,
        ];
        moments.iter().all(|moments| moments.fits(dimension))
    }
}

/// Makes a metric diagonal. `variance` returns the variance of each element. If a variance is not a number, or if its root is outside
/// [`Spreads::RANGE`], the element keeps its old scale.
fn scale(whitening: &mut Whitening, variance: impl Fn(usize) -> f64) {
    let set = |at: usize, scale: &mut f64| {
        let deviation = variance(at).sqrt();
        if (Spreads::RANGE.0..Spreads::RANGE.1).contains(&deviation) {
            *scale = deviation;
        }
    };
    match whitening {
        Whitening::Unit => {}
        Whitening::Diagonal(scale) => scale
            .iter_mut()
            .enumerate()
            .for_each(|(at, scale)| set(at, scale)),
        Whitening::Dense(lower) => {
            let dimension = lower.len().isqrt();
            for (at, row) in lower.chunks_exact_mut(dimension.max(1)).enumerate() {
                row[..at].fill(0.0);
                set(at, &mut row[at]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales(whitening: &Whitening) -> Vec<f64> {
        whitening
            .inverse_metric()
            .iter()
            .map(|variance| variance.sqrt())
            .collect()
    }

    /// Gradients of a normal distribution are linear in the position, so any three draws give the exact scale.
    #[test]
    fn scales_of_a_normal_distribution_are_exact() {
        let (deviations, centre) = ([0.01, 3.0, 200.0], [5.0, -7.0, 0.0]);
        let gradient = |at: &[f64; 3]| -> [f64; 3] {
            std::array::from_fn(|i| (centre[i] - at[i]) / (deviations[i] * deviations[i]))
        };
        let mut spreads = Spreads::new(3, 100, false);
        let mut whitening = Whitening::Diagonal(vec![1.0; 3]);
        let draws = [[100.0, 4.0, 1.0], [90.0, -1.0, 3.0], [95.0, 2.0, -2.0]];
        spreads.begin(&draws[0], &gradient(&draws[0]), &mut whitening);
        assert!(
            (scales(&whitening)[0] - (0.0001_f64 / 95.0).sqrt()).abs() < 1e-12,
            "one over the gradient's size"
        );
        let changes =
            [1, 2].map(|at| spreads.learn(at - 1, &draws[at], &gradient(&draws[at]), &mut whitening));
        assert_eq!(changes, [Change::Step, Change::Order]);
        for (scale, deviation) in scales(&whitening).iter().zip(deviations) {
            assert!((scale / deviation - 1.0).abs() < 1e-12);
        }
    }

    /// Windows have 10 draws until iteration 300, and then 80 or more; draws before the previous window are forgotten. In the last 150 iterations,
    /// the metric is constant. The step size is averaged only over these iterations.
    #[test]
    fn windows_grow_and_end_before_the_last_iterations() {
        let mut spreads = Spreads::new(1, 1000, false);
        let mut whitening = Whitening::Diagonal(vec![1.0]);
        spreads.begin(&[0.0], &[1.0], &mut whitening);
        let mut forgotten = Vec::new();
        for iteration in 0..1000 {
            let before = spreads.used.positions.count();
            let change = spreads.learn(
                iteration,
                &[iteration as f64],
                &[(iteration % 7) as f64],
                &mut whitening,
            );
            assert_eq!(
                change == Change::Step,
                !(1..=850).contains(&iteration),
                "{iteration}"
            );
            assert_eq!(change == Change::Last, iteration == 850);
            if spreads.used.positions.count() < before {
                forgotten.push(iteration);
            }
        }
        assert_eq!(forgotten[0], 18);
        assert!(forgotten.windows(2).all(|pair| pair[1] - pair[0] >= 10));
        let late: Vec<usize> = forgotten.into_iter().filter(|at| *at >= 300).collect();
        assert!(
            late.len() >= 2 && late.windows(2).all(|pair| pair[1] - pair[0] >= 80),
            "{late:?}"
        );
    }

    /// Constant gradients, constant positions and NaN leave the scale unchanged, because they do not determine a scale.
    #[test]
    fn uninformative_draws_leave_the_scale_unchanged() {
        let mut spreads = Spreads::new(3, 100, false);
        let mut whitening = Whitening::Diagonal(vec![2.0; 3]);
        spreads.begin(&[0.0; 3], &[0.0, f64::NAN, f64::INFINITY], &mut whitening);
        for iteration in 0..20 {
            let value = iteration as f64;
            spreads.learn(
                iteration,
                &[value, value, 0.0],
                &[0.0, f64::NAN, value],
                &mut whitening,
            );
        }
        assert_eq!(whitening, Whitening::Diagonal(vec![2.0; 3]));
    }
}
