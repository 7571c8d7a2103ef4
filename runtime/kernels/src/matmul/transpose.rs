//! Functions that transpose a small square while copying it.

use bnnc_math::approx::Number;

/// Transposes a square of side four while copying it: `to[i, j] = from[j, i]`. `from` has the
/// column stride `stride`, and `to` has the row stride `to_stride`.
///
/// # Safety
/// `from` and `to` must hold the square.
pub unsafe fn transpose_plain<T: Number>(from: *const T, stride: isize, to: *mut T, to_stride: usize) {
    for j in 0..4 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let column = from.offset(j as isize * stride).cast::<[T; 4]>().read();
            for (i, value) in column.into_iter().enumerate() {
                to.add(i * to_stride + j).write(value);
            }
        }
    }
}

/// Transposes a square of side eight while copying it.
///
/// # Safety
/// The same conditions as for [`transpose_plain`] apply. The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub unsafe fn transpose_f32(from: *const f32, stride: isize, to: *mut f32, to_stride: usize) {
    use std::arch::x86_64::{
        _mm_loadu_ps, _mm256_castps128_ps256, _mm256_insertf128_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
        _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };
    for half in 0..2 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Vector `j` holds the rows `4 half .. 4 half + 4` of the columns `j` and `j + 4`.
            let pair: [_; 4] = std::array::from_fn(|j| {
                let column = |at: usize| _mm_loadu_ps(from.offset(at as isize * stride).add(4 * half));
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(column(j)), column(j + 4))
            });
            let a = _mm256_unpacklo_ps(pair[0], pair[1]);
            let b = _mm256_unpackhi_ps(pair[0], pair[1]);
            let c = _mm256_unpacklo_ps(pair[2], pair[3]);
            let d = _mm256_unpackhi_ps(pair[2], pair[3]);
            let to = to.add(4 * half * to_stride);
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(a, c));
            _mm256_storeu_ps(to.add(to_stride), _mm256_shuffle_ps::<0xEE>(a, c));
            _mm256_storeu_ps(to.add(2 * to_stride), _mm256_shuffle_ps::<0x44>(b, d));
            _mm256_storeu_ps(to.add(3 * to_stride), _mm256_shuffle_ps::<0xEE>(b, d));
        }
    }
}

/// Transposes a square of side four while copying it, with AVX2.
///
/// # Safety
/// The same conditions as for [`transpose_plain`] apply. The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub unsafe fn transpose_f64(from: *const f64, stride: isize, to: *mut f64, to_stride: usize) {
    use std::arch::x86_64::{
        _mm256_loadu_pd, _mm256_permute2f128_pd, _mm256_storeu_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        let column: [_; 4] = std::array::from_fn(|j| _mm256_loadu_pd(from.offset(j as isize * stride)));
        let a = _mm256_unpacklo_pd(column[0], column[1]);
        let b = _mm256_unpackhi_pd(column[0], column[1]);
        let c = _mm256_unpacklo_pd(column[2], column[3]);
        let d = _mm256_unpackhi_pd(column[2], column[3]);
        _mm256_storeu_pd(to, _mm256_permute2f128_pd::<0x20>(a, c));
        _mm256_storeu_pd(to.add(to_stride), _mm256_permute2f128_pd::<0x20>(b, d));
        _mm256_storeu_pd(to.add(2 * to_stride), _mm256_permute2f128_pd::<0x31>(a, c));
        _mm256_storeu_pd(to.add(3 * to_stride), _mm256_permute2f128_pd::<0x31>(b, d));
    }
}
