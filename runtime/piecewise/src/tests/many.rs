//! Tests with sums of many units, which have too many exact pieces to compute.

use super::{close, term, triangle};
use crate::twofold::Twofold;
use crate::{Law, Network, ObservationNoise, Unit, grid};
use std::time::{Duration, Instant};

/// A generator of random numbers in `[0, 1)`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns a network with `linear` linear terms and `units` units. Each unit has `each` terms, and its input can have both signs.
fn network(units: usize, each: usize, linear: usize) -> Network {
    let mut random = Random(units as u64 * 100 + each as u64);
    let unit = |_| Unit {
        outgoing: 2.0 * random.next() - 1.0,
        bias: 0.4 * random.next() - 0.2,
        terms: (0..each)
            .map(|_| term(0.3 + random.next(), -0.5 - 0.1 * random.next(), 0.5))
            .collect(),
    };
    let units: Vec<Unit> = (0..units).map(unit).collect();
    let terms = (0..linear)
        .map(|_| term(0.2 + 0.3 * random.next(), -0.5, 0.5))
        .collect();
    Network {
        offset: 0.3,
        terms,
        units,
    }
}

/// Returns a random draw of the output of a network.
fn draw(network: &Network, random: &mut Random) -> f64 {
    let mut form = |terms: &[crate::UniformTerm]| -> f64 {
        let parts = terms
            .iter()
            .map(|t| t.slope * (t.lower + (t.upper - t.lower) * random.next()));
        parts.sum()
    };
    let units: f64 = network
        .units
        .iter()
        .map(|unit| unit.outgoing * (unit.bias + form(&unit.terms)).max(0.0))
        .sum();
    network.offset + form(&network.terms) + units
}

/// Returns the mean and the variance of a single unit. Both are exact, because the distribution of a single unit is exact.
fn alone(unit: &Unit) -> (f64, f64) {
    let one = Network {
        units: vec![unit.clone()],
        ..Network::default()
    };
    let law = Law::new(&one, ObservationNoise::Normal { sd: 0.0 });
    (law.mean(), law.variance())
}

/// Compares a distribution with random draws that include noise. For several values, the probability of being below the value is compared with the
/// fraction of draws below it.
fn check_draws(network: &Network, law: &Law, noise: ObservationNoise, seed: u64) {
    let mut random = Random(seed);
    let draws = 20_000;
    let mut values: Vec<f64> = (0..draws)
        .map(|_| {
            let value = draw(network, &mut random);
            value
                + match noise {
                    ObservationNoise::Normal { sd } if sd > 0.0 => {
                        let angle = 2.0 * std::f64::consts::PI * random.next();
                        sd * (-2.0 * (1.0 - random.next()).ln()).sqrt() * angle.cos()
                    }
                    ObservationNoise::Normal { .. } => 0.0,
                    ObservationNoise::Triangular { radius, .. } => radius * (random.next() - random.next()),
                }
        })
        .collect();
    values.sort_by(f64::total_cmp);
    // With a probability of 1e-6, Kolmogorov's statistic is above sqrt(log(2e6) / 2n). An atom is checked on both of its sides.
    let bound = ((2e6f64).ln() / (2.0 * f64::from(draws))).sqrt();
    let near = 4e-3 * law.variance().sqrt();
    for (index, &value) in values.iter().enumerate().step_by(1999) {
        let part = index as f64 / f64::from(draws);
        assert!(
            law.cdf(value - near) <= part + bound,
            "{value}: {} above {part}",
            law.cdf(value)
        );
        assert!(
            law.cdf(value + near) >= part - bound,
            "{value}: {} below {part}",
            law.cdf(value)
        );
    }
}

/// Computes mass, mean and variance by the midpoint rule. The densities are computed without a tilt.
fn moments(law: &Law) -> (f64, f64, f64) {
    let sd = law.variance().sqrt();
    let step = 0.01 * sd;
    let points = (-800..800).map(|index| step * (f64::from(index) + 0.5));
    let parts = points.map(|x| (x, step * law.shape().plain_density(law.mean() + x)));
    let sums = parts.fold((0.0, 0.0, 0.0), |(mass, mean, square), (x, part)| {
        (mass + part, mean + part * x, square + part * x * x)
    });
    (sums.0, law.mean() + sums.1, sums.2)
}

