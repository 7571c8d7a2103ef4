//! How much memory an approximation takes, before it is made.

use crate::cost::feed;
use crate::laplace::machines::{self, BYTES};
use crate::laplace::slopes;
use bnnc_abi::code::Artifact;
use bnnc_abi::laplace::{Laplace, Over, PriorPrecision, PriorStructure, Score, Structure};
use bnnc_abi::manifest::{Binding, Infer};
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_laplace::curvature::bytes;
use bnnc_laplace::select;

/// A number in double precision.
const NUMBER: u64 = 8;

/// The weights that are random.
pub fn selected(laplace: &Laplace) -> usize {
    let all = all(laplace);
    match &laplace.options.over {
        Over::All => all,
        Over::Subnetwork { size, .. } => select::size(*size, all).min(all),
    }
}

/// All weights, random or among which a subnetwork is chosen.
pub fn all(laplace: &Laplace) -> usize {
    laplace.weights.iter().map(|weights| weights.elements).sum()
}

/// The bytes of the matrices that the precision of an approximation on so many rows takes.
pub fn precision(laplace: &Laplace, rows: usize) -> u64 {
    matrices(laplace, laplace.options.structure, selected(laplace), rows)
}

/// The bytes of the precision of all weights, where a subnetwork is chosen by it.
pub fn choosing(laplace: &Laplace) -> Option<u64> {
    match &laplace.options.over {
        Over::Subnetwork {
            by: Score::Marginal, ..
        } => Some(matrices(laplace, Structure::Full, all(laplace), 1)),
        Over::Subnetwork { .. } | Over::All => None,
    }
}

/// The word for a form.
pub fn name(structure: Structure) -> &'static str {
    match structure {
        Structure::Full => "full",
        Structure::Diagonal => "diagonal",
        Structure::Kronecker => "Kronecker-factored",
        Structure::LowRank(_) => "low-rank",
        Structure::Functional(_) => "functional",
    }
}

/// The bytes of the matrices of an approximation of so many weights.
fn matrices(laplace: &Laplace, structure: Structure, weights: usize, rows: usize) -> u64 {
    bytes(structure, weights, rows, laplace.outputs, &laplace.blocks).most()
}

/// The bytes that an approximation on so many rows takes besides its search and the data: matrices, machines and blocks.
pub fn finding(laplace: &Laplace, rows: usize) -> u64 {
    let own = matrices(laplace, laplace.options.structure, selected(laplace), rows);
    // The exact marginal variances are those of the whole matrix.
    let choosing = match &laplace.options.over {
        Over::Subnetwork {
            by: Score::Marginal, ..
        } => matrices(laplace, Structure::Full, all(laplace), rows).saturating_add(own),
        Over::Subnetwork { .. } | Over::All => own,
    };
    let programs = &laplace.programs;
    let all = all(laplace);
    let of_weights = |artifact: &Option<Artifact>, weights: usize| {
        artifact
            .as_ref()
            .map_or(0, |artifact| calling(laplace, artifact, (weights, rows)))
    };
    let calls = [
        of_weights(&programs.jacobian, all),
        of_weights(&programs.selected, selected(laplace)),
        of_weights(&programs.squares, 0),
        of_weights(&programs.factors, 0),
        of_weights(&programs.products, 0),
        calling(laplace, &programs.gradient, (0, rows)),
    ];
    // Slopes, precisions and gradients of all weights; factors, and derivatives by these at two places.
    let factors = match laplace.options.prior_structure {
        PriorStructure::Diagonal => 12,
        PriorStructure::Scalar | PriorStructure::Layer => 4,
    };
    let tuning = if is_tuned(laplace) { factors } else { 0 };
    let vectors = (8 + tuning) * NUMBER * all as u64;
    choosing
        .saturating_add(decomposing(laplace, rows))
        .saturating_add(dependent(laplace))
        .saturating_add(vectors)
        .saturating_add(calls.into_iter().fold(0, u64::max))
}

/// The bytes of the matrix of a prior whose elements depend on each other, and of its factor.
fn dependent(laplace: &Laplace) -> u64 {
    match laplace.independent {
        true => 0,
        false => square(all(laplace)).saturating_mul(2),
    }
}

/// The bytes of a square matrix.
fn square(size: usize) -> u64 {
    NUMBER.saturating_mul(size as u64).saturating_mul(size as u64)
}

/// Whether the marginal likelihood chooses factors on the prior.
fn is_tuned(laplace: &Laplace) -> bool {
    laplace.options.online || laplace.options.prior_precision == PriorPrecision::MarginalLikelihood
}

/// The bytes of the eigenvalues of a whole matrix beyond those of its factor, where they are needed: a copy, and the work on it.
fn decomposing(laplace: &Laplace, rows: usize) -> u64 {
    let is_whole = match laplace.options.structure {
        Structure::Full => true,
        Structure::Functional(chosen) => {
            let taken = chosen.unwrap_or(usize::MAX).min(rows);
            taken.saturating_mul(laplace.outputs) >= selected(laplace)
        }
        Structure::Diagonal | Structure::Kronecker | Structure::LowRank(_) => false,
    };
    match is_whole && is_tuned(laplace) {
        true => square(selected(laplace)),
        false => 0,
    }
}

