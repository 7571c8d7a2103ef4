//! Stochastic-gradient samplers on normal targets agree with the exact stationary distributions of their recursions.
#![allow(clippy::unwrap_used)]

mod chains;

use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Steps, Transition};
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::samplers;
use bnnc_mcmc::seam::{Answer, SamplerRequest};
use bnnc_mcmc::setup::Setup;
use chains::{Density, Length, Mean, draws, mean, sampler, stat};

type Matrix = [[f64; 2]; 2];

fn times(left: Matrix, right: Matrix) -> Matrix {
    let entry = |row: usize, column: usize| (0..2).map(|at| left[row][at] * right[at][column]).sum();
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}

/// The stationary distribution of the recursion `x' = A x + e`, where the vectors `e` are independent normal with covariance `Q`.
struct Linear {
    /// The stationary variance of the first element.
    variance: f64,
    /// Two sums over all lags: the sum of the autocovariances of the first element, and the sum of their squares.
    sums: [f64; 2],
}

/// Solves `V = A V A' + Q` by its series. Sums the first elements of `A^k V` and their squares over all lags `k`.
fn linear(matrix: Matrix, noise: Matrix) -> Linear {
    let transposed = [[matrix[0][0], matrix[1][0]], [matrix[0][1], matrix[1][1]]];
    let (mut covariance, mut term) = ([[0.0; 2]; 2], noise);
    for _ in 0..4000 {
        for row in 0..2 {
            (0..2).for_each(|column| covariance[row][column] += term[row][column]);
        }
        term = times(matrix, times(term, transposed));
    }
    let variance = covariance[0][0];
    let (mut sums, mut lagged) = ([variance, variance * variance], covariance);
    for _ in 0..4000 {
        lagged = times(matrix, lagged);
        sums[0] += 2.0 * lagged[0][0];
        sums[1] += 2.0 * lagged[0][0] * lagged[0][0];
    }
    Linear { variance, sums }
}

/// The stationary distribution of Langevin dynamics on a normal target:
/// `theta' = (1 - eta precision) theta + sqrt(2 eta) e + eta (noise of the gradient)`.
fn langevin(eta: f64, precision: f64, gradient_variance: f64) -> Linear {
    let noise = 2.0 * eta + eta * eta * gradient_variance;
    linear(
        [[1.0 - eta * precision, 0.0], [0.0, 0.0]],
        [[noise, 0.0], [0.0, 0.0]],
    )
}

/// The stationary distribution of Hamiltonian dynamics on a normal target: `theta' = theta + v`,
/// `v' = (1 - alpha) v - eta precision theta' + noise`.
fn hamiltonian(eta: f64, friction: f64, precision: f64, gradient_variance: f64) -> Linear {
    let force = eta * precision;
    let noise = 2.0 * friction * eta + eta * eta * gradient_variance;
    linear(
        [[1.0, 1.0], [-force, 1.0 - friction - force]],
        [[0.0, 0.0], [0.0, noise]],
    )
}

/// Returns two differences, each in standard errors: the mean of a sequence minus `centre`, and the variance of the sequence minus the variance of
/// `law`.
fn deviations(values: &[f64], law: &Linear, centre: f64) -> [f64; 2] {
    let count = values.len() as f64;
    let squares: Vec<f64> = values.iter().map(|value| (value - centre).powi(2)).collect();
    [
        (mean(values) - centre).abs() / (law.sums[0] / count).sqrt(),
        (mean(&squares) - law.variance).abs() / (2.0 * law.sums[1] / count).sqrt(),
    ]
}

fn agrees(values: &[f64], law: &Linear, centre: f64) -> bool {
    deviations(values, law, centre)
        .iter()
        .all(|deviation| *deviation < 4.5)
}

fn sgld(batch: usize, step_size: f64) -> Transition {
    Transition::Sgld(SgldOptions {
        batch,
        step_size,
        schedule: Steps::Constant,
    })
}

fn sghmc(batch: usize, step_size: f64, friction: f64) -> Transition {
    Transition::Sghmc(SghmcOptions {
        batch,
        step_size,
        friction,
        schedule: Steps::Constant,
    })
}

