//! Generates gamma variates, and computes the derivative of a variate with respect to its shape.

use crate::philox;
use crate::special::{digamma, log_minus_digamma};

/// The maximum number of attempts at a variate. Each attempt is accepted with a probability above 0.95, so the last attempt is almost never needed.
pub const ATTEMPTS: u64 = 64;

/// Returns a gamma variate with this shape and scale 1, for the element `element` of the stream `key` at the coordinates (draw, example, step).
///
/// The method comes from Marsaglia and Tsang (2000), "A simple method for generating gamma variables". For a shape below 1, the result is a variate
/// for the shape `shape + 1`, multiplied by `u^(1 / shape)`. The result is at least the smallest normal number. The result is NaN if the shape is
/// not positive.
///
/// Note \[Attempts\]. Attempt `t` at an element uses the block with the counter (element, draw, example, step) and the key
/// [`philox::attempt`]`(key, t)`. Words 0 and 1 of the block give the normal number, word 2 gives the uniform number for the acceptance test, and
/// word 3 gives `u`. All arithmetic is in `f64`, so that both precisions accept the same attempts.
pub fn variate(key: u64, [draw, example, step]: [u32; 3], element: u64, shape: f64) -> f64 {
    if shape.is_nan() || shape <= 0.0 {
        return f64::NAN;
    }
    if shape == f64::INFINITY {
        return shape;
    }
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let counter = [element as u32, draw, example, step];
    for attempt in 0..ATTEMPTS {
        let key = philox::attempt(key, attempt);
        let [first, second, third, fourth] = philox::block(counter, [key as u32, (key >> 32) as u32]);
        let normal = philox::pair(first, second).0;
        let root = 1.0 + c * normal;
        if root <= 0.0 {
            continue;
        }
        let (cube, square, uniform) = (root * root * root, normal * normal, philox::unit(third));
        // Every variate that passes the first test would also pass the second. The first test makes most logarithms unnecessary.
        if uniform < 1.0 - 0.0331 * square * square
            || uniform.ln() < 0.5 * square + d * (1.0 - cube + cube.ln())
        {
            let boost = if shape < 1.0 {
                (philox::unit(fourth).ln() / shape).exp()
            } else {
                1.0
            };
            return (d * cube * boost).max(f64::MIN_POSITIVE);
        }
    }
    d
}

/// The series is used if the shape is below this number and the variate is below the shape. For small shapes, few terms of the series suffice.
pub(crate) const SERIES: f64 = 40.0;

/// Returns the derivative `dg / dshape` of a gamma variate `g` at a fixed probability. The derivative is `-(dP(shape, g) / dshape) / p(g; shape)`,
/// the implicit reparameterisation gradient of Figurnov, Mohamed and Mnih (2018).
///
/// With the substitution `t = g exp(w)`, the derivative is `g` times the integral of `(w + log g - digamma(shape)) exp(shape w - g (exp w - 1))`
/// over `w`. The integral is from 0 to infinity, or to minus infinity. Both integrals give the same derivative, because `digamma(shape)` is the
/// mean of `log t`. In the direction away from `shape`, the integrand does not change its sign, so nothing cancels. The integral is therefore
/// computed in this direction.
pub fn gradient(shape: f64, g: f64) -> f64 {
    if !(shape > 0.0 && g >= 0.0 && shape < f64::INFINITY) {
        return f64::NAN;
    }
    if g == 0.0 || g == f64::INFINITY {
        return g;
    }
    if g > shape.max(1.0) {
        tail(shape, g, 1.0)
    } else if shape < SERIES {
        series(shape, g)
    } else {
        tail(shape, g, -1.0)
    }
}