/// The bytes of one finished Gaussian on so many rows.
pub fn held(laplace: &Laplace, rows: usize) -> u64 {
    let weights = selected(laplace);
    bytes(
        laplace.options.structure,
        weights,
        rows,
        laplace.outputs,
        &laplace.blocks,
    )
    .posterior
}

/// The bytes that predictions for so many rows take besides the Gaussians of the members and the data.
pub fn predicting(laplace: &Laplace, rows: usize, (draws, members): (usize, usize)) -> u64 {
    let programs = &laplace.programs;
    let around = programs.spread.as_ref().or(programs.turned.as_ref());
    let (artifact, weights) = match (around, &programs.selected, &programs.jacobian) {
        (Some(artifact), _, _) => (artifact, 0),
        (None, Some(artifact), _) => (artifact, selected(laplace)),
        (None, None, Some(artifact)) => (artifact, all(laplace)),
        (None, None, None) => return 0,
    };
    let size = block(laplace, artifact, (weights, rows));
    // Means, draws and covariances of a block.
    let numbers = size * laplace.outputs * (2 * draws + (1 + members) * laplace.outputs + 2);
    let drawing = BYTES.min((4 * size * draws * laplace.outputs) as u64 * NUMBER);
    // The Jacobian is multiplied by a root of the covariance.
    let product = NUMBER * (size * laplace.outputs * weights) as u64;
    let of_member = calling(laplace, artifact, (weights, rows)) + product;
    members as u64 * of_member + NUMBER * numbers as u64 + drawing
}

/// The bytes that the covariance of the outputs of so many rows together takes under so many members, besides their Gaussians and the data.
pub fn together(infer: &Infer, laplace: &Laplace, members: usize, rows: usize) -> u64 {
    let weights = selected(laplace) as u64;
    let outputs = rows.saturating_mul(laplace.outputs) as u64;
    // The Jacobians, what the Gaussian makes of them, and the covariance; of a mixture also the sum.
    let jacobians = outputs
        .saturating_mul(weights)
        .saturating_mul(1 + copies(laplace));
    let squares = outputs
        .saturating_mul(outputs)
        .saturating_mul(members.clamp(1, 2) as u64);
    let matrices = jacobians.saturating_add(squares).saturating_mul(NUMBER);
    matrices.saturating_add(differentiating(infer, laplace, rows))
}

/// How many matrices of the size of a Jacobian its product with a root of the covariance takes.
fn copies(laplace: &Laplace) -> u64 {
    match laplace.options.structure {
        Structure::Full | Structure::Diagonal => 1,
        Structure::Kronecker => 3,
        Structure::LowRank(_) | Structure::Functional(_) => 4,
    }
}

/// The bytes that the derivatives in the inputs of so many rows take.
pub fn sloping(infer: &Infer, laplace: &Laplace, members: usize, rows: usize) -> u64 {
    let inputs = &laplace.programs.inputs;
    let slope = |binding: &Binding| inputs.plan.port(&format!("{}/slope", binding.port));
    let one = sizes(laplace, 0).with(Symbol::Batch, 1);
    let slopes = infer.bindings.iter().filter_map(slope);
    let width: usize = slopes.map(|id| inputs.plan.buffers[id].shape.count(&one)).sum();
    // Of the means and of the variances, as columns too; of a mixture also the sums.
    let results = NUMBER.saturating_mul((2 * width * (1 + members.clamp(1, 2))) as u64);
    let size = slopes::block(laplace, rows);
    let program = predict_arena_bytes(&inputs.plan, &sizes(laplace, 0).with(Symbol::Batch, size));
    // Roots, solutions, and these as the program takes them.
    let vectors = (2 + copies(laplace)) * NUMBER * (size * laplace.outputs * all(laplace)) as u64;
    let working = differentiating(infer, laplace, rows).saturating_add(program + vectors);
    results.saturating_mul(rows as u64).saturating_add(working)
}

/// The bytes of the program of Jacobians by the weights that are random, with the rows that it reads.
fn differentiating(infer: &Infer, laplace: &Laplace, rows: usize) -> u64 {
    let programs = &laplace.programs;
    let artifact = match laplace.options.over {
        Over::All => &programs.jacobian,
        Over::Subnetwork { .. } => &programs.selected,
    };
    let called = |artifact| calling(laplace, artifact, (selected(laplace), rows));
    artifact.as_ref().map_or(0, called) + feed(infer, &programs.rows, rows)
}

fn sizes(laplace: &Laplace, weights: usize) -> Sizes {
    Sizes::default()
        .with(Symbol::Columns, laplace.outputs)
        .with(Symbol::Selected, weights)
}

/// The rows of a block.
fn block(laplace: &Laplace, artifact: &Artifact, (weights, rows): (usize, usize)) -> usize {
    let readers = [&laplace.programs.rows, artifact];
    machines::rows_per_call(&readers, sizes(laplace, weights), rows, laplace.outputs * weights)
}

/// A program beside that of the likelihood on a block of rows, whose Jacobian is copied once.
fn calling(laplace: &Laplace, artifact: &Artifact, (weights, rows): (usize, usize)) -> u64 {
    let size = block(laplace, artifact, (weights, rows));
    let sizes = sizes(laplace, weights).with(Symbol::Batch, size);
    let machines =
        [&laplace.programs.rows, artifact].map(|artifact| predict_arena_bytes(&artifact.plan, &sizes));
    let jacobian = NUMBER * (size * laplace.outputs * weights) as u64;
    machines.iter().sum::<u64>() + jacobian
}
