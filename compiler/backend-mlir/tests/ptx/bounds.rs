//! The tolerated errors of GPU code relative to the reference, both on an emulator of PTX and on a device.

use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// The number of random kernels compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The tolerated relative error of a single operation: the error of the inlined approximations, which the tests of the array primitives
/// bound. The array primitives use the reference for digamma and the log gamma function. Here, these functions are sums of terms that
/// cancel if the result is small: digamma(-0.5) is 0.036 from terms up to 3, and lgamma(-2.5) is -0.056 from terms up to 3.
pub fn tolerance(scalar: Scalar, precision: Precision) -> f64 {
    match (precision, scalar) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Scalar::Digamma) => 1e-14,
        (Precision::F64, Scalar::Lgamma) => 3e-14,
        (Precision::F64, _) => 4e-15,
    }
}
