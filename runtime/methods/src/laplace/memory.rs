//! Estimates the memory that a Laplace approximation needs, before the computation starts.

use crate::laplace::curve::COLUMNS;
use crate::laplace::predictor::{self, Way};
use crate::laplace::{others, slopes};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{Binding, InferenceBlock, State};
use bnnc_abi::methods::laplace::{
    CurvatureKind, Laplace, Over, PriorPrecision, PriorStructure, Score, Structure, Weights,
};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks::{self, BYTES};
use bnnc_core::memory::feed;
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_laplace::curvature::{Bytes, bytes};
use bnnc_laplace::select;

/// The number of bytes of a number in double precision.
const NUMBER: u64 = 8;

/// After a thread has decomposed a matrix with more than [`UNPACKED`] rows, this number of bytes
/// stays allocated for the thread. The reason is that `faer` copies the operands of products to a
/// buffer, and keeps this buffer for later use.
const PACKED: u64 = 4 << 20;
const UNPACKED: usize = 10;

/// Returns the number of random weights.
pub fn selected(laplace: &Laplace) -> usize {
    let all = all(laplace);
    match &laplace.options.over {
        Over::All | Over::LastLayer | Over::Names(_) => all,
        Over::Subnetwork { size, .. } => select::size(*size, all).min(all),
    }
}

/// Returns the number of weights from which the random weights are chosen.
pub fn all(laplace: &Laplace) -> usize {
    Weights::count(&laplace.weights)
}

/// Returns the number of bytes of the matrices from which the precision is computed, if there are
/// `rows` rows.
pub fn precision(laplace: &Laplace, rows: usize) -> u64 {
    matrices(laplace, laplace.options.structure, selected(laplace), rows)
}

/// Returns the number of bytes of the precision of all weights, if this precision is needed to
/// choose a subnetwork.
pub fn choosing(laplace: &Laplace) -> Option<u64> {
    match &laplace.options.over {
        Over::Subnetwork {
            by: Score::Marginal, ..
        } => Some(matrices(laplace, Structure::Full, all(laplace), 1)),
        Over::Subnetwork { .. } | Over::All | Over::LastLayer | Over::Names(_) => None,
    }
}

/// Returns the adjective for a structure.
pub fn name(structure: Structure) -> &'static str {
    match structure {
        Structure::Full => "full",
        Structure::Diagonal => "diagonal",
        Structure::Kronecker => "Kronecker-factored",
        Structure::LowRank(_) => "low-rank",
        Structure::Functional(_) => "functional",
    }
}

/// Returns the largest number of bytes that the matrices of an approximation need at any time. The
/// approximation covers `weights` weights.
fn matrices(laplace: &Laplace, structure: Structure, weights: usize, rows: usize) -> u64 {
    form(laplace, structure, weights, rows).most()
}

/// Returns the number of bytes of the matrices in each phase.
fn form(laplace: &Laplace, structure: Structure, weights: usize, rows: usize) -> Bytes {
    bytes(structure, weights, rows, laplace.outputs, &laplace.blocks)
}

