//! Tests with several units, with units of many weights, and with units in deeper layers.

use super::{check_law, close, term, units};
use crate::{Law, Network, ObservationNoise, Ridge, Segment, UniformTerm, Unit};

/// If bounds determine the sign of a unit's input, the unit is linear or zero.
#[test]
fn decided_units_are_linear_or_zero() {
    let on = Unit {
        outgoing: -2.0,
        bias: 1.0,
        terms: vec![term(0.5, -1.0, 1.0), term(0.3, 0.0, 1.0)],
    };
    let off = Unit {
        outgoing: 3.0,
        bias: -1.0,
        terms: vec![term(0.5, -1.0, 1.0)],
    };
    let noise = ObservationNoise::Normal { sd: 0.2 };
    let law = Law::new(&units(0.1, &[on, off]), noise);
    let linear = Network {
        offset: -1.9,
        terms: vec![term(-1.0, -1.0, 1.0), term(-0.6, 0.0, 1.0)],
        units: Vec::new(),
    };
    let want = Law::new(&linear, noise);
    for y in [-3.0, -2.0, -0.5] {
        close(law.density(y), want.density(y), 1e-13);
    }
    close(law.mean(), want.mean(), 1e-14);
}

fn many(count: usize) -> Network {
    let unit = |index: usize| {
        let terms = (0..3).map(|k| term(0.4 + 0.1 * k as f64, -0.5, 0.5)).collect();
        Unit {
            outgoing: [0.8, -0.5, 1.1, 0.3][index % 4],
            bias: 0.05 * index as f64 - 0.1,
            terms,
        }
    };
    Network {
        offset: 0.1,
        terms: vec![term(0.3, -1.0, 1.0)],
        units: (0..count).map(unit).collect(),
    }
}

/// One to five units are convolved, either exactly or by characteristic functions. The mean of their sum agrees with the means of the single units.
#[test]
fn sums_of_several_units_are_distributions() {
    for count in [1, 2, 3, 5] {
        check_law(
            &Law::new(&many(count), ObservationNoise::Normal { sd: 0.2 }),
            6.5,
            1e-8,
        );
    }
}

/// The density of the sum of two units agrees with quadrature: the density of the second unit is integrated over the distribution of the first unit,
/// including its atom.
#[test]
fn two_units_match_quadrature() {
    let network = many(2);
    let noise = ObservationNoise::Normal { sd: 0.1 };
    let law = Law::new(&network, noise);
    let rest = Network {
        units: vec![network.units[1].clone()],
        ..network.clone()
    };
    let rest = Law::new(&rest, noise);
    let bare = Law::new(
        &Network {
            units: vec![network.units[0].clone()],
            ..Network::default()
        },
        ObservationNoise::Normal { sd: 0.0 },
    );
    let atom = bare.cdf(0.0);
    for y in [-0.3, 0.2, 1.1] {
        let count = 6_000;
        let step = 0.8 / f64::from(count);
        let at = |index: i32| step * (f64::from(index) + 0.5);
        let spread: f64 = (0..count)
            .map(|index| step * bare.density(at(index)) * rest.density(y - at(index)))
            .sum();
        close(law.density(y), atom * rest.density(y) + spread, 1e-6);
    }
}

/// With two more weights, the spline of a unit is interpolated. The distribution stays the same if these weights are constants, and hardly changes if
/// they are very narrow uniforms.
#[test]
fn units_of_many_weights() {
    let terms: Vec<UniformTerm> = (0..9)
        .map(|index| term(0.3 + 0.1 * index as f64, -0.5, 0.6))
        .collect();
    let noise = ObservationNoise::Normal { sd: 0.2 };
    let unit = |terms: Vec<UniformTerm>| {
        units(
            0.1,
            &[Unit {
                outgoing: 0.7,
                bias: -0.2,
                terms,
            }],
        )
    };
    let exact = Law::new(&unit(terms.clone()), noise);
    let more = [terms, vec![term(1.0, -1e-7, 1e-7); 2]].concat();
    let interpolated = Law::new(&unit(more), noise);
    for y in [-1.0, 0.1, 1.5, 3.5] {
        let (got, want) = (interpolated.log_density(y), exact.log_density(y));
        assert!((got - want).abs() < 1e-9, "{y}: {got} is not {want}");
    }
    close(interpolated.mean(), exact.mean(), 1e-10);
    check_law(&interpolated, 8.0, 1e-9);
}

/// The function is `relu(relu(u) - 1/2) - relu(u) / 4 + 1`. The variable `u` is a uniform on `[-1, 1]` minus a uniform on `[0, 1]`. The exact moments
/// are integrals over the density of `u`.
#[test]
fn a_unit_below_other_layers() {
    let segment = |from, to, offset, slope| Segment {
        from,
        to,
        offset,
        slope,
    };
    let ridge = Ridge {
        offset: 0.0,
        terms: vec![term(1.0, -1.0, 1.0), term(-1.0, 0.0, 1.0)],
        segments: vec![
            segment(f64::NEG_INFINITY, 0.0, 1.0, 0.0),
            segment(0.0, 0.5, 1.0, -0.25),
            segment(0.5, f64::INFINITY, 0.5, 0.75),
        ],
    };
    let law = Law::of_ridge(&ridge, ObservationNoise::Normal { sd: 0.1 });
    // On [0, 1], the density of u is (1 - u) / 2, so E relu(u) = 1/12 and E relu(u - 1/2) = 1/96.
    close(law.mean(), 1.0 + 1.0 / 96.0 - 1.0 / 48.0, 1e-14);
    check_law(&law, 9.0, 1e-11);
}

/// The unit has many weights, and is so far from 0 that its spread is smaller than the rounding error of its position.
#[test]
fn a_narrow_unit_far_out() {
    let unit = Unit {
        outgoing: 1.0,
        bias: 1e6,
        terms: vec![term(1.0, -1e-11, 1e-11); 12],
    };
    let crossed = Unit {
        bias: 0.0,
        ..unit.clone()
    };
    let law = Law::new(
        &units(0.0, &[unit, crossed]),
        ObservationNoise::Normal { sd: 0.1 },
    );
    close(law.mean(), 1e6, 1e-14);
    let far = crate::unit::UniformSum::new(1e6, &[term(1.0, -1e-12, 1e-12); 12], 1.0);
    let (mean, variance) = far.measure(f64::NEG_INFINITY, f64::INFINITY).moments();
    assert!((mean - 1e6).abs() < 1e-9 && variance < 1e-18, "{mean} {variance}");
}

/// The scale of the kernel depends on masses and on distances. An atom with a very small mass therefore does not determine the scale, even if it is
/// the nearest.
#[test]
fn a_light_atom_is_nearest() {
    use crate::measure::{Measure, PointMass};
    use crate::twofold::Twofold;
    let at = |at: f64, mass: f64| PointMass {
        at: Twofold::from(at),
        mass,
    };
    let uniform = Measure::uniforms(Twofold::default(), &[1.0]);
    let mixed = Measure {
        atoms: vec![at(11.0, 1e-200)],
        ..uniform.clone()
    };
    let (got, want) = (
        mixed.smoothed_log_density(Twofold::from(11.0), 1.0),
        uniform.smoothed_log_density(Twofold::from(11.0), 1.0),
    );
    assert!((got - want).abs() < 1e-12, "{got} is not {want}");
}
