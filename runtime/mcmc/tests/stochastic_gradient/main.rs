//! Stochastic-gradient samplers on normal targets agree with the exact stationary distributions of their recursions.

#![allow(clippy::unwrap_used)]

#[path = "../chains/mod.rs"]
mod chains;

mod cycles;
mod stationary;
mod steps;

use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use bnnc_abi::methods::sampling::{Steps, Transition};
use chains::{Density, Length};

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

const LENGTH: Length = Length {
    warmup: 200,
    draws: 40_000,
};

/// A mixture of two equally likely normal distributions around -4 and 4, with standard deviation 1.
fn mixture() -> Density<impl FnMut(&[f64], &mut [f64]) -> f64> {
    Density(|at: &[f64], gradient: &mut [f64]| {
        gradient[0] = 4.0 * (4.0 * at[0]).tanh() - at[0];
        -0.5 * at[0] * at[0] - 8.0 + (4.0 * at[0].abs()) + (-8.0 * at[0].abs()).exp().ln_1p()
    })
}
