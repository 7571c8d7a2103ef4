//! The uncertainty of class predictions, for test rows and for outliers.

/// The fractions of rows that are left out in the rejection table. The most uncertain rows are left
/// out first.
pub const REJECTED: [f64; 10] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// Predictive entropies, in nats, of rows and of outliers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsure {
    /// The entropy of each row, and whether the most probable class is the true class.
    rows: Vec<(f64, bool)>,
    outliers: Vec<f64>,
}

impl Unsure {
    /// Adds the predictive probabilities of a row.
    pub fn add(&mut self, probabilities: &[f64], right: bool) {
        self.rows.push((entropy(probabilities), right));
    }

    /// Adds the predictive probabilities of an outlier.
    pub fn add_outlier(&mut self, probabilities: &[f64]) {
        self.outliers.push(entropy(probabilities));
    }

    /// Returns whether all entropies can be ordered. This is the case if none of them is NaN.
    fn is_ordered(&self) -> bool {
        let rows = self.rows.iter().map(|(entropy, _)| entropy);
        !rows.chain(&self.outliers).any(|entropy| entropy.is_nan())
    }

    /// Returns the mean entropy of the rows. Without outliers the result is `None`: this mean is
    /// reported only together with the mean of the outliers.
    pub fn entropy(&self) -> Option<f64> {
        let sum: f64 = self.rows.iter().map(|(entropy, _)| entropy).sum();
        (!self.rows.is_empty() && !self.outliers.is_empty()).then(|| sum / self.rows.len() as f64)
    }

    /// Returns the mean entropy of the outliers.
    pub fn outlier_entropy(&self) -> Option<f64> {
        let sum: f64 = self.outliers.iter().sum();
        (!self.outliers.is_empty()).then(|| sum / self.outliers.len() as f64)
    }

    /// Computes the exact area under the ROC curve from ranks (Mann and Whitney 1947). The detector
    /// treats rows with a large entropy as outliers. Rows with equal entropies all get their mean rank.
    pub fn auroc(&self) -> Option<f64> {
        let (count, rows) = (self.outliers.len() as f64, self.rows.len() as f64);
        if self.outliers.is_empty() || self.rows.is_empty() {
            return None;
        }
        if !self.is_ordered() {
            return Some(f64::NAN);
        }
        let own = self.rows.iter().map(|(entropy, _)| (*entropy, false));
        let mut all: Vec<(f64, bool)> = own
            .chain(self.outliers.iter().map(|entropy| (*entropy, true)))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut below, mut ranks) = (0.0, 0.0);
        for ties in all.chunk_by(|one, other| one.0 == other.0) {
            let outliers = ties.iter().filter(|(_, outlier)| *outlier).count() as f64;
            ranks += outliers * (below + (ties.len() as f64 + 1.0) / 2.0);
            below += ties.len() as f64;
        }
        Some((ranks - count * (count + 1.0) / 2.0) / (count * rows))
    }

    /// For each rejected fraction in [`REJECTED`], returns the accuracy after the most uncertain
    /// predictions have been rejected. Rows and outliers are ranked together, and a prediction for
    /// an outlier always counts as wrong. Several predictions may have equal entropies, and only
    /// some of them may be rejected. The result is then the mean accuracy over all
    /// possible choices of the rejected predictions. Without
    /// outliers, the result is empty.
    pub fn rejection(&self) -> Vec<(f64, f64)> {
        if self.outliers.is_empty() {
            return Vec::new();
        }
        if !self.is_ordered() {
            return REJECTED
                .into_iter()
                .map(|rejected| (rejected, f64::NAN))
                .collect();
        }
        let outliers = self.outliers.iter().map(|entropy| (*entropy, false));
        let mut all: Vec<(f64, bool)> = self.rows.iter().copied().chain(outliers).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let accuracy = |rejected: f64| {
            let kept = ((1.0 - rejected) * all.len() as f64).round().max(1.0);
            (rejected, right_of(&all, kept) / kept)
        };
        REJECTED.into_iter().map(accuracy).collect()
    }
}

/// Returns the number of correct predictions among the first `kept` predictions. If several
/// predictions have equal entropy and only a fraction of them is kept, the same fraction of the
/// correct predictions among them is counted.
fn right_of(sorted: &[(f64, bool)], kept: f64) -> f64 {
    let (mut left, mut right) = (kept, 0.0);
    for ties in sorted.chunk_by(|one, other| one.0 == other.0) {
        let count = ties.len() as f64;
        let share = (left / count).min(1.0);
        right += share * ties.iter().filter(|(_, right)| *right).count() as f64;
        left -= share * count;
        if left <= 0.0 {
            break;
        }
    }
    right
}

