//! Metrics that order rows by the confidence of their prediction, which is the probability of the predicted class.

/// The confidence thresholds for which a run computes the accuracy (Lakshminarayanan et al. 2017).
pub const THRESHOLDS: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The rows whose confidence is at least a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdLine {
    /// The threshold, a probability.
    pub threshold: f64,
    /// The fraction of all rows whose confidence is at least the threshold.
    pub share: f64,
    /// The fraction of these rows whose predicted class is the true class. NaN without such rows.
    pub accuracy: f64,
}

/// The confidence of each row, and whether its predicted class is the true class.
#[derive(Clone, Debug, Default)]
pub(super) struct Confident {
    rows: Vec<(f64, bool)>,
}

impl Confident {
    /// Adds the prediction of a row. If a confidence is NaN, all metrics are NaN.
    pub(super) fn add(&mut self, confidence: f64, right: bool) {
        self.rows.push((confidence, right));
    }

    fn is_ordered(&self) -> bool {
        !self.rows.iter().any(|(confidence, _)| confidence.is_nan())
    }

    /// Returns the rows from the most confident to the least confident.
    fn descending(&self) -> Vec<(f64, bool)> {
        let mut rows = self.rows.clone();
        rows.sort_by(|one, other| other.0.total_cmp(&one.0));
        rows
    }

    /// Computes the area under the risk-coverage curve: the mean over `n = 1 .. N` of the error rate among the `n`
    /// most confident rows (Geifman, Uziel and El-Yaniv 2019). Rows with equal confidence contribute their mean error, so the
    /// result does not depend on the order of the data. Returns `None` without rows.
    pub(super) fn aurc(&self) -> Option<f64> {
        if self.rows.is_empty() || !self.is_ordered() {
            return (!self.rows.is_empty()).then_some(f64::NAN);
        }
        let (mut count, mut errors, mut sum) = (0.0, 0.0, 0.0);
        for ties in self.descending().chunk_by(|one, other| one.0 == other.0) {
            let wrong = ties.iter().filter(|(_, right)| !right).count() as f64 / ties.len() as f64;
            for _ in ties {
                count += 1.0;
                errors += wrong;
                sum += errors / count;
            }
        }
        Some(sum / count)
    }

    /// Computes the mean gap between confidence and accuracy in bins with equal numbers of rows (Nguyen and O'Connor 2015). If the
    /// rows are ordered by confidence, bin `m` of `bins` holds the rows from `floor((m - 1) N / bins) + 1` to
    /// `floor(m N / bins)`. Rows with equal confidence contribute their mean accuracy. Returns `None` without rows.
    pub(super) fn gap(&self, bins: usize) -> Option<f64> {
        if self.rows.is_empty() || !self.is_ordered() {
            return (!self.rows.is_empty()).then_some(f64::NAN);
        }
        let mut excess = Vec::with_capacity(self.rows.len());
        for ties in self.descending().chunk_by(|one, other| one.0 == other.0) {
            let right = ties.iter().filter(|(_, right)| *right).count() as f64 / ties.len() as f64;
            excess.extend(ties.iter().map(|(confidence, _)| confidence - right));
        }
        excess.reverse();
        let count = excess.len();
        let gap = |bin: usize| {
            let of_bin = &excess[bin * count / bins..(bin + 1) * count / bins];
            of_bin.iter().sum::<f64>().abs()
        };
        Some((0..bins).map(gap).sum::<f64>() / count as f64)
    }

    /// Returns the share and the accuracy of the rows above each threshold in [`THRESHOLDS`].
    pub(super) fn by_threshold(&self) -> Vec<ThresholdLine> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let is_ordered = self.is_ordered();
        let line = |threshold: f64| {
            let kept = self
                .rows
                .iter()
                .filter(|(confidence, _)| *confidence >= threshold);
            let (count, right) = kept.fold((0.0, 0.0), |(count, hits), (_, right)| {
                (count + 1.0, hits + f64::from(u8::from(*right)))
            });
            match is_ordered {
                true => ThresholdLine {
                    threshold,
                    share: count / self.rows.len() as f64,
                    accuracy: right / count,
                },
                false => ThresholdLine {
                    threshold,
                    share: f64::NAN,
                    accuracy: f64::NAN,
                },
            }
        };
        THRESHOLDS.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;

