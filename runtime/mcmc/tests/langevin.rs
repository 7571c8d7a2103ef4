//! The draws of the Metropolis-adjusted Langevin algorithm agree with closed forms and with quadrature.
#![allow(clippy::unwrap_used)]

mod chains;

use bnnc_abi::methods::sampling::samplers::mala::MalaOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::samplers;
use bnnc_mcmc::seam::{Answer, SamplerRequest, Target};
use bnnc_mcmc::setup::Setup;
use chains::{Density, Drawn, Length, deviation, draws, mean, sampler, stat};
use std::f64::consts::TAU;

fn mala(step_size: Option<f64>, metric: MetricKind) -> Transition {
    Transition::Mala(MalaOptions(Adaptation {
        step_size,
        target_acceptance: 0.6,
        metric,
    }))
}

/// Independent standard normal distributions.
fn normal() -> Density<impl FnMut(&[f64], &mut [f64]) -> f64> {
    Density(|at: &[f64], gradient: &mut [f64]| {
        gradient
            .iter_mut()
            .zip(at)
            .for_each(|(slope, value)| *slope = -value);
        -0.5 * at.iter().map(|value| value * value).sum::<f64>()
    })
}

/// The density proportional to `exp(-x^4 / 4)`. Under this density, `x^4` has mean 1 and `x^2` has mean
/// `2 Gamma(3/4) / Gamma(1/4)`.
fn quartic() -> Density<impl FnMut(&[f64], &mut [f64]) -> f64> {
    Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -at[0].powi(3);
        -0.25 * at[0].powi(4)
    })
}

/// `2 Gamma(3/4) / Gamma(1/4)`.
const QUARTIC_SQUARE: f64 = 2.0 * 1.225_416_702_465_177_6 / 3.625_609_908_221_908;

const LENGTH: Length = Length {
    warmup: 100,
    draws: 60_000,
};

fn kept(drawn: &[Drawn], element: usize, function: impl Fn(f64) -> f64) -> Vec<f64> {
    drawn
        .iter()
        .filter(|draw| !draw.warmup)
        .map(|draw| function(draw.position[element]))
        .collect()
}

/// Returns the mean acceptance probability in equilibrium on the standard normal distribution: an integral over the position and the noise, computed
/// with the densities of the forward and the reverse proposal.
fn acceptance(step_size: f64) -> f64 {
    let log_q = |from: f64, to: f64| -(to - from + step_size * from).powi(2) / (4.0 * step_size);
    let (width, half) = (0.03, 250);
    let mut sum = 0.0;
    for position in -half..=half {
        for noise in -half..=half {
            let (from, noise) = (f64::from(position) * width, f64::from(noise) * width);
            let to = from - step_size * from + (2.0 * step_size).sqrt() * noise;
            let log_ratio = 0.5 * (from * from - to * to) + log_q(to, from) - log_q(from, to);
            sum += (-0.5 * (from * from + noise * noise) + log_ratio.min(0.0)).exp();
        }
    }
    sum * width * width / TAU
}

#[test]
fn acceptance_agrees_with_the_integral() {
    for step_size in [0.5, 1.0, 1.8] {
        let mut sampler = sampler(&mala(Some(step_size), MetricKind::Unit), &[0.5], 1, LENGTH);
        let drawn = draws(&mut *sampler, &mut normal(), LENGTH.warmup + LENGTH.draws);
        let rates = &stat(&*sampler, &drawn, "acceptance_rate")[LENGTH.warmup..];
        let want = acceptance(step_size);
        assert!(deviation(rates, want) < 4.5, "{} for {want}", mean(rates));
        assert!(deviation(rates, acceptance(step_size * 1.1)) > 4.5);
        assert!(deviation(&kept(&drawn, 0, |value| value), 0.0) < 4.5);
        assert!(deviation(&kept(&drawn, 0, |value| value * value), 1.0) < 4.5);
        assert!(deviation(&kept(&drawn, 0, |value| value.powi(4)), 3.0) < 4.5);
    }
}

