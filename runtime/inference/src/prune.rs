//! The pruning table. The table shows the metrics after the weights with the lowest signal-to-noise ratios are set to zero.

use bnnc_abi::manifest::{InferenceBlock, Pruning};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::ports;
use bnnc_core::predict::Predictor;
use bnnc_core::score::Scorer;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_data::metrics::{MetricSet, mean_and_standard_error, over_splits};
use bnnc_kernels::executor::Machine;

/// One line of the pruning table for one split.
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// The fraction of the weights that the program requested to remove.
    pub fraction: f64,
    /// The number of remaining weights.
    pub weights: usize,
    /// The lowest signal-to-noise ratio among the remaining weights. The ratio is the absolute mean divided by the standard deviation.
    pub threshold: f64,
    /// The metrics when the removed weights are zero.
    pub metrics: MetricSet,
}

/// One line of the pruning table, combined over the splits.
#[derive(Clone, Debug, PartialEq)]
pub struct PruningLine {
    /// The fraction of the weights that was removed.
    pub fraction: f64,
    /// The number of remaining weights.
    pub weights: usize,
    /// The lowest signal-to-noise ratio among the remaining weights, averaged over the splits.
    pub threshold: f64,
    /// For each metric, its name and its mean. If there are several splits, the standard error is
    /// stored too.
    pub metrics: Vec<(String, f64, Option<f64>)>,
}

impl PruningLine {
    /// Returns the threshold of the signal-to-noise ratio in decibels.
    pub fn decibels(&self) -> f64 {
        10.0 * self.threshold.log10()
    }
}

/// Computes the pruning table for one split. For each fraction, the removed weights are set to zero and the rows are scored again. The noise is the
/// same as in all other predictions.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn prune(
    infer: &InferenceBlock,
    values: &StateValues,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Pruned>, Stop> {
    let Some(pruning) = infer.training().and_then(|train| train.pruning.as_ref()) else {
        return Ok(Vec::new());
    };
    let ratios = signal_to_noise(pruning, values, context)?;
    let order = ranked(&ratios);
    let masked = InferenceBlock {
        predict: pruning.predict.clone(),
        ..infer.clone()
    };
    let rows = if dataset.test.count > 0 {
        &dataset.test
    } else {
        &dataset.train
    };
    let draws = infer.predictive_draws();
    let mut predictor = Predictor::new(&masked, rows, dataset, draws, context)?;
    predictor.set_parameters(values)?;
    let mut table = Vec::with_capacity(pruning.fractions.len());
    for &fraction in &pruning.fractions {
        let removed = removed(fraction, order.len());
        let (gone, left) = order.split_at(removed);
        set_masks(&mut predictor, &ratios, gone)?;
        let mut scorer = Scorer::new(rows, examples(&infer.bindings, rows), dataset, infer)?;
        predictor.run(|range, block| {
            block.undo(infer, &dataset.preparation);
            scorer.add(range, block);
        })?;
        table.push(Pruned {
            fraction,
            weights: left.len(),
            threshold: left.first().map_or(f64::NAN, |at| element(&ratios, *at)),
            metrics: scorer.finish(),
        });
    }
    Ok(table)
}

/// Combines the pruning tables of several splits. All tables have the same fractions.
pub fn over(tables: &[&[Pruned]]) -> Vec<PruningLine> {
    let Some(first) = tables.first() else {
        return Vec::new();
    };
    let line = |(at, one): (usize, &Pruned)| {
        let of_split = || tables.iter().filter_map(|table| table.get(at));
        let thresholds: Vec<f64> = of_split().map(|one| one.threshold).collect();
        let metrics: Vec<MetricSet> = of_split().map(|one| one.metrics.clone()).collect();
        PruningLine {
            fraction: one.fraction,
            weights: one.weights,
            threshold: mean_and_standard_error(&thresholds).0,
            metrics: over_splits(&metrics),
        }
    };
    first.iter().enumerate().map(line).collect()
}

/// The signal-to-noise ratios of the weights of each site.
pub type Ratios = Vec<(String, Vec<f64>)>;

