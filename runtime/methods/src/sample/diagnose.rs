//! Computes diagnostics from draws: the statistics of the sampler itself, R-hat and the effective
//! sample size of every quantity, and PSIS-LOO.

use bnnc_abi::manifest::{InferenceBlock, OutputKind};
use bnnc_abi::methods::sampling::Sampling;
use bnnc_abi::methods::sampling::samplers::penalty::Correction;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use bnnc_data::Dataset;
use bnnc_inference::chains::{Diagnosis, Quantity, SamplingResult};
use bnnc_inference::leave_one_out::LeftOut;
use bnnc_mcmc::diagnostics::energy::Energies;
use bnnc_mcmc::diagnostics::{ChainFacts, Summariser, Swapped, advice};
use bnnc_mcmc::samplers::penalty::report::target;
use bnnc_training::report::raw;

/// Diagnoses the draws of a sampling run.
///
/// # Errors
/// Fails if a file cannot be read, or if there is too little memory.
pub fn diagnose(
    infer: &InferenceBlock,
    sampled: &SamplingResult,
    quantities: &[Quantity],
    dataset: &Dataset,
    left_out: Option<&LeftOut>,
) -> Result<Diagnosis, Stop> {
    let Some(sampling) = infer.sampling() else {
        return Ok(Diagnosis::default());
    };
    let summary = |quantity: &Quantity| (quantity.name.clone(), quantity.summary);
    let count = |name: &str, counts: &dyn Fn(f64) -> bool| -> Result<usize, Stop> {
        let mut found = 0;
        for chain in &sampled.chains {
            sampled.visit(name, chain, |value| found += usize::from(counts(value)))?;
        }
        Ok(found)
    };
    let part = sampling.transition.part();
    let largest = part.max_depth().map_or(f64::INFINITY, |depth| depth as f64);
    let mut found = Diagnosis {
        quantities: quantities.iter().map(summary).collect(),
        divergences: count("diverging", &|value| value > 0.0)?,
        cut: count("tree_depth", &|value| value >= largest)?,
        means: means(sampled)?,
        missing_information: missing_information(sampled)?,
        target: None,
        warnings: Vec::new(),
    };
    if let Some(penalty) = part.penalty() {
        let rows = examples(&infer.bindings, &dataset.train);
        found.target = Some(target(penalty, rows, sampling.options.temperature));
        // A single batch does not permit an estimate of the variance.
        if penalty.batches < 2 && !penalty.takes_all(rows) {
            found.means.retain(|(name, _)| *name != "delta_variance");
        }
    }
    let reports = sampling.noncentred.iter().filter_map(|at| infer.reports.get(*at));
    let noncentred: Vec<String> = reports.map(|report| report.name.clone()).collect();
    let swapped = swapped(infer, quantities);
    let outputs: Vec<OutputKind> = infer.outputs.iter().map(|output| output.kind.clone()).collect();
    found.warnings = advice(&ChainFacts {
        infer: &infer.name,
        transition: &sampling.transition,
        chains: sampled.chains.len(),
        without_draws: &sampled.without_draws,
        iterations: sampled.draws(),
        divergences: found.divergences,
        cut: found.cut,
        acceptance: found.mean("acceptance_rate"),
        missing_information: &found.missing_information,
        quantities: &found.quantities,
        shapes: left_out.map(|left_out| left_out.total.shapes()),
        loss_variance: loss_variance(sampling, &found),
        noncentred: &noncentred,
        jumps: &sampling.jumps,
        centred: &sampling.centred,
        swapped: swapped.as_ref(),
        parameters: infer.cost.parameters,
        has_layers: infer
            .reports
            .iter()
            .any(|report| !infer.names.declares(&report.name)),
        outputs: &outputs,
        raw: raw(infer, dataset).as_deref(),
    });
    Ok(found)
}

/// An R-hat above this value is a sign that chains are in different modes.
const APART: f64 = 1.2;
/// The values within each draw are sorted. If R-hat is then below this limit, the chains agree
/// except for the order of the values.
const TOGETHER: f64 = 1.05;

/// Sorted values are compared only if the vector, or the group of scalars, has at most this number
/// of elements.
const COMPONENTS: usize = 10;

