//! Tests cyclical step sizes.

use crate::chains::{Density, Length, draws, sampler, stat};
use crate::{mixture, sgld};
use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Steps, Transition};

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