/// Returns the bytes needed to compute an approximation from `rows` rows. The memory for the
/// search, the data and the maximum is not included.
///
/// Note \[Phases\]. The computation has four phases that do not overlap, so only the phase with the
/// largest memory counts. First, a subnetwork is chosen among all weights. Second, the curvature is
/// summed over blocks of rows. Third, the states other than the weights are moved a little, to
/// check that they are at the maximum. Fourth, the Gaussian is computed from the curvature. The
/// programs of a phase are freed before the next phase begins. A few vectors with one element per
/// weight stay in memory until the subnetwork is chosen.
pub fn finding(infer: &InferenceBlock, laplace: &Laplace, rows: usize) -> u64 {
    let form = form(laplace, laplace.options.structure, selected(laplace), rows);
    // These vectors are the slope of the prior, the precision of the prior before and after
    // scaling, and the gradient.
    let summing = form
        .curvature
        .saturating_add(vectors(4, all(laplace)))
        .saturating_add(summing(laplace, rows));
    // Tuning needs the vectors above, the factors of the weights, the factors
    // of the groups, and products of factors and vectors. A
    // search for the factors also needs its own factors, and derivatives with respect to the
    // factors at two points.
    let factors = match (is_tuned(laplace), laplace.options.prior_structure) {
        (true, PriorStructure::Diagonal) => 12,
        (true, PriorStructure::Scalar | PriorStructure::Layer) => 4,
        (false, _) => 0,
    };
    let making = form
        .decomposition
        .saturating_add(decomposing(laplace, rows))
        .saturating_add(vectors(8 + factors, selected(laplace)));
    let moving = form.curvature.saturating_add(moving(infer, laplace, rows));
    let (choosing, kept) = choosing_by(laplace, form, rows);
    let chosen = kept.saturating_add(summing.max(making).max(moving));
    dependent(laplace).saturating_add(choosing.max(chosen))
}

/// Returns the number of bytes of `count` vectors of `elements` reals.
fn vectors(count: u64, elements: usize) -> u64 {
    count.saturating_mul(NUMBER).saturating_mul(elements as u64)
}

/// Returns the larger of two numbers of bytes: the bytes for the programs of the curvature, and the
/// bytes for the program of the gradient. The gradient is computed first.
fn summing(laplace: &Laplace, rows: usize) -> u64 {
    let programs = &laplace.programs;
    let is_of_all = !laplace.options.over.is_subnetwork();
    let curvature = match (laplace.options.structure, laplace.options.curvature) {
        (Structure::Full | Structure::Diagonal, CurvatureKind::Hessian) => multiplying(laplace, rows),
        (Structure::Diagonal, _) if is_of_all => called(laplace, &programs.squares, (0, rows)),
        (Structure::Kronecker, _) => called(laplace, &programs.factors, (0, rows)),
        (Structure::Full | Structure::Diagonal | Structure::LowRank(_), _) => {
            called(laplace, jacobian(laplace), (selected(laplace), rows))
        }
        (Structure::Functional(chosen), _) => {
            let taken = chosen.unwrap_or(rows).min(rows);
            called(laplace, jacobian(laplace), (selected(laplace), taken))
        }
    };
    curvature.max(alone(&programs.gradient, Sizes::default(), rows))
}

/// Returns the bytes needed to multiply the second derivative by vectors. The memory contains the
/// program, three copies of the vectors (as chosen, as sliced and as written), and the products.
fn multiplying(laplace: &Laplace, rows: usize) -> u64 {
    let sizes = Sizes::default().with(Symbol::Columns, COLUMNS.min(selected(laplace)));
    let program = laplace.programs.products.as_ref();
    let program = program.map_or(0, |artifact| alone(artifact, sizes, rows));
    program.saturating_add(vectors(4 * COLUMNS as u64, all(laplace)))
}

/// Returns the number of bytes that a program needs for a block of rows. Other programs are not included.
fn alone(artifact: &Artifact, sizes: Sizes, rows: usize) -> u64 {
    let size = blocks::rows_per_call(&[artifact], sizes, rows, 0);
    predict_arena_bytes(&artifact.plan, &sizes.with(Symbol::Batch, size))
}

/// Returns the bytes needed to check whether the states other than the weights are at the maximum.
/// These are the slopes at two points, a sum, a program, and a copy of all states in which some states are moved.
fn moving(infer: &InferenceBlock, laplace: &Laplace, rows: usize) -> u64 {
    let programs = &laplace.programs;
    let states = infer.states.iter().filter(|state| state.parameter);
    let elements = |state: &State| state.shape.count(&Sizes::default());
    let every: usize = states.clone().map(elements).sum();
    let others: usize = states
        .filter(|state| others::is_other(laplace, &state.name))
        .map(elements)
        .sum();
    if others == 0 {
        return 0;
    }
    let prior = predict_arena_bytes(&programs.prior.plan, &Sizes::default());
    let program = prior.max(alone(&programs.gradient, Sizes::default(), rows));
    let slopes = vectors(3, others).saturating_add(vectors(1, every));
    slopes
        .saturating_add(vectors(4, selected(laplace)))
        .saturating_add(program)
}

