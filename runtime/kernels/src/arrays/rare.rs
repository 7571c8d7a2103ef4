//! Functions that programs rarely call. The `f64` reference functions compute their values element
//! by element.

use bnnc_abi::symbols::{Binary, Unary};
use bnnc_base::dtype::Precision;
use bnnc_math::approx::Number;
use bnnc_math::gamma;
use bnnc_math::scalar::Scalar;
use bnnc_math::special;

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

/// A function of two numbers.
trait RarePair {
    fn at(x: f64, y: f64) -> f64;
}

struct GammaGradient;

impl RarePair for GammaGradient {
    fn at(x: f64, y: f64) -> f64 {
        gamma::gradient(x, y)
    }
}

struct Pow;

impl RarePair for Pow {
    fn at(x: f64, y: f64) -> f64 {
        x.powf(y)
    }
}

/// Returns the array primitive for a rare function of one operand.
pub fn unary(scalar: Scalar, precision: Precision) -> Option<Unary> {
    match precision {
        Precision::F32 => one::<f32>(scalar),
        Precision::F64 => one::<f64>(scalar),
    }
}

/// Returns the array primitive for a function of two operands.
pub fn binary(scalar: Scalar, precision: Precision) -> Option<Binary> {
    match precision {
        Precision::F32 => two::<f32>(scalar),
        Precision::F64 => two::<f64>(scalar),
    }
}

fn two<T: Number>(scalar: Scalar) -> Option<Binary> {
    let table: [(Scalar, Binary); 2] = [
        (Scalar::GammaGradient, map_two::<GammaGradient, T>),
        (Scalar::Pow, map_two::<Pow, T>),
    ];
    table
        .into_iter()
        .find(|(known, _)| *known == scalar)
        .map(|(_, function)| function)
}

fn one<T: Number>(scalar: Scalar) -> Option<Unary> {
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
/// The same conditions as for [`Unary`] apply.
unsafe extern "C" fn map<F: Rare, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    let (out, x) = (out.cast::<T>(), x.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`. Each element is read before it is written.
        unsafe { out.add(at).write(T::number(F::at(x.add(at).read().to_f64()))) };
    }
}

/// # Safety
/// The same conditions as for [`Binary`] apply.
unsafe extern "C" fn map_two<F: RarePair, T: Number>(out: *mut u8, x: *const u8, y: *const u8, n: i64) {
    let (out, x, y) = (out.cast::<T>(), x.cast::<T>(), y.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`. Both operands are read before the result is written.
        unsafe {
            let (x, y) = (x.add(at).read().to_f64(), y.add(at).read().to_f64());
            out.add(at).write(T::number(F::at(x, y)));
        };
    }
}