    fn of(rows: &[(f64, bool)]) -> Confident {
        Confident { rows: rows.to_vec() }
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("a number");
        assert!(
            (found - expected).abs() < 1e-14,
            "found {found}, expected {expected}"
        );
    }

    #[test]
    fn the_risk_coverage_area_matches_hand_computation() {
        // The error rates of the 1, 2, 3 and 4 most confident rows are 0, 1/2, 1/3 and 2/4.
        let rows = [(0.6, true), (0.9, true), (0.5, false), (0.8, false)];
        near(of(&rows).aurc(), (0.0 + 1.0 / 2.0 + 1.0 / 3.0 + 2.0 / 4.0) / 4.0);
        near(of(&[(0.7, true); 3]).aurc(), 0.0);
        near(of(&[(0.7, false); 3]).aurc(), 1.0);
        assert_eq!(of(&[]).aurc(), None);
        assert!(of(&[(f64::NAN, true)]).aurc().is_some_and(f64::is_nan));
    }

    /// The result with ties is the mean over all orders of the tied rows.
    #[test]
    fn tied_rows_contribute_the_mean_over_their_orders() {
        let order = |first: bool, second: bool, third: bool| {
            of(&[(0.9, first), (0.8, second), (0.7, third), (0.6, true)])
                .aurc()
                .expect("rows")
        };
        let mean = (order(false, true, true) + order(true, false, true) + order(true, true, false)) / 3.0;
        let tied = of(&[(0.8, true), (0.8, false), (0.8, true), (0.6, true)]);
        near(tied.aurc(), mean);
    }

    #[test]
    fn adaptive_bins_hold_equal_numbers_of_rows() {
        // Two bins of two rows: |0.5 + 0.6 - 1| and |0.8 + 0.9 - 1|.
        let rows = [(0.9, true), (0.5, false), (0.8, false), (0.6, true)];
        near(of(&rows).gap(2), (0.1 + 0.7) / 4.0);
        // With one bin, the gap is the difference between the mean confidence and the accuracy.
        near(of(&rows).gap(1), (2.8_f64 / 4.0 - 0.5).abs());
        // With at least as many bins as rows, each row has its own bin.
        near(of(&rows).gap(15), (0.1 + 0.5 + 0.8 + 0.4) / 4.0);
        // Five rows in two bins: two rows in the lower bin, and three in the upper bin.
        let rows = [(0.1, true), (0.2, true), (0.3, false), (0.4, true), (0.5, false)];
        near(of(&rows).gap(2), (1.7 + 0.2) / 5.0);
    }

    #[test]
    fn adaptive_bins_do_not_depend_on_the_order_of_ties() {
        let one = of(&[(0.7, true), (0.7, false), (0.7, true), (0.7, false)]);
        let other = of(&[(0.7, false), (0.7, false), (0.7, true), (0.7, true)]);
        near(one.gap(2), 0.2);
        near(other.gap(2), 0.2);
    }

    /// If each prediction is correct with the probability of its confidence, the gap is of the order of the noise of a bin.
    #[test]
    fn calibrated_rows_have_a_small_adaptive_gap() {
        let draw = |purpose: u32, at: u64| philox::uniform(3, [0, purpose, 0], at);
        let rows: Vec<(f64, bool)> = (0..20_000)
            .map(|at| (0.5 + 0.5 * draw(0, at), draw(1, at) < 0.5 + 0.5 * draw(0, at)))
            .collect();
        let gap = of(&rows).gap(15).expect("rows");
        // The standard deviation of the frequency in a bin of 1333 rows is at most 0.014.
        assert!(gap < 0.02, "{gap}");
    }

    #[test]
    fn thresholds_are_inclusive() {
        let lines = of(&[(0.5, false), (0.5, true), (0.9, true), (0.95, true)]).by_threshold();
        let at = |threshold: f64| {
            let line = lines.iter().find(|line| line.threshold == threshold);
            line.map(|line| (line.share, line.accuracy))
        };
        assert_eq!(at(0.0), Some((1.0, 0.75)));
        assert_eq!(at(0.5), Some((1.0, 0.75)));
        assert_eq!(at(0.6), Some((0.5, 1.0)));
        assert_eq!(at(0.95), Some((0.25, 1.0)));
        let (share, accuracy) = at(0.99).expect("a line");
        assert!(share == 0.0 && accuracy.is_nan());
        assert!(of(&[]).by_threshold().is_empty());
    }
}
