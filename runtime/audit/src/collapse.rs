//! Checks whether the variational posterior of a network has collapsed to the prior.
//!
//! If the variational family is factorised, the evidence lower bound of a wide network may have a maximum with a constant network function. At
//! this maximum, the posterior of nearly all weights equals their prior (Trippe and Turner 2018, "Overpruning in variational Bayesian neural
//! networks"; Coker et al. 2022, "Wide mean-field Bayesian neural networks ignore the data").

use super::found::moments;
use super::neighbours::Neighbours;
use crate::diagnostics::results as codes;
use bnnc_abi::manifest::{DataSource, InferenceBlock, Output, OutputKind, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::score;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_inference::posterior::Posterior;

/// A parameter with at least this number of elements counts as an array of weights.
const ELEMENTS: usize = 10;

/// The posterior of a weight counts as equal to its prior if the absolute values of two numbers are at most this tolerance. The first number is
/// the difference of the means, in units of the prior standard deviation. The second number is the ratio of the standard deviations, minus one.
const NEAR: f64 = 0.3;

/// A posterior counts as collapsed if at least this fraction of the weights is at the prior.
const MOST: f64 = 0.5;

/// A function counts as constant if the standard deviation of its predictions over the rows is below this fraction of the standard deviation
/// of the target. The predictions then explain less than 4 % of the variance.
const CONSTANT: f64 = 0.2;
/// A function that predicts classes counts as constant if its probabilities have a standard deviation below this value over the rows.
const CONSTANT_PROBABILITY: f64 = 0.05;

/// The check does not run on more training rows than this. With more rows, a pass over the rows would take noticeable time. In addition, posteriors
/// do not collapse if there are more training rows.
const ROWS: usize = 20_000;

/// Nearest neighbours are searched among at most this number of rows, because the search takes quadratic time.
const COMPARED: usize = 500;
/// The check does not run on fewer training rows than this.
const LEAST: usize = 30;

/// Returns a warning if a variational posterior of a network has collapsed. In a collapsed posterior, most weights are at their prior, and the mean
/// prediction is the same for all training rows, although rows with similar inputs have similar targets.
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn collapsed(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    (dataset, context): (&Dataset, &Context),
) -> Result<Option<Diagnostic>, Stop> {
    let is_vi = infer.training().is_some_and(|train| train.vi.is_some());
    let rows = examples(&infer.bindings, &dataset.train);
    let is_usual = rows == dataset.train.count && (LEAST..=ROWS).contains(&rows);
    let output = infer.only_output().filter(|output| output.elements() == 1);
    let (true, true, false, Some(output)) = (is_vi, is_usual, found.is_interrupted(), output) else {
        return Ok(None);
    };
    let (arrays, at_prior) = at_prior(infer, found.point());
    if arrays < 2 || at_prior < MOST {
        return Ok(None);
    }
    let Some(targets) = Targets::of(infer, output, dataset) else {
        return Ok(None);
    };
    let likeness = targets.likeness(&columns(infer, &dataset.train));
    let Some(likeness) = likeness.filter(|_| targets.sd > 0.0) else {
        return Ok(None);
    };
    let variation = variation(infer, found, (dataset, context))?;
    let is_constant = match targets.are_classes {
        true => variation < CONSTANT_PROBABILITY,
        false => variation < CONSTANT * targets.sd,
    };
    Ok(is_constant.then(|| {
        let collapse = codes::PriorFallback {
            output: &output.name,
            at_prior,
            variation,
            target: (!targets.are_classes).then_some(targets.sd),
            likeness,
        };
        codes::collapsed(&infer.name, &collapse)
    }))
}

/// Counts the arrays of weights with a known prior. Returns the number of such arrays, and the fraction of
/// their elements whose posterior equals the prior.
fn at_prior(infer: &InferenceBlock, values: &StateValues) -> (usize, f64) {
    let (mut arrays, mut all, mut same) = (0, 0, 0);
    for report in &infer.reports {
        let Some((elements, at_prior)) = of_site(report, values) else {
            continue;
        };
        arrays += 1;
        all += elements;
        same += at_prior;
    }
    (arrays, same as f64 / all.max(1) as f64)
}

/// Counts the elements of an array of weights that has a normal variational family. Returns the number of all elements, and the number of elements
/// whose posterior equals the prior.
fn of_site(report: &SiteReport, values: &StateValues) -> Option<(usize, usize)> {
    let means = values.get(&report.location())?;
    let scales = values.get(&format!("{}/scale", report.name))?;
    let is_weights = report.has_deviation && report.prior.support == Support::Real;
    if !is_weights || means.len() < ELEMENTS || means.len() != scales.len() {
        return None;
    }
    // The prior scales of a large parameter may be unknown. In this case, a collapse is still visible in the other parameters.
    report.prior.moments(0)?;
    let is_same = |at: usize| {
        report.prior.moments(at).is_some_and(|(mean, sd)| {
            let scale = scales[at].exp().ln_1p();
            (means[at] - mean).abs() < NEAR * sd && (scale / sd - 1.0).abs() < NEAR
        })
    };
    Some((means.len(), (0..means.len()).filter(|at| is_same(*at)).count()))
}

/// For each mean prediction or class probability, computes the standard deviation over the rows. Returns the
/// largest of these standard deviations.
fn variation(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    (dataset, context): (&Dataset, &Context),
) -> Result<f64, Stop> {
    let draws = (found.predictive_draws(infer), context);
    let mut forecaster = found.forecaster(infer, (&dataset.train, true), dataset, draws)?;
    let mut columns: Vec<Vec<f64>> = Vec::new();
    forecaster.run(&mut |_, block| {
        block.undo(infer, &dataset.preparation);
        let values = match block.probabilities.is_empty() {
            true => &block.mean,
            false => &block.probabilities,
        };
        let width = values.len() / (block.rows * block.draws).max(1);
        columns.resize(width, Vec::new());
        let stride = block.rows * width;
        for row in 0..block.rows {
            for (at, column) in columns.iter_mut().enumerate() {
                let of_draws = values.iter().skip(row * width + at).step_by(stride);
                column.push(of_draws.sum::<f64>() / block.draws as f64);
            }
        }
    })?;
    let deviations = columns.iter().map(|column| moments(column).1);
    let largest = deviations.fold(f64::NAN, f64::max);
    Ok(if largest.is_nan() { f64::INFINITY } else { largest })
}

/// Returns those inputs of the training rows that are single numbers. Each input is scaled to a standard deviation of one.
fn columns(infer: &InferenceBlock, rows: &Rows) -> Vec<Vec<f64>> {
    let is_input = |port: &str| infer.outputs.iter().all(|output| output.name != port);
    let mut found: Vec<Vec<f64>> = Vec::new();
    let element = |at: usize| {
        (0..rows.count)
            .map(|row| rows.inputs.real(row * rows.width + at))
            .collect()
    };
    for binding in infer.bindings.iter().filter(|binding| is_input(&binding.port)) {
        match &binding.from {
            DataSource::Inputs => found.extend((0..rows.width).map(element)),
            DataSource::Input(at) => found.push(element(*at)),
            DataSource::Field(name) => {
                let reals = rows.reals(name).ok();
                found.extend(reals.filter(|values| values.len() == rows.count));
            }
            DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => {}
        }
    }
    found.retain_mut(|column| {
        let sd = moments(column).1;
        column.iter_mut().for_each(|value| *value /= sd);
        sd > 0.0 && sd.is_finite()
    });
    found
}

/// The targets of some training rows.
struct Targets {
    values: Vec<f64>,
    sd: f64,
    are_classes: bool,
}

impl Targets {
    fn of(infer: &InferenceBlock, output: &Output, dataset: &Dataset) -> Option<Targets> {
        let column = infer.column(output);
        let (values, are_classes) = match output.kind {
            OutputKind::Real | OutputKind::Count => {
                (score::targets(&dataset.train, dataset, column).ok()?, false)
            }
            OutputKind::Bool | OutputKind::Classes(_) => {
                let classes = dataset.train.ints(column).ok()?;
                (classes.into_iter().map(f64::from).collect(), true)
            }
        };
        let sd = moments(&values).1;
        Some(Targets {
            values,
            sd,
            are_classes,
        })
    }

    /// Computes the mean difference between the target of a row and the target of its nearest neighbour. Returns this mean divided by the mean
    /// difference over all pairs of rows. Returns `None` if this ratio is not significantly below one.
    fn likeness(&self, columns: &[Vec<f64>]) -> Option<f64> {
        let apart = |one: usize, other: usize| -> f64 {
            let difference = self.values[one] - self.values[other];
            match self.are_classes {
                true => f64::from(u8::from(difference != 0.0)),
                false => difference * difference,
            }
        };
        let neighbours = Neighbours::new(self.values.len(), COMPARED, columns);
        let likeness = neighbours.nearby(&apart) / neighbours.anywhere(&apart);
        // If the target is normal noise and one of the inputs of the `n` rows is continuous, the ratio differs from one by up to 1.6 / sqrt(n). With
        // a binary input, the ratio differs from one by up to a tenth of this number (60 seeds of 100 and 200 rows).
        let most = (1.0 - 6.0 / (neighbours.count() as f64).sqrt()).min(0.7);
        (!columns.is_empty() && likeness < most).then_some(likeness)
    }
}

#[cfg(test)]
mod tests {
    use super::super::neighbours::random::{normal, uniform};
    use super::*;

    fn targets(value: impl Fn(f64) -> f64, are_classes: bool) -> (Targets, Vec<f64>) {
        let golden = |at: usize, by: f64| (at as f64 * by).fract();
        let inputs: Vec<f64> = (0..200).map(|at| golden(at, 0.618_033_988_75)).collect();
        let values: Vec<f64> = inputs.iter().map(|x| value(*x)).collect();
        let sd = moments(&values).1;
        let targets = Targets {
            values,
            sd,
            are_classes,
        };
        (targets, inputs)
    }

    #[test]
    fn targets_that_follow_inputs_are_alike_nearby() {
        let (waves, inputs) = targets(|x| (12.0 * x).sin(), false);
        assert!(waves.likeness(&[inputs]).is_some_and(|likeness| likeness < 0.1));
        let (classes, inputs) = targets(|x| f64::from(u8::from((6.0 * x).fract() < 0.5)), true);
        assert!(classes.likeness(&[inputs]).is_some_and(|likeness| likeness < 0.3));
    }

    /// The binary input divides the rows into two groups. A row must be compared with all rows of its group,
    /// and not only with the first row of the group.
    #[test]
    fn noise_beside_a_binary_input_is_not_alike() {
        for seed in 0..50 {
            let values = normal(2 * seed, 400);
            let input: Vec<f64> = uniform(2 * seed + 1, 400).iter().map(|x| x.round()).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            for values in [values, sorted] {
                let targets = Targets {
                    sd: moments(&values).1,
                    values,
                    are_classes: false,
                };
                assert_eq!(
                    targets.likeness(std::slice::from_ref(&input)),
                    None,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn targets_without_a_relation_to_inputs_are_not_alike_nearby() {
        // The targets are random numbers. A wave of any frequency would not be suitable: neighbouring rows would have similar targets, because
        // the distances between neighbouring inputs have only two values.
        let (mut scattered, inputs) = targets(|x| x, false);
        scattered.values = normal(1, 200);
        assert_eq!(scattered.likeness(&[inputs]), None);
        let (waves, _) = targets(|x| (12.0 * x).sin(), false);
        assert_eq!(waves.likeness(&[]), None);
    }
}