/// Returns the bytes needed to choose a subnetwork. Also returns how many of these bytes are kept
/// until the end, for the Gaussian of all weights.
fn choosing_by(laplace: &Laplace, own: Bytes, rows: usize) -> (u64, u64) {
    let Over::Subnetwork { by, .. } = &laplace.options.over else {
        return (0, 0);
    };
    // First, the diagonal of the curvature is computed. Then the weights are ranked. The ranking
    // needs the scores of the weights and their order.
    let squares = called(laplace, &laplace.programs.squares, (0, rows));
    let squares = vectors(5, all(laplace)).saturating_add(squares);
    let ranking = squares.max(vectors(8, all(laplace)));
    if *by != Score::Marginal {
        return (ranking, 0);
    }
    let full = form(laplace, Structure::Full, all(laplace), rows);
    let calls = called(laplace, &laplace.programs.jacobian, (all(laplace), rows));
    let making = full.curvature.saturating_add(calls).max(full.decomposition);
    let making = making.saturating_add(vectors(6, all(laplace)));
    // The distance between the two Gaussians is computed last. To compute the distance, the covariances of
    // both Gaussians are needed one after the other, and the matrices that rotate one of these Gaussians.
    let inverting = full.decomposition.saturating_add(own.posterior);
    let turning = square(selected(laplace)).saturating_mul(7);
    let comparing = inverting.max(full.posterior.saturating_add(turning));
    (ranking.max(making).max(comparing), full.posterior)
}

/// Returns the number of bytes that a prior with dependent elements needs: for its precision
/// matrix, and for the factor of this matrix.
fn dependent(laplace: &Laplace) -> u64 {
    match laplace.independent {
        true => 0,
        false => square(all(laplace)).saturating_mul(2),
    }
}

/// Returns the number of bytes of a square matrix.
fn square(size: usize) -> u64 {
    NUMBER.saturating_mul(size as u64).saturating_mul(size as u64)
}

/// Returns whether the factors on the prior are chosen by the marginal likelihood.
fn is_tuned(laplace: &Laplace) -> bool {
    laplace.options.online || laplace.options.prior_precision == PriorPrecision::MarginalLikelihood
}

/// Returns the number of bytes that the eigenvalues of a full matrix need in addition to the factor of
/// the matrix. The bytes are for a copy of the matrix and for its decomposition. Returns 0 if the
/// eigenvalues are not needed.
fn decomposing(laplace: &Laplace, rows: usize) -> u64 {
    match is_tuned(laplace) && is_whole(laplace, rows) {
        true => square(selected(laplace)),
        false => 0,
    }
}

/// Returns whether the precision is a full matrix.
fn is_whole(laplace: &Laplace, rows: usize) -> bool {
    match laplace.options.structure {
        Structure::Full => true,
        Structure::Functional(_) => kernel(laplace, rows) >= selected(laplace),
        Structure::Diagonal | Structure::Kronecker | Structure::LowRank(_) => false,
    }
}

/// Returns the number of rows of the kernel matrix, if there are `rows` rows of data. Returns 0 if the
/// structure does not use a kernel.
fn kernel(laplace: &Laplace, rows: usize) -> usize {
    match laplace.options.structure {
        Structure::Functional(chosen) => {
            let taken = chosen.unwrap_or(usize::MAX).min(rows);
            taken.saturating_mul(laplace.outputs)
        }
        Structure::Full | Structure::Diagonal | Structure::Kronecker | Structure::LowRank(_) => 0,
    }
}

