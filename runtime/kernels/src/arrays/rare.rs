//! Functions that programs rarely call. The `f64` reference functions compute their values element
//! by element.

use bnnc_abi::symbols::{Binary, Unary};
use bnnc_base::dtype::Precision;
use bnnc_math::approx::Number;
use bnnc_math::scalar::{Scalar, ScalarVisitor};
use std::marker::PhantomData;

/// Returns the array primitive that evaluates the reference of an operation with one operand. Returns
/// `None` if the operation has another number of operands, or if generated code does not call it.
pub fn unary(scalar: Scalar, precision: Precision) -> Option<Unary> {
    (scalar.is_called() && scalar.arity() == 1).then(|| match precision {
        Precision::F32 => scalar.visit(One::<f32>(PhantomData)),
        Precision::F64 => scalar.visit(One::<f64>(PhantomData)),
    })
}

/// Returns the array primitive that evaluates the reference of an operation with two operands. Returns
/// `None` if the operation has another number of operands, or if generated code does not call it.
pub fn binary(scalar: Scalar, precision: Precision) -> Option<Binary> {
    (scalar.is_called() && scalar.arity() == 2).then(|| match precision {
        Precision::F32 => scalar.visit(Two::<f32>(PhantomData)),
        Precision::F64 => scalar.visit(Two::<f64>(PhantomData)),
    })
}

/// Returns the array primitive of an operation with one operand.
struct One<T>(PhantomData<T>);

impl<T: Number> ScalarVisitor for One<T> {
    type Output = Unary;

    fn visit<const SCALAR: usize>(self) -> Unary {
        map::<SCALAR, T>
    }
}

/// Returns the array primitive of an operation with two operands.
struct Two<T>(PhantomData<T>);

impl<T: Number> ScalarVisitor for Two<T> {
    type Output = Binary;

    fn visit<const SCALAR: usize>(self) -> Binary {
        map_two::<SCALAR, T>
    }
}

/// # Safety
/// The same conditions as for [`Unary`] apply.
unsafe extern "C" fn map<const SCALAR: usize, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    let (out, x) = (out.cast::<T>(), x.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`. Each element is read before it is written.
        unsafe {
            let x = x.add(at).read().to_f64();
            out.add(at).write(T::number(Scalar::ALL[SCALAR].eval(&[x])));
        };
    }
}

/// # Safety
/// The same conditions as for [`Binary`] apply.
unsafe extern "C" fn map_two<const SCALAR: usize, T: Number>(
    out: *mut u8,
    x: *const u8,
    y: *const u8,
    n: i64,
) {
    let (out, x, y) = (out.cast::<T>(), x.cast::<T>(), y.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`. Both operands are read before the result is written.
        unsafe {
            let (x, y) = (x.add(at).read().to_f64(), y.add(at).read().to_f64());
            out.add(at).write(T::number(Scalar::ALL[SCALAR].eval(&[x, y])));
        };
    }
}
