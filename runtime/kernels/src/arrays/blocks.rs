//! The loops over blocks, compiled once per instruction set.

use bnnc_math::approx::functions::Elementwise;
use bnnc_math::approx::{Arch, Fused, Number, Plain};

/// The number of elements per block: a few vectors of the widest kind, so that the loop over a block becomes straight-line vector code.
const BLOCK: usize = 16;

#[inline(always)]
fn apply<F: Elementwise, A: Arch, T: Number>(block: &[T; BLOCK]) -> [T; BLOCK] {
    let mut result = [T::ZERO; BLOCK];
    for (value, x) in result.iter_mut().zip(block) {
        *value = F::apply::<A, T>(*x);
    }
    if block.iter().fold(false, |any, x| any | F::is_beyond::<A, T>(*x)) {
        for (value, x) in result.iter_mut().zip(block) {
            if F::is_beyond::<A, T>(*x) {
                *value = T::number(F::beyond(x.to_f64()));
            }
        }
    }
    result
}

/// # Safety
/// `out` and `x` must point to `n` elements; the two arrays must be the same or must not overlap.
#[inline(always)]
unsafe fn map<F: Elementwise, A: Arch, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    let (out, x, n) = (out.cast::<T>(), x.cast::<T>(), n.max(0) as usize);
    let whole = n - n % BLOCK;
    for at in (0..whole).step_by(BLOCK) {
        // SAFETY: elements `at .. at + BLOCK` are inside both arrays, and the block is read before it is written.
        unsafe {
            out.add(at)
                .cast::<[T; BLOCK]>()
                .write(apply::<F, A, T>(&x.add(at).cast::<[T; BLOCK]>().read()))
        };
    }
    if whole < n {
        let mut block = [T::ONE; BLOCK];
        // SAFETY: the `n - whole < BLOCK` elements after `whole` are inside both arrays and inside the block.
        unsafe {
            std::ptr::copy_nonoverlapping(x.add(whole), block.as_mut_ptr(), n - whole);
            let result = apply::<F, A, T>(&block);
            std::ptr::copy_nonoverlapping(result.as_ptr(), out.add(whole), n - whole);
        }
    }
}

/// The version for any processor.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply.
pub unsafe extern "C" fn plain<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Plain, T>(out, x, n) }
}

/// The version with 256-bit vectors.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply, on a processor with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub unsafe extern "C" fn avx2<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Fused, T>(out, x, n) }
}

/// The version with 512-bit vectors.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply, on a processor with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
pub unsafe extern "C" fn avx512<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Fused, T>(out, x, n) }
}
