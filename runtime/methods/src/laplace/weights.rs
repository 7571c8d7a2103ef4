//! Draws of the weights from their Gaussians.

use crate::laplace::gaussian::Gaussian;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::{Laplace, Weights};
use bnnc_base::fault::Fault;
use bnnc_core::context::Context;
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use bnnc_laplace::matrix::Matrix;
use bnnc_math::philox;
use std::ops::Range;

/// The largest number of draws in a block.
const DRAWS: usize = 64;
/// The largest number of reals in a block of draws.
const NUMBERS: usize = 1 << 20;

/// Returns the states with `draws` draws of the weights: `[draws, ..]`. Each member contributes an
/// equal share of the draws, and at least one draw.
pub fn drawn(
    members: &[Gaussian],
    infer: &InferenceBlock,
    laplace: &Laplace,
    draws: usize,
    context: &Context,
) -> StateValues {
    let mut values = members
        .first()
        .map(|member| member.values.as_ref().clone())
        .unwrap_or_default();
    let count = members.len();
    let draws = draws.max(count);
    let sizes = laplace.weights.iter().map(|weights| weights.elements);
    let mut columns: Vec<Vec<f64>> = sizes
        .map(|elements| Vec::with_capacity(draws * elements))
        .collect();
    for (number, member) in members.iter().enumerate() {
        let range = number * draws / count..(number + 1) * draws / count;
        each(member, infer, laplace, (range, context), |column, draw| {
            columns[column].extend_from_slice(draw);
        });
    }
    for (weights, column) in laplace.weights.iter().zip(columns) {
        values.insert(weights.state.clone(), column);
    }
    values
}

/// Draws the weights of one member. Calls `take` with each draw, state by state.
pub fn each(
    member: &Gaussian,
    infer: &InferenceBlock,
    laplace: &Laplace,
    (draws, context): (Range<usize>, &Context),
    mut take: impl FnMut(usize, &[f64]),
) {
    let key = philox::key(context.seed, &format!("weights/{}", infer.name));
    let size = member.posterior.noise();
    let maximum = member.weights(laplace);
    let mut position = vec![0.0; maximum.len()];
    let mut first = draws.start;
    while first < draws.end {
        let count = at_once(size).min(draws.end - first);
        let normal = |at: usize| philox::normal(key, [(first + at / size) as u32, 0, 0], (at % size) as u64);
        let noise = Matrix::new(count, size, (0..count * size).map(normal).collect());
        let deviations = member.posterior.draws(&noise, &context.pool);
        for deviation in deviations.each_row() {
            position.copy_from_slice(&maximum);
            match &member.index {
                None => position
                    .iter_mut()
                    .zip(deviation)
                    .for_each(|(to, from)| *to += from),
                Some(index) => index
                    .iter()
                    .zip(deviation)
                    .for_each(|(at, from)| position[*at] += from),
            }
            for (column, (_, range)) in Weights::placed(&laplace.weights).enumerate() {
                take(column, &position[range]);
            }
        }
        first += count;
    }
}

/// Returns the number of draws in one block if a draw has `size` reals.
pub fn at_once(size: usize) -> usize {
    (NUMBERS / size.max(1)).clamp(1, DRAWS)
}

/// Writes the values of the parameters that all draws of a call share.
///
/// # Errors
/// Fails if the values of a parameter do not have the size of its port, which is a bug.
pub fn write_shared(
    machine: &mut Machine,
    infer: &InferenceBlock,
    values: &StateValues,
) -> Result<(), Fault> {
    let parameters = infer.states.iter().filter(|state| state.parameter);
    for state in parameters {
        match values.get(&state.name) {
            Some(values) if !machine.is_per_draw(&state.name) => ports::real(machine, &state.name, values)?,
            Some(_) | None => {}
        }
    }
    Ok(())
}
