//! Tests with values that are known as exact rational numbers.

use super::{affine, check_law, close, term, triangle, units};
use crate::{Law, Network, ObservationNoise, Unit};
use bnnc_math::triangle::{ALPHA_L2, ALPHA_VARIANCE};

fn warm_up() -> Network {
    units(
        0.0,
        &[Unit {
            outgoing: 1.0,
            bias: 0.0,
            terms: vec![term(1.0, -3.0, 3.0)],
        }],
    )
}

#[test]
fn one_unit_of_one_weight_matches_exact_rationals() {
    for (radius, want) in [
        (2.45, 1840.0 / 7203.0),
        (2.297_003_764_877_570_3, 0.261_614_460_944_090_73),
        (1.224_744_871_391_589 / 0.5, 0.255_470_512_686_085_2),
    ] {
        let law = Law::new(&warm_up(), triangle(radius));
        close(law.density(1.0), want, 1e-14);
        close(law.mean(), 0.75, 1e-15);
        // The variance is E relu(w)^2 = 3/2, minus the squared mean 9/16, plus radius^2 / 6 for the triangular
        // noise.
        close(law.variance(), 1.5 - 0.5625 + radius * radius / 6.0, 1e-14);
    }
    close(
        Law::new(&warm_up(), triangle(ALPHA_L2)).density(1.0),
        0.261_614_46,
        2e-8,
    );
    close(
        Law::new(&warm_up(), triangle(ALPHA_VARIANCE)).density(1.0),
        0.255_470_512_69,
        2e-11,
    );
    let law = Law::new(&warm_up(), ObservationNoise::Normal { sd: 1.0 });
    close(law.density(1.0), 0.257_417_797_95, 2e-11);
    check_law(&law, 9.0, 1e-12);
    let linear = Law::new(&affine(0.0, &[term(1.0, -3.0, 3.0)]), triangle(2.45));
    close(linear.density(1.0), 4721.0 / 28_812.0, 1e-14);
}

#[test]
fn one_unit_of_two_weights_matches_exact_rationals() {
    let network = units(
        0.0,
        &[Unit {
            outgoing: 1.0,
            bias: 0.0,
            terms: vec![term(2.0, -1.0, 2.0), term(1.0, -1.0, 1.0)],
        }],
    );
    let law = Law::new(&network, triangle(2.25));
    close(law.mean(), 49.0 / 36.0, 1e-15);
    close(law.variance() - 2.25 * 2.25 / 6.0, 2495.0 / 1296.0, 1e-14);
    close(law.density(1.0), 5207.0 / 23_328.0, 1e-14);
    close(
        Law::new(&network, triangle(2.297_003_764_6)).density(1.0),
        0.221_968_66,
        2e-8,
    );
    close(
        Law::new(&network, triangle(2.45)).density(1.0),
        0.217_788_60,
        3e-8,
    );
}

#[test]
fn affine_networks_match_exact_rationals() {
    let network = affine(
        0.3,
        &[term(1.5, 0.1, 0.5), term(-0.8, -0.2, 0.4), term(1.0, -0.1, 0.1)],
    );
    let law = Law::new(&network, triangle(0.49));
    close(law.mean(), 0.67, 1e-15);
    close(law.variance(), 0.092_55, 1e-14);
    for (y, want) in [(0.2, 0.428_543_41), (0.67, 1.262_741_66), (1.2, 0.311_826_99)] {
        close(law.density(y), want, 2e-8);
    }
    let network = affine(
        0.83,
        &[
            term(1.7, -0.31, 0.17),
            term(-0.6, 0.05, 0.42),
            term(1.0, -0.2, 0.35),
        ],
    );
    let law = Law::new(&network, triangle(0.735));
    close(law.density(0.9), 113_605_831.0 / 145_471_788.0, 2e-15);
    close(
        law.cdf(2.1) - law.cdf(-1.9),
        5_455_190_175_839.0 / 5_455_192_050_000.0,
        1e-15,
    );
    let magic = affine(
        -0.4,
        &[
            term(0.9, 0.1, 0.1001),
            term(2.2, -0.3, 0.4),
            term(1.0, 0.2, 0.2001),
        ],
    );
    close(
        Law::new(&magic, triangle(0.245)).density(0.11),
        50.0 / 77.0,
        2e-15,
    );
    let terms: Vec<_> = (0..12)
        .map(|index| term([0.5, 1.0, 1.5][index % 3], -0.5, 0.5))
        .collect();
    let law = Law::new(&affine(0.0, &terms), triangle(2.45));
    close(
        law.density(1.3),
        6_636_585_813_543_653_480_819_359.0 / 35_882_584_657_920_000_000_000_000.0,
        1e-14,
    );
    // The position 8.4 is close to the upper end of the support, 8.45.
    close(
        law.density(8.4),
        1.0 / 968_829_785_763_840_000_000_000_000.0,
        1e-11,
    );
}

/// The mean is compared with the mean of the distribution restricted to `[-2.5, 3]`, which is
/// `[y F] - integral F`, where `F` is the distribution function.
#[test]
fn one_unit_of_three_weights_matches_exact_rationals() {
    let terms = vec![term(1.2, -0.8, 0.5), term(-0.7, -0.3, 0.9), term(1.0, -0.4, 0.6)];
    let network = units(
        -0.3,
        &[Unit {
            outgoing: 1.6,
            bias: 0.15,
            terms,
        }],
    );
    let law = Law::new(&network, triangle(0.98));
    close(law.density(0.5), 56_433_195_739.0 / 161_089_044_480.0, 2e-15);
    let count = 40_000;
    let step = 5.5 / f64::from(count);
    let moment = |index: i32| -2.5 + step * (f64::from(index) + 0.5);
    let mean: f64 = (0..count)
        .map(|index| step * moment(index) * law.density(moment(index)))
        .sum();
    close(mean, -1.737_336_262_712_858e-2, 1e-6);
}

#[test]
fn two_units_with_weights_of_their_own_match_exact_rationals() {
    let first = Unit {
        outgoing: 1.0,
        bias: 0.1,
        terms: vec![term(0.8, -1.0, 1.0), term(0.5, -1.0, 1.0)],
    };
    let second = Unit {
        outgoing: -1.5,
        bias: 0.25,
        terms: vec![term(1.1, -1.0, 1.0), term(-0.4, -1.0, 1.0)],
    };
    let law = Law::new(&units(0.2, &[first, second]), triangle(0.7));
    close(law.density(0.1), 52_985_543.0 / 99_090_432.0, 2e-15);
    check_law(&law, 7.0, 2e-5);
}

#[test]
fn the_floor_is_a_normal_of_the_same_moments() {
    let noise = ObservationNoise::Triangular {
        radius: 0.5,
        floor: 1e-3,
    };
    let network = affine(0.1, &[term(1.0, 0.0, 0.3)]);
    let (law, bare) = (Law::new(&network, noise), Law::new(&network, triangle(0.5)));
    let normal = |y: f64| {
        let variance = law.variance();
        (-0.5 * (y - 0.25) * (y - 0.25) / variance).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
    };
    for y in [0.25, 0.6, 1.0, 1.2, 5.0] {
        close(law.density(y), 0.999 * bare.density(y) + 0.001 * normal(y), 1e-13);
    }
    assert_eq!(bare.log_density(5.0), f64::NEG_INFINITY);
    assert!(law.log_density(50.0).is_finite());
    check_law(&law, 9.0, 1e-5);
}
