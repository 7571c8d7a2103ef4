//! Estimates, before the run, the memory that is needed to choose weights and to predict with integrals.

use crate::collapsed::local::{plain_per_call, sizes};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::{Collapsed, LocationForm};
use bnnc_abi::methods::laplace::{Likelihood, Weights};
use bnnc_base::shape::Symbol;
use bnnc_core::blocks::rows_per_call;
use bnnc_core::memory::{feed, machine};

/// The number of bytes of a number in double precision.
const NUMBER: u64 = 8;

/// Returns the number of weights that may be collapsed.
fn columns(collapsed: &Collapsed) -> usize {
    Weights::count(&collapsed.weights)
}

/// Returns the bytes needed to run the program on blocks of rows. The rows, and the weights at the
/// iterates, are included.
fn calling(
    (infer, collapsed): (&InferenceBlock, &Collapsed),
    rows: usize,
    (planned, numbers): (usize, usize),
) -> u64 {
    let Some(artifact) = &collapsed.local else {
        return 0;
    };
    let columns = columns(collapsed);
    let sizes = sizes(columns);
    let size = rows_per_call(&[artifact], sizes, rows, numbers);
    let boxes = (planned * columns) as u64 * NUMBER;
    let held = bytes(size.saturating_mul(numbers));
    let plain = collapsed.plain.as_ref().map_or(0, |artifact| {
        let places = plain_per_call((artifact, collapsed), sizes, rows).max(size);
        machine(artifact, &sizes.with(Symbol::Batch, places)) + feed(infer, artifact, rows)
    });
    machine(artifact, &sizes.with(Symbol::Batch, size))
        + feed(infer, artifact, rows)
        + boxes
        + held
        + plain
        + rows as u64 * 4
}

/// Returns the number of reals per row that are in memory while weights are chosen. The reals are the
/// slopes at two points, and the moves to these points. One point is near the middle of the box,
/// and the other is on the other side of the kinks.
pub fn choosing_per_row(collapsed: &Collapsed, columns: usize) -> usize {
    let kinks = match &collapsed.form {
        LocationForm::Piecewise { kinks, .. } => *kinks,
        LocationForm::Affine | LocationForm::Sampled(_) => 0,
    };
    (2 * (collapsed.outputs + kinks) + 2).saturating_mul(columns + 1)
}

/// Returns the bytes needed to choose weights from the training rows, or 0 if the choice does not
/// depend on the rows.
pub fn choosing(programs: (&InferenceBlock, &Collapsed), rows: usize, planned: usize) -> u64 {
    let options = &programs.1.options;
    match options.units > 0 || (options.fixed && options.weights > 0) {
        true => calling(
            programs,
            rows,
            (planned, choosing_per_row(programs.1, columns(programs.1))),
        ),
        false => 0,
    }
}

/// Returns the number of reals per row that are in memory during predictions. These are the functions around
/// all iterates, and the quantiles of the outputs.
pub fn per_row(collapsed: &Collapsed, columns: usize, (iterates, draws): (usize, usize)) -> usize {
    let terms = match collapsed.options.weights {
        0 => columns,
        count => {
            let always = collapsed.options.always.iter();
            let always: usize = always.map(|at| collapsed.weights[*at].elements).sum();
            columns.min(count + always)
        }
    };
    // A term takes three numbers. The network, the location, the scale and the target together take
    // ten numbers.
    let around = match &collapsed.form {
        // If a function has too many pieces, it is represented by draws.
        LocationForm::Piecewise { .. } => {
            iterates.saturating_mul((3 * terms + 10).max(collapsed.options.draws))
        }
        LocationForm::Affine | LocationForm::Sampled(_) => iterates.saturating_mul(3 * terms + 10),
    };
    // Without kinks, slopes are read at one point. With kinks, they are read at two points, or at three if each row
    // chooses its weights.
    let (places, kinks) = match (&collapsed.form, collapsed.options.weights) {
        (LocationForm::Piecewise { kinks, .. }, 0) => (2, *kinks),
        (LocationForm::Piecewise { kinks, .. }, _) => (3, *kinks),
        (LocationForm::Affine | LocationForm::Sampled(_), _) => (1, 0),
    };
    let slopes = (places * (collapsed.outputs + kinks)).saturating_mul(columns + 1);
    let values = match collapsed.likelihood {
        Likelihood::Normal => 4 * draws,
        Likelihood::Categorical | Likelihood::Bernoulli | Likelihood::Other => 4,
    };
    collapsed
        .outputs
        .saturating_mul(around + values)
        .saturating_add(slopes)
}

/// Returns the number of bytes needed to predict `rows` rows from `planned` iterates with `draws` draws.
pub fn predicting(
    programs: (&InferenceBlock, &Collapsed),
    rows: usize,
    (planned, draws): (usize, usize),
) -> u64 {
    let numbers = per_row(programs.1, columns(programs.1), (planned, draws));
    calling(programs, rows, (planned, numbers))
}

/// Returns the number of bytes that the draws from the box need.
pub fn drawn((_, collapsed): (&InferenceBlock, &Collapsed), planned: usize) -> u64 {
    let factors = [columns(collapsed), planned, collapsed.options.draws];
    let numbers = factors.into_iter().fold(1_usize, usize::saturating_mul);
    bytes(numbers)
}

/// Returns the number of bytes of `numbers` reals. The result is capped, so that a sum of several
/// results does not overflow.
fn bytes(numbers: usize) -> u64 {
    (numbers as u64).min(u64::MAX / (16 * NUMBER)) * NUMBER
}
