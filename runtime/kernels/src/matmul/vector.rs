//! The vector types of different processors, with the operations that the kernels of matrix
//! products need.
//!
//! Every function here is inlined into a kernel that is compiled for the instruction set of the
//! vector. Other code must not call these functions.

use bnnc_math::approx::{Number, Plain};

/// A vector type of a processor.
pub trait Vector: Copy {
    /// The type of the elements.
    type Element: Number;
    /// Selects the lanes that a masked access reads or writes.
    type Mask: Copy;
    /// The number of elements of a vector.
    const LANES: usize;

    /// Returns the mask of the first `count` lanes.
    unsafe fn mask(count: usize) -> Self::Mask;
    /// Returns a vector of zeros.
    unsafe fn zero() -> Self;
    /// Returns a vector with the element at `from` in all lanes.
    unsafe fn splat(from: *const Self::Element) -> Self;
    /// Loads the elements at `from`.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Loads the elements at `from` in the lanes of the mask. The other lanes become zero, and
    /// their elements are not accessed.
    unsafe fn load_masked(from: *const Self::Element, mask: Self::Mask) -> Self;
    /// Writes all lanes to `to`.
    unsafe fn store(self, to: *mut Self::Element);
    /// Writes only the lanes of the mask to `to`.
    unsafe fn store_masked(self, to: *mut Self::Element, mask: Self::Mask);
    /// Computes `self * factor + term`.
    unsafe fn fma(self, factor: Self, term: Self) -> Self;
    /// Computes `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// Computes `self - other`.
    unsafe fn sub(self, other: Self) -> Self;

    /// Returns the sum of the lanes. Each step adds one half of the remaining lanes to the other
    /// half, so the order of summation is fixed.
    unsafe fn sum(self) -> Self::Element;
}

/// A vector that any processor supports, made of scalars.
#[derive(Clone, Copy)]
pub struct LaneArray<T, const N: usize>([T; N]);

impl<T: Number, const N: usize> LaneArray<T, N> {
    #[inline(always)]
    fn from_fn(lane: impl Fn(usize) -> T) -> Self {
        LaneArray(std::array::from_fn(lane))
    }
}

impl<T: Number, const N: usize> Vector for LaneArray<T, N> {
    type Element = T;
    type Mask = usize;
    const LANES: usize = N;

    #[inline(always)]
    unsafe fn mask(count: usize) -> usize {
        count
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        LaneArray([T::ZERO; N])
    }

