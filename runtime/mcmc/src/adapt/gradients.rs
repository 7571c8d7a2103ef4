//! Metrics from positions and gradients together.
//!
//! Note \[Spreads\]. For independent normal quantities the variance of an element of the position is `v` and that of the gradient
//! `1 / v`: the square root of their ratio is `v` from very few draws, even of a chain that has not arrived yet. In general this is
//! the diagonal that minimises a Fisher divergence between the whitened target and a standard normal law (the warm-up of nutpie).
//! The metric is renewed after every iteration from the draws of a window. Windows are short at first, so that what the way to the
//! bulk taught is soon forgotten, and then grow.
//!
//! A dense metric begins as that diagonal. From the first long window on it is the covariance of the positions, as soon as there are
//! twice as many draws as dimensions. Its noise is the same in all directions of any posterior: `n` draws in `d` dimensions make a round one
//! `(1 + sqrt(d / n)) / (1 - sqrt(d / n))` times as long as wide, 5.8 for two draws for each dimension and 2.6 for five. Below five the
//! correlations are shrunk as far as they may be noise ([`Moments::noise`]); from there on not at all, because correlations near 1,
//! of which shrinking takes the most, are what a dense metric is for.

use super::Change;
use super::metric::{Moments, Whitening};
use serde::{Deserialize, Serialize};

/// Positions with their gradients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pairs {
    positions: Moments,
    gradients: Moments,
}

impl Pairs {
    fn new(dimension: usize, dense: bool) -> Pairs {
        Pairs {
            positions: Moments::new(dimension, dense),
            gradients: Moments::new(dimension, false),
        }
    }

    fn add(&mut self, position: &[f64], gradient: &[f64]) {
        self.positions.add(position);
        self.gradients.add(gradient);
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.gradients.clear();
    }
}

/// What a warm-up learns from positions and gradients; see Note \[Spreads\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spreads {
    /// The first iteration after the short windows.
    early: usize,
    /// The first iteration that only the step size learns from.
    end: usize,
    /// How many draws are added before older ones are forgotten.
    width: u64,
    /// Whether the metric was made from draws before.
    renewed: bool,
    /// Whether the metric is a matrix by now.
    correlated: bool,
    /// The draws that the metric is made from.
    used: Pairs,
    /// Those of them that are kept when the others are forgotten.
    kept: Pairs,
}

impl Spreads {
    /// Draws in a short window.
    const SHORT: u64 = 10;
    /// Draws in the first window that is not short.
    const LONG: u64 = 80;
    /// Draws for each dimension that make a covariance, and a good one.
    const ENOUGH: [u64; 2] = [2, 5];
    /// Fewer draws say nothing.
    const LEAST: u64 = 3;
    /// Scales beyond these are kept as they were.
    const RANGE: (f64, f64) = (1e-10, 1e10);

    /// Of a warm-up of so many iterations: 30 % with short windows, the last 15 % for the step size alone.
    pub fn new(dimension: usize, warmup: usize, dense: bool) -> Spreads {
        Spreads {
            early: 3 * warmup / 10,
            end: warmup - 15 * warmup / 100,
            width: Spreads::SHORT,
            renewed: false,
            correlated: false,
            used: Pairs::new(dimension, dense),
            kept: Pairs::new(dimension, dense),
        }
    }

    /// Takes the start. Writes the first metric: with one draw, `v` is one over the gradient's size.
    pub fn begin(&mut self, position: &[f64], gradient: &[f64], whitening: &mut Whitening) {
        self.used.add(position, gradient);
        self.kept.add(position, gradient);
        scale(whitening, |at| 1.0 / gradient[at].abs());
    }

    /// Takes an iteration, in order, and renews the scale.
    pub fn learn(
        &mut self,
        iteration: usize,
        position: &[f64],
        gradient: &[f64],
        whitening: &mut Whitening,
    ) -> Change {
        if iteration >= self.end {
            return Change::Step;
        }
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
        let Pairs { positions, gradients } = &self.used;
        let dimension = gradients.dimension();
        let each = positions.count() / dimension.max(1) as u64;
        let [enough, many] = Spreads::ENOUGH;
        if let Whitening::Dense(lower) = whitening
            && iteration >= self.early
            && (self.correlated || each >= enough)
        {
            // Draws that were forgotten may leave too few for a new matrix: the old one is better than none.
            if each < enough {
                return;
            }
            self.correlated = true;
            // A factor costs as much as many steps in high dimensions.
            if iteration.is_multiple_of(1 + dimension / 8) {
                let share = if each < many { positions.noise() } else { 0.0 };
                positions.correlate(lower, share);
            }
            return;
        }
        scale(whitening, |at| {
            (positions.variance(at) / gradients.variance(at)).sqrt()
        });
    }

    /// Whether this is of positions of this dimension.
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

/// Makes a metric diagonal, with these variances; those that say nothing leave their element as it is.
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

    /// Gradients of a normal law are linear in the position: the scale is exact from three draws, wherever they are.
    #[test]
    fn scales_of_a_normal_law_are_exact() {
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

    /// Short windows of 10 until iteration 300, then 80 or more; what is older than the window before is forgotten, and the last
    /// 150 iterations change nothing.
    #[test]
    fn windows_grow_and_end() {
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
                !(1..850).contains(&iteration),
                "{iteration}"
            );
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

    /// What says nothing leaves the scale: a gradient that never changes, a position that never moves, what is no number.
    #[test]
    fn scales_stay_where_nothing_is_learnt() {
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