/// Returns a target with twenty observations. Its posterior has the precision 10.5.
fn target() -> Mean {
    let data = (0..20)
        .map(|row| (f64::from(row) * 0.7).sin() * 2.0 + 1.0)
        .collect();
    Mean {
        data,
        prior: 0.5,
        precision: 0.5,
    }
}

const LENGTH: Length = Length {
    warmup: 200,
    draws: 40_000,
};

/// Returns the draws after the warm-up. The chain starts at 0.
fn values(transition: &Transition, target: &mut Mean) -> Vec<f64> {
    let mut sampler = sampler(transition, &[0.0], target.data.len(), LENGTH);
    let drawn = draws(&mut *sampler, target, LENGTH.warmup + LENGTH.draws);
    assert!(
        stat(&*sampler, &drawn, "diverging")
            .iter()
            .all(|diverging| *diverging == 0.0)
    );
    let kept: Vec<f64> = drawn
        .iter()
        .filter(|draw| !draw.warmup)
        .map(|draw| draw.position[0])
        .collect();
    assert_eq!(kept.len(), LENGTH.draws);
    kept
}

/// The variance that the series gives agrees with the closed form for a scalar recursion, `1 / (precision (1 - eta precision / 2))`.
#[test]
fn langevin_variance_agrees_with_its_closed_form() {
    let law = langevin(0.05, 10.5, 0.0);
    assert!((law.variance * 10.5 * (1.0 - 0.05 * 10.5 / 2.0) - 1.0).abs() < 1e-12);
    let ratio: f64 = 1.0 - 0.05 * 10.5;
    let squares = law.variance.powi(2) * (1.0 + ratio * ratio) / (1.0 - ratio * ratio);
    assert!((law.sums[1] / squares - 1.0).abs() < 1e-12);
}

#[test]
fn langevin_dynamics_have_the_variance_of_their_recursion() {
    let mut target = target();
    let (eta, precision, centre) = (0.05, target.posterior(), target.centre());
    let chain = values(&sgld(0, eta), &mut target);
    assert!(agrees(&chain, &langevin(eta, precision, 0.0), centre));
    // The test would detect a chain without the discretisation error, and a chain with noise of variance eta.
    let exact = linear([[1.0 - eta * precision, 0.0], [0.0, 0.0]], {
        let ratio = 1.0 - eta * precision;
        [[(1.0 - ratio * ratio) / precision, 0.0], [0.0, 0.0]]
    });
    assert!(!agrees(&chain, &exact, centre));
    let halved = linear(
        [[1.0 - eta * precision, 0.0], [0.0, 0.0]],
        [[eta, 0.0], [0.0, 0.0]],
    );
    assert!(!agrees(&chain, &halved, centre));
}

#[test]
fn batches_add_the_variance_of_their_gradients_to_the_draws() {
    let mut target = target();
    let (eta, precision, centre) = (0.05, target.posterior(), target.centre());
    for batch in [1, 4, 15] {
        let chain = values(&sgld(batch, eta), &mut target);
        let law = |variance| langevin(eta, precision, variance);
        assert!(
            agrees(&chain, &law(target.gradient_variance(batch)), centre),
            "{batch}"
        );
        assert!(!agrees(&chain, &law(0.0), centre), "{batch}");
        // With replacement, the gradients would have a larger variance.
        let corrected = 1.0 - batch as f64 / 20.0;
        let with_replacement = target.gradient_variance(batch) / corrected * (19.0 / 20.0);
        assert!(
            batch == 1 || !agrees(&chain, &law(with_replacement), centre),
            "{batch}"
        );
    }
}

#[test]
fn hamiltonian_dynamics_have_the_variance_of_their_recursion() {
    let mut target = target();
    let (eta, friction, precision, centre) = (0.02, 0.3, target.posterior(), target.centre());
    for batch in [0, 4] {
        let gradient_variance = if batch == 0 {
            0.0
        } else {
            target.gradient_variance(batch)
        };
        let chain = values(&sghmc(batch, eta, friction), &mut target);
        assert!(
            agrees(
                &chain,
                &hamiltonian(eta, friction, precision, gradient_variance),
                centre
            ),
            "{batch}"
        );
        // The test would detect a gradient or a noise that is half as large as it should be.
        assert!(
            !agrees(
                &chain,
                &hamiltonian(eta, friction, precision / 2.0, gradient_variance),
                centre
            ),
            "{batch}"
        );
        let force = eta * precision;
        let noise = friction * eta + eta * eta * gradient_variance;
        let quiet = linear(
            [[1.0, 1.0], [-force, 1.0 - friction - force]],
            [[0.0, 0.0], [0.0, noise]],
        );
        assert!(!agrees(&chain, &quiet, centre), "{batch}");
    }
}

