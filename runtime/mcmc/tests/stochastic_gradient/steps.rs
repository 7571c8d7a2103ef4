//! Tests single steps, and chains that are resumed.

use crate::chains::{self, Density, draws, sampler, stat};
use crate::{LENGTH, mixture, sghmc, sgld};
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Steps, Transition};
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::seam::{Answer, SamplerRequest};

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
