//! Histograms that are normalised to densities.

use crate::svg::Plot;
use bnnc_data::metrics::extent;

/// A histogram has at most this number of bins.
const BINS: usize = 40;

/// Returns twice the cube root of the number of values (the rule of Rice University). With this number of bins, the histogram does not have gaps
/// even if there are only a few values.
fn bins(values: usize) -> usize {
    let rice = (2.0 * (values as f64).cbrt()).ceil() as usize;
    rice.clamp(5, BINS)
}

/// A histogram that is normalised to a density. All bins have the same width.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The lower end of the first bin.
    pub low: f64,
    width: f64,
    densities: Vec<f64>,
}

impl Histogram {
    /// Builds a histogram between the smallest and the largest value. Returns `None` if all values are equal.
    pub fn new(values: &[f64]) -> Option<Histogram> {
        let (low, high) = extent(values.iter().copied().filter(|value| value.is_finite()));
        Histogram::between(values, low, high)
    }

    /// Builds a histogram of the values between two ends. Returns `None` if no value is between the ends.
    pub fn between(values: &[f64], low: f64, high: f64) -> Option<Histogram> {
        Histogram::in_bins(values, (low, high), bins(values.len()))
    }

    /// Builds a histogram of whole numbers between two ends. Each bin contains one integer, or the same number of integers if the range is wide.
    /// Bins of another width would show gaps and peaks that are not in the data. Returns `None` if no value is between the ends.
    pub fn of_whole(values: &[f64], low: f64, high: f64) -> Option<Histogram> {
        let width = ((high - low) / BINS as f64).ceil().max(1.0);
        let low = low.ceil() - 0.5;
        let bins = ((high - low) / width).ceil().max(1.0);
        Histogram::in_bins(values, (low, low + bins * width), bins as usize)
    }

    fn in_bins(values: &[f64], (low, high): (f64, f64), bins: usize) -> Option<Histogram> {
        let width = (high - low) / bins as f64;
        let inside: Vec<f64> = values
            .iter()
            .copied()
            .filter(|value| (low..=high).contains(value))
            .collect();
        if !(width > 0.0 && width.is_finite()) || inside.is_empty() {
            return None;
        }
        let mut densities = vec![0.0; bins];
        for value in &inside {
            densities[(((value - low) / width) as usize).min(bins - 1)] +=
                1.0 / (inside.len() as f64 * width);
        }
        Some(Histogram {
            low,
            width,
            densities,
        })
    }

    /// Returns the upper end of the last bin.
    pub fn high(&self) -> f64 {
        self.low + self.width * self.densities.len() as f64
    }

    /// Returns the largest density of all bins.
    pub fn top(&self) -> f64 {
        self.densities.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the density at a value. Outside the bins, the density is 0.
    pub fn at(&self, value: f64) -> f64 {
        let bin = (value - self.low) / self.width;
        let is_inside = bin >= 0.0 && value <= self.high();
        let last = self.densities.len().saturating_sub(1);
        let density = self.densities.get((bin.max(0.0) as usize).min(last));
        density.copied().filter(|_| is_inside).unwrap_or(0.0)
    }

    /// Draws all bins as one area.
    pub fn draw(&self, plot: &mut Plot, class: &'static str) {
        let edge = |bin: usize| self.low + self.width * bin as f64;
        let edges: Vec<f64> = (0..self.densities.len())
            .flat_map(|bin| [edge(bin), edge(bin + 1)])
            .collect();
        let heights: Vec<f64> = self.densities.iter().flat_map(|density| [*density; 2]).collect();
        plot.band(class, &edges, &vec![0.0; edges.len()], &heights);
    }

    /// Returns the middle of each bin with its density.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let middle = |bin: usize| self.low + self.width * (bin as f64 + 0.5);
        self.densities
            .iter()
            .enumerate()
            .map(move |(bin, density)| (middle(bin), *density))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_bins_of_whole_numbers() {
        // Each of the numbers 0 to 6 occurs ten times. With the nine bins of Rice's rule, two bins would be empty.
        let values: Vec<f64> = (0..70).map(|at| f64::from(at % 7)).collect();
        let Some(found) = Histogram::of_whole(&values, -1.0, 7.0) else {
            panic!("there are values");
        };
        let points: Vec<(f64, f64)> = found.points().filter(|(_, density)| *density > 0.0).collect();
        assert_eq!(points.len(), 7);
        assert!(points.iter().enumerate().all(|(at, point)| point.0 == at as f64));
        assert!(
            points
                .iter()
                .all(|(_, density)| (density - 1.0 / 7.0).abs() < 1e-12)
        );
        // In a wide range, each bin contains two integers.
        let wide: Vec<f64> = (0..64).map(f64::from).collect();
        let Some(found) = Histogram::of_whole(&wide, 0.0, 63.0) else {
            panic!("there are values");
        };
        assert_eq!(found.width.fract(), 0.0);
        assert!(found.points().all(|(_, density)| density > 0.0));
    }

    #[test]
    fn a_histogram_integrates_to_one() {
        let values: Vec<f64> = (0..8000).map(|at| f64::from(at).sqrt()).collect();
        let Some(found) = Histogram::new(&values) else {
            panic!("the values vary");
        };
        let area: f64 = found.densities.iter().map(|density| density * found.width).sum();
        assert!((area - 1.0).abs() < 1e-12, "{area}");
        assert_eq!(found.at(-1.0), 0.0);
        assert_eq!(found.at(found.high() + 1.0), 0.0);
        assert_eq!(found.at(found.high()), found.densities[BINS - 1]);
        // The square root of a uniform number has a density that is linear on its range. Bin k of 40 contains 2 k - 1 of 1600 equal parts.
        let last = found.densities[BINS - 1] * found.width;
        assert!((last - 79.0 / 1600.0).abs() < 2e-3, "{last}");
        assert_eq!(Histogram::new(&[2.0, 2.0]), None);
        assert_eq!(Histogram::new(&[f64::NAN]), None);
    }
}
