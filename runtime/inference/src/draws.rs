//! Makes draws of the parameters from approximations: from variational and Laplace approximations, iterates, the members of an ensemble, and
//! dropout.

use crate::summary::draws_per_call;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::method::{Finds, lookup};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::ports;
use bnnc_core::predict::PREDICTIVE_STEP;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use std::ops::Range;
use std::sync::Arc;

/// The states of an approximation at several draws.
#[derive(Clone, Debug)]
pub struct StateDraws {
    /// The values of the states. States that differ between draws have the shape `[draws, ..]`. All other states have a single value.
    pub values: Arc<StateValues>,
    /// The number of draws.
    pub count: usize,
}

/// A function that receives the index of a site in [`InferenceBlock::reports`], and the values of this site at some draws,
/// `[draws, ..]`.
pub type Visit<'a> = dyn FnMut(usize, &[f64]) -> Result<(), Stop> + 'a;

impl StateDraws {
    /// Returns the values of the states for a range of the draws.
    pub fn slice(&self, infer: &InferenceBlock, range: Range<usize>) -> StateValues {
        let mut values = self.values.as_ref().clone();
        for name in infer.per_draw() {
            if let Some(all) = values.get_mut(name) {
                let width = all.len() / self.count.max(1);
                *all = all[range.start * width..range.end * width].to_vec();
            }
        }
        values
    }

    /// Computes the values of the `wanted` sites at all draws, in blocks of draws. Sites are given by their indices in [`InferenceBlock::reports`].
    /// For each site and block, calls `visit(site, values)` with values of the shape `[draws of the block, ..]`. The noise is the same as in
    /// predictions. Therefore, draw `i` here is also draw `i` of the predictions.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn visit(
        &self,
        infer: &InferenceBlock,
        wanted: &[usize],
        context: &Context,
        visit: &mut Visit<'_>,
    ) -> Result<(), Stop> {
        let per_call = draws_per_call(infer).min(self.count.max(1));
        let sizes = Sizes::default().with(Symbol::Draws, per_call);
        let mut machine = Machine::new(&infer.sites, sizes, context.pool.clone())?;
        let mut values = Vec::new();
        for first in (0..self.count).step_by(per_call) {
            let range = first..(first + per_call).min(self.count);
            self.run(&mut machine, infer, range)?;
            for site in wanted {
                let name = &infer.reports[*site].name;
                values.resize(machine.count(name)?, 0.0);
                machine.read_into(name, &mut values)?;
                visit(*site, &values)?;
            }
        }
        Ok(())
    }

    fn run(&self, machine: &mut Machine, infer: &InferenceBlock, range: Range<usize>) -> Result<(), Fault> {
        machine.set_sizes(&Sizes::default().with(Symbol::Draws, range.len()))?;
        for state in infer.states.iter().filter(|state| state.parameter) {
            let Some(values) = self
                .values
                .get(&state.name)
                .filter(|_| machine.has_port(&state.name))
            else {
                continue;
            };
            match machine.is_per_draw(&state.name) {
                true => {
                    let width = values.len() / self.count.max(1);
                    let some = &values[range.start * width..range.end * width];
                    ports::real(machine, &state.name, some)?;
                }
                false => ports::real(machine, &state.name, values)?,
            }
        }
        ports::int(machine, PortName::FirstDraw.text(), range.start as i32)?;
        ports::int(machine, PortName::Step.text(), PREDICTIVE_STEP)?;
        machine.run()?;
        Ok(())
    }

    /// If all draws are the same, keeps only one of them. All predictions are then the same too.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn distinct(self, infer: &InferenceBlock, context: &Context) -> Result<StateDraws, Stop> {
        let is_masked = lookup(infer.method).is_some_and(|method| method.finds == Finds::Masked);
        if !infer.per_draw().is_empty() || is_masked || self.count < 2 {
            return Ok(self);
        }
        let two = StateDraws {
            values: self.values.clone(),
            count: 2,
        };
        let all: Vec<usize> = (0..infer.reports.len()).collect();
        let mut first: Vec<Option<Vec<f64>>> = vec![None; all.len()];
        let mut differ = false;
        two.visit(infer, &all, context, &mut |site, values| {
            for draw in values.chunks_exact((values.len() / draws_in(values, infer, site)).max(1)) {
                match &first[site] {
                    None => first[site] = Some(draw.to_vec()),
                    Some(known) => differ |= known.as_slice() != draw,
                }
            }
            Ok(())
        })?;
        Ok(StateDraws {
            count: if differ { self.count } else { 1 },
            ..self
        })
    }
}

/// Returns the number of draws in `values`, which contains the values of a site.
fn draws_in(values: &[f64], infer: &InferenceBlock, site: usize) -> usize {
    let elements = infer.reports[site].shape.count(&Sizes::default());
    (values.len() / elements.max(1)).max(1)
}