/// A second implementation of the algorithm, for comparison. If `ratio` is false, the acceptance probability ignores the densities of the proposals.
fn naive(target: &mut dyn Target, step_size: f64, ratio: bool) -> Vec<f64> {
    let noise = ChainNoise::new(5, "naive", 0);
    let (mut at, mut slope, mut slope_there) = ([0.5], [0.0], [0.0]);
    let mut positions = Vec::new();
    for iteration in 0..LENGTH.draws as u64 {
        let log = target.gradient(&at, None, 1.0, &mut slope);
        let mut normals = [0.0];
        noise.normals(Purpose::Motion, iteration, &mut normals);
        let there = [at[0] + step_size * slope[0] + (2.0 * step_size).sqrt() * normals[0]];
        let mut log_ratio = target.gradient(&there, None, 1.0, &mut slope_there) - log;
        if ratio {
            let back = at[0] - there[0] - step_size * slope_there[0];
            log_ratio += 0.5 * normals[0].powi(2) - back * back / (4.0 * step_size);
        }
        if noise.uniform(Purpose::Accept, iteration, 0).ln() < log_ratio {
            at = there;
        }
        positions.push(at[0]);
    }
    positions
}

/// Compares the first, second and fourth moment of draws with 0, `second` and `fourth`. Returns the largest difference, in standard errors.
fn moments(positions: &[f64], second: f64, fourth: f64) -> f64 {
    let of = |power, want| {
        deviation(
            &positions
                .iter()
                .map(|value| value.powi(power))
                .collect::<Vec<_>>(),
            want,
        )
    };
    of(1, 0.0).max(of(2, second)).max(of(4, fourth))
}

#[test]
fn moments_of_the_quartic_density_are_exact() {
    for (step_size, metric) in [(0.3, MetricKind::Unit), (0.6, MetricKind::Diagonal)] {
        let mut sampler = sampler(&mala(Some(step_size), metric), &[0.5], 1, LENGTH);
        let drawn = draws(&mut *sampler, &mut quartic(), LENGTH.warmup + LENGTH.draws);
        assert!(moments(&kept(&drawn, 0, |value| value), QUARTIC_SQUARE, 1.0) < 4.5);
    }
}

/// On the standard normal distribution with `eta = 1`, proposals do not depend on the position and have variance 2. If the acceptance probability
/// ignored the density of the proposals, the chain would sample the product of the target density and the proposal density. This product has
/// variance 2/3. The checks of the moments detect this defect.
#[test]
fn chain_without_the_proposal_ratio_is_detected() {
    assert!(moments(&naive(&mut normal(), 1.0, true), 1.0, 3.0) < 4.5);
    let without = naive(&mut normal(), 1.0, false);
    assert!(moments(&without, 1.0, 3.0) > 20.0);
    assert!(moments(&without, 2.0 / 3.0, 3.0 * 4.0 / 9.0) < 4.5);
}

/// Points where the density cannot be computed are rejected, and the chain samples the rest of the distribution. In this test, the rest is an
/// exponential distribution. Its first two moments are 1 and 2.
#[test]
fn points_without_density_are_rejected() {
    for failure in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        for finite_value in [false, true] {
            let mut half = Density(|at: &[f64], gradient: &mut [f64]| {
                gradient[0] = if at[0] > 0.0 { -1.0 } else { failure };
                if at[0] > 0.0 || finite_value {
                    -at[0]
                } else {
                    failure
                }
            });
            let mut sampler = sampler(&mala(Some(1.0), MetricKind::Unit), &[-0.5], 1, LENGTH);
            let drawn = draws(&mut *sampler, &mut half, LENGTH.warmup + LENGTH.draws);
            let first = drawn.iter().position(|draw| draw.position[0] > 0.0).unwrap();
            assert!(first < LENGTH.warmup && drawn[first..].iter().all(|draw| draw.position[0] > 0.0));
            assert!(
                drawn[first..]
                    .iter()
                    .all(|draw| draw.stats.iter().all(|stat| stat.is_finite()))
            );
            assert!(deviation(&kept(&drawn, 0, |value| value), 1.0) < 4.5);
            assert!(deviation(&kept(&drawn, 0, |value| value * value), 2.0) < 4.5);
            assert!(stat(&*sampler, &drawn, "diverging").contains(&1.0));
        }
    }
}

