//! PSIS-LOO and WAIC of the training rows: how many draws are taken, their likelihoods, the sums.

use super::Sampled;
use crate::feed::examples;
use crate::fit::{Context, Stop};
use crate::predict::{Predictor, units};
use bnnc_abi::manifest::{Infer, Output, OutputKind};
use bnnc_abi::sampling::{Correction, LeaveOneOut as Wanted, Sampling, Transition};
use bnnc_data::Dataset;
use bnnc_mcmc::loo::{LeaveOneOut, Total};

/// Log likelihoods that are computed without being asked, and numbers of positions that are held for it.
const LIKELIHOODS: usize = 8_000_000;

/// What leaving rows out one at a time found.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Sums over rows, in the target's own units.
    pub total: Total,
    /// Draws that it was computed from.
    pub draws: usize,
}

/// The draws, of `all`, that rows are left out with; `None` where none are: as many as keep to some millions of likelihoods and of
/// numbers of their positions, and no fewer than predictions are made of.
pub fn draws(
    sampling: &Sampling,
    (rows, dimension): (usize, usize),
    (predictive, all): (usize, usize),
) -> Option<usize> {
    let few = rows.saturating_mul(predictive) <= LIKELIHOODS;
    let wanted = match sampling.leave_one_out {
        Wanted::Never => false,
        Wanted::Automatic => few,
        Wanted::Always => true,
    };
    let draws = (LIKELIHOODS / rows.max(dimension).max(1))
        .max(predictive)
        .min(all);
    (wanted && is_posterior(sampling, rows) && rows >= 2 && draws >= 4).then_some(draws)
}

/// PSIS-LOO and WAIC of the training rows; `None` where [`draws`] says so.
///
/// # Errors
/// A file of draws that cannot be read, a limit of the machine.
pub fn leave_one_out(
    (infer, sampling): (&Infer, &Sampling),
    sampled: &Sampled,
    dataset: &Dataset,
    context: &Context,
) -> Result<Option<LeftOut>, Stop> {
    let rows = examples(&infer.bindings, &dataset.train);
    let there_are = (sampled.predictive, sampled.draws());
    let Some(draws) = draws(sampling, (rows, sampled.layout.dimension), there_are) else {
        return Ok(None);
    };
    let mut predictor = Predictor::new(infer, &dataset.train, dataset, draws, context)?;
    match draws == sampled.predictive {
        true => predictor.set_parameters(&sampled.values)?,
        false => predictor.set_parameters(&sampled.spread(draws)?)?,
    }
    // A density of a standardised target is one per standard deviation.
    let unit: f64 = infer
        .outputs
        .iter()
        .map(|output| log_unit(infer, output, dataset))
        .sum();
    let ends = ends(sampled, draws);
    let mut estimator = LeaveOneOut::default();
    let mut total = Total::new(draws);
    let mut log_likelihood = vec![0.0; draws];
    predictor.likelihoods(|_, block| {
        for row in 0..block.rows {
            for (draw, value) in log_likelihood.iter_mut().enumerate() {
                *value = block.log_likelihood[draw * block.rows + row] - unit;
            }
            let mut chains = Vec::with_capacity(ends.len());
            let mut first = 0;
            for end in &ends {
                chains.push(&log_likelihood[first..*end]);
                first = *end;
            }
            let efficiency = estimator.relative_efficiency(&chains);
            total.add(&estimator.row(&log_likelihood, efficiency));
        }
    })?;
    Ok(Some(LeftOut { total, draws }))
}

/// The logarithm of the unit of the densities of an output, in its own units.
pub fn log_unit(infer: &Infer, output: &Output, dataset: &Dataset) -> f64 {
    match output.kind {
        OutputKind::Real => output.elements() as f64 * units(infer, output, &dataset.preparation).sd.ln(),
        OutputKind::Count | OutputKind::Classes(_) | OutputKind::Bool => 0.0,
    }
}

/// Whether the draws are of the posterior itself: a row can be taken out of no other law.
fn is_posterior(sampling: &Sampling, rows: usize) -> bool {
    let share = match &sampling.transition {
        Transition::Penalty(penalty)
            if penalty.correction == Correction::Naive && !penalty.takes_all(rows) =>
        {
            return false;
        }
        Transition::Penalty(penalty) => penalty.share(rows),
        _ => 1.0,
    };
    share == sampling.temperature
}

/// Where the draws of each chain end among so many that are evenly spaced over all.
fn ends(sampled: &Sampled, draws: usize) -> Vec<usize> {
    let all = sampled.draws();
    let mut before = 0;
    let end = |chain: &super::chains::Chain| {
        before += chain.store.len();
        // Draw number `at` of these is draw `at * all / draws` of all.
        (before * draws).div_ceil(all.max(1))
    };
    sampled.chains.iter().map(end).collect()
}