    #[inline(always)]
    unsafe fn splat(from: *const T) -> Self {
        // SAFETY: guaranteed by the caller.
        LaneArray([unsafe { from.read() }; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: guaranteed by the caller.
        LaneArray(unsafe { from.cast::<[T; N]>().read() })
    }

    #[inline(always)]
    unsafe fn load_masked(from: *const T, mask: usize) -> Self {
        // SAFETY: the caller guarantees that the lanes of the mask are readable. Other lanes are
        // not read.
        Self::from_fn(|at| {
            if at < mask {
                unsafe { from.add(at).read() }
            } else {
                T::ZERO
            }
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: guaranteed by the caller.
        unsafe { to.cast::<[T; N]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn store_masked(self, to: *mut T, mask: usize) {
        for (at, value) in self.0.into_iter().enumerate().take(mask) {
            // SAFETY: guaranteed by the caller.
            unsafe { to.add(at).write(value) };
        }
    }

    #[inline(always)]
    unsafe fn fma(self, factor: Self, term: Self) -> Self {
        Self::from_fn(|at| self.0[at].fma::<Plain>(factor.0[at], term.0[at]))
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self::from_fn(|at| self.0[at] + other.0[at])
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self::from_fn(|at| self.0[at] - other.0[at])
    }

    #[inline(always)]
    unsafe fn sum(mut self) -> T {
        let mut width = N;
        while width > 1 {
            width /= 2;
            for at in 0..width {
                self.0[at] = self.0[at] + self.0[at + width];
            }
        }
        self.0[0]
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! x86_vector {
    ($vector:ty, $element:ty, $lanes:literal, $mask_type:ty, $mask:expr,
     [$zero:ident $splat:ident $load:ident $load_masked:ident $store:ident $store_masked:ident $fma:ident $add:ident $sub:ident], $sum:expr) => {
        impl Vector for $vector {
            type Element = $element;
            type Mask = $mask_type;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn mask(count: usize) -> $mask_type {
                // SAFETY: called only on a processor that has the instruction.
                #[allow(unused_unsafe, reason = "some masks are plain integers")]
                unsafe {
                    $mask(count)
                }
            }

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: called only on a processor that has the instruction.
                unsafe { x86::$zero() }
            }

            #[inline(always)]
            unsafe fn splat(from: *const $element) -> Self {
                // SAFETY: called only on a processor that has the instruction. The caller
                // guarantees that `from` is readable.
                unsafe { x86::$splat(from.read()) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: called only on a processor that has the instruction. The caller
                // guarantees that `from` is readable.
                unsafe { x86::$load(from) }
            }

            #[inline(always)]
            unsafe fn load_masked(from: *const $element, mask: $mask_type) -> Self {
                // SAFETY: called only on a processor that has the instruction. The caller
                // guarantees that the lanes of the mask are readable.
                unsafe { load_masked::$load_masked(mask, from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: called only on a processor that has the instruction. The caller
                // guarantees that `to` is writable.
                unsafe { x86::$store(to, self) }
            }

            #[inline(always)]
            unsafe fn store_masked(self, to: *mut $element, mask: $mask_type) {
                // SAFETY: called only on a processor that has the instruction. The caller
                // guarantees that the lanes of the mask are writable.
                unsafe { x86::$store_masked(to, mask, self) }
            }

            #[inline(always)]
            unsafe fn fma(self, factor: Self, term: Self) -> Self {
                // SAFETY: called only on a processor that has the instruction.
                unsafe { x86::$fma(self, factor, term) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: called only on a processor that has the instruction.
                unsafe { x86::$add(self, other) }
            }

            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                // SAFETY: called only on a processor that has the instruction.
                unsafe { x86::$sub(self, other) }
            }

            #[inline(always)]
            unsafe fn sum(self) -> $element {
                // SAFETY: called only on a processor that has the instruction.
                unsafe { $sum(self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod on_x86 {
    //! The vector types of x86-64.

    use super::Vector;
    use std::arch::x86_64 as x86;
    use std::arch::x86_64::{__m256, __m256d, __m256i, __m512, __m512d};

    /// Masked loads of all vector types, with the mask as the first argument.
    mod load_masked {
        use super::x86::*;

        macro_rules! forward {
            ($($name:ident $instruction:ident($mask:ty, $element:ty) -> $vector:ty: |$m:ident, $p:ident| $arguments:tt;)*) => {$(
                #[inline(always)]
                pub unsafe fn $name($m: $mask, $p: *const $element) -> $vector {
                    // SAFETY: guaranteed by the caller.
                    unsafe { $instruction $arguments }
                }
            )*};
        }

        forward! {
            f32x8 _mm256_maskload_ps(__m256i, f32) -> __m256: |mask, from| (from, mask);
            f64x4 _mm256_maskload_pd(__m256i, f64) -> __m256d: |mask, from| (from, mask);
            f32x16 _mm512_maskz_loadu_ps(__mmask16, f32) -> __m512: |mask, from| (mask, from);
            f64x8 _mm512_maskz_loadu_pd(__mmask8, f64) -> __m512d: |mask, from| (mask, from);
        }
    }

    /// A 256-bit mask of `count` lanes is loaded from these arrays, beginning `count` elements
    /// before the first zero.
    static EDGE_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    static EDGE_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    x86_vector!(__m256, f32, 8, __m256i, |count| x86::_mm256_loadu_si256(EDGE_32[8 - count..].as_ptr().cast()),
    [_mm256_setzero_ps _mm256_set1_ps _mm256_loadu_ps f32x8 _mm256_storeu_ps _mm256_maskstore_ps
     _mm256_fmadd_ps _mm256_add_ps _mm256_sub_ps],
    |all| {
        let four = x86::_mm_add_ps(x86::_mm256_castps256_ps128(all), x86::_mm256_extractf128_ps::<1>(all));
        let two = x86::_mm_add_ps(four, x86::_mm_movehl_ps(four, four));
        x86::_mm_cvtss_f32(x86::_mm_add_ss(two, x86::_mm_movehdup_ps(two)))
    });
    x86_vector!(__m256d, f64, 4, __m256i, |count| x86::_mm256_loadu_si256(EDGE_64[4 - count..].as_ptr().cast()),
    [_mm256_setzero_pd _mm256_set1_pd _mm256_loadu_pd f64x4 _mm256_storeu_pd _mm256_maskstore_pd
     _mm256_fmadd_pd _mm256_add_pd _mm256_sub_pd],
    |all| {
        let two = x86::_mm_add_pd(x86::_mm256_castpd256_pd128(all), x86::_mm256_extractf128_pd::<1>(all));
        x86::_mm_cvtsd_f64(x86::_mm_add_sd(two, x86::_mm_unpackhi_pd(two, two)))
    });
    x86_vector!(__m512, f32, 16, u16, |count| ((1u32 << count) - 1) as u16,
        [_mm512_setzero_ps _mm512_set1_ps _mm512_loadu_ps f32x16 _mm512_storeu_ps _mm512_mask_storeu_ps
         _mm512_fmadd_ps _mm512_add_ps _mm512_sub_ps],
        |all| x86::_mm256_add_ps(x86::_mm512_castps512_ps256(all), x86::_mm512_extractf32x8_ps::<1>(all)).sum());
    x86_vector!(__m512d, f64, 8, u8, |count| ((1u32 << count) - 1) as u8,
        [_mm512_setzero_pd _mm512_set1_pd _mm512_loadu_pd f64x8 _mm512_storeu_pd _mm512_mask_storeu_pd
         _mm512_fmadd_pd _mm512_add_pd _mm512_sub_pd],
        |all| x86::_mm256_add_pd(x86::_mm512_castpd512_pd256(all), x86::_mm512_extractf64x4_pd::<1>(all)).sum());
}
