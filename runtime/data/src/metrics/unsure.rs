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

/// An entropy is NaN, so the entropies have no order.
struct NotOrdered;

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
        let all = match self.together()? {
            Ok(all) => all,
            Err(NotOrdered) => return Some(f64::NAN),
        };
        let (mut below, mut ranks) = (0.0, 0.0);
        for ties in all.chunk_by(|one, other| one.0 == other.0) {
            let outliers = ties.iter().filter(|(_, outlier)| *outlier).count() as f64;
            ranks += outliers * (below + (ties.len() as f64 + 1.0) / 2.0);
            below += ties.len() as f64;
        }
        Some((ranks - count * (count + 1.0) / 2.0) / (count * rows))
    }

    /// Computes the area under the precision-recall curve as average precision: the sum over thresholds of the
    /// precision times the increase in recall (Davis and Goadrich 2006), without interpolation. Outliers are positive, and rows with a
    /// large entropy are detected as outliers. Rows with equal entropies share a threshold.
    pub fn aupr(&self) -> Option<f64> {
        let all = match self.together()? {
            Ok(all) => all,
            Err(NotOrdered) => return Some(f64::NAN),
        };
        let (mut found, mut detected, mut area) = (0.0, 0.0, 0.0);
        for ties in all.chunk_by(|one, other| one.0 == other.0).rev() {
            let outliers = ties.iter().filter(|(_, is_outlier)| *is_outlier).count() as f64;
            found += outliers;
            detected += ties.len() as f64;
            area += outliers * found / detected;
        }
        Some(area / self.outliers.len() as f64)
    }

    /// Returns the fraction of the outliers that are accepted at the smallest threshold on the entropy that accepts at least
    /// the fraction `share` of the rows (Liang et al. 2018 with `share` = 0.95). Entropies equal to the threshold are accepted.
    pub fn accepted_at(&self, share: f64) -> Option<f64> {
        let all = match self.together()? {
            Ok(all) => all,
            Err(NotOrdered) => return Some(f64::NAN),
        };
        // The number of rows is rounded upwards, except for the rounding error of the product.
        let needed = (share * self.rows.len() as f64 - 1e-9).ceil().max(1.0);
        let (mut rows, mut outliers) = (0.0, 0.0);
        for ties in all.chunk_by(|one, other| one.0 == other.0) {
            let of_ties = ties.iter().filter(|(_, is_outlier)| *is_outlier).count() as f64;
            outliers += of_ties;
            rows += ties.len() as f64 - of_ties;
            if rows >= needed {
                break;
            }
        }
        Some(outliers / self.outliers.len() as f64)
    }

    /// Returns the entropies of rows and outliers in ascending order, each with whether it belongs to an outlier. Returns `None` if
    /// the rows or the outliers are empty.
    fn together(&self) -> Option<Result<Vec<(f64, bool)>, NotOrdered>> {
        if self.outliers.is_empty() || self.rows.is_empty() {
            return None;
        }
        if !self.is_ordered() {
            return Some(Err(NotOrdered));
        }
        let own = self.rows.iter().map(|(entropy, _)| (*entropy, false));
        let outliers = self.outliers.iter().map(|entropy| (*entropy, true));
        let mut all: Vec<(f64, bool)> = own.chain(outliers).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        Some(Ok(all))
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

    /// The expected numbers follow the definition of `average_precision_score` in scikit-learn.
    #[test]
    fn areas_under_precision_and_recall_match_hand_computation() {
        let rows = [(0.1, true), (0.3, true)];
        // From the largest entropy: outlier (1/1), row, outlier (2/3), row.
        assert_eq!(with(&rows, &[0.2, 0.4]).aupr(), Some((1.0 + 2.0 / 3.0) / 2.0));
        assert_eq!(with(&rows, &[0.4, 0.5]).aupr(), Some(1.0));
        // If all entropies are equal, the precision at the only threshold is the share of outliers.
        assert_eq!(with(&[(0.2, true); 3], &[0.2; 5]).aupr(), Some(5.0 / 8.0));
        // The outlier and the row at 0.3 share a threshold: 1/1 for the first outlier, then 2/3.
        assert_eq!(with(&rows, &[0.3, 0.4]).aupr(), Some((1.0 + 2.0 / 3.0) / 2.0));
        assert_eq!(with(&rows, &[]).aupr(), None);
        assert!(with(&[(f64::NAN, true)], &[0.1]).aupr().is_some_and(f64::is_nan));
    }

    #[test]
    fn a_threshold_for_95_percent_of_the_rows_accepts_some_outliers() {
        // The 19th of 20 rows has p = 0.19, and 2 of 4 outliers are at most as uncertain.
        let rows: Vec<(f64, bool)> = (1..=20).map(|at| (f64::from(at) / 100.0, true)).collect();
        let outliers = [0.005, 0.19, 0.195, 0.4];
        assert_eq!(with(&rows, &outliers).accepted_at(0.95), Some(0.5));
        assert_eq!(with(&rows, &outliers).accepted_at(1.0), Some(0.75));
        assert_eq!(with(&rows, &[0.3, 0.4]).accepted_at(0.95), Some(0.0));
        assert_eq!(with(&rows, &[]).accepted_at(0.95), None);
        // With two rows, at least 95 % of the rows are both rows.
        assert_eq!(with(&rows[..2], &[0.015, 0.4]).accepted_at(0.95), Some(0.5));
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