/// The temperature divides the log likelihood, and does not change the prior.
#[test]
fn temperature_divides_the_likelihood_only() {
    let mut target = target();
    let transition = sgld(4, 0.05);
    let setup = Setup {
        transition: &transition,
        start: &[0.0],
        shards: &[12, 8],
        warmup: 200,
        draws: 40_000,
        temperature: 4.0,
        noise: ChainNoise::new(3, "tempered", 0),
    };
    let mut sampler = samplers::sampler(&setup);
    let drawn = draws(&mut *sampler, &mut target, 40_200);
    let chain: Vec<f64> = drawn[200..].iter().map(|draw| draw.position[0]).collect();
    let tempered = Mean {
        precision: 0.5 / 4.0,
        ..target
    };
    let law = langevin(0.05, tempered.posterior(), tempered.gradient_variance(4));
    assert!(agrees(&chain, &law, tempered.centre()));
}

/// The first two steps agree with a calculation by hand, and so do the rows and scales that they request.
#[test]
fn langevin_steps_follow_their_formula() {
    let transition = sgld(3, 0.05);
    let mut sampler = sampler(&transition, &[1.0, -1.0], 12, LENGTH);
    let noise = ChainNoise::new(7, "chain", 0);
    let (mut at, mut asked) = (vec![1.0, -1.0], Vec::new());
    let mut gradient = [0.0; 2];
    let mut answer = Answer::Go;
    for number in 0..3_u8 {
        match sampler.advance(answer) {
            SamplerRequest::Gradient {
                at: here,
                rows,
                scale,
            } => {
                assert_eq!((here, scale), (&at[..], 4.0));
                asked.push(rows.unwrap().to_vec());
            }
            other => panic!("{other:?}"),
        }
        gradient = [0.3 + f64::from(number), -0.7];
        let answered = Answer::Gradient {
            log_density: -1.5,
            gradient: &gradient,
        };
        answer = if number == 0 {
            answered
        } else {
            match sampler.advance(answered) {
                SamplerRequest::Draw(draw) => {
                    assert_eq!((draw.position, draw.warmup), (&at[..], true));
                    let norm = (gradient[0] * gradient[0] + 0.49).sqrt();
                    assert_eq!(draw.stats, [-1.5, 0.05, norm, 3.0, 0.0]);
                }
                other => panic!("{other:?}"),
            }
            Answer::Go
        };
        let mut normals = [0.0; 2];
        noise.normals(Purpose::Motion, u64::from(number), &mut normals);
        for element in 0..2 {
            at[element] += 0.05 * gradient[element] + 0.1_f64.sqrt() * normals[element];
        }
    }
    assert!(gradient[0] > 2.0);
    assert!(asked.iter().all(|rows| rows.len() == 3) && asked[0] != asked[1] && asked[1] != asked[2]);
}

/// Three iterations of second-order dynamics agree with a calculation by hand. In the second iteration the gradient is not finite, so the velocity
/// is reversed.
#[test]
fn hamiltonian_steps_follow_their_formula() {
    let (eta, friction) = (0.05, 0.2);
    let mut sampler = sampler(&sghmc(0, eta, friction), &[1.0], 12, LENGTH);
    let noise = ChainNoise::new(7, "chain", 0);
    let (mut position, mut velocity) = (1.0, 0.0);
    for (iteration, slope) in [(0, 0.3), (1, f64::NAN), (2, -0.7), (3, 0.1)] {
        let candidate = position + velocity;
        match sampler.advance(Answer::Go) {
            SamplerRequest::Gradient { at, rows, scale } => {
                assert_eq!((at, rows, scale), (&[candidate][..], None, 1.0))
            }
            other => panic!("{other:?}"),
        }
        let mut normals = [0.0];
        noise.normals(Purpose::Motion, iteration, &mut normals);
        let random = (2.0 * friction * eta).sqrt() * normals[0];
        if slope.is_nan() {
            velocity = -(1.0 - friction) * velocity + random;
        } else {
            position = candidate;
            velocity = (1.0 - friction) * velocity + eta * slope + random;
        }
        let answer = Answer::Gradient {
            log_density: -1.0,
            gradient: &[slope],
        };
        match sampler.advance(answer) {
            SamplerRequest::Draw(draw) => assert_eq!(
                (draw.position, draw.stats[4] == 1.0),
                (&[position][..], slope.is_nan())
            ),
            other => panic!("{other:?}"),
        }
    }
}

