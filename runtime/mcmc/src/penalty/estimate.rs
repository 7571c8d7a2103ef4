//! Estimates of the difference of the whole loss from the loss differences of batches.

use crate::noise::{ChainNoise, Purpose};
use crate::penalty::correction;
use crate::rows::{Batches, Chooser, split};
use bnnc_abi::sampling::{Correction, Estimator, Penalty};

/// A noisy difference of losses (negative log densities of the target): after minus before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoisyDifference {
    /// The estimated difference.
    pub difference: f64,
    /// The estimated variance of `difference`.
    pub variance: f64,
    /// The penalty for the noise of `difference`; see [`correction::penalty`].
    pub penalty: f64,
}

/// Estimator (a): returns the first difference, and the variance of one difference, estimated from the other differences around their own mean
/// (Kawasaki, Holzmann and Adu-Gyamfi 2022, equations 12 and 23). The paper prints the variance around the first difference, which would exceed
/// the correct variance by more than half. With fewer than two other differences the variance is 0.
pub fn single(differences: &[f64]) -> (f64, f64) {
    match differences {
        [] => (0.0, 0.0),
        [first, others @ ..] => (*first, spread(others).1),
    }
}

/// Estimator (b): returns the mean of the differences and the variance of that mean (equations 24 and 25 of the same paper). With fewer than two
/// differences the variance is 0.
pub fn mean(differences: &[f64]) -> (f64, f64) {
    let (mean, variance) = spread(differences);
    (mean, variance / differences.len().max(1) as f64)
}

/// Returns the mean of numbers, and their variance with `len - 1` degrees of freedom.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (
        mean,
        if count < 2 {
            0.0
        } else {
            squares / (count - 1) as f64
        },
    )
}

/// The batches of one iteration, and the estimate from their losses.
///
/// Note \[Shards\]. Every shard (file) of the data contributes a fixed number of rows to each batch. With `b` the power of the likelihood in the
/// target, each row of a shard with `N_s` rows, `n_s` of them in a batch, has the weight `b N_s / n_s`. The mean of the estimates over all
/// batches is therefore the loss difference of the target, however the rows are distributed over files. The estimates of the shards are
/// independent, so differences, variances and penalties add up, and no other information is exchanged between shards.
///
/// Batches are chosen independently of each other, so that the variance among them is unbiased without a finite-population
/// correction.
#[derive(Clone, Debug)]
pub struct Losses {
    chooser: Chooser,
    estimator: Estimator,
    correction: Correction,
    batches: usize,
    /// The number of batches that are computed: one more than `batches` if the first batch is used separately.
    computed: usize,
    /// The weight of a row, for each group of a batch.
    weights: Vec<f64>,
    chosen: Batches,
    differences: Vec<f64>,
}

/// Returns the power of the likelihood in the target, which is the reciprocal of the target's temperature. `rows` is the number of all rows.
pub fn power(options: &Penalty, rows: usize, temperature: f64) -> f64 {
    options.share(rows) / temperature
}

impl Losses {
    /// Creates the losses of batches of data in `shards`, for a target whose log likelihood is divided by `temperature`, in addition to the
    /// tempering by [`bnnc_abi::sampling::Loss::Batch`]. If a batch takes all rows there is only one batch.
    pub fn new(options: &Penalty, shards: &[usize], temperature: f64) -> Losses {
        let rows = shards.iter().sum();
        let whole = options.takes_all(rows);
        let computed = match options.estimator {
            _ if whole => 1,
            Estimator::Mean => options.batches.max(1),
            Estimator::Single if options.batches < 2 => 1,
            Estimator::Single => options.batches + 1,
        };
        let chooser = Chooser::new(
            shards,
            &split(options.batch, shards),
            options.replacement && !whole,
        );
        let power = power(options, rows, temperature);
        let weights = chooser
            .shares()
            .map(|(rows, taken)| power * rows as f64 / taken as f64);
        Losses {
            weights: weights.collect(),
            chooser,
            estimator: options.estimator,
            correction: options.correction,
            batches: options.batches,
            computed,
            chosen: Batches::default(),
            differences: Vec::with_capacity(computed),
        }
    }

    /// Returns the batches of an iteration.
    pub fn choose(&mut self, noise: ChainNoise, iteration: u64) -> &Batches {
        self.chooser
            .choose(noise, Purpose::Rows, iteration, self.computed, &mut self.chosen);
        &self.chosen
    }

    /// Returns the estimate. `prior` is the change of the log prior. `sums` has the change of the log likelihood of the rows of each group of the
    /// chosen batches.
    pub fn estimate(&mut self, prior: f64, sums: &[f64]) -> NoisyDifference {
        let mut all = NoisyDifference {
            difference: -prior,
            ..NoisyDifference::default()
        };
        for (group, weight) in self.weights.iter().enumerate() {
            self.differences.clear();
            let of_shard = sums.iter().skip(group).step_by(self.weights.len());
            self.differences.extend(of_shard.map(|sum| -weight * sum));
            let (difference, variance) = match self.estimator {
                Estimator::Single => single(&self.differences),
                Estimator::Mean => mean(&self.differences),
            };
            all.difference += difference;
            all.variance += variance;
            all.penalty += correction::penalty(self.correction, variance, self.batches);
        }
        all
    }
}
