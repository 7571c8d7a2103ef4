//! Checks the iterates that an inference receives from an earlier inference. The earlier inference
//! must keep iterates, have states with the same names and sizes, and have at least as many splits.

use super::diagnostics;
use crate::program::CheckedProgram;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_hir::tree::InferItem;
use std::collections::HashMap;

/// Returns the errors of inferences that use iterates of earlier inferences.
pub fn wrong_iterates(
    program: &CheckedProgram,
    schemas: &HashMap<String, Schema>,
    infers: &[InferenceBlock],
) -> Vec<Diagnostic> {
    let splits = |item: &InferItem| {
        let schema = schemas.get(&*program.module.datas[item.data].name);
        schema.map_or(1, |schema| schema.splits)
    };
    let wrong = |infer: &InferenceBlock| {
        let name = infer.iterated()?.options.iterates.as_ref()?;
        let from = infers.iter().find(|other| other.name == *name)?;
        let (own, other) = (program.infer(&infer.name)?, program.infer(&from.name)?);
        let Some(held) = from.work.part().held() else {
            return Some(diagnostics::no_iterates(own, name));
        };
        let missing = infer.iterated()?.moved.iter().find(|state| {
            let size = size(infer, state);
            !held.contains(state) || size != self::size(from, state)
        });
        let is_noise = |state: &&String| noise(from).any(|noise| noise == **state);
        let noise = infer.iterated()?.moved.iter().find(is_noise);
        if let Some(state) = noise {
            return Some(diagnostics::iterates_of_noise(own, name, state));
        }
        match missing {
            Some(state) => Some(diagnostics::other_iterates(own, name, state)),
            None => (splits(own) > splits(other))
                .then(|| diagnostics::fewer_splits(own, name, splits(other), splits(own))),
        }
    };
    infers.iter().filter_map(wrong).collect()
}

/// Returns those states of an inference that hold the noise of a non-centred site and not its value.
fn noise(infer: &InferenceBlock) -> impl Iterator<Item = String> {
    let noncentred = infer.work.part().noncentred();
    noncentred.iter().map(|site| infer.reports[*site].location())
}

/// Returns the number of elements of a state.
fn size(infer: &InferenceBlock, name: &str) -> Option<usize> {
    let state = infer.states.iter().find(|state| state.name == name)?;
    Some(state.shape.count(&Sizes::default()))
}
