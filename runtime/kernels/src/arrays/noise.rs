//! Noise streams. Philox 4x32-10 computes random words for many counters at once; uniforms or
//! Box-Muller normals are computed from the words. Gamma variates are computed one by one.
//!
//! [`bnnc_math::philox`] and [`bnnc_math::gamma`] define the streams. This module computes the same
//! numbers for sixteen or more words at a time.

use bnnc_math::approx::noise::{self as approx, NoiseLaw};
use bnnc_math::approx::{Arch, Fused, Number, Plain};
use bnnc_math::gamma;

/// The number of counters in a large block. Each counter gives four elements.
const LARGE: usize = 64;
/// The number of counters in a medium block.
const MEDIUM: usize = 16;
/// The number of counters in a small block. Small blocks are used at the ends of arrays.
const SMALL: usize = 4;

/// The random words of `L` counters: four arrays, each with one word per counter.
type Words<const L: usize> = [[u32; L]; 4];

/// A noise stream: its key, and its coordinates (draw, example, step).
#[derive(Clone, Copy)]
struct Stream {
    key: u64,
    coordinates: [u32; 3],
}

/// Returns the random words of the counters `first .. first + L`.
#[inline(always)]
fn philox<const L: usize>(stream: Stream, first: u64) -> Words<L> {
    let mut words = [[0u32; L]; 4];
    let [draw, example, step] = stream.coordinates.map(u64::from);
    for lane in 0..L {
        let counter = u64::from((first as u32).wrapping_add(lane as u32));
        let key = [stream.key & 0xFFFF_FFFF, stream.key >> 32];
        let x = approx::philox([counter, draw, example, step], key);
        for (word, value) in words.iter_mut().zip(x) {
            word[lane] = value as u32;
        }
    }
    words
}

/// Writes the elements of the counters `first .. first + L` to `out`, in order.
///
/// # Safety
/// `out` must have room for `4 L` elements.
#[inline(always)]
unsafe fn blocks<N: NoiseLaw, A: Arch, T: Number, const L: usize>(out: *mut T, stream: Stream, first: u64) {
    let words = philox::<L>(stream, first);
    let mut values = [[T::ZERO; L]; 4];
    for lane in 0..L {
        (values[0][lane], values[1][lane]) = N::pair::<A, T>(words[0][lane], words[1][lane]);
    }
    for lane in 0..L {
        (values[2][lane], values[3][lane]) = N::pair::<A, T>(words[2][lane], words[3][lane]);
    }
    let [first, second, third, fourth] = &values;
    for (lane, first) in first.iter().enumerate() {
        let element = [*first, second[lane], third[lane], fourth[lane]];
        // SAFETY: the write ends at element `4 * lane + 3`, which is below `4 L`.
        unsafe { out.add(4 * lane).cast::<[T; 4]>().write(element) };
    }
}

/// # Safety
/// `out` must have room for `n` elements.
#[inline(always)]
unsafe fn fill<N: NoiseLaw, A: Arch, T: Number>(out: *mut u8, n: i64, stream: Stream, first: u64) {
    let (out, n) = (out.cast::<T>(), n.max(0) as usize);
    let mut at = 0;
    while at < n {
        let element = first + at as u64;
        let (skip, left) = ((element % 4) as usize, n - at);
        // SAFETY: the first two branches write directly to `out`, and only if all elements of the
        // block are inside it. The last branch copies `taken` elements, which is at most the number
        // of elements left.
        unsafe {
            if skip == 0 && left >= 4 * LARGE {
                blocks::<N, A, T, LARGE>(out.add(at), stream, element / 4);
                at += 4 * LARGE;
            } else if skip == 0 && left >= 4 * MEDIUM {
                blocks::<N, A, T, MEDIUM>(out.add(at), stream, element / 4);
                at += 4 * MEDIUM;
            } else {
                let mut buffer = [T::ZERO; 4 * SMALL];
                blocks::<N, A, T, SMALL>(buffer.as_mut_ptr(), stream, element / 4);
                let taken = left.min(4 * SMALL - skip);
                std::ptr::copy_nonoverlapping(buffer.as_ptr().add(skip), out.add(at), taken);
                at += taken;
            }
        }
    }
}

macro_rules! versions {
    ($($(#[$meta:meta])* $name:ident $arch:ident;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        ///
        /// The same conditions as for [`bnnc_abi::symbols::NoiseFn`] apply. The processor must have
        /// the instructions of this version.
        pub unsafe extern "C" fn $name<N: NoiseLaw, T: Number>(
            out: *mut u8,
            _shapes: *const u8,
            n: i64,
            key: u64,
            first: u64,
            draw: u32,
            example: u32,
            step: u32,
        ) {
            let stream = Stream { key, coordinates: [draw, example, step] };
            // SAFETY: guaranteed by the caller.
            unsafe { fill::<N, $arch, T>(out, n, stream, first) }
        }
    )*};
}

versions! {
    /// Fills an array with noise, on any processor.
    plain Plain;
    /// Fills an array with noise, with 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2 Fused;
    /// Fills an array with noise, with 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512 Fused;
}

/// Generates gamma variates one by one, because each needs a different number of attempts. The
/// computation uses `f64`, also for `f32` results.
///
/// # Safety
/// The same conditions as for [`bnnc_abi::symbols::NoiseFn`] apply.
pub unsafe extern "C" fn gamma<T: Number>(
    out: *mut u8,
    shapes: *const u8,
    n: i64,
    key: u64,
    first: u64,
    draw: u32,
    example: u32,
    step: u32,
) {
    let (out, shapes) = (out.cast::<T>(), shapes.cast::<T>());
    for at in 0..n.max(0) as usize {
        // SAFETY: `at < n`. Each shape is read before the element at its position is written.
        unsafe {
            let shape = shapes.add(at).read().to_f64();
            let value = gamma::variate(key, [draw, example, step], first + at as u64, shape);
            let tiny = value < T::SMALLEST.to_f64();
            out.add(at)
                .write(if tiny { T::SMALLEST } else { T::number(value) });
        }
    }
}
