//! The summary of a run of the penalty method.

use crate::penalty::STATS;
use crate::penalty::estimate::power;
use bnnc_abi::sampling::{Correction, Penalty};

/// A summary of all draws of a run. Draws without a computed density count as rejected and have no variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PenaltySummary {
    draws: u64,
    accepted: f64,
    computed: u64,
    variance: f64,
}

impl PenaltySummary {
    /// Adds the numbers of a draw, in the order of [`STATS`].
    pub fn take(&mut self, stats: &[f64]) {
        let [_, accepted, _, variance, diverging, _] = stats else {
            unreachable!("{} numbers come with a draw", STATS.len())
        };
        self.draws += 1;
        self.accepted += accepted;
        if *diverging == 0.0 {
            self.computed += 1;
            self.variance += variance;
        }
    }

    /// Returns the fraction of proposals that were accepted; `None` before the first draw.
    pub fn acceptance(&self) -> Option<f64> {
        (self.draws > 0).then(|| self.accepted / self.draws as f64)
    }

    /// Returns the mean of the estimated variances of the loss difference; `None` before the first draw with such a variance. A mean of
    /// about 1 is best for a random walk; from about 2 on the chain hardly moves.
    pub fn mean_delta_variance(&self) -> Option<f64> {
        (self.computed > 0).then(|| self.variance / self.computed as f64)
    }
}

/// Returns a number without digits that are rounding errors.
fn short(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// Describes the distribution that a run samples. `rows` is the number of all rows, `temperature` the divisor of the log likelihood.
pub fn target(options: &Penalty, rows: usize, temperature: f64) -> String {
    let total = short(1.0 / power(options, rows, temperature));
    let (tempered, heated) = (options.share(rows) != 1.0, temperature != 1.0);
    let distribution = match (tempered, heated) {
        (false, false) => "the ordinary posterior".into(),
        (false, true) => format!("the posterior at temperature {temperature}"),
        (true, false) => {
            let batch = options.batch;
            format!("the posterior tempered by {batch}/{rows} (temperature {total})")
        }
        (true, true) => {
            let batch = options.batch;
            format!(
                "the posterior tempered by {batch}/{rows} at temperature {temperature} (temperature {total} in all)"
            )
        }
    };
    match options.correction {
        Correction::Naive if !options.takes_all(rows) => {
            format!(
                "a wider distribution than {distribution}, because nothing corrects for the noise of batches"
            )
        }
        Correction::Naive | Correction::Plain | Correction::Corrected => distribution,
    }
}