/// Computes the derivative for `g` below the shape. The series `P(a, x) = x^a exp(-x) / Gamma(a + 1) sum x^n / ((a + 1) .. (a + n))` (Abramowitz
/// and Stegun 6.5.29) is differentiated term by term.
fn series(shape: f64, g: f64) -> f64 {
    let offset = digamma(shape + 1.0) - g.ln();
    let (mut power, mut harmonic, mut sum, mut n) = (1.0, 0.0, offset, shape);
    loop {
        n += 1.0;
        power *= g / n;
        harmonic += 1.0 / n;
        let term = power * (offset + harmonic);
        sum += term;
        // If `n` is more than twice `g`, the terms decrease at least geometrically.
        if power < 1e-18 && n > 2.0 * g {
            return g / shape * sum;
        }
    }
}

/// An integral is cut off at the point where the logarithm of the integrand has fallen by this number from its value at the start.
pub(crate) const DEPTH: f64 = 38.0;

/// Returns the derivative as `g` times an integral from 0 to plus or minus infinity, depending on the sign of `side`. A
/// Gauss-Legendre rule is applied up to the point where the integrand becomes negligible.
fn tail(shape: f64, g: f64, side: f64) -> f64 {
    let exponent = |w: f64| (shape - g) * w - g * (w.exp_m1() - w);
    let offset = log_minus_mean(shape, g);
    let distance = (g - shape) * side;
    // The quadratic term alone gives an initial value from which Newton's method converges.
    let mut end = 2.0 * DEPTH / (distance + (distance * distance + 2.0 * g * DEPTH).sqrt());
    for _ in 0..6 {
        let w = side * end;
        end -= (exponent(w) + DEPTH) / (side * (shape - g * w.exp()));
    }
    let half = 0.5 * end;
    let value = |node: f64| {
        let w = side * half * (1.0 + node);
        side * (w + offset) * exponent(w).exp()
    };
    let sum = NODES
        .iter()
        .map(|(node, weight)| weight * (value(*node) + value(-node)));
    g * half * sum.sum::<f64>()
}

/// Returns `log g - digamma(shape)`, computed such that large terms do not cancel.
fn log_minus_mean(shape: f64, g: f64) -> f64 {
    if shape < 10.0 {
        return g.ln() - digamma(shape);
    }
    let ratio = (g - shape) / shape;
    let log = if ratio.abs() < 0.5 {
        ratio.ln_1p()
    } else {
        (g / shape).ln()
    };
    log + log_minus_digamma(shape)
}

