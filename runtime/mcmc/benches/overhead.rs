//! Measures the time that a leapfrog step takes in addition to the evaluation of its gradient:
//! `cargo bench -p bnnc-mcmc --bench overhead`.

use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers::sampler;
use bnnc_mcmc::seam::{Answers, Target, next};
use bnnc_mcmc::setup::Setup;
use std::time::{Duration, Instant};

/// A standard normal distribution, chosen because its gradient is cheap. The struct records the time that evaluations of the
/// density take.
struct Round(Duration);

impl Target for Round {
    fn gradient(&mut self, at: &[f64], _: Option<&[u32]>, _: f64, gradient: &mut [f64]) -> f64 {
        let begin = Instant::now();
        for (slope, at) in gradient.iter_mut().zip(at) {
            *slope = -at;
        }
        let log_density = -0.5 * at.iter().map(|at| at * at).sum::<f64>();
        self.0 += begin.elapsed();
        log_density
    }

    fn value(&mut self, _: &[f64], _: Option<&[u32]>, _: f64) -> f64 {
        unreachable!("not asked here")
    }

    fn differences(&mut self, _: &[f64], _: &[f64], _: &[u32], _: &[usize], _: &mut [f64]) -> f64 {
        unreachable!("not asked here")
    }
}

/// Returns two numbers: the nanoseconds per leapfrog step, not counting the gradient, and the number of steps per iteration.
/// The time is the minimum over 20 batches of iterations.
fn overhead(dimension: usize, metric: MetricKind, step_size: f64, iterations: usize) -> (f64, f64) {
    let transition = Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation: Adaptation {
            step_size: Some(step_size),
            target_acceptance: 0.8,
            metric,
        },
    });
    let mut sampler = sampler(&Setup {
        transition: &transition,
        start: &vec![0.1; dimension],
        shards: &[],
        warmup: 0,
        draws: iterations,
        temperature: 1.0,
        noise: ChainNoise::new(1, "overhead", 0),
    });
    let (mut target, mut answers) = (Round(Duration::ZERO), Answers::default());
    let steps = sampler
        .stats()
        .iter()
        .position(|name| *name == "n_steps")
        .unwrap_or(0);
    let mut run = |count: usize, target: &mut Round| -> f64 {
        (0..count)
            .map(|_| next(sampler.as_mut(), target, &mut answers, |draw| draw.stats[steps]))
            .sum()
    };
    let batch = iterations / 20;
    let mut best = (f64::INFINITY, 0.0);
    for _ in 0..20 {
        target.0 = Duration::ZERO;
        let begin = Instant::now();
        let taken = run(batch, &mut target);
        let outside = begin.elapsed().saturating_sub(target.0);
        let seen = (outside.as_nanos() as f64 / taken, taken / batch as f64);
        if seen.0 < best.0 {
            best = seen;
        }
    }
    best
}

fn main() {
    println!("dimension  metric    step   steps/draw  ns/step");
    for (dimension, metric, step_size, iterations) in [
        (10, MetricKind::Unit, 0.9, 40_000),
        (10, MetricKind::Diagonal, 0.9, 40_000),
        (10, MetricKind::Diagonal, 0.1, 10_000),
        (10, MetricKind::Dense, 0.9, 40_000),
        (400, MetricKind::Diagonal, 0.4, 10_000),
        (400, MetricKind::Diagonal, 0.05, 1_000),
        (400, MetricKind::Dense, 0.4, 500),
    ] {
        let (nanoseconds, steps) = overhead(dimension, metric, step_size, iterations);
        let metric = format!("{metric:?}");
        println!("{dimension:9}  {metric:8} {step_size:5} {steps:12.1} {nanoseconds:8.0}");
    }
}
