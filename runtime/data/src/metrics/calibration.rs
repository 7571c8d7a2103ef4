//! Probabilities in bins of equal width, with the frequency of the predicted event in each bin.

/// The bins of a calibration error. With `B` bins, bin `m` holds the probabilities in `((m - 1) / B, m / B]`, and
/// the first bin also holds 0 (Guo et al. 2017).
#[derive(Clone, Debug)]
pub(super) struct CalibrationBins {
    bins: Vec<Bin>,
}

/// The sums of one bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// The sum of the probabilities.
    probability: f64,
    /// The number of predictions that came true.
    hits: f64,
}

impl CalibrationBins {
    /// Creates `count` empty bins.
    pub(super) fn new(count: usize) -> CalibrationBins {
        CalibrationBins {
            bins: vec![Bin::default(); count],
        }
    }

    /// Adds a probability. `hit` is 1 if the predicted event happened, and 0 otherwise. If a number is NaN, all gaps
    /// become NaN.
    pub(super) fn add(&mut self, probability: f64, hit: f64) {
        let count = self.bins.len();
        // A NaN becomes 0 in the conversion, so it goes into the first bin, whose sum becomes NaN.
        let place = (probability * count as f64).ceil().clamp(1.0, count as f64) as usize;
        if let Some(bin) = self.bins.get_mut(place.saturating_sub(1)) {
            bin.probability += probability;
            bin.hits += hit;
        }
    }

    /// Returns the mean gap between probability and frequency: the sum over bins of `n_m / rows` times
    /// `abs(mean probability - frequency)`, which is `abs(sum of probabilities - hits) / rows`. The result is `None` without rows.
    pub(super) fn gap(&self, rows: f64) -> Option<f64> {
        let gaps = self.bins.iter().map(|bin| (bin.probability - bin.hits).abs());
        (rows > 0.0).then(|| gaps.sum::<f64>() / rows)
    }
}
