//! Initialises the reducing outputs of kernels, and combines partial results.

use crate::resolved::{ReadyReduce, StoredElement};
use bnnc_abi::plan::Combine;
use std::ops::Range;

/// Fills a reducing output with the identity of its reduction, such as 0 for a sum.
///
/// # Safety
/// `address` must be the address of `reduce.count` elements. Other code must not access these
/// elements during the call.
pub unsafe fn fill(address: *mut u8, reduce: &ReadyReduce) {
    let identity = reduce.combine.identity();
    // SAFETY: guaranteed by the caller.
    unsafe {
        match reduce.element {
            StoredElement::F32 => elements::<f32>(address, 0..reduce.count).fill(identity as f32),
            StoredElement::F64 => elements::<f64>(address, 0..reduce.count).fill(identity),
            // The conversion saturates, so minus infinity becomes the smallest integer.
            StoredElement::Int => elements::<i32>(address, 0..reduce.count).fill(identity as i32),
        }
    }
}

/// Combines the elements of `into` in this range with those of `from`, and writes the results to
/// `into`.
///
/// # Safety
/// `into` and `from` must be addresses of `reduce.count` elements each. The two ranges must not
/// overlap. Other code must not access the elements in the range during the call.
pub unsafe fn combine(into: *mut u8, from: *mut u8, range: Range<usize>, reduce: &ReadyReduce) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (reduce.element, reduce.combine) {
            (StoredElement::F32, Combine::Sum) => zip::<f32>(into, from, range, |x, y| x + y),
            (StoredElement::F64, Combine::Sum) => zip::<f64>(into, from, range, |x, y| x + y),
            (StoredElement::Int, Combine::Sum) => zip::<i32>(into, from, range, i32::wrapping_add),
            // If an operand is NaN, the maximum is NaN, as in the scalar operation.
            (StoredElement::F32, Combine::Max) => {
                zip::<f32>(into, from, range, |x, y| if x > y || x.is_nan() { x } else { y })
            }
            (StoredElement::F64, Combine::Max) => {
                zip::<f64>(into, from, range, |x, y| if x > y || x.is_nan() { x } else { y })
            }
            (StoredElement::Int, Combine::Max) => zip::<i32>(into, from, range, i32::max),
        }
    }
}

/// # Safety
/// The same conditions as for [`combine`] apply.
unsafe fn zip<T: Copy>(into: *mut u8, from: *mut u8, range: Range<usize>, f: impl Fn(T, T) -> T) {
    // SAFETY: guaranteed by the caller.
    let (into, from) = unsafe { (elements::<T>(into, range.clone()), elements::<T>(from, range)) };
    into.iter_mut().zip(from).for_each(|(x, y)| *x = f(*x, *y));
}

/// # Safety
/// `address` must be the address of at least `range.end` elements. Other code must not access the
/// elements in the range during `'a`.
unsafe fn elements<'a, T>(address: *mut u8, range: Range<usize>) -> &'a mut [T] {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(address.cast::<T>().add(range.start), range.len()) }
}
