//! The native versions of the library primitives.

use crate::pool::Pool;
use crate::{linalg, matmul};
use bnnc_abi::primitive::{self, Primitive, PrimitiveDef};
use bnnc_base::dtype::Precision;

/// A native primitive with the arguments `(pool, precision, buffers, ints)`, as documented for the primitive.
pub type Native = unsafe fn(pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]);

/// The native primitives, in the order of [`primitive::ALL`].
static NATIVE: &[(&PrimitiveDef, Native)] = &[
    (&primitive::CHOLESKY, linalg::cholesky),
    (&primitive::CUMSUM, linalg::cumsum),
    (&primitive::MATMUL, matmul::matmul),
    (&primitive::TRIANGULAR_SOLVE, linalg::triangular_solve),
];

/// Returns the native version of a primitive, if there is one.
pub fn native(primitive: Primitive) -> Option<Native> {
    NATIVE
        .iter()
        .find(|(def, _)| Primitive(def) == primitive)
        .map(|(_, native)| *native)
}
