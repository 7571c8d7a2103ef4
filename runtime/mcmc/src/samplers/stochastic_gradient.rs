//! Stochastic-gradient Langevin dynamics and stochastic-gradient Hamiltonian Monte Carlo: each step follows the gradient of a batch, and
//! is never rejected by an acceptance step.
//!
//! Note \[Dynamics\]. Let `g` be an unbiased estimate of the gradient of the log density, and `e` standard normal numbers. The two
//! recursions are:
//! - Langevin (Welling and Teh 2011, equation 4, with `eta` half of their step size): `theta' = theta + eta g(theta) + sqrt(2 eta) e`;
//! - Hamiltonian (Chen, Fox and Guestrin 2014, equation 15, with `beta = 0`): `theta' = theta + v`,
//!   `v' = (1 - alpha) v + eta g(theta') + sqrt(2 alpha eta) e`.
//!
//! In both recursions, the gradient at a new position is computed before the position becomes a draw. If this gradient is not finite, the
//! chain stays at its previous position. The density can therefore be computed at every draw.

use crate::noise::{ChainNoise, Purpose};
use crate::rows::GradientRows;
use crate::saved;
use crate::schedule::{ScheduledStep, StepSizeSchedule};
use crate::seam::{Answer, Corrupt, Draw, Sampler, SamplerRequest};
use crate::setup::Setup;
use bnnc_abi::methods::sampling::samplers::sghmc::SghmcOptions;
use bnnc_abi::methods::sampling::samplers::sgld::SgldOptions;
use serde::{Deserialize, Serialize};

/// The dynamics: see Note \[Dynamics\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dynamics {
    /// First-order (Langevin) dynamics. They do not have a velocity.
    Langevin,
    /// Second-order (Hamiltonian) dynamics. They have a velocity.
    Hamiltonian {
        /// The fraction of the velocity that is lost in each iteration.
        friction: f64,
    },
}

impl Dynamics {
    fn kind(self) -> &'static str {
        match self {
            Dynamics::Langevin => "sgld",
            Dynamics::Hamiltonian { .. } => "sghmc",
        }
    }
}

/// A chain with Langevin or Hamiltonian dynamics.
pub struct StochasticGradient {
    dynamics: Dynamics,
    schedule: StepSizeSchedule,
    rows: GradientRows,
    /// The factor of the sum over the rows of a batch.
    scale: f64,
    warmup: u64,
    noise: ChainNoise,
    state: State,
    /// True if the sampler waits for the gradient at the start of the chain. The first step needs this gradient, but receiving it does
    /// not end an iteration.
    first: bool,
    /// The position where the gradient is requested next.
    candidate: Vec<f64>,
    normals: Vec<f64>,
    stats: [f64; STATS.len()],
}

/// The state that is saved and restored. It determines all later iterations.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct State {
    /// The number of complete iterations.
    iteration: u64,
    position: Vec<f64>,
    /// The gradient at the position, for first-order dynamics. The velocity, for second-order dynamics.
    motion: Vec<f64>,
    /// The log density at the position, estimated from the same batch as the gradient.
    log_density: f64,
    /// The norm of the gradient at the position.
    gradient_norm: f64,
}

/// Creates a chain with Langevin dynamics.
pub fn sgld(setup: &Setup<'_>, options: &SgldOptions) -> StochasticGradient {
    StochasticGradient::new(setup, Dynamics::Langevin, options)
}

/// Creates a chain with Hamiltonian dynamics.
pub fn sghmc(setup: &Setup<'_>, options: &SghmcOptions) -> StochasticGradient {
    let friction = options.friction;
    let gradients = SgldOptions {
        batch: options.batch,
        step_size: options.step_size,
        schedule: options.schedule,
    };
    StochasticGradient::new(setup, Dynamics::Hamiltonian { friction }, &gradients)
}

/// The names of the statistics that accompany a draw. `lp` is estimated from the batch; it is exact if the batch contains all rows.
const STATS: [&str; 5] = ["lp", "step_size", "gradient_norm", "n_rows", "diverging"];

impl StochasticGradient {
    /// Creates a chain that starts at `setup.start` with zero velocity.
    fn new(setup: &Setup<'_>, dynamics: Dynamics, options: &SgldOptions) -> StochasticGradient {
        let rows = GradientRows::new(options.batch, setup.rows());
        StochasticGradient {
            dynamics,
            schedule: StepSizeSchedule::new(options.schedule, options.step_size, setup.warmup + setup.draws),
            scale: rows.factor() / setup.temperature,
            rows,
            warmup: setup.warmup as u64,
            noise: setup.noise,
            state: State {
                iteration: 0,
                position: setup.start.to_vec(),
                motion: vec![0.0; setup.start.len()],
                log_density: f64::NEG_INFINITY,
                gradient_norm: 0.0,
            },
            first: dynamics == Dynamics::Langevin,
            candidate: setup.start.to_vec(),
            normals: vec![0.0; setup.start.len()],
            stats: [0.0; STATS.len()],
        }
    }

