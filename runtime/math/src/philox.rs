//! Philox 4x32-10, the counter-based random number generator of every backend (Salmon et al. 2011, "Parallel random numbers: as easy as 1,
//! 2, 3").
//!
//! Note \[Streams\]. A number is identified by its site, its coordinates (draw, example, step) and its element. The order in which numbers
//! are generated does not matter. The key of a site is computed by [`key`]. Element `i` at the coordinates `(d, e, s)` uses word `i % 4` of
//! the block with the counter `(i / 4, d, e, s)`. A uniform number is `(word + 0.5) * 2^-32`. Normal numbers are computed in pairs from
//! words (0, 1) and (2, 3) of a block by the Box-Muller method. With `r = sqrt(-2 log u1)`, the even element is `r cos(2 pi u2)` and the
//! odd element is `r sin(2 pi u2)`. A uniform number in `f32` is the `f64` number, rounded and then limited to at most `1 - 2^-24`, so that
//! it is inside (0, 1). Normal numbers are computed from the words in the precision of the result. Each attempt at a gamma variate uses a
//! whole block: see [`crate::gamma`].

use std::f64::consts::TAU;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Returns the four random words of the block with this counter and key.
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut words, mut key) = (counter, key);
    for _ in 0..ROUNDS {
        let [first, second] = [0, 2].map(|at| u64::from(MULTIPLIERS[at / 2]) * u64::from(words[at]));
        let upper = |product: u64| (product >> 32) as u32;
        words = [
            upper(second) ^ words[1] ^ key[0],
            second as u32,
            upper(first) ^ words[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

/// Returns the key of a site. The key is the FNV-1a hash of the site's bytes plus `seed` times the 64-bit golden ratio; the finaliser of
/// splitmix64 is applied to this sum. The low half of the key is its first word.
pub fn key(seed: u64, site: &str) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for byte in site.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    mix(hash.wrapping_add(seed.wrapping_mul(GOLDEN)))
}

/// Converts the key of a site from the seed `from` to the seed `to`.
pub fn with_seed(key: u64, from: u64, to: u64) -> u64 {
    let site = unmix(key).wrapping_sub(from.wrapping_mul(GOLDEN));
    mix(site.wrapping_add(to.wrapping_mul(GOLDEN)))
}

/// Returns the key for attempt number `attempt` at an element of a stream. Attempt 0 has the key of the stream. Each later attempt has a
/// different key.
pub fn attempt(key: u64, number: u64) -> u64 {
    if number == 0 {
        key
    } else {
        mix(key.wrapping_add(number.wrapping_mul(GOLDEN)))
    }
}

/// The 64-bit golden ratio: `2^64` divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Applies the finaliser of splitmix64.
fn mix(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Inverts [`mix`]. Undoes the steps in reverse order, using the inverses of the factors modulo 2^64.
fn unmix(mut mixed: u64) -> u64 {
    mixed = (mixed ^ (mixed >> 31) ^ (mixed >> 62)).wrapping_mul(0x3196_42B2_D24D_8EC3);
    mixed = (mixed ^ (mixed >> 27) ^ (mixed >> 54)).wrapping_mul(0x96DE_1B17_3F11_9089);
    mixed ^ (mixed >> 30) ^ (mixed >> 60)
}

/// Returns the four random words of the block that contains `element` at the coordinates `(draw, example, step)`.
pub fn words(key: u64, [draw, example, step]: [u32; 3], element: u64) -> [u32; 4] {
    block(
        [(element / 4) as u32, draw, example, step],
        [key as u32, (key >> 32) as u32],
    )
}

/// Returns the number in the open interval (0, 1) that a word represents.
pub fn unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// Returns a uniform number in (0, 1): see Note \[Streams\].
pub fn uniform(key: u64, coordinates: [u32; 3], element: u64) -> f64 {
    unit(words(key, coordinates, element)[(element % 4) as usize])
}

/// Returns a standard normal number: see Note \[Streams\].
pub fn normal(key: u64, coordinates: [u32; 3], element: u64) -> f64 {
    let words = words(key, coordinates, element);
    let first = if element % 4 < 2 { 0 } else { 2 };
    let (even, odd) = pair(words[first], words[first + 1]);
    if element.is_multiple_of(2) { even } else { odd }
}

/// Returns two independent standard normal numbers, computed from two words.
pub fn pair(first: u32, second: u32) -> (f64, f64) {
    let radius = (-2.0 * unit(first).ln()).sqrt();
    let (sin, cos) = (TAU * unit(second)).sin_cos();
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_seed_gives_the_key_of_the_other_seed() {
        for site in ["", "hidden.w", "a site with a long name/chain 3"] {
            for (from, to) in [(0, 1), (17, 0), (u64::MAX, 12_345), (5, 5)] {
                assert_eq!(with_seed(key(from, site), from, to), key(to, site));
            }
        }
    }

    /// The expected values are the known-answer vectors of Random123 1.09 (`kat_vectors`).
    #[test]
    fn known_answer_vectors_are_reproduced() {
        let ones = u32::MAX;
        assert_eq!(
            block([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            block([ones; 4], [ones; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            block(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// The averages of 40000 numbers, and of their squares, are within five standard errors of the distribution's mean and second moment.
    #[test]
    fn moments_are_those_of_the_distributions() {
        let (key, n) = (key(7, "site"), 40_000u64);
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        let bound = |variance: f64| 5.0 * (variance / n as f64).sqrt();
        assert!((mean(&|i| uniform(key, [1, 2, 3], i)) - 0.5).abs() < bound(1.0 / 12.0));
        assert!(mean(&|i| normal(key, [1, 2, 3], i)).abs() < bound(1.0));
        assert!((mean(&|i| normal(key, [1, 2, 3], i).powi(2)) - 1.0).abs() < bound(2.0));
        let neighbours = |i: u64| normal(key, [0, 0, 0], i) * normal(key, [0, 0, 0], i ^ 1);
        assert!(mean(&neighbours).abs() < bound(1.0));
    }

    #[test]
    fn uniforms_are_strictly_between_zero_and_one() {
        assert!(unit(0) > 0.0 && unit(u32::MAX) < 1.0);
        assert!(unit(0) as f32 > 0.0);
    }

    #[test]
    fn keys_differ_by_seed_and_site() {
        let keys = [key(0, "a"), key(0, "b"), key(1, "a"), key(0, "")];
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(one));
        }
    }
}
