//! Tests of the warm-up: the step sizes and metrics that it learns, and how it continues after an interruption.
#![allow(clippy::unwrap_used)]

mod chains;
mod targets;

use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::adapt::metric::Whitening;
use bnnc_mcmc::samplers::nuts::nuts as sampler;
use bnnc_mcmc::seam::Sampler;
use chains::{Density, Length, draws, resumes};
use targets::{METRICS, adapted, fixed, nuts, place, run, unadapted};

/// A normal distribution of two quantities with the covariance `[[1, 8], [8, 100]]`.
fn pair(at: &[f64], gradient: &mut [f64]) -> f64 {
    gradient[0] = (8.0 * at[1] - 100.0 * at[0]) / 36.0;
    gradient[1] = (8.0 * at[0] - at[1]) / 36.0;
    0.5 * (at[0] * gradient[0] + at[1] * gradient[1])
}

#[test]
fn interrupted_chains_continue_bit_by_bit() {
    for metric in METRICS {
        resumes(&nuts(adapted(metric)), &mut Density(pair), 0);
        let transition = Transition::Hmc(HmcOptions {
            steps: 4,
            adaptation: adapted(metric),
        });
        resumes(&transition, &mut Density(pair), 0);
    }
    resumes(&nuts(fixed(0.7)), &mut Density(pair), 0);
}

/// A chain can be saved and resumed after every iteration, both during the warm-up and after it.
#[test]
fn chains_continue_from_every_draw() {
    for metric in [MetricKind::Diagonal, MetricKind::Dense, MetricKind::Windowed] {
        let (transition, start) = (nuts(adapted(metric)), [1.0, -4.0]);
        let fresh = || {
            let mut setup = unadapted(&transition, &start, 1);
            setup.warmup = 60;
            sampler(
                &setup,
                &NutsOptions {
                    max_depth: 10,
                    adaptation: adapted(metric),
                },
            )
        };
        let mut whole = fresh();
        let mut before: Option<Vec<u8>> = None;
        for iteration in 0..90 {
            let draw = draws(&mut whole, &mut Density(pair), 1);
            let mut resumed = fresh();
            if let Some(before) = &before {
                resumed.restore(before).unwrap();
            }
            assert_eq!(draws(&mut resumed, &mut Density(pair), 1), draw, "{iteration}");
            assert_eq!(resumed.save(), whole.save());
            before = Some(whole.save());
        }
    }
}

#[test]
fn states_of_other_samplers_are_rejected() {
    let save = |metric| {
        let transition = nuts(adapted(metric));
        let mut sampler = sampler(
            &unadapted(&transition, &[0.0; 2], 0),
            &NutsOptions {
                max_depth: 10,
                adaptation: adapted(metric),
            },
        );
        draws(&mut sampler, &mut Density(pair), 3);
        sampler.save()
    };
    let bytes = save(MetricKind::Diagonal);
    let transition = Transition::Hmc(HmcOptions {
        steps: 4,
        adaptation: adapted(MetricKind::Diagonal),
    });
    let hmc = |start: &[f64]| bnnc_mcmc::samplers::sampler(&unadapted(&transition, start, 0));
    assert!(hmc(&[0.0; 2]).restore(&bytes).is_err());
    for length in 0..bytes.len() {
        let transition = nuts(adapted(MetricKind::Diagonal));
        let mut sampler = bnnc_mcmc::samplers::sampler(&unadapted(&transition, &[0.0; 2], 0));
        assert!(sampler.restore(&bytes[..length]).is_err());
    }
}

/// Twenty independent pairs. Each pair has the distribution of [`pair`].
fn pairs(at: &[f64], gradient: &mut [f64]) -> f64 {
    at.chunks(2)
        .zip(gradient.chunks_mut(2))
        .map(|(at, gradient)| pair(at, gradient))
        .sum()
}