/// Returns the signal-to-noise ratios of all weights that may be removed.
///
/// # Errors
/// Fails if there is too little memory.
pub fn signal_to_noise(pruning: &Pruning, values: &StateValues, context: &Context) -> Result<Ratios, Fault> {
    let mut machine = Machine::new(&pruning.moments, Sizes::default(), context.pool.clone())?;
    for (name, values) in values {
        ports::real(&mut machine, name, values)?;
    }
    machine.run()?;
    let of_site = |site: &String| {
        let means = machine.read_real(&PortName::Mean.of(site))?;
        let variances = machine.read_real(&PortName::Variance.of(site))?;
        let ratios = means
            .iter()
            .zip(variances)
            .map(|(mean, variance)| ratio(*mean, variance));
        Ok((site.clone(), ratios.collect()))
    };
    pruning.sites.iter().map(of_site).collect()
}

/// Returns the signal-to-noise ratio of a weight. If the mean is zero, the ratio is zero. This holds even if the variance
/// is zero too.
fn ratio(mean: f64, variance: f64) -> f64 {
    match mean == 0.0 {
        true => 0.0,
        false => mean.abs() / variance.sqrt(),
    }
}

/// A weight, identified by the index of its site and the index of its element.
type Weight = (u32, u32);

fn element(ratios: &Ratios, (site, at): Weight) -> f64 {
    ratios[site as usize].1[at as usize]
}

/// Returns all weights in ascending order of their ratio. Weights with equal ratios keep their order.
fn ranked(ratios: &Ratios) -> Vec<Weight> {
    let of_site = |(site, (_, values)): (usize, &(String, Vec<f64>))| {
        (0..values.len() as u32).map(move |at| (site as u32, at))
    };
    let mut order: Vec<Weight> = ratios.iter().enumerate().flat_map(of_site).collect();
    order.sort_unstable_by(|a, b| {
        let lower = element(ratios, *a).total_cmp(&element(ratios, *b));
        lower.then(a.cmp(b))
    });
    order
}

/// Returns the number of weights that are removed. `fraction` is below one. The number is rounded to the nearest integer, but is always less than the
/// number of all weights.
fn removed(fraction: f64, weights: usize) -> usize {
    let nearest = (fraction * weights as f64).round() as usize;
    nearest.min(weights.saturating_sub(1))
}

/// Sets the masks of the `gone` weights to zero, and the masks of all other weights to one.
fn set_masks(predictor: &mut Predictor, ratios: &Ratios, gone: &[Weight]) -> Result<(), Fault> {
    let mut masks: Vec<Vec<f64>> = ratios.iter().map(|(_, values)| vec![1.0; values.len()]).collect();
    for (site, at) in gone {
        masks[*site as usize][*at as usize] = 0.0;
    }
    for ((site, _), mask) in ratios.iter().zip(&masks) {
        predictor.set(&PortName::Mask.of(site), mask)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_ratios_come_first_and_ties_keep_their_order() {
        let ratios: Ratios = vec![
            ("a".to_owned(), vec![1.5, 0.0, 3.0]),
            ("b".to_owned(), vec![0.0, f64::INFINITY, 0.2]),
        ];
        assert_eq!(ranked(&ratios), [(0, 1), (1, 0), (1, 2), (0, 0), (0, 2), (1, 1)]);
    }

    #[test]
    fn fractions_remove_the_nearest_number_but_never_all() {
        assert_eq!([0.0, 0.5, 0.24, 0.999].map(|f| removed(f, 10)), [0, 5, 2, 9]);
        assert_eq!(removed(0.5, 1), 0);
    }

    #[test]
    fn a_weight_without_signal_or_noise_is_at_an_end() {
        assert_eq!(ratio(0.0, 0.0), 0.0);
        assert_eq!(ratio(-2.0, 0.0), f64::INFINITY);
        assert_eq!(ratio(-2.0, 4.0), 1.0);
        assert_eq!(ratio(1.0, f64::INFINITY), 0.0);
    }

    #[test]
    fn decibels_are_ten_times_the_logarithm() {
        let line = PruningLine {
            fraction: 0.5,
            weights: 1,
            threshold: 100.0,
            metrics: Vec::new(),
        };
        assert_eq!(line.decibels(), 20.0);
    }
}
