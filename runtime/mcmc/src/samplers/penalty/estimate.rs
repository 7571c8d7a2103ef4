//! Estimates how the loss over all rows changes, from the changes of the losses of batches.

use crate::noise::{ChainNoise, Purpose};
use crate::rows::{Batches, Chooser, split};
use crate::samplers::penalty::correction;
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Estimator, Penalty};

/// A noisy estimate of the loss after a step minus the loss before the step. The loss is the negative log density of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoisyDifference {
    /// The estimated difference.
    pub difference: f64,
    /// The estimated variance of `difference`.
    pub variance: f64,
    /// The penalty for the noise of `difference`; see [`correction::penalty`].
    pub penalty: f64,
}

/// Estimator (a) of Kawasaki, Holzmann and Adu-Gyamfi (2022, equations 12 and 23). Returns the first difference, and the variance of one
/// difference, which is estimated from the deviations of the other differences from their own mean. The formula in the paper uses deviations from
/// the first difference, which would make the variance too large by more than half. If there are fewer than two other differences, the variance
/// is 0.
pub fn single(differences: &[f64]) -> (f64, f64) {
    match differences {
        [] => (0.0, 0.0),
        [first, others @ ..] => (*first, spread(others).1),
    }
}

/// Estimator (b) of the same paper (equations 24 and 25). Returns the mean of the differences, and the variance of this mean. If there are fewer
/// than two differences, the variance is 0.
pub fn mean(differences: &[f64]) -> (f64, f64) {
    let (mean, variance) = spread(differences);
    (mean, variance / differences.len().max(1) as f64)
}

/// Returns the mean and the variance of the values. The variance has `len - 1` degrees of freedom.
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

/// The batches of one iteration, and the estimate that is computed from their losses.
///
/// Note \[Shards\]. Every shard (file) of the data contributes a fixed number of rows to each batch. Suppose that a shard has `N_s` rows and
/// contributes `n_s` rows to a batch. Each of these rows then has the weight `b N_s / n_s`, where `b` is the power of the likelihood in the
/// target. On average over all possible batches, the estimate therefore equals the loss difference of the target, however the rows are
/// distributed over files. The estimates of different shards are independent, so their differences, variances and penalties are added. Shards
/// exchange no other information.
///
/// Batches are chosen independently of each other. The variance between batches is therefore an unbiased estimate, and does not need a
/// finite-population correction.
#[derive(Clone, Debug)]
pub struct Losses {
    chooser: Chooser,
    estimator: Estimator,
    correction: Correction,
    batches: usize,
    /// The number of batches whose losses are computed: the option `batches`, plus one if the first batch has a separate role.
    computed: usize,
    /// The weight of the rows in each group of a batch.
    weights: Vec<f64>,
    chosen: Batches,
    differences: Vec<f64>,
}

/// Returns the power of the likelihood in the target: one over the temperature of the target. `rows` is the number of all rows.
pub fn power(options: &Penalty, rows: usize, temperature: f64) -> f64 {
    options.share(rows) / temperature
}

impl Losses {
    /// Creates the estimator for data in `shards`. In addition to the tempering by [`bnnc_abi::methods::sampling::samplers::penalty::Loss::Batch`], the log likelihood of
    /// the target is divided by `temperature`. If a batch contains all rows, only one batch is used.
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

    /// Chooses and returns the batches of an iteration.
    pub fn choose(&mut self, noise: ChainNoise, iteration: u64) -> &Batches {
        self.chooser
            .choose(noise, Purpose::Rows, iteration, self.computed, &mut self.chosen);
        &self.chosen
    }

    /// Returns the estimate for one step. `prior` is the change of the log prior. For each group of the chosen batches, `sums` holds the change
    /// of the log likelihood, summed over the rows of the group.
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
