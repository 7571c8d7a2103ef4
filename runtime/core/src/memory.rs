//! Predicts the memory of programs and of their rows before a run.

use crate::predict::{self, PredictionOutput};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{InferenceBlock, OutputKind};
use bnnc_abi::plan::Storage;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_kernels::arena::{element_bytes, predict_arena_bytes};

/// The number of bytes of a double.
pub const NUMBER: u64 = 8;

/// Returns the sum of the parts. If the sum exceeds the range of `u64`, for example because of a
/// huge matrix, returns the largest `u64`.
pub fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
}

/// Returns the number of bytes that a machine needs on one thread.
pub fn machine(artifact: &Artifact, sizes: &Sizes) -> u64 {
    predict_arena_bytes(&artifact.plan, sizes)
}

/// Returns the number of elements of an array whose shape does not depend on the data.
pub fn elements(shape: &Shape) -> u64 {
    shape.count(&Sizes::default()) as u64
}

/// Returns the number of bytes that a copy of all states takes outside a machine.
pub fn states(infer: &InferenceBlock) -> u64 {
    NUMBER
        * infer
            .states
            .iter()
            .map(|state| elements(&state.shape))
            .sum::<u64>()
}

/// Returns the number of bytes that a copy of the parameters takes outside a machine.
pub fn parameters(infer: &InferenceBlock) -> u64 {
    let parameters = infer.states.iter().filter(|state| state.parameter);
    NUMBER * parameters.map(|state| elements(&state.shape)).sum::<u64>()
}

/// Returns the number of bytes that the rows for a program take after they have been prepared. A port of bytes shares the memory of the rows.
pub fn feed(infer: &InferenceBlock, program: &Artifact, rows: usize) -> u64 {
    let of_rows = infer.bindings.iter().filter(|binding| !binding.from.is_shared());
    let sizes = Sizes::default();
    let plan = &program.plan;
    let widths = of_rows.filter_map(|binding| {
        let buffer = &plan.buffers[plan.port(&binding.port)?];
        let bytes = match (binding.bytes, buffer.storage) {
            (true, Storage::Real) => 0,
            (false, Storage::Real) | (_, Storage::Int) => element_bytes(plan, buffer.storage),
        };
        Some((buffer.shape.count(&sizes) * bytes) as u64)
    });
    rows as u64 * widths.sum::<u64>()
}

/// Returns the number of bytes that a prediction program needs for a block of rows: the program
/// itself, its rows, and all its outputs.
pub fn predicting(infer: &InferenceBlock, program: &Artifact, rows: usize, draws: usize) -> u64 {
    // The scores of a Boolean output need the probabilities of both classes, which are computed from its mean.
    let booleans = infer
        .outputs
        .iter()
        .filter(|output| output.kind == OutputKind::Bool);
    let pairs = booleans.map(|output| 2 * NUMBER * output.elements() as u64).max();
    let block = predict::sizes(&program.plan, rows, draws)
        .get(Symbol::Batch)
        .saturating_mul(draws);
    let pairs = pairs.unwrap_or(0).saturating_mul(block as u64);
    sum(&[
        predicting_some(infer, program, (rows, draws), &predict::prediction_outputs(infer)),
        pairs,
    ])
}

/// Returns the number of bytes that a prediction program needs for a block of rows: the program
/// itself, its rows, and some of its outputs.
pub fn predicting_some(
    infer: &InferenceBlock,
    program: &Artifact,
    (rows, draws): (usize, usize),
    outputs: &[PredictionOutput],
) -> u64 {
    let plan = &program.plan;
    let sizes = predict::sizes(plan, rows, draws);
    let outputs = outputs.iter().filter_map(|output| plan.port(&output.port));
    let block = Sizes::default()
        .with(Symbol::Batch, sizes.get(Symbol::Batch))
        .with(Symbol::Draws, draws);
    let block: u64 = outputs
        .map(|id| NUMBER * plan.buffers[id].shape.count(&block) as u64)
        .sum();
    // The number of state values for the draws of one call.
    let drawn = infer.per_draw().into_iter().filter_map(|name| plan.port(name));
    let drawn: usize = drawn.map(|id| plan.buffers[id].shape.count(&sizes)).sum();
    let chosen = NUMBER * drawn as u64;
    machine(program, &sizes) + feed(infer, program, rows) + block + chosen + rows as u64 * 4
}
