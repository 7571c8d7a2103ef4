//! Random numbers. Philox 4x32-10 generates words. The numbers are computed from these words.
//!
//! The assignment of random numbers to sites and elements is defined in [`crate::philox`].

use super::format::FloatFormat;
use super::lane::{Arch, Lane, Word};
use std::ops::BitXor;

/// A type for the 32-bit words of counters and random numbers.
pub trait Carrier: Copy + BitXor<Output = Self> {
    /// Returns the sum. It wraps around on overflow.
    fn plus(self, number: u32) -> Self;
    /// Returns the upper and the lower 32-bit word of the product.
    fn product(self, factor: u32) -> (Self, Self);
}

/// Returns the four random words for this counter and key.
#[inline(always)]
pub fn philox<W: Carrier>(counter: [W; 4], key: [W; 2]) -> [W; 4] {
    let (mut x, mut key) = (counter, key);
    for _ in 0..10 {
        let (first_high, first_low) = x[0].product(0xD251_1F53);
        let (second_high, second_low) = x[2].product(0xCD9E_8D57);
        x = [
            second_high ^ x[1] ^ key[0],
            second_low,
            first_high ^ x[3] ^ key[1],
            first_low,
        ];
        key = [key[0].plus(0x9E37_79B9), key[1].plus(0xBB67_AE85)];
    }
    x
}

/// A distribution of random numbers.
pub trait NoiseLaw {
    /// Returns two elements of a block from two of its words: elements 0 and 1, or elements 2 and 3.
    fn pair<A: Arch, T: Lane>(first: T::Half, second: T::Half) -> (T, T);
}

/// The uniform distribution on (0, 1).
pub struct Uniform;

/// The standard normal distribution.
pub struct StandardNormal;

impl NoiseLaw for Uniform {
    #[inline(always)]
    fn pair<A: Arch, T: Lane>(first: T::Half, second: T::Half) -> (T, T) {
        (unit::<A, T>(first), unit::<A, T>(second))
    }
}

impl NoiseLaw for StandardNormal {
    #[inline(always)]
    fn pair<A: Arch, T: Lane>(first: T::Half, second: T::Half) -> (T, T) {
        let radius = (T::number(-2.0) * log_unit::<A, T>(first)).root();
        let (cos, sin) = turn::<A, T>(second);
        (radius * cos, radius * sin)
    }
}

/// Returns `2^-32`.
#[inline(always)]
fn ulp<T: Lane>() -> T {
    T::number(1.0 / 4_294_967_296.0)
}

/// Returns `(word + 1/2) / 2^32`.
#[inline(always)]
fn fraction<A: Arch, T: Lane>(word: T::Half) -> T {
    T::Format::middle::<A, T>(word) * ulp::<T>()
}

/// Returns the uniform number that a word stands for. It is below 1 even after rounding.
#[inline(always)]
fn unit<A: Arch, T: Lane>(word: T::Half) -> T {
    let number = fraction::<A, T>(word);
    // This is the largest f32 number below 1. In f64, the numbers of all words are below 1.
    let largest = T::number(1.0 - f64::from(f32::EPSILON) / 2.0);
    largest.when(number.equals(T::one()), number)
}

/// Returns the logarithm of the uniform number that a word stands for. If this number is above `sqrt(1/2)`, its distance from 1 is
/// computed from the complement of the word: rounding the number to `f32` first would make the distance inaccurate.
#[inline(always)]
fn log_unit<A: Arch, T: Lane>(word: T::Half) -> T {
    let (m, k) = fraction::<A, T>(word).split();
    let upper = !word.below(T::Half::known(0xB504_F334));
    let f = (-fraction::<A, T>(!word)).when(upper, m - T::one());
    T::Format::log_reduced::<A, T>(f, T::zero().when(upper, k))
}

/// Returns the cosine and the sine of `2 pi` times the uniform number that a word stands for. The quadrant is exact, because it is
/// read from the top bits of the word.
#[inline(always)]
fn turn<A: Arch, T: Lane>(word: T::Half) -> (T, T) {
    const EIGHTH: u32 = 1 << 29;
    let shifted = word.plus(T::Half::known(u64::from(EIGHTH)));
    let quadrant = shifted >> 30;
    let within = shifted & T::Half::known(u64::from(2 * EIGHTH - 1));
    let centred = within.plus(T::Half::known(u64::from(EIGHTH.wrapping_neg())));
    let ulp = T::number(std::f64::consts::TAU / 4_294_967_296.0);
    let (cos, sin) = cos_sin::<A, T>((T::from_signed(centred) + T::number(0.5)) * ulp);
    let odd = quadrant.has(0);
    let (x, y) = (sin.when(odd, cos), cos.when(odd, sin));
    let next = quadrant.plus(T::Half::known(1));
    ((-x).when(next.has(1), x), (-y).when(quadrant.has(1), y))
}

/// Returns the cosine and the sine of an angle of at most `pi / 4`.
#[inline(always)]
pub fn cos_sin<A: Arch, T: Lane>(angle: T) -> (T, T) {
    let z = angle * angle;
    let (sin, cos) = T::Format::turn_rests::<A, T>(z);
    (
        (z * z).fma::<A>(cos, z.fma::<A>(T::number(-0.5), T::one())),
        (angle * z).fma::<A>(sin, angle),
    )
}
