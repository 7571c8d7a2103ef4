//! Blocks of rows for programs whose results per row are large.

use bnnc_abi::code::Artifact;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;
use bnnc_kernels::executor::Machine;

/// Rows of a block, at most. What is drawn of one row lies a block apart: 31 lines of cache, an odd number, fall into all sets
/// of the cache in turn, where 32 would fall into a few of them.
pub const ROWS: usize = 248;

/// Bytes that a program, or the Jacobian of a block, may take before blocks become smaller.
pub const BYTES: u64 = 64 << 20;

/// The rows of a block for which each of the programs, and `numbers` reals per row besides, stay within bounds.
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

/// Reads a port whole into memory that grows once.
///
/// # Errors
/// A bug: a program without the port.
pub fn read(machine: &Machine, name: &str, into: &mut Vec<f64>) -> Result<(), Fault> {
    into.resize(machine.count(name)?, 0.0);
    machine.read_into(name, into)
}