/// The density can be computed at every draw. If a move leads to a point where it cannot be computed, the draw is flagged as diverging.
#[test]
fn draws_are_points_with_a_density() {
    for transition in [sgld(0, 0.3), sghmc(0, 0.1, 0.3)] {
        for failure in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
            let mut half = Density(|at: &[f64], gradient: &mut [f64]| {
                assert!(at[0].is_finite());
                gradient[0] = if at[0] > 0.0 { -1.0 } else { failure };
                if at[0] > 0.0 { -at[0] } else { failure }
            });
            let mut sampler = sampler(&transition, &[1.0], 1, LENGTH);
            let drawn = draws(&mut *sampler, &mut half, 3000);
            let diverging = stat(&*sampler, &drawn, "diverging");
            assert!(
                drawn
                    .iter()
                    .all(|draw| draw.position[0] > 0.0 && draw.stats.iter().all(|stat| stat.is_finite()))
            );
            for (at, pair) in drawn.windows(2).enumerate() {
                assert_eq!(pair[0].position == pair[1].position, diverging[at + 1] == 1.0);
            }
            let count = diverging.iter().sum::<f64>();
            assert!((30.0..2000.0).contains(&count), "{count}");
        }
    }
}

/// If a large step makes a position overflow, the position is rejected, and its log density and gradient are never requested.
#[test]
fn overflowing_positions_are_rejected() {
    for transition in [sgld(0, 1e300), sghmc(0, 1e300, 0.3)] {
        let mut steep = Density(|at: &[f64], gradient: &mut [f64]| {
            assert!(at[0].is_finite());
            gradient[0] = -1e100 * at[0].signum();
            -at[0].abs()
        });
        let mut sampler = sampler(&transition, &[1.0], 1, LENGTH);
        let drawn = draws(&mut *sampler, &mut steep, 100);
        assert!(drawn.iter().all(|draw| draw.position[0].is_finite()));
        assert!(stat(&*sampler, &drawn, "diverging").contains(&1.0));
    }
}

/// A mixture of two equally likely normal distributions around -4 and 4, with standard deviation 1.
fn mixture() -> Density<impl FnMut(&[f64], &mut [f64]) -> f64> {
    Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = 4.0 * (4.0 * at[0]).tanh() - at[0];
        -0.5 * at[0] * at[0] - 8.0 + (4.0 * at[0].abs()) + (-8.0 * at[0].abs()).exp().ln_1p()
    })
}

/// Large steps move the chain between modes, and small steps sample a mode. Therefore, a chain with cyclical step sizes visits both modes, and a
/// chain with only small steps does not.
#[test]
fn cyclical_steps_visit_both_modes() {
    let length = Length {
        warmup: 0,
        draws: 8000,
    };
    let cyclical = Transition::Sgld(SgldOptions {
        batch: 0,
        step_size: 1.5,
        schedule: Steps::Cyclical {
            cycles: 100,
            exploration: 0.25,
        },
    });
    let run =
        |transition: &Transition| draws(&mut *sampler(transition, &[3.0], 1, length), &mut mixture(), 8000);
    let drawn = run(&cyclical);
    assert!(
        drawn
            .iter()
            .enumerate()
            .all(|(at, draw)| draw.warmup == (at % 80 < 20))
    );
    let last: Vec<f64> = drawn
        .iter()
        .skip(79)
        .step_by(80)
        .map(|draw| draw.position[0])
        .collect();
    let right = last.iter().filter(|value| **value > 0.0).count();
    // The chain chooses a mode a hundred times, and the choices are nearly independent. The bounds are five standard deviations from 50.
    assert!((25..=75).contains(&right), "{right}");
    // If the step size stayed large, about ten of the last draws of the cycles would be far from both modes.
    assert!(
        last.iter()
            .filter(|value| (value.abs() - 4.0).abs() > 3.0)
            .count()
            <= 3
    );
    assert!(run(&sgld(0, 0.01)).iter().all(|draw| draw.position[0] > 0.0));
}

