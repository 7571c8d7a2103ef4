//! The native versions of the library primitives.

use crate::pool::Pool;
use crate::{linalg, matmul};
use bnnc_abi::primitive::{self, Primitive, PrimitiveDef};
use bnnc_base::dtype::Precision;

/// A native version of a library primitive. The arguments are `(pool, precision, buffers, ints)`.
/// The primitive documents the buffers and integers.
pub type Native = unsafe fn(pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]);

/// All native versions, in the order of [`primitive::ALL`].
static NATIVE: &[(&PrimitiveDef, Native)] = &[
    (&primitive::CHOLESKY, linalg::cholesky),
    (&primitive::CONTRACTION, matmul::contraction),
    (&primitive::CUMSUM, linalg::cumsum),
    (&primitive::MATMUL, matmul::matmul),
    (&primitive::TRIANGULAR_SOLVE, linalg::triangular_solve),
];

/// Returns the native version of a primitive, or `None` if only the reference implementation
/// exists.
pub fn native(primitive: Primitive) -> Option<Native> {
    NATIVE
        .iter()
        .find(|(def, _)| Primitive(def) == primitive)
        .map(|(_, native)| *native)
}
