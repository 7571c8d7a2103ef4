//! Identities and combinations of reducing outputs.

use crate::resolved::{ReadyReduce, StoredElement};
use bnnc_abi::plan::Combine;
use std::ops::Range;

/// Fills a reducing output with the identity.
///
/// # Safety
/// `address` must be the address of `reduce.count` elements that have no other user now.
pub unsafe fn fill(address: *mut u8, reduce: &ReadyReduce) {
    let identity = reduce.combine.identity();
    // SAFETY: the caller's promise.
    unsafe {
        match reduce.element {
            StoredElement::F32 => elements::<f32>(address, 0..reduce.count).fill(identity as f32),
            StoredElement::F64 => elements::<f64>(address, 0..reduce.count).fill(identity),
            // The conversion saturates: minus infinity becomes the least integer.
            StoredElement::Int => elements::<i32>(address, 0..reduce.count).fill(identity as i32),
        }
    }
}

/// Combines the elements of a range of `from` into those of `into`.
///
/// # Safety
/// Both must be addresses of `reduce.count` elements that do not overlap. The elements in the range have no other user now.
pub unsafe fn combine(into: *mut u8, from: *mut u8, range: Range<usize>, reduce: &ReadyReduce) {
    // SAFETY: the caller's promise.
    unsafe {
        match (reduce.element, reduce.combine) {
            (StoredElement::F32, Combine::Sum) => zip::<f32>(into, from, range, |x, y| x + y),
            (StoredElement::F64, Combine::Sum) => zip::<f64>(into, from, range, |x, y| x + y),
            (StoredElement::Int, Combine::Sum) => zip::<i32>(into, from, range, i32::wrapping_add),
            // NaN propagates, as in the scalar operation.
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
    // SAFETY: the caller's promise.
    let (into, from) = unsafe { (elements::<T>(into, range.clone()), elements::<T>(from, range)) };
    into.iter_mut().zip(from).for_each(|(x, y)| *x = f(*x, *y));
}

/// # Safety
/// `address` must be the address of at least `range.end` elements. The elements in the range have no other user during `'a`.
unsafe fn elements<'a, T>(address: *mut u8, range: Range<usize>) -> &'a mut [T] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(address.cast::<T>().add(range.start), range.len()) }
}