/// With both dynamics, the first four iterations do not have noise, and agree with a calculation by hand. Later iterations have
/// noise.
#[test]
fn exploration_steps_have_no_noise() {
    let (batch, step_size) = (0, 0.1);
    let schedule = Steps::Cyclical {
        cycles: 1,
        exploration: 0.5,
    };
    let sgld = Transition::Sgld(SgldOptions {
        batch,
        step_size,
        schedule,
    });
    let sghmc = Transition::Sghmc(SghmcOptions {
        batch,
        step_size,
        friction: 0.2,
        schedule,
    });
    for (transition, keep) in [(sgld, 0.0), (sghmc, 0.8)] {
        let mut normal = Density(|at: &[f64], gradient: &mut [f64]| {
            gradient[0] = -at[0];
            -0.5 * at[0] * at[0]
        });
        let length = Length { warmup: 0, draws: 8 };
        let mut sampler = sampler(&transition, &[2.0], 1, length);
        let drawn = draws(&mut *sampler, &mut normal, 8);
        let steps = stat(&*sampler, &drawn, "step_size");
        let (mut position, mut velocity) = (2.0, 0.0);
        for (at, (draw, step)) in drawn.iter().zip(steps).take(6).enumerate() {
            // First-order dynamics move along the gradient at the position. Second-order dynamics move by the current velocity.
            if keep == 0.0 {
                position -= step * position;
            } else {
                position += velocity;
                velocity = keep * velocity - step * position;
            }
            let noisy = (draw.position[0] - position).abs() > 1e-14;
            // Noise in the velocity changes the position only one iteration later.
            assert_eq!(noisy, at >= if keep == 0.0 { 4 } else { 5 });
            assert_eq!(draw.warmup, at < 4);
        }
    }
}

#[test]
fn chains_resume_bit_by_bit() {
    let schedule = Steps::Polynomial { b: 10.0, gamma: 0.6 };
    let polynomial = Transition::Sgld(SgldOptions {
        batch: 5,
        step_size: 0.01,
        schedule,
    });
    for transition in [sgld(0, 0.02), polynomial, sghmc(7, 0.01, 0.2)] {
        let data: Vec<f64> = (0..20).map(|row| f64::from(row).cos()).collect();
        chains::resumes(&transition, &mut Pair(data), 20);
    }
    let bytes = {
        let mut sampler = sampler(&sgld(0, 0.1), &[0.0], 1, LENGTH);
        draws(&mut *sampler, &mut mixture(), 1);
        sampler.save()
    };
    assert!(
        sampler(&sghmc(0, 0.1, 0.2), &[0.0], 1, LENGTH)
            .restore(&bytes)
            .is_err()
    );
}

/// The model of a straight line with noisy observations.
struct Pair(Vec<f64>);

impl bnnc_mcmc::seam::Target for Pair {
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64 {
        let all: Vec<u32> = (0..self.0.len() as u32).collect();
        gradient.copy_from_slice(&[-at[0], -at[1]]);
        let mut log = -0.5 * (at[0] * at[0] + at[1] * at[1]);
        for row in rows.unwrap_or(&all) {
            let place = f64::from(*row) / 10.0;
            let rest = self.0[*row as usize] - at[0] - at[1] * place;
            log -= scale * 0.5 * rest * rest;
            gradient[0] += scale * rest;
            gradient[1] += scale * rest * place;
        }
        log
    }

    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64 {
        self.gradient(at, rows, scale, &mut [0.0; 2])
    }

    fn differences(&mut self, _: &[f64], _: &[f64], _: &[u32], _: &[usize], _: &mut [f64]) -> f64 {
        unreachable!("not asked here")
    }
}
