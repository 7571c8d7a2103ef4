//! The quantities of a sampled posterior whose convergence is diagnosed. These quantities are the elements
//! of small sites, the norms of large sites and of sites in layers, predictions, and the log density.

use bnnc_abi::manifest::{InferenceBlock, Output, SiteReport};
use bnnc_abi::methods::sampling::{DiagnosedQuantities, DrawStorage, Sampling};
use bnnc_abi::names::layer_of;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::predict::{Predictive, Predictor};
use bnnc_core::store::ChainStore;
use bnnc_core::thinned::thinned;
use bnnc_data::Dataset;
use bnnc_inference::chains::{Quantity, SamplingResult};
use bnnc_inference::sites::Sites;
use bnnc_inference::summary::SMALL;
use bnnc_mcmc::diagnostics::Summariser;
use std::ops::Range;

/// The largest number of rows whose predictions are diagnosed.
pub const PREDICTIONS: usize = 31;

/// The number of draws in one block of predictions.
const BLOCK: usize = 256;

/// If draws are kept only on disk, the largest number of reals of one site that are in memory at
/// the same time.
const HELD: usize = 1 << 22;

/// The draws of one quantity before its convergence is diagnosed.
struct Drawn {
    name: String,
    element: Option<(usize, usize)>,
    chains: Vec<Vec<f64>>,
}

/// Diagnoses quantities one by one. If draws are kept on disk, the draws of only one site at a time
/// are in memory.
struct Collector {
    summariser: Summariser,
    keeps: bool,
    found: Vec<Quantity>,
}

impl Collector {
    fn add(&mut self, drawn: Vec<Drawn>) {
        for Drawn {
            name,
            element,
            chains,
        } in drawn
        {
            let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let summary = self.summariser.summary(&slices);
            let chains = if self.keeps { chains } else { Vec::new() };
            self.found.push(Quantity {
                name,
                element,
                summary,
                chains,
            });
        }
    }
}

/// Returns whether each element of a site is diagnosed. This is the case if `report` names the site, or if the
/// site is small and not part of a layer. The weights of layers are not diagnosed by element, because the
/// units of a layer may swap places between draws.
fn by_element(site: &SiteReport, sampling: &Sampling) -> bool {
    let is_named = match &sampling.options.report {
        DiagnosedQuantities::Sites(names) => names.contains(&site.name),
        DiagnosedQuantities::Automatic => false,
    };
    is_named || !by_norm(site)
}

/// Returns whether the norm of a site is diagnosed if `report` does not name the site.
fn by_norm(site: &SiteReport) -> bool {
    layer_of(&site.name).is_some() || site.shape.count(&Sizes::default()) > SMALL
}

/// Returns whether predictions are diagnosed. Predictions are diagnosed if the model has a large
/// site or a layer, because the norms of such sites may not show whether predictions have
/// converged.
pub fn predicts(infer: &InferenceBlock) -> bool {
    infer.reports.iter().any(by_norm)
}

/// Returns the number of quantities that are diagnosed for a site.
pub fn of_site(site: &SiteReport, sampling: &Sampling) -> usize {
    match by_element(site, sampling) {
        true => site.shape.count(&Sizes::default()),
        false => 1,
    }
}

