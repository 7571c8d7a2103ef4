//! The data of the pictures that `:plot` shows. The command line draws these pictures.

use bnnc_graph::tensor::Tensor;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The title.
    pub title: String,
    /// The label of the horizontal axis.
    pub label: String,
    /// The content.
    pub content: PictureContent,
}

/// The content of a picture.
#[derive(Clone, Debug, PartialEq)]
pub enum PictureContent {
    /// Named densities in one coordinate system.
    Densities(Vec<(String, PictureMarks)>),
    /// For each element of an array, its name, its mean and its central 90 % interval.
    Intervals(Vec<(String, IntervalSummary)>),
    /// The draws of each chain, in the order of the chain.
    Traces(Vec<Vec<f64>>),
}

/// The marks that represent one density in a picture.
#[derive(Clone, Debug, PartialEq)]
pub enum PictureMarks {
    /// Draws of real numbers.
    Draws(Vec<f64>),
    /// Draws of whole numbers.
    Counts(Vec<f64>),
    /// Pairs of a value and its density, from left to right.
    Curve(Vec<(f64, f64)>),
    /// Pairs of a whole number and its probability.
    Masses(Vec<(f64, f64)>),
}

/// A summary of some draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSummary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with the divisor `draws - 1`.
    pub sd: f64,
    /// The 5 % quantile.
    pub low: f64,
    /// The 95 % quantile.
    pub high: f64,
}

impl IntervalSummary {
    /// Computes the summary of draws.
    pub fn of(draws: &[f64]) -> IntervalSummary {
        let count = draws.len().max(1) as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let squares: f64 = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum();
        let sorted = ascending(draws);
        IntervalSummary {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            low: quantile(&sorted, 0.05),
            high: quantile(&sorted, 0.95),
        }
    }
}

/// Returns the draws in ascending order.
pub fn ascending(draws: &[f64]) -> Vec<f64> {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns a quantile of sorted draws, with linear interpolation between neighbours, as in R and NumPy.
pub fn quantile(sorted: &[f64], level: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = level.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    match low == high {
        true => low,
        false => low + (place - below as f64) * (high - low),
    }
}

/// Returns the draws of each element of an array, from draws `[draws, ..]`.
pub fn columns(draws: &Tensor) -> Vec<Vec<f64>> {
    let elements: usize = draws.shape.iter().skip(1).product();
    let column = |at: usize| {
        let own = draws.data.iter().skip(at).step_by(elements.max(1));
        own.copied().collect()
    };
    (0..elements).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_match_numpy() {
        // The expected values come from `numpy.mean`, `numpy.std(ddof=1)` and `numpy.quantile` of
        // the same numbers.
        let found = IntervalSummary::of(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]);
        assert_eq!(found.mean, 3.875);
        assert!((found.sd - 2.748_376_143_938_713).abs() < 1e-12);
        assert!((found.low - 1.0).abs() < 1e-12 && (found.high - 7.95).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn columns_are_elements() {
        let draws = Tensor::new(vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(columns(&draws), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    }
}