/// Computes the entropy in nats: minus the sum of `p log p`.
fn entropy(probabilities: &[f64]) -> f64 {
    let term = |p: &f64| if *p > 0.0 { -p * p.ln() } else { 0.0 * p };
    probabilities.iter().map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;

    /// Returns the probabilities of two classes. As `p` rises from 0 to 0.5, the prediction becomes
    /// less certain.
    fn two(p: f64) -> [f64; 2] {
        [p, 1.0 - p]
    }

    fn with(rows: &[(f64, bool)], outliers: &[f64]) -> Unsure {
        let mut unsure = Unsure::default();
        rows.iter().for_each(|(p, right)| unsure.add(&two(*p), *right));
        outliers.iter().for_each(|p| unsure.add_outlier(&two(*p)));
        unsure
    }

    #[test]
    fn entropy_is_in_nats() {
        assert!((entropy(&[0.25; 4]) - 4_f64.ln()).abs() < 1e-15);
        assert_eq!(entropy(&[1.0, 0.0]), 0.0);
        // The entropy of a half and two quarters is 1.5 bits.
        assert!((entropy(&[0.5, 0.25, 0.25]) - 1.5 * 2_f64.ln()).abs() < 1e-15);
        assert!(entropy(&[f64::NAN, 0.5]).is_nan());
    }

    #[test]
    fn areas_match_hand_computation() {
        let rows = [(0.1, true), (0.3, true)];
        assert_eq!(with(&rows, &[0.4, 0.5]).auroc(), Some(1.0));
        assert_eq!(with(&rows, &[0.01, 0.02]).auroc(), Some(0.0));
        // Each of the two outliers is compared with each of the two rows. The outlier at 0.2 wins
        // one comparison and loses one; the outlier at 0.4 wins two.
        assert_eq!(with(&rows, &[0.2, 0.4]).auroc(), Some(0.75));
        // The outlier at 0.1 and the row at 0.1 are a tie. A tie counts as half a pair.
        assert_eq!(with(&rows, &[0.1, 0.4]).auroc(), Some(0.625));
        assert_eq!(with(&[(0.2, true); 3], &[0.2; 5]).auroc(), Some(0.5));
        assert_eq!(with(&rows, &[]).auroc(), None);
        assert_eq!(with(&[], &[0.1]).auroc(), None);
    }

    #[test]
    fn the_area_is_the_share_of_pairs() {
        let draw =
            |purpose: u32, at: usize| (philox::uniform(5, [0, purpose, 0], at as u64) * 20.0).floor() / 40.0;
        let rows: Vec<(f64, bool)> = (0..211).map(|at| (draw(0, at), at % 3 > 0)).collect();
        let outliers: Vec<f64> = (0..97).map(|at| 0.2 + 0.6 * draw(1, at)).collect();
        let unsure = with(&rows, &outliers);
        let pairs = unsure.outliers.iter().flat_map(|out| {
            unsure.rows.iter().map(move |(row, _)| match out.total_cmp(row) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            })
        });
        let expected = pairs.sum::<f64>() / (211.0 * 97.0);
        assert!((unsure.auroc().unwrap_or(f64::NAN) - expected).abs() < 1e-12);
    }

    #[test]
    fn rejection_accuracies_match_hand_computation() {
        // The entropies of the six rows rise, and four of the six predictions are correct. The four
        // outliers have larger entropies than all rows.
        let rows = [
            (0.01, true),
            (0.02, true),
            (0.03, true),
            (0.04, false),
            (0.05, true),
            (0.06, false),
        ];
        let table = with(&rows, &[0.2, 0.3, 0.4, 0.5]).rejection();
        let expected = [
            4.0 / 10.0,
            4.0 / 9.0,
            4.0 / 8.0,
            4.0 / 7.0,
            4.0 / 6.0,
            4.0 / 5.0,
            3.0 / 4.0,
            1.0,
            1.0,
            1.0,
        ];
        for ((fraction, accuracy), (rejected, expected)) in table.iter().zip(REJECTED.iter().zip(expected)) {
            assert!(
                fraction == rejected && (accuracy - expected).abs() < 1e-12,
                "{table:?}"
            );
        }
        assert!(with(&rows, &[]).rejection().is_empty());
    }

    #[test]
    fn equally_unsure_rows_are_rejected_in_shares() {
        // All ten entropies are equal. On average, half of the predictions that remain after any
        // rejection are correct.
        let table = with(&[(0.2, true); 5], &[0.2; 5]).rejection();
        assert!(
            table.iter().all(|(_, accuracy)| (accuracy - 0.5).abs() < 1e-12),
            "{table:?}"
        );
    }
}