    /// Requests the gradient at the candidate. The rows of the batch depend on the index of the draw that the candidate will become.
    fn ask(&mut self) -> SamplerRequest<'_> {
        let number = if self.first { 0 } else { self.state.iteration + 1 };
        self.rows.choose(self.noise, number);
        SamplerRequest::Gradient {
            at: &self.candidate,
            rows: self.rows.rows(),
            scale: self.scale,
        }
    }

    /// Fills `normals` with the noise of a step, or with zeros if the step only explores.
    fn draw_normals(&mut self, step: ScheduledStep) {
        if step.explores {
            self.normals.fill(0.0);
        } else {
            self.noise
                .normals(Purpose::Motion, self.state.iteration, &mut self.normals);
        }
    }

    /// Computes the candidate from the position.
    fn propose(&mut self) {
        let step = self.schedule.at(self.state.iteration);
        match self.dynamics {
            Dynamics::Langevin => {
                self.draw_normals(step);
                let scale = (2.0 * step.size).sqrt();
                let from = self
                    .state
                    .position
                    .iter()
                    .zip(&self.state.motion)
                    .zip(&self.normals);
                for (to, ((position, gradient), normal)) in self.candidate.iter_mut().zip(from) {
                    *to = position + step.size * gradient + scale * normal;
                }
            }
            Dynamics::Hamiltonian { .. } => {
                let from = self.state.position.iter().zip(&self.state.motion);
                for (to, (position, velocity)) in self.candidate.iter_mut().zip(from) {
                    *to = position + velocity;
                }
            }
        }
    }

    /// Moves to the candidate if its log density and gradient are finite, and updates the gradient or the velocity.
    fn learn(&mut self, known: Option<Known<'_>>) {
        if let Some(known) = known {
            self.state.position.copy_from_slice(&self.candidate);
            self.state.log_density = known.log_density;
            self.state.gradient_norm = known.norm;
        }
        match (self.dynamics, known) {
            (Dynamics::Langevin, Some(known)) => self.state.motion.copy_from_slice(known.gradient),
            // The chain has not moved. The next step uses the same gradient with different noise.
            (Dynamics::Langevin, None) => {}
            (Dynamics::Hamiltonian { friction }, known) => {
                self.turn(friction, known.map(|known| known.gradient))
            }
        }
    }

    /// Updates the velocity. If `gradient` is `None`, the chain has not moved, and the velocity is reversed.
    fn turn(&mut self, friction: f64, gradient: Option<&[f64]>) {
        let step = self.schedule.at(self.state.iteration);
        self.draw_normals(step);
        let scale = (2.0 * friction * step.size).sqrt();
        let keep = if gradient.is_some() {
            1.0 - friction
        } else {
            friction - 1.0
        };
        for (at, velocity) in self.state.motion.iter_mut().enumerate() {
            let force = gradient.map_or(0.0, |gradient| step.size * gradient[at]);
            *velocity = keep * *velocity + force + scale * self.normals[at];
        }
    }

    /// Ends an iteration, and returns its draw.
    fn complete(&mut self, diverging: bool) -> SamplerRequest<'_> {
        let step = self.schedule.at(self.state.iteration);
        let warmup = self.state.iteration < self.warmup || step.explores;
        self.state.iteration += 1;
        self.stats = [
            self.state.log_density,
            step.size,
            self.state.gradient_norm,
            self.rows.count() as f64,
            f64::from(u8::from(diverging)),
        ];
        SamplerRequest::Draw(Draw {
            position: &self.state.position,
            warmup,
            stats: &self.stats,
        })
    }

    /// Proposes a candidate, and requests its gradient. A candidate with an element that is not finite is rejected without requesting its
    /// gradient.
    fn go(&mut self) -> SamplerRequest<'_> {
        self.propose();
        if self.candidate.iter().all(|value| value.is_finite()) {
            self.ask()
        } else {
            self.learn(None);
            self.complete(true)
        }
    }
}

/// The log density and the gradient at a candidate. All of these numbers are finite.
#[derive(Clone, Copy)]
struct Known<'a> {
    log_density: f64,
    gradient: &'a [f64],
    norm: f64,
}

impl<'a> Known<'a> {
    /// Returns `None` if the log density or an element of the gradient is not finite.
    fn new(log_density: f64, gradient: &'a [f64]) -> Option<Known<'a>> {
        let norm = gradient.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
        (log_density.is_finite() && norm.is_finite()).then_some(Known {
            log_density,
            gradient,
            norm,
        })
    }
}

impl Sampler for StochasticGradient {
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_> {
        match answer {
            Answer::Go if self.first => self.ask(),
            Answer::Go => self.go(),
            Answer::Gradient {
                log_density,
                gradient,
            } => {
                let known = Known::new(log_density, gradient);
                self.learn(known);
                if self.first {
                    self.first = false;
                    self.go()
                } else {
                    self.complete(known.is_none())
                }
            }
            Answer::Value(_) | Answer::Differences { .. } => unreachable!("gradients alone are asked for"),
        }
    }

    fn stats(&self) -> &'static [&'static str] {
        &STATS
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self.dynamics.kind(), &self.state)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt> {
        let state: State = saved::read(self.dynamics.kind(), bytes)?;
        let dimension = self.candidate.len();
        if state.position.len() != dimension || state.motion.len() != dimension {
            return Err(Corrupt);
        }
        self.state = state;
        self.first = false;
        Ok(())
    }
}