/// If steep gradients make a proposal overflow, it is rejected, and the chain stays at its position.
#[test]
fn overflowing_proposals_are_rejected() {
    let mut steep = Density(|at: &[f64], gradient: &mut [f64]| {
        assert!(at[0].is_finite());
        gradient[0] = if at[0] > 0.0 { -1e200 } else { 1.0 };
        -at[0].abs()
    });
    let mut sampler = sampler(&mala(Some(1e200), MetricKind::Unit), &[1.0], 1, LENGTH);
    let drawn = draws(&mut *sampler, &mut steep, 100);
    assert!(drawn.iter().all(|draw| draw.position == [1.0]));
    assert!(
        stat(&*sampler, &drawn, "diverging")
            .iter()
            .all(|diverging| *diverging == 1.0)
    );
}

/// The target has standard deviations of 0.2 and 5. The correlation of the target is 0.9, or 0 in the test of the diagonal metric.
#[test]
fn step_size_and_metric_are_adapted() {
    for (metric, correlation) in [(MetricKind::Diagonal, 0.0), (MetricKind::Dense, 0.9)] {
        let mut skewed = Density(|at: &[f64], gradient: &mut [f64]| {
            let (first, second) = (at[0] / 0.2, at[1] / 5.0);
            let rest = 1.0 - correlation * correlation;
            gradient[0] = -(first - correlation * second) / rest / 0.2;
            gradient[1] = -(second - correlation * first) / rest / 5.0;
            -0.5 * (first * first - 2.0 * correlation * first * second + second * second) / rest
        });
        let length = Length {
            warmup: 1000,
            draws: 40_000,
        };
        let mut sampler = sampler(&mala(None, metric), &[0.1, -1.0], 1, length);
        let drawn = draws(&mut *sampler, &mut skewed, 41_000);
        assert!(
            drawn
                .iter()
                .enumerate()
                .all(|(at, draw)| draw.warmup == (at < 1000))
        );
        let steps = stat(&*sampler, &drawn, "step_size");
        assert!(steps[1000..].iter().all(|step| *step == steps[1000]));
        let rates = &stat(&*sampler, &drawn, "acceptance_rate")[1000..];
        assert!((mean(rates) - 0.6).abs() < 0.06, "{}", mean(rates));
        // With an adapted metric, the step size is of order 1. Without a metric, the step size would be of the order of the smallest standard
        // deviation of the target.
        assert!((0.3..3.0).contains(&steps[1000]), "{}", steps[1000]);
        assert!(deviation(&kept(&drawn, 0, |value| value * value / 0.04), 1.0) < 4.5);
        assert!(deviation(&kept(&drawn, 1, |value| value * value / 25.0), 1.0) < 4.5);
        let products: Vec<f64> = drawn[1000..]
            .iter()
            .map(|draw| draw.position[0] * draw.position[1])
            .collect();
        assert!(deviation(&products, correlation) < 4.5);
    }
}

/// Each iteration makes exactly one request, which is for all rows and for a log likelihood divided by the temperature.
#[test]
fn each_iteration_requests_one_gradient() {
    let transition = mala(Some(0.5), MetricKind::Unit);
    let setup = Setup {
        transition: &transition,
        start: &[1.0, 2.0],
        shards: &[3],
        warmup: 0,
        draws: 10,
        temperature: 4.0,
        noise: ChainNoise::new(1, "chain", 0),
    };
    let mut sampler = samplers::sampler(&setup);
    let (mut gradients, mut answer) = (0, Answer::Go);
    for drawn in 0..10 {
        loop {
            answer = match sampler.advance(answer) {
                SamplerRequest::Gradient { at, rows, scale } => {
                    assert_eq!((at.len(), rows, scale), (2, None, 0.25));
                    gradients += 1;
                    Answer::Gradient {
                        log_density: -1.0,
                        gradient: &[0.5, 0.5],
                    }
                }
                SamplerRequest::Draw(draw) => {
                    assert!(!draw.warmup);
                    break;
                }
                other => panic!("{other:?}"),
            };
        }
        answer = Answer::Go;
        assert_eq!(gradients, drawn + 2);
    }
}

#[test]
fn chains_resume_bit_by_bit() {
    for (step_size, metric) in [
        (Some(0.5), MetricKind::Unit),
        (None, MetricKind::Diagonal),
        (None, MetricKind::Dense),
    ] {
        chains::resumes(&mala(step_size, metric), &mut normal(), 1);
    }
}