/// The mean acceptance rate after the warm-up is near its target.
#[test]
fn adapted_step_sizes_reach_the_target_acceptance() {
    for target_acceptance in [0.8, 0.9, 0.95] {
        let adaptation = Adaptation {
            target_acceptance,
            ..adapted(MetricKind::Diagonal)
        };
        let length = Length {
            warmup: 1000,
            draws: 2000,
        };
        let draws = run(&nuts(adaptation), &mut Density(pairs), &[0.0; 40], length);
        let rates: Vec<f64> = draws
            .iter()
            .map(|draw| draw.stats[place("acceptance_rate")])
            .collect();
        let rate = chains::mean(&rates);
        assert!(
            (rate - target_acceptance).abs() < 0.06,
            "{target_acceptance}: {rate}"
        );
        let steps: Vec<f64> = draws.iter().map(|draw| draw.stats[place("step_size")]).collect();
        assert!(
            steps.iter().all(|step| *step == steps[0]),
            "the step size is settled"
        );
    }
}

/// Variances that are estimated from 500 draws are within about a tenth of the exact values. The positions have the variances 1 and 100. The
/// variances of the gradients are the diagonal of the precision matrix, `100 / 36` and `1 / 36`. The diagonal metric is therefore
/// `sqrt(1 / (100 / 36)) = 0.6` and `sqrt(100 / (1 / 36)) = 60`.
#[test]
fn adapted_metrics_agree_with_the_covariance() {
    for (metric, want) in [
        (MetricKind::Diagonal, [0.6, 8.0, 60.0]),
        (MetricKind::Windowed, [1.0, 8.0, 100.0]),
        (MetricKind::Dense, [1.0, 8.0, 100.0]),
        (MetricKind::WindowedDense, [1.0, 8.0, 100.0]),
    ] {
        let transition = nuts(adapted(metric));
        let mut setup = unadapted(&transition, &[0.0; 2], 4);
        setup.warmup = 1000;
        let mut sampler = sampler(
            &setup,
            &NutsOptions {
                max_depth: 10,
                adaptation: adapted(metric),
            },
        );
        draws(&mut sampler, &mut Density(pair), 1000);
        let covariance = match sampler.warmup().whitening() {
            Whitening::Unit => unreachable!("a metric is learnt"),
            Whitening::Diagonal(scale) => [scale[0] * scale[0], 8.0, scale[1] * scale[1]],
            Whitening::Dense(lower) => [
                lower[0] * lower[0],
                lower[0] * lower[2],
                lower[2] * lower[2] + lower[3] * lower[3],
            ],
        };
        for (got, want) in covariance.into_iter().zip(want) {
            assert!((got / want).ln().abs() < 0.4, "{metric:?}: {covariance:?}");
        }
    }
}

#[test]
fn a_given_step_size_is_kept() {
    let adaptation = Adaptation {
        step_size: Some(0.37),
        ..adapted(MetricKind::Diagonal)
    };
    let length = Length { warmup: 0, draws: 50 };
    for draw in run(&nuts(adaptation), &mut Density(pair), &[0.0; 2], length) {
        assert_eq!(draw.stats[place("step_size")], 0.37);
    }
}

/// The chain starts far away, where the density is steep. The search finds a step size with which the chain can move towards the bulk of the
/// distribution.
#[test]
fn chains_return_from_starts_far_away() {
    let length = Length {
        warmup: 300,
        draws: 2000,
    };
    let draws = run(
        &nuts(adapted(MetricKind::Diagonal)),
        &mut Density(pair),
        &[1e6, -1e6],
        length,
    );
    assert!(draws.iter().all(|draw| draw.position[0].abs() < 8.0));
}

