//! Computes how much memory curvatures and posteriors will need, before they are allocated.

use crate::matrix::COLUMNS;
use bnnc_abi::methods::laplace::{Structure, WeightBlock};

/// The number of bytes that are in use at the same time in each of three phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The bytes in use while the curvature is summed, not counting the blocks that are added to it.
    pub curvature: u64,
    /// The bytes in use while the posterior is computed from the curvature.
    pub decomposition: u64,
    /// The bytes of the posterior alone.
    pub posterior: u64,
}

impl Bytes {
    /// Returns the number of bytes in the phase that needs the most memory.
    pub fn most(&self) -> u64 {
        self.curvature.max(self.decomposition).max(self.posterior)
    }
}

/// Returns the memory of a form. The model has `elements` weights, and the data have `rows` rows with `columns` outputs each. `blocks` are the
/// diagonal blocks of the form `Kronecker`. If a sum exceeds the largest integer, the result is the largest integer instead.
pub fn bytes(
    structure: Structure,
    elements: usize,
    rows: usize,
    columns: usize,
    blocks: &[WeightBlock],
) -> Bytes {
    let [d, n, k] = [elements, rows, columns].map(|size| size as u64);
    // The number of reals in each of three phases: while the curvature is summed, while the posterior is computed, and afterwards.
    let numbers = match structure {
        Structure::Full => {
            let [sum, decomposition, posterior] = full(d);
            // The rows that are not yet in the sum, plus the rows that are about to be appended.
            let pending = d.saturating_mul(2 * 256);
            [sum.saturating_add(pending), decomposition, posterior]
        }
        Structure::Diagonal => [1, 3, 1].map(|count| d.saturating_mul(count)),
        Structure::Kronecker => kronecker(d, blocks),
        Structure::LowRank(rank) => {
            let rank = rank as u64;
            let block = rank.saturating_add((rank / 4).clamp(4, 16)).min(d);
            // The search holds a basis of four blocks, the products of the basis with the matrix, and the vectors, residuals and products of one
            // pass.
            let [_, decomposition, posterior] = woodbury(rank, d);
            [
                block.saturating_mul(13).saturating_mul(d),
                decomposition,
                posterior,
            ]
        }
        Structure::Functional(chosen) => {
            let rows = (chosen.unwrap_or(usize::MAX) as u64).min(n).saturating_mul(k);
            let [curvature, _, posterior] = woodbury(rows, d);
            match rows < d {
                // The posterior shares the rows with the curvature. Additional memory is needed for the kernel before it is factored, and for a block
                // of scaled columns.
                true => {
                    let columns = d.min(COLUMNS as u64).saturating_add(rows);
                    let work = rows.saturating_mul(columns);
                    [curvature, posterior.saturating_add(work), posterior]
                }
                // The other two phases need as much memory as for the full matrix.
                false => {
                    let [_, decomposition, posterior] = full(d);
                    let besides = |count: u64| curvature.saturating_add(count);
                    [curvature, besides(decomposition), posterior]
                }
            }
        }
    };
    let [curvature, decomposition, posterior] = numbers.map(|count| count.saturating_mul(8));
    Bytes {
        curvature,
        decomposition,
        posterior,
    }
}

/// Returns how many reals a full matrix needs in each of three phases. The first phase needs the sum. The second phase needs the sum, the matrix
/// that becomes its factor, and a block of rows as workspace. The last phase needs only the factor.
fn full(d: u64) -> [u64; 3] {
    let [sum, both, posterior] = [1, 2, 1].map(|count| d.saturating_mul(d).saturating_mul(count));
    [
        sum,
        both.saturating_add(d.saturating_mul(COLUMNS as u64)),
        posterior,
    ]
}

/// Returns how many reals Kronecker blocks need in each of three phases. The first phase needs the factors. The second phase needs the factors,
/// their eigenvectors, four reals per weight, and five matrices of the size of the largest factor. The last phase needs the eigenvectors and two
/// reals per weight.
fn kronecker(d: u64, blocks: &[WeightBlock]) -> [u64; 3] {
    let square = |size: usize| (size as u64).saturating_mul(size as u64);
    let sides = blocks.iter().map(|block| block.left.max(block.right));
    let largest = square(sides.max().unwrap_or(0)).saturating_mul(5);
    let each = blocks
        .iter()
        .map(|block| square(block.left).saturating_add(square(block.right)));
    let factors = each.fold(0, u64::saturating_add);
    let of_weights = |count: u64, factors: u64| d.saturating_mul(count).saturating_add(factors);
    let both = factors.saturating_mul(2);
    [
        factors,
        of_weights(4, both).saturating_add(largest),
        of_weights(2, factors),
    ]
}

/// Returns how many reals `rows` rows of `d` elements need in each of three phases. The first phase needs the rows. The second phase needs the rows,
/// a scaled copy of them, and the Cholesky factor of the products between its rows. The last phase needs the copy and the factor.
fn woodbury(rows: u64, d: u64) -> [u64; 3] {
    let (own, kernel) = (rows.saturating_mul(d), rows.saturating_mul(rows));
    let posterior = own.saturating_add(d).saturating_add(kernel);
    [own, own.saturating_add(posterior), posterior]
}
