//! Checks that a method supports the running means in its model, and that each fixed network has the running means from
//! its training.

use crate::compilation::Compilation;
use crate::diagnostics::running::{no_running_means, rows_apart, untaken_mean};
use crate::failure::CompileFailure;
use crate::methods;
use crate::program::CheckedProgram;
use bnnc_abi::manifest::{InferenceBlock, State};
use bnnc_abi::method::ALL;
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::names::{layers_of, path_in};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::model::Model;

impl Compilation<'_> {
    /// Rejects running means if the method does not support them, or if one of the options `apart` draws separate weights for each
    /// row.
    pub(crate) fn keeps_means(&self, model: &Model, apart: &[OptionName]) -> Result<(), CompileFailure> {
        let Some(mean) = model.running.first() else {
            return Ok(());
        };
        let diagnostic = match methods::of(self.item.method.finds).without_running_means() {
            Some(why) => {
                let supports = |finds| methods::of(finds).without_running_means().is_none();
                let others = ALL.iter().filter(|method| supports(method.finds));
                let others: Vec<&str> = others.map(|method| method.name).collect();
                no_running_means(self.item, &mean.name, why, &others)
            }
            None if !apart.is_empty() => rows_apart(self.item, apart, &mean.name),
            None => return Ok(()),
        };
        Err(diagnostic.into())
    }
}

/// Warns about running means that start at their declared value although the parameters around them come from a training
/// run.
pub(crate) fn untaken_means(program: &CheckedProgram, infers: &[InferenceBlock]) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for infer in infers {
        let Some(item) = program.infer(&infer.name) else {
            continue;
        };
        for mean in infer.states.iter().filter(|state| state.is_running_mean) {
            if is_network_taken(infer, mean)
                && let Some(why) = untaken(mean, infers)
            {
                warnings.push(untaken_mean(item, &mean.name, why));
            }
        }
    }
    warnings
}

/// Returns whether all parameters near a mean come from other inference blocks. These are the parameters of the innermost layer that contains
/// the mean and has parameters, or otherwise of the whole model.
fn is_network_taken(infer: &InferenceBlock, mean: &State) -> bool {
    let all: Vec<&str> = infer.reports.iter().map(|report| &*report.name).collect();
    let inside = |layer: &str| -> Vec<&str> {
        let own = all.iter().filter(|site| path_in(layer, site).is_some());
        own.copied().collect()
    };
    let around = layers_of(&mean.name).map(inside).find(|own| !own.is_empty());
    let around = around.unwrap_or(all);
    // The states of a family of several parameters have the names of all of them, so the parameters are those of the reports.
    let is_of = |state: &State, site: &str| {
        state
            .name
            .strip_prefix(site)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let is_taken = |site: &&str| {
        infer
            .states
            .iter()
            .any(|state| state.from.is_some() && is_of(state, site))
    };
    !around.is_empty() && around.iter().all(is_taken)
}

/// Returns why a mean does not start from another inference block; `None` if it does. The reason is a clause.
fn untaken(mean: &State, infers: &[InferenceBlock]) -> Option<String> {
    let Some((from, name)) = mean.from.clone() else {
        return Some("the parameters come from several inference blocks or layers".to_owned());
    };
    let source = infers.iter().find(|other| other.name == from)?;
    let known = source.states.iter().find(|state| state.name == name);
    match known {
        None => Some(format!("`{from}` does not have a running mean `{name}`")),
        Some(known) if known.shape != mean.shape => Some(format!(
            "the mean is {} here, but {} in `{from}`",
            mean.shape, known.shape
        )),
        Some(_) => None,
    }
}
