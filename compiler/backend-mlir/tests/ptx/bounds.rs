//! The tolerated errors of GPU code relative to the reference, both on an emulator of PTX and on a device.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// The number of random kernels that are compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The tolerated relative error of a single operation. The tolerance is the largest error of the inlined
/// approximations, which the tests of the array primitives determine. For digamma and the log gamma
/// function, the array primitives use the reference, whereas GPU code sums terms. These largely cancel if
/// the result is small: terms of magnitude up to 3 sum to digamma(-0.5) =
/// 0.036 and to lgamma(-2.5) = -0.056.
pub fn tolerance(scalar: Scalar, precision: Precision) -> f64 {
    match (precision, scalar) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Scalar::Digamma) => 1e-14,
        (Precision::F64, Scalar::Lgamma) => 3e-14,
        (Precision::F64, _) => 4e-15,
    }
}
