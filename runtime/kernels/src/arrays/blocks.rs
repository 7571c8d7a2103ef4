//! The loops over blocks of elements, compiled once per instruction set.

use bnnc_math::approx::functions::Elementwise;
use bnnc_math::approx::{Arch, Fused, Number, Plain};

/// The number of elements per block. A block fills a few of the widest vectors, so the compiler
/// turns the loop over its elements into vector instructions without jumps.
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
/// `out` and `x` must point to `n` elements each. The two arrays must either be the same array or
/// not overlap.
#[inline(always)]
unsafe fn map<F: Elementwise, A: Arch, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    let (out, x, n) = (out.cast::<T>(), x.cast::<T>(), n.max(0) as usize);
    let whole = n - n % BLOCK;
    for at in (0..whole).step_by(BLOCK) {
        // SAFETY: the elements `at .. at + BLOCK` are inside both arrays. The block is read before
        // it is written.
        unsafe {
            out.add(at)
                .cast::<[T; BLOCK]>()
                .write(apply::<F, A, T>(&x.add(at).cast::<[T; BLOCK]>().read()))
        };
    }
    if whole < n {
        let mut block = [T::ONE; BLOCK];
        // SAFETY: the `n - whole < BLOCK` elements after the last whole block are inside both
        // arrays, and fit into `block`.
        unsafe {
            std::ptr::copy_nonoverlapping(x.add(whole), block.as_mut_ptr(), n - whole);
            let result = apply::<F, A, T>(&block);
            std::ptr::copy_nonoverlapping(result.as_ptr(), out.add(whole), n - whole);
        }
    }
}

/// Applies a function to each element, on any processor.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply.
pub unsafe extern "C" fn plain<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Plain, T>(out, x, n) }
}

/// Applies a function to each element with 256-bit vectors.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply. The processor must have AVX2 and
/// FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub unsafe extern "C" fn avx2<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Fused, T>(out, x, n) }
}

/// Applies a function to each element with 512-bit vectors.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::Unary`] apply. The processor must have AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
pub unsafe extern "C" fn avx512<F: Elementwise, T: Number>(out: *mut u8, x: *const u8, n: i64) {
    // SAFETY: guaranteed by the caller.
    unsafe { map::<F, Fused, T>(out, x, n) }
}
