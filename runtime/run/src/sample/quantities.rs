//! What is diagnosed of a sampled posterior: elements of small sites, norms of large ones, the log density.

use super::Sampled;
use super::sites::Sites;
use crate::fit::{Context, Stop};
use crate::predict::Predictor;
use crate::report::forecast::thinned;
use crate::summary::SMALL;
use bnnc_abi::manifest::{Infer, SiteReport};
use bnnc_abi::sampling::{Report, Store};
use bnnc_base::shape::Sizes;
use bnnc_data::Dataset;
use bnnc_mcmc::diagnostics::{Summariser, Summary};

/// Rows whose predictions are diagnosed.
pub const PREDICTIONS: usize = 31;

/// Draws that predictions are computed for at a time.
const BLOCK: usize = 256;

/// One number per draw.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// `tau`, `theta[2]`, `norm(hidden.w)`.
    pub name: String,
    /// The element of a site that it is, if it is one: the site's number in the infer's reports, and the element's.
    pub element: Option<(usize, usize)>,
    /// What is diagnosed of it.
    pub summary: Summary,
    /// Its draws, chain by chain; empty where draws are kept on disk alone.
    pub chains: Vec<Vec<f64>>,
}

/// A quantity before it is diagnosed.
struct Drawn {
    name: String,
    element: Option<(usize, usize)>,
    chains: Vec<Vec<f64>>,
}

/// Diagnoses quantities as they come, so that one site at a time is in memory where draws are kept on disk.
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

/// What the report of an infer asks for: each element of the sites that are named, or of all small sites, and the norm of each
/// large site. `lp` is the log density of the position.
///
/// # Errors
/// A file that cannot be read, a limit of the machine.
pub fn quantities(
    infer: &Infer,
    sampled: &Sampled,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Quantity>, Stop> {
    let mut sites = Sites::new(infer, sampled, dataset, context)?;
    let moves = |site: &usize| infer.reports[*site].family != "fixed";
    let wanted: Vec<usize> = (0..infer.reports.len()).filter(moves).collect();
    let store = infer.sampling().map(|sampling| sampling.store);
    let mut found = Collector {
        summariser: Summariser::default(),
        keeps: store != Some(Store::Disk),
        found: Vec::new(),
    };
    for site in wanted {
        let report = &infer.reports[site];
        let count = report.shape.count(&Sizes::default());
        let is_named = match infer.sampling().map(|sampling| &sampling.report) {
            Some(Report::Sites(names)) => names.contains(&report.name),
            _ => false,
        };
        found.add(match is_named || count <= SMALL {
            true => elements(&mut sites, site, sampled.chains.len())?,
            false => vec![norm(&mut sites, site, &report.name, sampled.chains.len())?],
        });
    }
    let is_large = |report: &SiteReport| report.shape.count(&Sizes::default()) > SMALL;
    if infer.reports.iter().any(is_large) {
        found.add(predictions(infer, sampled, dataset, context)?);
    }
    if let Some(chains) = sampled.stat("lp")? {
        found.add(vec![Drawn {
            name: "lp".to_owned(),
            element: None,
            chains,
        }]);
    }
    Ok(found.found)
}

/// Every element of a site.
fn elements(sites: &mut Sites<'_>, site: usize, chains: usize) -> Result<Vec<Drawn>, Stop> {
    let report = sites.report(site);
    let shape = report.shape.resolve(&Sizes::default());
    let count: usize = shape.iter().product();
    let mut found: Vec<Drawn> = (0..count)
        .map(|element| Drawn {
            name: element_name(&report.name, &shape, element),
            element: Some((site, element)),
            chains: vec![Vec::new(); chains],
        })
        .collect();
    for chain in 0..chains {
        sites.visit(chain, &[site], |_, values| {
            for draw in values.chunks_exact(count.max(1)) {
                for (quantity, value) in found.iter_mut().zip(draw) {
                    quantity.chains[chain].push(*value);
                }
            }
        })?;
    }
    Ok(found)
}

/// The Euclidean norm of a site.
fn norm(sites: &mut Sites<'_>, site: usize, name: &str, chains: usize) -> Result<Drawn, Stop> {
    let count = sites.report(site).shape.count(&Sizes::default());
    let mut found = vec![Vec::new(); chains];
    for (chain, norms) in found.iter_mut().enumerate() {
        sites.visit(chain, &[site], |_, values| {
            let norm = |draw: &[f64]| draw.iter().map(|value| value * value).sum::<f64>().sqrt();
            norms.extend(values.chunks_exact(count.max(1)).map(norm));
        })?;
    }
    Ok(Drawn {
        name: format!("norm({name})"),
        element: None,
        chains: found,
    })
}

/// Means of the first output at rows evenly spaced over the test rows (the training rows where there are none), in original
/// units; their log likelihoods where the output has no mean. The weights of a network switch places, its predictions do not.
fn predictions(
    infer: &Infer,
    sampled: &Sampled,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<Drawn>, Stop> {
    let all = match dataset.test.count {
        0 => &dataset.train,
        _ => &dataset.test,
    };
    let every = all.count.div_ceil(PREDICTIONS).max(1);
    let rows = thinned(all, every);
    let mut found: Vec<Drawn> = Vec::new();
    for (number, chain) in sampled.chains.iter().enumerate() {
        let (count, width) = (chain.store.len(), chain.store.layout().width());
        for first in (0..count).step_by(BLOCK) {
            let records = chain.store.records(first..(first + BLOCK).min(count))?;
            let mut values = sampled.mean.as_ref().clone();
            for (name, range) in &sampled.layout.slots {
                let column = records
                    .chunks_exact(width)
                    .flat_map(|record| record[range.clone()].iter().copied());
                values.insert(name.clone(), column.collect());
            }
            let draws = records.len() / width;
            let mut predictor = Predictor::new(infer, &rows, dataset, draws, context)?;
            predictor.set_parameters(&values)?;
            predictor.run(|range, block| {
                block.undo(&infer.output, dataset.preparation.target);
                let per_draw = block.mean.len() / block.draws.max(1);
                let (matrix, what) = match per_draw {
                    0 => (&block.log_likelihood, "log_likelihood"),
                    _ => (&block.mean, "mean"),
                };
                let per_draw = matrix.len() / block.draws.max(1);
                for (at, row) in range.enumerate() {
                    if found.len() <= row {
                        found.push(Drawn {
                            name: format!("{what}(row {})", row * every),
                            element: None,
                            chains: vec![Vec::with_capacity(count); sampled.chains.len()],
                        });
                    }
                    let place = at * (per_draw / block.rows.max(1));
                    let column = matrix.chunks_exact(per_draw.max(1)).map(|draw| draw[place]);
                    found[row].chains[number].extend(column);
                }
            })?;
        }
    }
    Ok(found)
}

/// `theta[2]`, `w[0,3]`, `tau`.
pub fn element_name(site: &str, shape: &[usize], element: usize) -> String {
    if shape.is_empty() {
        return site.to_owned();
    }
    let mut rest = element;
    let mut indices: Vec<String> = Vec::with_capacity(shape.len());
    for size in shape.iter().rev() {
        indices.push((rest % size.max(&1)).to_string());
        rest /= size.max(&1);
    }
    indices.reverse();
    format!("{site}[{}]", indices.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_by_their_indices() {
        assert_eq!(element_name("tau", &[], 0), "tau");
        assert_eq!(element_name("theta", &[8], 3), "theta[3]");
        assert_eq!(element_name("w", &[2, 3], 5), "w[1,2]");
    }
}