/// Diagnoses the quantities that the `report` option of an inference block selects. For each named
/// site and each small site outside layers, every element is a quantity. For each other site, the
/// norm is a quantity. If norms are diagnosed, predictions are
/// diagnosed too. The quantity `lp` is the log density of the position.
///
/// # Errors
/// Fails if a file cannot be read, or if there is too little memory.
pub fn quantities(
    infer: &InferenceBlock,
    sampled: &SamplingResult,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Quantity>, Stop> {
    let mut sites = Sites::new(infer, sampled, dataset, context)?;
    let moves = |site: &usize| !infer.reports[*site].is_fixed;
    let wanted: Vec<usize> = (0..infer.reports.len()).filter(moves).collect();
    let Some(sampling) = infer.sampling() else {
        return Ok(Vec::new());
    };
    let mut found = Collector {
        summariser: Summariser::default(),
        keeps: sampling.options.store != DrawStorage::Disk,
        found: Vec::new(),
    };
    for site in wanted {
        let report = &infer.reports[site];
        if !by_element(report, sampling) {
            found.add(vec![norm(&mut sites, site, &report.name, sampled)?]);
            continue;
        }
        let count = report.shape.count(&Sizes::default());
        let at_a_time = match found.keeps {
            true => count.max(1),
            false => (HELD / (sampled.draws() / sampled.every()).max(1)).max(1),
        };
        for first in (0..count).step_by(at_a_time) {
            let range = first..(first + at_a_time).min(count);
            found.add(elements(&mut sites, site, range, sampled)?);
        }
    }
    if predicts(infer) {
        found.add(predictions(infer, sampled, dataset, context)?);
    }
    if sampled.stats().contains(&"lp") {
        found.add(vec![density(sampled)?]);
    }
    Ok(found.found)
}

/// Returns the draws of the log density of the position.
fn density(sampled: &SamplingResult) -> Result<Drawn, Stop> {
    let every = sampled.every();
    let mut chains = Vec::with_capacity(sampled.chains.len());
    for chain in &sampled.chains {
        let (mut at, mut values) = (0, Vec::new());
        sampled.visit("lp", chain, |value| {
            if at % every == 0 {
                values.push(value);
            }
            at += 1;
        })?;
        chains.push(values);
    }
    Ok(Drawn {
        name: "lp".to_owned(),
        element: None,
        chains,
    })
}

/// Returns the draws of some elements of a site.
fn elements(
    sites: &mut Sites<'_>,
    site: usize,
    range: Range<usize>,
    sampled: &SamplingResult,
) -> Result<Vec<Drawn>, Stop> {
    let (chains, every) = (sampled.chains.len(), sampled.every());
    let (report, names) = (sites.report(site), sites.names());
    let shape = report.shape.resolve(&Sizes::default());
    let count: usize = shape.iter().product();
    let mut found: Vec<Drawn> = range
        .clone()
        .map(|element| Drawn {
            name: names.element(&report.name, &shape, element),
            element: Some((site, element)),
            chains: vec![Vec::new(); chains],
        })
        .collect();
    for chain in 0..chains {
        let mut at = 0;
        sites.visit(chain, &[site], |_, values| {
            for draw in values.chunks_exact(count.max(1)) {
                if at % every == 0 {
                    for (quantity, value) in found.iter_mut().zip(&draw[range.clone()]) {
                        quantity.chains[chain].push(*value);
                    }
                }
                at += 1;
            }
        })?;
    }
    Ok(found)
}

/// Returns the draws of the Euclidean norm of a site.
fn norm(sites: &mut Sites<'_>, site: usize, name: &str, sampled: &SamplingResult) -> Result<Drawn, Stop> {
    let every = sampled.every();
    let count = sites.report(site).shape.count(&Sizes::default());
    let mut found = vec![Vec::new(); sampled.chains.len()];
    for (chain, norms) in found.iter_mut().enumerate() {
        let mut at = 0;
        sites.visit(chain, &[site], |_, values| {
            for draw in values.chunks_exact(count.max(1)) {
                if at % every == 0 {
                    norms.push(draw.iter().map(|value| value * value).sum::<f64>().sqrt());
                }
                at += 1;
            }
        })?;
    }
    Ok(Drawn {
        name: format!("norm({name})"),
        element: None,
        chains: found,
    })
}

/// For each output, returns the draws of the mean of its first element, in original units. The rows
/// are evenly spaced test rows; without test rows, they are training rows. If an output does not
/// have a mean, its log likelihood is used. Unlike the weights, predictions do not change if the
/// units of a network swap places between draws.
fn predictions(
    infer: &InferenceBlock,
    sampled: &SamplingResult,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Drawn>, Stop> {
    let all = match dataset.test.count {
        0 => &dataset.train,
        _ => &dataset.test,
    };
    let every = all.count.div_ceil(PREDICTIONS).max(1);
    let rows = thinned(all, every);
    let numbers = rows.numbers();
    let number_of = |row: usize| numbers.as_ref().map_or(row * every, |numbers| numbers[row]);
    let apart = sampled.every();
    let mut found: Vec<Drawn> = Vec::new();
    for (number, chain) in sampled.chains.iter().enumerate() {
        let (count, width) = (chain.store.len(), chain.store.layout().width());
        for first in (0..count).step_by(BLOCK * apart) {
            let records = records(&chain.store, first..(first + BLOCK * apart).min(count), apart)?;
            let draws = records.len() / width;
            let mut predictor = Predictor::new(infer, &rows, dataset, draws, context)?;
            predictor.set_parameters(&sampled.states(chain, &records))?;
            predictor.run(|range, block| {
                block.undo(infer, &dataset.preparation);
                let each = outputs(infer, block);
                for (at, row) in range.enumerate() {
                    for (place, (name, matrix)) in each.iter().enumerate() {
                        let quantity = row * each.len() + place;
                        if found.len() <= quantity {
                            found.push(Drawn {
                                name: format!("{name}(row {})", number_of(row)),
                                element: None,
                                chains: vec![Vec::new(); sampled.chains.len()],
                            });
                        }
                        let per_draw = matrix.len() / block.draws.max(1);
                        let first = at * (per_draw / block.rows.max(1));
                        let column = matrix.chunks_exact(per_draw.max(1)).map(|draw| draw[first]);
                        found[quantity].chains[number].extend(column);
                    }
                }
            })?;
        }
    }
    Ok(found)
}

/// Returns the mean of each output, or the log likelihood of an output without a mean. If no output
/// has a mean or a log likelihood, returns the joint log likelihood.
fn outputs<'a>(infer: &InferenceBlock, block: &'a Predictive) -> Vec<(String, &'a [f64])> {
    let of_output = |(output, predictive): (&Output, &'a Predictive)| {
        let (what, matrix) = match predictive.mean.is_empty() {
            true => ("log_likelihood", &predictive.log_likelihood[..]),
            false => ("mean", &predictive.mean[..]),
        };
        (!matrix.is_empty()).then(|| (infer.quantity_name(output, what), matrix))
    };
    let each: Vec<_> = infer
        .outputs
        .iter()
        .zip(block.each())
        .filter_map(of_output)
        .collect();
    match each.is_empty() {
        true => vec![("log_likelihood".to_owned(), &block.log_likelihood)],
        false => each,
    }
}

/// Returns the records of a range at regular distances: the first record, and every `every`-th
/// record after it.
fn records(store: &ChainStore, range: Range<usize>, every: usize) -> Result<Vec<f64>, Diagnostic> {
    let (mut at, mut found) = (0, Vec::new());
    store.blocks(range, |block| {
        for record in block.chunks_exact(store.layout().width()) {
            if at % every == 0 {
                found.extend_from_slice(record);
            }
            at += 1;
        }
    })?;
    Ok(found)
}