/// Returns quantities on which the chains agree only after the values within each draw are sorted:
/// the elements of a vector, or two scalars.
fn swapped(infer: &InferenceBlock, quantities: &[Quantity]) -> Option<Swapped> {
    let apart = |quantity: &&Quantity| {
        !quantity.chains.is_empty() && quantity.element.is_some() && quantity.summary.rhat > APART
    };
    let apart: Vec<&Quantity> = quantities.iter().filter(apart).collect();
    let site = |quantity: &Quantity| quantity.element.map(|(site, _)| site);
    let of = |at: usize| -> Vec<&Quantity> {
        quantities
            .iter()
            .filter(|quantity| site(quantity) == Some(at))
            .collect()
    };
    let mut vectors: Vec<usize> = apart.iter().filter_map(|quantity| site(quantity)).collect();
    vectors.dedup();
    for at in vectors {
        let own = of(at);
        if (2..=COMPONENTS).contains(&own.len()) && agree_in_order(&own) {
            return Some(Swapped {
                names: vec![infer.reports[at].name.clone()],
                count: own.len(),
            });
        }
    }
    let numbers: Vec<&Quantity> = apart
        .into_iter()
        .filter(|quantity| site(quantity).is_some_and(|at| of(at).len() == 1))
        .collect();
    let mut pairs = numbers
        .iter()
        .take(COMPONENTS)
        .enumerate()
        .flat_map(|(at, one)| numbers[..at].iter().map(move |other| [*other, *one]));
    pairs.find(|pair| agree_in_order(pair)).map(|pair| Swapped {
        names: pair.iter().map(|quantity| quantity.name.clone()).collect(),
        count: 2,
    })
}

/// Returns whether the chains agree on some quantities once the values within each draw are sorted.
fn agree_in_order(quantities: &[&Quantity]) -> bool {
    let mut sorted: Vec<Vec<Vec<f64>>> = quantities
        .iter()
        .map(|quantity| quantity.chains.clone())
        .collect();
    let mut draw = vec![0.0; quantities.len()];
    for chain in 0..quantities[0].chains.len() {
        for number in 0..quantities[0].chains[chain].len() {
            for (value, quantity) in draw.iter_mut().zip(quantities) {
                *value = quantity.chains[chain][number];
            }
            draw.sort_unstable_by(f64::total_cmp);
            for (value, column) in draw.iter().zip(&mut sorted) {
                column[chain][number] = *value;
            }
        }
    }
    let mut summariser = Summariser::default();
    sorted.iter().all(|chains| {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        summariser.summary(&chains).rhat < TOGETHER
    })
}

fn means(sampled: &SamplingResult) -> Result<Vec<(&'static str, Vec<f64>)>, Diagnostic> {
    let mut found = Vec::new();
    for name in sampled.stats() {
        let mut of_chains = Vec::with_capacity(sampled.chains.len());
        for chain in &sampled.chains {
            let (mut sum, mut count) = (0.0, 0.0);
            sampled.visit(name, chain, |value| {
                if value.is_finite() {
                    sum += value;
                    count += 1.0;
                }
            })?;
            of_chains.push(sum / count);
        }
        found.push((*name, of_chains));
    }
    Ok(found)
}

/// Returns the E-BFMI of each chain. The list is empty if the sampler does not record an energy.
fn missing_information(sampled: &SamplingResult) -> Result<Vec<f64>, Diagnostic> {
    let mut found = Vec::new();
    if !sampled.stats().contains(&"energy") {
        return Ok(found);
    }
    for chain in &sampled.chains {
        let mut sum = 0.0;
        sampled.visit("energy", chain, |energy| sum += energy)?;
        let mut energies = Energies::about(sum / chain.store.len() as f64);
        sampled.visit("energy", chain, |energy| energies.take(energy))?;
        found.push(energies.fraction());
    }
    Ok(found)
}

/// Returns the mean variance of the loss differences. Returns `None` if the sampler does not
/// correct for this variance.
fn loss_variance(sampling: &Sampling, found: &Diagnosis) -> Option<f64> {
    let penalty = sampling.transition.part().penalty();
    let corrects = penalty.is_some_and(|penalty| penalty.correction != Correction::Naive);
    let means = found.mean("delta_variance");
    (corrects && !means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
}