/// The log likelihood is divided by the temperature: the sampler requests it multiplied by one over the temperature.
#[test]
fn temperature_divides_the_likelihood() {
    use bnnc_mcmc::seam::{Answer, SamplerRequest};
    let transition = nuts(fixed(0.1));
    let mut setup = unadapted(&transition, &[0.0; 2], 0);
    setup.temperature = 4.0;
    let mut sampler = bnnc_mcmc::samplers::sampler(&setup);
    let SamplerRequest::Gradient { at, rows, scale } = sampler.advance(Answer::Go) else {
        unreachable!("the density at the start is needed");
    };
    assert_eq!((at, rows, scale), (&[0.0; 2][..], None, 0.25));
}

/// The variances span eight orders of magnitude, and the start of the chain is not a draw. Nevertheless, warm-up and draws together need fewer than
/// ten gradients per iteration.
#[test]
fn warm_ups_with_gradients_take_few_steps() {
    let mut steps = 0.0;
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        steps += 1.0;
        let mut log_density = 0.0;
        for (i, (at, slope)) in at.iter().zip(gradient).enumerate() {
            *slope = -at * 10.0_f64.powi(4 - i as i32);
            log_density += 0.5 * at * *slope;
        }
        log_density
    });
    let length = Length {
        warmup: 400,
        draws: 400,
    };
    run(
        &nuts(adapted(MetricKind::Diagonal)),
        &mut target,
        &[1.0; 9],
        length,
    );
    assert!(steps < 800.0 * 10.0, "{steps} steps");
}

/// Four quantities have correlations near 1. With a dense metric, trajectories are as short as for independent quantities.
/// The step size is about 1, and half a turn has the length `pi`, so trajectories have 3 or 7 steps.
#[test]
fn dense_metrics_remove_correlations_near_one() {
    // Each of the other quantities is the first one plus noise of size 1e-4.
    let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = -at[0];
        let mut log_density = -0.5 * at[0] * at[0];
        for i in 1..4 {
            let apart = (at[i] - at[0]) * 1e8;
            gradient[i] = -apart;
            gradient[0] += apart;
            log_density -= 0.5 * apart * (at[i] - at[0]);
        }
        log_density
    });
    let length = Length {
        warmup: 1000,
        draws: 1000,
    };
    let draws = run(&nuts(adapted(MetricKind::Dense)), &mut target, &[0.0; 4], length);
    let steps: Vec<f64> = draws.iter().map(|draw| draw.stats[place("n_steps")]).collect();
    assert!(chains::mean(&steps) < 7.0, "{} steps", chains::mean(&steps));
}

/// With a dense metric, trajectories of independent quantities are as short as with a diagonal metric, even if there are few draws per dimension. If
/// quantities share nearly all of their variance, the noise of the estimated covariance makes trajectories up to 5.8 times as long as the usual 7
/// steps. With a diagonal metric, trajectories of such quantities would have hundreds of steps.
#[test]
fn dense_metrics_from_few_draws_keep_trajectories_short() {
    let steps = |shared: f64, dimension: usize| {
        // The covariance is the identity matrix with `shared` added to every element. The inverse of the covariance is the identity matrix with
        // `taken` subtracted from every element.
        let taken = shared / (1.0 + dimension as f64 * shared);
        let mut target = Density(|at: &[f64], gradient: &mut [f64]| {
            let sum: f64 = at.iter().sum();
            let mut log_density = 0.0;
            for (at, slope) in at.iter().zip(gradient) {
                *slope = taken * sum - at;
                log_density += 0.5 * at * *slope;
            }
            log_density
        });
        let length = Length {
            warmup: 300,
            draws: 300,
        };
        let start = vec![0.1; dimension];
        let draws = run(&nuts(adapted(MetricKind::Dense)), &mut target, &start, length);
        let steps: Vec<f64> = draws.iter().map(|draw| draw.stats[place("n_steps")]).collect();
        chains::mean(&steps)
    };
    let (independent, alike) = (steps(0.0, 45), steps(100.0, 40));
    assert!(
        independent < 10.0 && alike < 5.8 * 7.0,
        "{independent} and {alike} steps"
    );
}
