//! How far code for graphics processors may be from the reference, on a machine that runs PTX or on a device.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// How many random kernels are compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The relative error of a single operation: that of the inlined approximations, as the array primitives' own tests bound it.
/// Digamma and the logarithm of gamma, which the array primitives take from the reference, add terms here that cancel where the
/// sum is small: digamma(-0.5) is 0.036 of terms up to 3, lgamma(-2.5) is -0.056 of terms up to 3.
pub fn tolerance(scalar: Scalar, precision: Precision) -> f64 {
    match (precision, scalar) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Scalar::Digamma) => 1e-14,
        (Precision::F64, Scalar::Lgamma) => 3e-14,
        (Precision::F64, _) => 4e-15,
    }
}
