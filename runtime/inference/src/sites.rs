//! Computes the values of sites from positions. The values are on the scale that the program declares for the sites.

use crate::chains::SamplingResult;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::names::Names;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::Feed;
use bnnc_core::ports;
use bnnc_data::Dataset;
use bnnc_kernels::executor::Machine;

/// The maximum number of site elements that one call of the program computes.
const ELEMENTS: usize = 1 << 16;

/// The program that computes sites from positions.
pub struct Sites<'a> {
    infer: &'a InferenceBlock,
    sampled: &'a SamplingResult,
    machine: Machine,
    per_call: usize,
    /// A buffer for the values of one state at all draws of a call.
    state: Vec<f64>,
}

impl<'a> Sites<'a> {
    /// Prepares the program that computes sites.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(
        infer: &'a InferenceBlock,
        sampled: &'a SamplingResult,
        dataset: &Dataset,
        context: &Context,
    ) -> Result<Sites<'a>, Stop> {
        let per_call = (ELEMENTS / infer.cost.parameters.max(1)).clamp(1, 1000);
        let sizes = Sizes::default().with(Symbol::Draws, per_call);
        let mut machine = Machine::new(&infer.sites, sizes, context.pool.clone())?;
        let plan = &infer.sites.plan;
        // To compute a site in the non-centred parameterisation, the program may need the inputs that all examples share.
        Feed::of_plan((infer, plan), &dataset.train, dataset, true)?.write_shared(&mut machine)?;
        for state in infer.states.iter().filter(|state| !sampled.layout.moves(state)) {
            if let Some(values) = sampled.mean.get(&state.name) {
                ports::real(&mut machine, &state.name, values)?;
            }
        }
        Ok(Sites {
            infer,
            sampled,
            machine,
            per_call,
            state: Vec::new(),
        })
    }

    /// Returns the report on a site.
    pub fn report(&self, site: usize) -> &'a SiteReport {
        &self.infer.reports[site]
    }

    /// Returns the names of the elements of all sites.
    pub fn names(&self) -> &'a Names {
        &self.infer.names
    }

    /// Computes the values of the `wanted` sites at the draws of a chain, in blocks of draws. Sites are given by their indices in
    /// [`InferenceBlock::reports`]. For each site and block, calls `visit(site, values)` with values of the shape `[draws of the block, ..]`.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if the program fails because of a bug.
    pub fn visit(
        &mut self,
        chain: usize,
        wanted: &[usize],
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<(), Stop> {
        let store = &self.sampled.chains[chain].store;
        let (count, record) = (store.len(), store.layout().width());
        let mut values = Vec::new();
        for first in (0..count).step_by(self.per_call) {
            let draws = first..(first + self.per_call).min(count);
            let records = store.records(draws)?;
            self.compute(&records, record)?;
            for site in wanted {
                let name = &self.infer.reports[*site].name;
                values.resize(self.machine.count(name)?, 0.0);
                self.machine.read_into(name, &mut values)?;
                visit(*site, &values);
            }
        }
        Ok(())
    }

    fn compute(&mut self, records: &[f64], width: usize) -> Result<(), Fault> {
        let draws = records.len() / width.max(1);
        self.machine
            .set_sizes(&Sizes::default().with(Symbol::Draws, draws))?;
        for (name, range) in &self.sampled.layout.slots {
            self.state.clear();
            for record in records.chunks_exact(width) {
                self.state.extend_from_slice(&record[range.clone()]);
            }
            ports::real(&mut self.machine, name, &self.state)?;
        }
        self.machine.run()?;
        Ok(())
    }
}
