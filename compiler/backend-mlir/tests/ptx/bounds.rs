//! The tolerated errors of GPU code relative to the reference, both on an emulator of PTX and on a device.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// The number of random kernels compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The tolerated relative error of a single operation: the largest error of the inlined approximations, which the tests of the array primitives
/// check. The array primitives use the reference for digamma and the log gamma function. GPU code sums terms instead, which cancel if the result is
/// small: the terms of digamma(-0.5) = 0.036 and of lgamma(-2.5) = -0.056 reach 3.
pub fn tolerance(scalar: Scalar, precision: Precision) -> f64 {
    match (precision, scalar) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Scalar::Digamma) => 1e-14,
        (Precision::F64, Scalar::Lgamma) => 3e-14,
        (Precision::F64, _) => 4e-15,
    }
}
