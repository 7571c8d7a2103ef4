//! Noise streams: Philox 4x32-10 for many counters at once, then uniforms or Box-Muller normals; gamma variates one by one.
//!
//! The streams are defined in [`bnnc_base::philox`] and [`bnnc_base::gamma`]; here is the same, sixteen or more words at a time.

use super::lane::{Arch, Fused, Lane, Plain};
use bnnc_base::gamma;

/// Counters per large block; a block holds four elements per counter.
const LARGE: usize = 64;
/// Counters per medium block.
const MEDIUM: usize = 16;
/// Counters per small block, for ends.
const SMALL: usize = 4;

/// The words of `L` blocks, word by word.
type Words<const L: usize> = [[u32; L]; 4];

/// A stream without its element: the key, then draw, example and step.
#[derive(Clone, Copy)]
struct Stream {
    key: u64,
    coordinates: [u32; 3],
}

/// The law of a stream.
pub trait Law {
    /// Elements 0 and 1, or 2 and 3, of a block, from their words.
    fn pair<A: Arch, T: Lane>(first: u32, second: u32) -> (T, T);
}

/// Uniform on (0, 1).
pub struct Uniform;

/// Standard normal.
pub struct Normal;

impl Law for Uniform {
    #[inline(always)]
    fn pair<A: Arch, T: Lane>(first: u32, second: u32) -> (T, T) {
        (unit::<A, T>(first), unit::<A, T>(second))
    }
}

impl Law for Normal {
    #[inline(always)]
    fn pair<A: Arch, T: Lane>(first: u32, second: u32) -> (T, T) {
        let radius = (-T::TWO * log_unit::<A, T>(first)).root();
        let (cos, sin) = turn::<A, T>(second);
        (radius * cos, radius * sin)
    }
}

/// `2^-32`.
#[inline(always)]
fn ulp<T: Lane>() -> T {
    T::from_f64(1.0 / 4_294_967_296.0)
}

/// The uniform number of a word, below 1 after rounding too.
#[inline(always)]
fn unit<A: Arch, T: Lane>(word: u32) -> T {
    let number = T::from_word::<A>(word) * ulp::<T>();
    // The largest f32 below 1; in f64 every word is below it or exact.
    let largest = T::from_f64(1.0 - f64::from(f32::EPSILON) / 2.0);
    largest.when(number == T::ONE, number)
}

/// The logarithm of a word's uniform number. Above `sqrt(1/2)` its distance from 1 is taken from the complement of the
/// word, which keeps the relative accuracy that rounding to `f32` would lose.
#[inline(always)]
fn log_unit<A: Arch, T: Lane>(word: u32) -> T {
    const UPPER: u32 = 0xB504_F334;
    let (m, k) = (T::from_word::<A>(word) * ulp::<T>()).split();
    let upper = word >= UPPER;
    let f = (-(T::from_word::<A>(!word) * ulp::<T>())).when(upper, m - T::ONE);
    T::log_reduced::<A>(f, T::ZERO.when(upper, k))
}

/// `(cos, sin)` of `2 pi` times a word's uniform number: the quadrant comes from the top bits, without rounding.
#[inline(always)]
fn turn<A: Arch, T: Lane>(word: u32) -> (T, T) {
    const EIGHTH: u32 = 1 << 29;
    let shifted = word.wrapping_add(EIGHTH);
    let quadrant = shifted >> 30;
    let within = (shifted & (2 * EIGHTH - 1)) as i32 - EIGHTH as i32;
    let angle = T::from_signed(within) * T::from_f64(std::f64::consts::TAU / 4_294_967_296.0);
    let (cos, sin) = T::cos_sin_reduced::<A>(angle);
    let odd = quadrant & 1 == 1;
    let (x, y) = (sin.when(odd, cos), cos.when(odd, sin));
    (
        (-x).when((quadrant + 1) & 2 == 2, x),
        (-y).when(quadrant & 2 == 2, y),
    )
}

/// The words of blocks `first ..  first + L`. Words are kept in 64 bits, where the product of two needs no shuffles.
#[inline(always)]
fn philox<const L: usize>(stream: Stream, first: u64) -> Words<L> {
    let mut words = [[0u32; L]; 4];
    let [draw, example, step] = stream.coordinates.map(u64::from);
    for lane in 0..L {
        let mut x = [
            u64::from((first as u32).wrapping_add(lane as u32)),
            draw,
            example,
            step,
        ];
        let (mut low_key, mut high_key) = (stream.key as u32, (stream.key >> 32) as u32);
        for _ in 0..10 {
            let first = (x[0] & 0xFFFF_FFFF) * 0xD251_1F53;
            let second = (x[2] & 0xFFFF_FFFF) * 0xCD9E_8D57;
            // Upper halves are left as they come: products and results look at lower halves only.
            x = [
                (second >> 32) ^ x[1] ^ u64::from(low_key),
                second,
                (first >> 32) ^ x[3] ^ u64::from(high_key),
                first,
            ];
            low_key = low_key.wrapping_add(0x9E37_79B9);
            high_key = high_key.wrapping_add(0xBB67_AE85);
        }
        for (word, value) in words.iter_mut().zip(x) {
            word[lane] = value as u32;
        }
    }
    words
}

/// The elements of blocks `first .. first + L`, in order, to `out`.
///
/// # Safety
/// `out` must have room for `4 L` elements.
#[inline(always)]
unsafe fn blocks<N: Law, A: Arch, T: Lane, const L: usize>(out: *mut T, stream: Stream, first: u64) {
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
        // SAFETY: `4 * lane + 3 < 4 L`.
        unsafe { out.add(4 * lane).cast::<[T; 4]>().write(element) };
    }
}

/// # Safety
/// `out` must have room for `n` elements.
#[inline(always)]
unsafe fn fill<N: Law, A: Arch, T: Lane>(out: *mut u8, n: i64, stream: Stream, first: u64) {
    let (out, n) = (out.cast::<T>(), n.max(0) as usize);
    let mut at = 0;
    while at < n {
        let element = first + at as u64;
        let (skip, left) = ((element % 4) as usize, n - at);
        // SAFETY: the direct forms are taken only where all their elements are inside `out`; the last form writes `taken`
        // elements, which are at most `left`.
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
        /// As [`bnnc_abi::symbols::Noise`] says, on a processor with the features.
        pub unsafe extern "C" fn $name<N: Law, T: Lane>(
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
            // SAFETY: the caller's promise.
            unsafe { fill::<N, $arch, T>(out, n, stream, first) }
        }
    )*};
}

versions! {
    /// The version for any processor.
    plain Plain;
    /// The version with 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2 Fused;
    /// The version with 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512 Fused;
}

/// Gamma variates. Rejection makes each take its own path, in `f64` for either precision.
///
/// # Safety
/// As [`bnnc_abi::symbols::Noise`] says.
pub unsafe extern "C" fn gamma<T: Lane>(
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
        // SAFETY: `at < n`, and each shape is read before an element is written.
        unsafe {
            let shape = shapes.add(at).read().to_f64();
            let value = gamma::variate(key, [draw, example, step], first + at as u64, shape);
            let tiny = value < T::SMALLEST.to_f64();
            out.add(at)
                .write(if tiny { T::SMALLEST } else { T::from_f64(value) });
        }
    }
}