/// The Gauss-Legendre rule with 24 points on (-1, 1). Only the positive nodes are listed, with their weights.
pub(crate) const NODES: [(f64, f64); 12] = [
    (0.064_056_892_862_605_62, 0.127_938_195_346_752_16),
    (0.191_118_867_473_616_3, 0.125_837_456_346_828_3),
    (0.315_042_679_696_163_4, 0.121_670_472_927_803_39),
    (0.433_793_507_626_045_1, 0.115_505_668_053_725_6),
    (0.545_421_471_388_839_6, 0.107_444_270_115_965_63),
    (0.648_093_651_936_975_5, 0.097_618_652_104_113_88),
    (0.740_124_191_578_554_4, 0.086_190_161_531_953_27),
    (0.820_001_985_973_903, 0.073_346_481_411_080_3),
    (0.886_415_527_004_401_1, 0.059_298_584_915_436_78),
    (0.938_274_552_002_732_8, 0.044_277_438_817_419_8),
    (0.974_728_555_971_309_5, 0.028_531_388_628_933_66),
    (0.995_187_219_997_021_3, 0.012_341_229_799_987_2),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::{lgamma, trigamma};

    fn close(got: f64, want: f64, relative: f64, what: &str) {
        assert!(
            (got - want).abs() <= relative * want.abs(),
            "{what}: {got:e} is not {want:e}"
        );
    }

    /// Reference values `(shape, g, dg / dshape)`, computed with mpmath 1.4 at 60 digits. The derivative is a fourth-order central difference of
    /// the regularised incomplete gamma function with respect to its shape, divided by the density.
    const GRADIENTS: &[(f64, f64, f64)] = &[
        (1e-3, 1e-300, 6.901_999_559_664_034e-295),
        (1e-3, 1e-10, 2.245_027_900_047_274_3e-6),
        (1e-3, 0.5, 461.992_167_189_240_04),
        (1e-3, 3.0, 787.914_885_883_086_5),
        (0.05, 1e-8, 3.584_567_186_483_293e-6),
        (0.05, 0.02, 1.399_303_600_823_200_5),
        (0.05, 1.5, 14.548_077_984_590_478),
        (0.5, 0.1, 0.509_765_567_082_697_3),
        (0.5, 0.99, 1.869_675_582_275_874_2),
        (0.5, 1.01, 1.886_753_145_850_858_2),
        (0.5, 20.0, 4.889_171_772_944_083),
        (1.0, 0.001, 0.007_334_456_244_883_786),
        (1.0, 1.0, 1.173_563_027_224_726_8),
        (1.0, 30.0, 4.010_702_785_322_668),
        (2.5, 0.01, 0.022_901_968_802_790_315),
        (2.5, 2.0, 0.953_462_702_918_616_5),
        (2.5, 2.6, 1.089_823_239_181_915_8),
        (2.5, 40.0, 3.125_316_198_869_703),
        (20.0, 3.0, 0.337_277_404_256_041_86),
        (20.0, 19.9, 1.005_848_528_376_709_1),
        (20.0, 60.0, 1.661_215_094_353_225_1),
        (39.9, 35.0, 0.939_832_336_967_269_2),
        (40.1, 35.0, 0.937_413_819_608_155_5),
        (40.1, 5.0, 0.297_650_345_152_954_7),
        (100.0, 60.0, 0.767_505_402_739_805),
        (100.0, 99.0, 0.996_643_189_734_623),
        (100.0, 101.0, 1.006_660_056_717_011_4),
        (100.0, 180.0, 1.324_701_861_878_510_2),
        (1e3, 900.0, 0.948_402_638_179_410_4),
        (1e3, 1000.0, 1.000_166_683_323_806),
        (1e3, 1100.0, 1.048_586_678_561_616_7),
        (1e4, 9800.0, 0.989_949_157_374_936_7),
        (1e4, 10_050.0, 1.002_512_552_136_550_8),
        (1e6, 996_000.0, 0.997_997_494_319_981_3),
        (1e6, 1_000_000.0, 1.000_000_166_666_683_3),
        (1e6, 1_003_000.0, 1.001_498_669_162_342),
    ];

    #[test]
    fn gradients_agree_with_mpmath() {
        for (shape, g, want) in GRADIENTS {
            close(gradient(*shape, *g), *want, 2e-12, &format!("{shape} {g}"));
        }
    }

    /// If `g` is near `shape`, both integrals and the series give the same number.
    #[test]
    fn both_integrals_and_the_series_agree() {
        for at in 0..=900 {
            let shape = 10f64.powf(f64::from(at) / 100.0 - 3.0);
            for g in [0.97, 1.0, 1.04].map(|factor| factor * shape.max(1.02)) {
                let near = (g - shape).abs() < shape.sqrt();
                if near && shape > 5.0 {
                    close(tail(shape, g, 1.0), tail(shape, g, -1.0), 1e-10, "sides");
                }
                if shape < 2.0 * SERIES && g > 0.5 && near {
                    close(series(shape, g), tail(shape, g, 1.0), 1e-10, "series");
                }
            }
        }
    }

    #[test]
    fn exponential_gradients_have_the_asymptotic_values() {
        // The derivative `dg / dshape` does not have a closed form. For large `g`, it is `log g - digamma(shape) + O(1 / g)`.
        close(gradient(1.0, 1e12), 1e12f64.ln() - digamma(1.0), 1e-12, "large");
        // For small `g` the derivative is `g (digamma(shape + 1) - log g) / shape`.
        close(
            gradient(1.0, 1e-14),
            1e-14 * (digamma(2.0) + 14.0 * 10f64.ln()),
            1e-12,
            "small",
        );
    }

    #[test]
    fn arguments_outside_the_domain_give_nan() {
        for (shape, g) in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (f64::NAN, 1.0),
            (1.0, -1.0),
            (1.0, f64::NAN),
        ] {
            assert!(gradient(shape, g).is_nan());
        }
        assert_eq!(gradient(1.0, 0.0), 0.0);
        for shape in [0.0, -1.0, f64::NAN] {
            assert!(variate(1, [0; 3], 0, shape).is_nan());
        }
    }

    fn sample(shape: f64) -> Vec<f64> {
        let key = philox::key(3, "gamma");
        let mut values: Vec<f64> = (0..N).map(|i| variate(key, [1, 2, 3], i, shape)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    const N: u64 = 40_000;
    const SHAPES: [f64; 6] = [0.05, 0.5, 1.0, 2.5, 100.0, 1e6];

    /// The means of 40000 variates are within five standard errors of their exact values. `g` has mean and variance `shape`. `(g - shape)^2` has
    /// mean `shape` and variance `2 shape^2 + 6 shape`. `log g` has mean `digamma(shape)` and variance `trigamma(shape)`.
    #[test]
    fn moments_are_those_of_the_gamma_distribution() {
        for shape in SHAPES {
            let sample = sample(shape);
            let mean = |f: &dyn Fn(f64) -> f64| sample.iter().map(|g| f(*g)).sum::<f64>() / N as f64;
            let check = |got: f64, want: f64, variance: f64| {
                let bound = 5.0 * (variance / N as f64).sqrt();
                assert!(
                    (got - want).abs() < bound,
                    "{shape}: {got} is not {want} to {bound}"
                );
            };
            check(mean(&|g| g), shape, shape);
            check(
                mean(&|g| (g - shape).powi(2)),
                shape,
                2.0 * shape * shape + 6.0 * shape,
            );
            check(mean(&f64::ln), digamma(shape), trigamma(shape));
        }
    }

    /// Computes `P(shape, g)` by its series.
    fn probability(shape: f64, g: f64) -> f64 {
        let (mut power, mut sum, mut n) = (1.0, 1.0, shape);
        while power > 1e-17 * sum {
            n += 1.0;
            power *= g / n;
            sum += power;
        }
        (shape * g.ln() - g - lgamma(shape + 1.0)).exp() * sum
    }

    /// For a sample of size `n` from the right distribution, the Kolmogorov-Smirnov distance exceeds `2.2 / sqrt n` with a probability of 1 / 8000.
    #[test]
    fn variates_follow_the_gamma_distribution() {
        for shape in SHAPES {
            let sample = sample(shape);
            let distance = sample
                .iter()
                .enumerate()
                .map(|(at, g)| (probability(shape, *g) - (at as f64 + 0.5) / N as f64).abs());
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 2.2 / (N as f64).sqrt(), "{shape}: {distance}");
        }
    }

    /// The mean of the derivatives equals the derivative of the mean, which is 1. The variance of the derivatives is estimated from the sample.
    #[test]
    fn mean_gradient_is_the_gradient_of_the_mean() {
        for shape in SHAPES {
            let slopes: Vec<f64> = sample(shape).iter().map(|g| gradient(shape, *g)).collect();
            let n = N as f64;
            let mean = slopes.iter().sum::<f64>() / n;
            let variance = slopes.iter().map(|slope| (slope - mean).powi(2)).sum::<f64>() / n;
            let bound = 5.0 * (variance / n).sqrt() + 1e-9;
            assert!((mean - 1.0).abs() < bound, "{shape}: {mean} to {bound}");
        }
    }

    /// For tiny shapes, the smallest variates are the smallest normal number and not zero.
    #[test]
    fn tiny_shapes_stay_positive() {
        let smallest = (0..1000).map(|i| variate(5, [0; 3], i, 1e-4)).fold(1.0, f64::min);
        assert_eq!(smallest, f64::MIN_POSITIVE);
        assert!(gradient(1e-4, smallest) > 0.0);
    }

    /// After a rejected attempt, the next attempt uses a different block, so the variates of one key differ from each other.
    #[test]
    fn variates_differ() {
        let sample = sample(1.0);
        assert!(sample.windows(2).filter(|pair| pair[0] == pair[1]).count() < 3);
    }
}