#[test]
fn sums_of_many_units_are_distributions() {
    for (units, each, linear) in [
        (3, 9, 0),
        (10, 1, 0),
        (10, 7, 2),
        (20, 3, 0),
        (20, 7, 21),
        (50, 7, 51),
        (50, 2, 0),
    ] {
        let network = network(units, each, linear);
        let sums = network
            .units
            .iter()
            .map(alone)
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let spread: f64 = network.terms.iter().map(|t| t.slope * t.slope / 12.0).sum();
        for noise in [
            ObservationNoise::Normal { sd: 0.0 },
            ObservationNoise::Normal { sd: 0.1 },
            ObservationNoise::Normal { sd: 1e-5 },
            triangle(0.2),
        ] {
            let start = Instant::now();
            let law = Law::new(&network, noise);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(2), "{took:?}");
            let more = match noise {
                ObservationNoise::Normal { sd } => sd * sd,
                ObservationNoise::Triangular { radius, .. } => radius * radius / 6.0,
            };
            close(law.mean(), 0.3 + sums.0, 1e-9);
            close(law.variance(), spread + sums.1 + more, 1e-9);
            check_draws(&network, &law, noise, 5);
            if !matches!(noise, ObservationNoise::Normal { sd } if sd < 0.1) {
                let (mass, mean, variance) = moments(&law);
                close(mass, 1.0, 1e-4);
                assert!((mean - law.mean()).abs() < 1e-4 * law.variance().sqrt(), "{mean}");
                close(variance, law.variance(), 1e-3);
            }
        }
    }
}

/// Compares the grid with the exact convolution, for a distribution with an atom and jumps plus uniform variables of the given widths.
#[test]
fn the_grid_is_near_the_exact_distribution() {
    let network = network(2, 3, 0);
    let sd = 0.0;
    let bare = |unit: &Unit| {
        let one = Network {
            units: vec![unit.clone()],
            ..Network::default()
        };
        match Law::new(&one, ObservationNoise::Normal { sd }).shape() {
            crate::shape::Representation::Pieces(measure, _) => measure.clone(),
            other => unreachable!("one unit has pieces, not {other:?}"),
        }
    };
    let laws: Vec<_> = network.units.iter().map(bare).collect();
    for widths in [vec![], vec![0.7], vec![0.4, 1e-7, 0.2]] {
        let exact = widths
            .iter()
            .fold(laws[0].convolved(&laws[1]), |sum, &width| sum.plus_uniform(width));
        let near = grid::sum(&laws, &widths);
        close(near.mass(), 1.0, 1e-13);
        let ((mean, variance), (want, spread)) = (near.moments(), exact.moments());
        assert!((mean - want).abs() < 1e-6 * spread.sqrt(), "{mean} is not {want}");
        close(variance, spread, 1e-5);
        let (from, to) = exact.support();
        for index in 0..=200 {
            let y = Twofold::from(from + (to - from) * f64::from(index) / 200.0);
            let (got, want) = (near.below(y), exact.below(y));
            assert!(
                (got - want).abs() < 2e-3,
                "{widths:?} at {y:?}: {got} is not {want}"
            );
        }
        for index in 0..20 {
            let y = Twofold::from(want + spread.sqrt() * (0.17 * f64::from(index) - 1.61));
            let (got, want) = (
                near.smoothed_below(y, 0.3 * spread.sqrt()),
                exact.smoothed_below(y, 0.3 * spread.sqrt()),
            );
            assert!(
                (got - want).abs() < 1e-5,
                "{widths:?} at {y:?}: {got} is not {want}"
            );
        }
    }
}

/// The networks have at most one unit. The widths of the uniforms are such that every series is long.
#[test]
fn widths_of_all_sizes_match_draws() {
    let crossed = Unit {
        outgoing: 1.0,
        bias: -0.1,
        terms: (0..9)
            .map(|k| term(0.3 + 0.1 * f64::from(k), -0.5, 0.5))
            .collect(),
    };
    for (count, ratio) in [(9, 0.7), (14, 0.1), (60, 0.9)] {
        let terms: Vec<_> = (0..count).map(|k| term(1.0, 0.0, f64::powi(ratio, k))).collect();
        for units in [vec![], vec![crossed.clone()]] {
            for sd in [0.0, 0.1] {
                let network = Network {
                    offset: 0.0,
                    terms: terms.clone(),
                    units: units.clone(),
                };
                let start = Instant::now();
                let law = Law::new(&network, ObservationNoise::Normal { sd });
                assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
                check_draws(&network, &law, ObservationNoise::Normal { sd }, 3);
            }
        }
    }
}
