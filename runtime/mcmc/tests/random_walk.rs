//! The moments and the acceptance rates of random-walk Metropolis on normal distributions agree with closed forms.
#![allow(clippy::unwrap_used)]

mod chains;

use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::seam::{Answer, SamplerRequest};
use chains::{Density, Drawn, Length, deviation, draws, mean, sampler, stat};
use std::f64::consts::PI;

fn fixed(step_size: f64) -> Transition {
    Transition::RandomWalk(RandomWalkOptions(Adaptation {
        step_size: Some(step_size),
        target_acceptance: 0.3,
        metric: MetricKind::Unit,
    }))
}

fn adapted(metric: MetricKind) -> Transition {
    Transition::RandomWalk(RandomWalkOptions(Adaptation {
        step_size: None,
        target_acceptance: 0.3,
        metric,
    }))
}

/// Independent standard normal distributions.
fn normal() -> Density<impl FnMut(&[f64], &mut [f64]) -> f64> {
    Density(|at: &[f64], _: &mut [f64]| -0.5 * at.iter().map(|value| value * value).sum::<f64>())
}

const LENGTH: Length = Length {
    warmup: 100,
    draws: 40_000,
};

fn kept(drawn: &[Drawn], element: usize, function: impl Fn(f64) -> f64) -> Vec<f64> {
    drawn
        .iter()
        .filter(|draw| !draw.warmup)
        .map(|draw| function(draw.position[element]))
        .collect()
}

/// Returns the mean acceptance rate on the standard normal distribution in `d` dimensions, for steps with standard deviation `l`. The rate is
/// `2 E[Phi(-l |Z| / 2)] = 2 F(-l sqrt(d) / 2)`, where `F` is the distribution function of Student's t with `d` degrees of freedom.
fn acceptance(step_size: f64, dimension: usize) -> f64 {
    let length = (2.0 * step_size).sqrt();
    match dimension {
        1 => 2.0 / PI * (2.0 / length).atan(),
        2 => 1.0 - length / (4.0 + length * length).sqrt(),
        4 => {
            let sine = length / (1.0 + length * length / 4.0).sqrt();
            1.0 - 0.75 * sine * (1.0 - sine * sine / 12.0)
        }
        other => panic!("no closed form for {other}"),
    }
}

#[test]
fn acceptance_agrees_with_the_closed_form() {
    for (step_size, dimension) in [(0.5, 1), (4.0, 1), (0.5, 2), (0.25, 4)] {
        let mut sampler = sampler(&fixed(step_size), &vec![0.5; dimension], 1, LENGTH);
        let drawn = draws(&mut *sampler, &mut normal(), LENGTH.warmup + LENGTH.draws);
        let rates = stat(&*sampler, &drawn, "acceptance_rate")[LENGTH.warmup..].to_vec();
        let want = acceptance(step_size, dimension);
        assert!(deviation(&rates, want) < 4.5, "{} for {want}", mean(&rates));
        assert!(deviation(&rates, acceptance(step_size * 1.1, dimension)) > 4.5);
        // The fraction of iterations that move agrees with the mean acceptance rate.
        let moved: Vec<f64> = drawn[LENGTH.warmup..]
            .windows(2)
            .map(|pair| f64::from(u8::from(pair[0].position != pair[1].position)))
            .collect();
        assert!(deviation(&moved, want) < 4.5);
        for element in 0..dimension {
            assert!(deviation(&kept(&drawn, element, |value| value), 0.0) < 4.5);
            assert!(deviation(&kept(&drawn, element, |value| value * value), 1.0) < 4.5);
        }
    }
}

/// Points where the density cannot be computed are rejected, and the walk samples the rest of the distribution. In this test, the rest is an
/// exponential distribution. Its first two moments are 1 and 2.
#[test]
fn points_without_density_are_rejected() {
    for failure in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        let mut half = Density(|at: &[f64], _: &mut [f64]| if at[0] > 0.0 { -at[0] } else { failure });
        let mut sampler = sampler(&fixed(2.0), &[-0.5], 1, LENGTH);
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
        let (diverging, rates) = (
            stat(&*sampler, &drawn, "diverging"),
            stat(&*sampler, &drawn, "acceptance_rate"),
        );
        assert!(diverging.contains(&1.0));
        assert!(
            diverging
                .iter()
                .zip(rates)
                .all(|(diverging, rate)| *diverging == 0.0 || rate == 0.0)
        );
    }
}

/// The target has standard deviations of 0.2 and 5. The correlation of the target is 0.9, or 0 in the test of the diagonal metric.
#[test]
fn step_size_and_metric_are_adapted() {
    for (metric, correlation) in [(MetricKind::Diagonal, 0.0), (MetricKind::Dense, 0.9)] {
        let mut skewed = Density(|at: &[f64], _: &mut [f64]| {
            let (first, second) = (at[0] / 0.2, at[1] / 5.0);
            let square = first * first - 2.0 * correlation * first * second + second * second;
            -0.5 * square / (1.0 - correlation * correlation)
        });
        let length = Length {
            warmup: 2000,
            draws: 40_000,
        };
        let mut sampler = sampler(&adapted(metric), &[0.1, -1.0], 1, length);
        let drawn = draws(&mut *sampler, &mut skewed, 42_000);
        assert!(
            drawn
                .iter()
                .enumerate()
                .all(|(at, draw)| draw.warmup == (at < 2000))
        );
        let steps = stat(&*sampler, &drawn, "step_size");
        assert!(steps[2000..].iter().all(|step| *step == steps[2000]));
        let rates = stat(&*sampler, &drawn, "acceptance_rate");
        assert!(
            (mean(&rates[2000..]) - 0.3).abs() < 0.06,
            "{}",
            mean(&rates[2000..])
        );
        // In the coordinates of the metric the target is round, so the acceptance rate agrees with the closed form.
        assert!((acceptance(steps[2000], 2) - 0.3).abs() < 0.08, "{}", steps[2000]);
        assert!(deviation(&kept(&drawn, 0, |value| value * value / 0.04), 1.0) < 4.5);
        assert!(deviation(&kept(&drawn, 1, |value| value * value / 25.0), 1.0) < 4.5);
        let products: Vec<f64> = drawn[2000..]
            .iter()
            .map(|draw| draw.position[0] * draw.position[1])
            .collect();
        assert!(deviation(&products, correlation) < 4.5);
    }
}

#[test]
fn only_values_are_requested() {
    let mut sampler = sampler(&fixed(0.5), &[1.0, 2.0], 3, LENGTH);
    for answer in [Answer::Go, Answer::Value(-1.0)] {
        match sampler.advance(answer) {
            SamplerRequest::Value { at, rows, scale } => assert_eq!((at.len(), rows, scale), (2, None, 1.0)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn chains_resume_bit_by_bit() {
    for transition in [
        fixed(0.5),
        adapted(MetricKind::Diagonal),
        adapted(MetricKind::Dense),
    ] {
        chains::resumes(&transition, &mut normal(), 1);
    }
}
