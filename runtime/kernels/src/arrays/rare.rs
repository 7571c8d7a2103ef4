//! Functions that programs call seldom: element by element through the `f64` references.

use super::lane::Lane;
use bnnc_abi::symbols::{Binary, Unary};
use bnnc_base::dtype::Precision;
use bnnc_base::scalar::Scalar;
use bnnc_base::special;

/// A function of one number.
trait Rare {
    fn at(x: f64) -> f64;
}

macro_rules! rare {
    ($($tag:ident $function:path;)*) => {$(
        struct $tag;

        impl Rare for $tag {
            fn at(x: f64) -> f64 {
                $function(x)
            }
        }
    )*};
}

rare! {
    Digamma special::digamma;
    Lgamma special::lgamma;
    Trigamma special::trigamma;
}

/// The array form of the rare functions of one operand.
pub fn unary(scalar: Scalar, precision: Precision) -> Option<Unary> {
    match precision {
        Precision::F32 => one::<f32>(scalar),
        Precision::F64 => one::<f64>(scalar),
    }
}

/// The array form of the functions of two operands.
pub fn binary(scalar: Scalar, precision: Precision) -> Option<Binary> {
    match (scalar == Scalar::Pow, precision) {
        (false, _) => None,
        (true, Precision::F32) => Some(pow::<f32>),
        (true, Precision::F64) => Some(pow::<f64>),
    }
}

fn one<T: Lane>(scalar: Scalar) -> Option<Unary> {
    let table: [(Scalar, Unary); 3] = [
        (Scalar::Digamma, map::<Digamma, T>),
        (Scalar::Lgamma, map::<Lgamma, T>),
        (Scalar::Trigamma, map::<Trigamma, T>),
    ];
    table
        .into_iter()
        .find(|(known, _)| *known == scalar)
        .map(|(_, function)| function)
}

/// # Safety
/// As [`Unary`] says.
unsafe extern "C" fn map<F: Rare, T: Lane>(out: *mut u8, x: *const u8, n: i64) {
    let (out, x) = (out.cast::<T>(), x.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`, and each element is read before it is written.
        unsafe { out.add(at).write(T::from_f64(F::at(x.add(at).read().to_f64()))) };
    }
}

/// # Safety
/// As [`Binary`] says.
unsafe extern "C" fn pow<T: Lane>(out: *mut u8, x: *const u8, y: *const u8, n: i64) {
    let (out, x, y) = (out.cast::<T>(), x.cast::<T>(), y.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`, and both elements are read before one is written.
        unsafe {
            out.add(at).write(T::from_f64(
                x.add(at).read().to_f64().powf(y.add(at).read().to_f64()),
            ))
        };
    }
}
