//! Writes draws to files for other tools: a Zarr store for ArviZ and xarray, and Stan CSV files.

mod approximation;
mod predictive;
pub mod stan;

pub use approximation::approximation;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_data::write::zarr::{GroupId, VariableId, ZarrDim, ZarrLabels, ZarrStore, ZarrType, ZarrVariable};
use bnnc_inference::chains::SamplingResult;
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::sites::Sites;
pub(crate) use predictive::chosen;
use serde_json::{Value, json};
use std::path::Path;

/// An inference block whose draws are written, with its results.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The inference block.
    pub infer: &'a InferenceBlock,
    /// The results of the inference block. The draws come from the last split.
    pub outcome: &'a InferenceOutcome,
    /// The context. It holds the seed and a thread pool for the programs of the model.
    pub context: &'a Context,
}

/// An inference block whose Markov chains are written.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// The inference block with its results.
    pub of: Subject<'a>,
    /// The Markov chains of the inference block.
    pub sampled: &'a SamplingResult,
}

impl Subject<'_> {
    fn attributes(&self) -> [(String, Value); 4] {
        let of = |name: &str, value: Value| (name.to_owned(), value);
        [
            of("infer", json!(self.infer.name)),
            of("method", json!(self.infer.method)),
            of("data", json!(self.infer.data)),
            of("seed", json!(self.context.seed)),
        ]
    }

    /// Returns the indices, in [`InferenceBlock::reports`], of the parameters that vary or that are computed from parameters that
    /// vary.
    fn sites(&self) -> Vec<usize> {
        let reports = self.infer.reports.iter().enumerate();
        let drawn = reports.filter(|(_, site)| !site.is_fixed);
        drawn.map(|(number, _)| number).collect()
    }

    fn shape(&self, site: usize) -> Vec<usize> {
        self.infer.reports[site].shape.resolve(&Sizes::default())
    }

    /// Returns the axes of a site. The axes and their positions have the names that the program gives
    /// them.
    fn dims(&self, site: usize) -> Vec<ZarrDim> {
        let (names, site_name) = (&self.infer.names, &self.infer.reports[site].name);
        let dim = |(at, size): (usize, usize)| {
            let labels = names.axis(site_name, at, size);
            let name = names.dim(site_name, at).map(str::to_owned);
            let labels = labels.map_or(ZarrLabels::Count, |labels| ZarrLabels::Text(labels.to_vec()));
            ZarrDim { name, size, labels }
        };
        self.shape(site).into_iter().enumerate().map(dim).collect()
    }

    /// Creates the variables of the group `posterior`. For each variable, returns the index of its parameter, and the variable itself.
    fn variables(&self, store: &mut ZarrStore, group: GroupId) -> Result<Vec<(usize, VariableId)>, Stop> {
        let mut variables = Vec::new();
        for site in self.sites() {
            let dims = self.dims(site);
            let variable = ZarrVariable {
                name: &self.infer.reports[site].name,
                kind: ZarrType::Real,
                dims: &dims,
            };
            variables.push((site, store.variable(group, &variable)?));
        }
        Ok(variables)
    }
}

impl Export<'_> {
    /// Writes the Zarr store. The store contains the groups `posterior`, `sample_stats` and `observed_data`. The group `posterior` has
    /// every site that is sampled or computed. Unless they are too large, it also contains the groups `log_likelihood` and
    /// `posterior_predictive` for the training rows. Targets are in their original units. Chains without draws are left out. The other
    /// chains are truncated to the length of the shortest chain.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if there is too little memory.
    pub fn zarr(&self, path: &Path) -> Result<(), Stop> {
        let mut store = ZarrStore::create(path, self.of.attributes())?;
        self.posterior(&mut store)?;
        self.statistics(&mut store)?;
        self.predictive(&mut store)?;
        self.of.observed(&mut store)?;
        Ok(store.finish()?)
    }

    /// Returns the indices of the chains that have at least one draw.
    fn chains(&self) -> Vec<usize> {
        let chains = self.sampled.chains.iter().enumerate();
        let drawn = chains.filter(|(_, chain)| !chain.store.is_empty());
        drawn.map(|(number, _)| number).collect()
    }

    /// Returns the number of draws that are written for each chain. It is the length of the shortest chain.
    fn draws(&self) -> usize {
        let lengths = self.sampled.chains.iter().map(|chain| chain.store.len());
        lengths.filter(|length| *length > 0).min().unwrap_or(0)
    }

    fn programs(&self) -> Result<Sites<'_>, Stop> {
        Sites::new(
            self.of.infer,
            self.sampled,
            &self.of.outcome.dataset,
            self.of.context,
        )
    }

    fn posterior(&self, store: &mut ZarrStore) -> Result<(), Stop> {
        let (chains, wanted) = (self.chains(), self.of.sites());
        let group = store.samples("posterior", chains.len(), self.draws())?;
        let variables = self.of.variables(store, group)?;
        let mut sites = self.programs()?;
        for (number, chain) in chains.into_iter().enumerate() {
            let mut written = Ok(());
            sites.visit(chain, &wanted, |site, values| {
                let variable = variables.iter().find(|(found, _)| *found == site);
                if let (Some((_, variable)), Ok(())) = (variable, &written) {
                    written = store.append(*variable, number, values);
                }
            })?;
            written?;
        }
        Ok(())
    }

    fn statistics(&self, store: &mut ZarrStore) -> Result<(), Stop> {
        let chains = self.chains();
        let group = store.samples("sample_stats", chains.len(), self.draws())?;
        let mut variables = Vec::new();
        for name in self.sampled.stats() {
            let kind = match *name {
                "diverging" | "accepted" => ZarrType::Bool,
                "n_steps" | "tree_depth" | "n_rows" => ZarrType::Int,
                _ => ZarrType::Real,
            };
            variables.push(store.variable(
                group,
                &ZarrVariable {
                    name,
                    kind,
                    dims: &[],
                },
            )?);
        }
        for (number, chain) in chains.into_iter().enumerate() {
            let draws = &self.sampled.chains[chain].store;
            let (first, width) = (self.sampled.layout.dimension, draws.layout().width());
            let mut written = Ok(());
            draws.blocks(0..draws.len(), |block| {
                for (at, variable) in variables.iter().enumerate() {
                    let column = block.chunks_exact(width).map(|record| record[first + at]);
                    if written.is_ok() {
                        written = store.append(*variable, number, &column.collect::<Vec<f64>>());
                    }
                }
            })?;
            written?;
        }
        Ok(())
    }
}

/// Returns the Zarr type of the elements of an output.
fn kind_of(output: &Output) -> ZarrType {
    match output.kind {
        OutputKind::Real => ZarrType::Real,
        OutputKind::Count | OutputKind::Classes(_) => ZarrType::Int,
        OutputKind::Bool => ZarrType::Bool,
    }
}
