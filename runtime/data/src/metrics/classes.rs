//! Scores of class outputs.

use super::calibration::CalibrationBins;
use super::confident::{Confident, ThresholdLine};
use super::{CALIBRATION_BINS, DrawMatrix, Mean, MetricSet, Unsure, log_mean_exp, present};

/// The names of the metrics of calibration in bins of equal width, and their numbers of bins.
const BINS: [(&str, usize); 3] = [("ece", CALIBRATION_BINS), ("ece_10", 10), ("ece_20", 20)];

/// Kernels may compute probabilities in single precision. A probability below this value is
/// therefore zero or has lost digits.
const SMALLEST_PROBABILITY: f64 = f32::MIN_POSITIVE as f64;

/// Scores of class outputs, accumulated batch by batch.
#[derive(Clone, Debug)]
pub struct ClassScores {
    classes: usize,
    log_likelihood: Mean,
    right: Mean,
    nll: Mean,
    brier: Mean,
    /// The confidences of the rows in bins of equal width, once for each number of bins in [`BINS`].
    bins: [CalibrationBins; 3],
    /// For each class, its probabilities in bins of equal width.
    of_class: Vec<CalibrationBins>,
    /// The confidence of each row, and whether its predicted class is the true class.
    confident: Confident,
    /// The predictive entropy of each row, and whether its predicted class is the true class.
    unsure: Unsure,
}

impl ClassScores {
    /// Creates scores without rows, for this number of classes.
    pub fn new(classes: usize) -> ClassScores {
        let zero = Mean::default();
        ClassScores {
            classes,
            log_likelihood: zero,
            right: zero,
            nll: zero,
            brier: zero,
            bins: BINS.map(|(_, count)| CalibrationBins::new(count)),
            of_class: vec![CalibrationBins::new(CALIBRATION_BINS); classes],
            confident: Confident::default(),
            unsure: Unsure::default(),
        }
    }

    /// Adds log likelihoods of the targets, `[draws, rows]`.
    pub fn add_log_likelihood(&mut self, log_likelihood: DrawMatrix<'_>) {
        (0..log_likelihood.rows)
            .for_each(|row| self.log_likelihood.add(log_mean_exp(log_likelihood.of_row(row))));
    }

    /// Adds class probabilities together with the log likelihoods `[draws, rows]` of the targets. A
    /// log likelihood stays finite even if the probability itself is rounded to zero.
    pub fn add_classes(
        &mut self,
        probabilities: &[f64],
        targets: &[i32],
        log_likelihood: Option<DrawMatrix<'_>>,
    ) {
        if probabilities.is_empty() {
            return;
        }
        for (row, &target) in targets.iter().enumerate() {
            let p = self.average(probabilities, targets.len(), row);
            let target = usize::try_from(target).unwrap_or(usize::MAX);
            let of_target = p.get(target).copied().unwrap_or(0.0);
            let known = log_likelihood
                .as_ref()
                .filter(|_| of_target < SMALLEST_PROBABILITY);
            let log = known.map_or_else(|| of_target.ln(), |draws| log_mean_exp(draws.of_row(row)));
            self.add_row(&p, target, -log);
        }
    }

    /// Adds class probabilities `[draws, rows, classes]` of outliers.
    pub fn add_outliers(&mut self, probabilities: &[f64], rows: usize) {
        if probabilities.is_empty() {
            return;
        }
        for row in 0..rows {
            let p = self.average(probabilities, rows, row);
            self.unsure.add_outlier(&p);
        }
    }

    /// Returns the probabilities of one row, averaged over the draws.
    fn average(&self, probabilities: &[f64], rows: usize, row: usize) -> Vec<f64> {
        // Each probability is summed over the draws. If there are many classes, the draws of one
        // probability are far apart in memory. The outer loop is therefore over draws.
        let mut means = vec![Mean::default(); self.classes];
        for draw in probabilities.chunks_exact((rows * self.classes).max(1)) {
            let of_row = &draw[row * self.classes..(row + 1) * self.classes];
            means.iter_mut().zip(of_row).for_each(|(mean, p)| mean.add(*p));
        }
        means
            .into_iter()
            .map(|mean| mean.get().unwrap_or(f64::NAN))
            .collect()
    }

    /// Adds the predictive probabilities `p` of one row. `nll` is minus the log probability of the
    /// row's true class.
    fn add_row(&mut self, p: &[f64], target: usize, nll: f64) {
        let best = (0..p.len()).fold(0, |best, class| if p[class] > p[best] { class } else { best });
        let Some(&confidence) = p.get(best) else { return };
        let right = match p.iter().any(|p| p.is_nan()) {
            true => f64::NAN,
            false => f64::from(u8::from(best == target)),
        };
        self.right.add(right);
        self.unsure.add(p, best == target);
        self.nll.add(nll);
        let gap = |(class, p): (usize, &f64)| (p - f64::from(u8::from(class == target))).powi(2);
        self.brier.add(p.iter().enumerate().map(gap).sum());
        self.bins.iter_mut().for_each(|bins| bins.add(confidence, right));
        for (class, (bins, p)) in self.of_class.iter_mut().zip(p).enumerate() {
            bins.add(*p, f64::from(u8::from(class == target)));
        }
        self.confident
            .add(if right.is_nan() { right } else { confidence }, best == target);
    }

    /// For each threshold in [`THRESHOLDS`](super::THRESHOLDS), returns the share of the rows whose confidence is
    /// at least the threshold, and the accuracy on these rows. The result is empty without rows.
    pub fn by_confidence(&self) -> Vec<ThresholdLine> {
        self.confident.by_threshold()
    }

    /// Returns the predictive entropies of the rows and of the outliers.
    pub fn unsure(&self) -> &Unsure {
        &self.unsure
    }

    /// Returns the metrics. A metric without rows is left out.
    pub fn finish(self) -> MetricSet {
        let rows = self.right.count;
        let mut metrics = vec![
            ("accuracy".to_string(), self.right.get()),
            ("nll".to_string(), self.nll.get()),
            ("brier".to_string(), self.brier.get()),
        ];
        let gaps = BINS.iter().zip(&self.bins);
        metrics.extend(gaps.map(|((name, _), bins)| ((*name).to_string(), bins.gap(rows))));
        let of_classes: Option<f64> = self.of_class.iter().map(|bins| bins.gap(rows)).sum();
        metrics.extend([
            ("adaptive_ece".to_string(), self.confident.gap(CALIBRATION_BINS)),
            (
                "classwise_ece".to_string(),
                of_classes.map(|sum| sum / self.classes as f64),
            ),
            ("aurc".to_string(), self.confident.aurc()),
            ("log_likelihood".to_string(), self.log_likelihood.get()),
            ("entropy".to_string(), self.unsure.entropy()),
            ("ood_entropy".to_string(), self.unsure.outlier_entropy()),
            ("ood_auroc".to_string(), self.unsure.auroc()),
            ("ood_aupr".to_string(), self.unsure.aupr()),
            ("ood_fpr95".to_string(), self.unsure.accepted_at(0.95)),
        ]);
        present(metrics)
    }
}
