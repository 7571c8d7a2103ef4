//! Divides rows into blocks, for programs that need much memory per row.

use bnnc_abi::code::Artifact;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_kernels::executor::Machine;

/// The maximum number of rows of a block. In memory, consecutive draws of one row are then 248 doubles
/// apart. This distance is 31 cache lines. With an odd number of cache lines, the draws use all sets of the
/// cache. With 32 lines, they would use only a few sets.
pub const ROWS: usize = 248;

/// The maximum number of bytes that a program may use for one block of rows. The same limit applies to the Jacobian of a
/// block. If a block with the maximum number of rows would need more memory than this, blocks have fewer rows.
pub const BYTES: u64 = 64 << 20;

/// Returns the number of rows per block. Each program then needs at most [`BYTES`] per block. In
/// addition, the caller stores `numbers` reals per row. These also need at most [`BYTES`] per block.
pub fn rows_per_call(artifacts: &[&Artifact], sizes: Sizes, rows: usize, numbers: usize) -> usize {
    let fits = |rows: &usize| {
        let sizes = sizes.with(Symbol::Batch, *rows);
        let besides = (rows.saturating_mul(numbers).saturating_mul(size_of::<f64>())) as u64;
        let arenas = artifacts
            .iter()
            .map(|artifact| predict_arena_bytes(&artifact.plan, &sizes));
        arenas.fold(besides, u64::max) <= BYTES
    };
    let halves = std::iter::successors(Some(ROWS.min(rows.max(1))), |rows| {
        (*rows > 1).then(|| rows.div_ceil(2))
    });
    halves.into_iter().find(fits).unwrap_or(1)
}

/// Reads a whole port into a vector. The vector allocates new memory only if it is too small.
///
/// # Errors
/// Fails if the program does not have the port. This would be a bug.
pub fn read(machine: &Machine, name: &str, into: &mut Vec<f64>) -> Result<(), Fault> {
    into.resize(machine.count(name)?, 0.0);
    machine.read_into(name, into)
}