/// Each thread keeps a buffer after it has decomposed the matrices of an approximation. Returns the
/// number of bytes of this buffer, if there are `rows` rows.
pub fn packed(laplace: &Laplace, rows: usize) -> u64 {
    let blocks = laplace.blocks.iter();
    let of_form = match laplace.options.structure {
        Structure::Kronecker => blocks.map(|block| block.left.max(block.right)).max().unwrap_or(0),
        Structure::LowRank(_) => selected(laplace),
        Structure::Full | Structure::Functional(_) if is_tuned(laplace) => match is_whole(laplace, rows) {
            true => selected(laplace),
            false => kernel(laplace, rows),
        },
        Structure::Full | Structure::Functional(_) | Structure::Diagonal => 0,
    };
    // The matrices for the distance between a subnetwork's Gaussian and the Gaussian of all
    // weights.
    let compared = choosing(laplace).map_or(0, |_| selected(laplace));
    match of_form.max(compared) > UNPACKED {
        true => PACKED,
        false => 0,
    }
}

/// Returns the number of bytes that one finished Gaussian takes, if it is computed from `rows` rows.
pub fn held(laplace: &Laplace, rows: usize) -> u64 {
    form(laplace, laplace.options.structure, selected(laplace), rows).posterior
}

/// Returns the bytes needed to predict `rows` rows. The data and the Gaussians of the members are
/// not included.
pub fn predicting(
    (infer, laplace): (&InferenceBlock, &Laplace),
    rows: usize,
    (draws, members): (usize, usize),
) -> u64 {
    let programs = &laplace.programs;
    let around = programs.spread.as_ref().or(programs.rotated.as_ref());
    let (artifact, weights) = match (around, &programs.selected, &programs.jacobian) {
        (Some(artifact), _, _) => (artifact, 0),
        (None, Some(artifact), _) => (artifact, selected(laplace)),
        (None, None, Some(artifact)) => (artifact, all(laplace)),
        (None, None, None) => return 0,
    };
    let size = block(laplace, artifact, (weights, rows));
    // A block contains quantiles, or draws and their noise. If class probabilities have a closed
    // form, a block contains two numbers per output.
    let (values, noise) = match predictor::way(infer, laplace) {
        Ok(Way::Functions) => (2 * draws, 4 * draws),
        Ok(Way::Normal) => (2 * draws, 0),
        Ok(Way::Classes(_) | Way::Truth) | Err(_) => (2, 0),
    };
    let numbers = size * laplace.outputs * (values + (1 + members) * laplace.outputs + 2);
    let drawing = BYTES.min(vectors(1, size * laplace.outputs * noise));
    // The product of the Jacobian and a root of the covariance.
    let product = vectors(copies(laplace).min(3), size * laplace.outputs * weights);
    let of_member = calling(laplace, artifact, (weights, rows)) + product;
    members as u64 * of_member + NUMBER * numbers as u64 + drawing
}

/// Returns the number of bytes needed for the joint covariance of the outputs of `rows` rows, under
/// `members` members. The Gaussians and the data are not included.
pub fn together(infer: &InferenceBlock, laplace: &Laplace, members: usize, rows: usize) -> u64 {
    let weights = selected(laplace) as u64;
    let outputs = rows.saturating_mul(laplace.outputs) as u64;
    // The Jacobians, their products with a root of the covariance, and the covariance. A mixture
    // also needs the sum of the covariances.
    let jacobians = outputs
        .saturating_mul(weights)
        .saturating_mul(1 + copies(laplace));
    let squares = outputs
        .saturating_mul(outputs)
        .saturating_mul(members.clamp(1, 2) as u64);
    let matrices = jacobians.saturating_add(squares).saturating_mul(NUMBER);
    matrices.saturating_add(differentiating(infer, laplace, rows))
}

/// To multiply the Jacobian by a root of the covariance, several matrices that are as large as the
/// Jacobian are needed. Returns the number of these matrices.
fn copies(laplace: &Laplace) -> u64 {
    match laplace.options.structure {
        Structure::Full | Structure::Diagonal => 1,
        Structure::Kronecker => 3,
        Structure::LowRank(_) | Structure::Functional(_) => 4,
    }
}

/// Returns the number of bytes for the derivatives of predictions. The derivatives are taken with respect to the
/// inputs of `rows` rows.
pub fn sloping(infer: &InferenceBlock, laplace: &Laplace, members: usize, rows: usize) -> u64 {
    let inputs = &laplace.programs.inputs;
    let slope = |binding: &Binding| inputs.plan.port(&PortName::Slope.of(&binding.port));
    let one = sizes(laplace, 0).with(Symbol::Batch, 1);
    let slopes = infer.bindings.iter().filter_map(slope);
    let width: usize = slopes.map(|id| inputs.plan.buffers[id].shape.count(&one)).sum();
    // The results are the derivatives of means and variances. A second copy of these derivatives is
    // stored as columns. A mixture also has their sums.
    let results = NUMBER.saturating_mul((2 * width * (1 + members.clamp(1, 2))) as u64);
    let size = slopes::block(laplace, rows);
    let program = predict_arena_bytes(&inputs.plan, &sizes(laplace, 0).with(Symbol::Batch, size));
    // The vectors are roots, solutions, and copies of the solutions in the layout of the program.
    let vectors = (2 + copies(laplace)) * NUMBER * (size * laplace.outputs * all(laplace)) as u64;
    let working = differentiating(infer, laplace, rows).saturating_add(program + vectors);
    results.saturating_mul(rows as u64).saturating_add(working)
}

/// Returns the number of bytes of the program that computes Jacobians with respect to the random
/// weights, and of the rows that it reads.
fn differentiating(infer: &InferenceBlock, laplace: &Laplace, rows: usize) -> u64 {
    let called = called(laplace, jacobian(laplace), (selected(laplace), rows));
    called + feed(infer, &laplace.programs.rows, rows)
}

/// Returns the program that computes Jacobians with respect to the random weights.
fn jacobian(laplace: &Laplace) -> &Option<Artifact> {
    match laplace.options.over {
        Over::All | Over::LastLayer | Over::Names(_) => &laplace.programs.jacobian,
        Over::Subnetwork { .. } => &laplace.programs.selected,
    }
}

fn sizes(laplace: &Laplace, weights: usize) -> Sizes {
    Sizes::default()
        .with(Symbol::Columns, laplace.outputs)
        .with(Symbol::Selected, weights)
}

/// Returns the number of rows of a block.
fn block(laplace: &Laplace, artifact: &Artifact, (weights, rows): (usize, usize)) -> usize {
    let readers = [&laplace.programs.rows, artifact];
    blocks::rows_per_call(&readers, sizes(laplace, weights), rows, laplace.outputs * weights)
}

/// Returns the bytes needed to call a program. Returns 0 if the program is absent, because the
/// options do not need it.
fn called(laplace: &Laplace, artifact: &Option<Artifact>, size: (usize, usize)) -> u64 {
    artifact
        .as_ref()
        .map_or(0, |artifact| calling(laplace, artifact, size))
}

/// Returns the bytes needed to call two programs on a block of rows: the given program and the
/// program of the likelihood. One copy of the Jacobian is included.
fn calling(laplace: &Laplace, artifact: &Artifact, (weights, rows): (usize, usize)) -> u64 {
    let size = block(laplace, artifact, (weights, rows));
    let sizes = sizes(laplace, weights).with(Symbol::Batch, size);
    let machines =
        [&laplace.programs.rows, artifact].map(|artifact| predict_arena_bytes(&artifact.plan, &sizes));
    let jacobian = NUMBER * (size * laplace.outputs * weights) as u64;
    machines.iter().sum::<u64>() + jacobian
}
