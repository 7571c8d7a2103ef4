//! Metropolis-Hastings chains that use all rows in every iteration, with random-walk or Langevin proposals.
//!
//! Note \[Proposals\]. Let `L L'` be the inverse mass matrix of Note \[Whitening\] ([`crate::adapt::metric`]), `g` the gradient of the log density,
//! and `e` standard normal numbers. The proposal is `theta' = theta + L m` with `m = eta L' g + sqrt(2 eta) e`. For a random walk, `g` is replaced
//! by 0. The forward move has `e = (m - eta L' g) / sqrt(2 eta)`, and the reverse move has `e = (-m - eta L' g') / sqrt(2 eta)`. The difference of
//! their log densities is therefore `log q(theta | theta') - log q(theta' | theta) = -m.(L' g + L' g') / 2 - eta (|L' g'|^2 - |L' g|^2) / 4`.

pub mod step_size;

use crate::adapt::{Change, Warmup};
use crate::noise::{ChainNoise, Purpose};
use crate::saved;
use crate::seam::{Answer, Corrupt, Draw, Sampler, SamplerRequest};
use crate::setup::Setup;
use crate::vector::dot;
use bnnc_abi::methods::sampling::Adaptation;
use bnnc_abi::methods::sampling::samplers::mala::MalaOptions;
use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use serde::{Deserialize, Serialize};
use step_size::StepSize;

/// The drift of the proposal: see Note \[Proposals\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// The proposal is a random walk, without a drift.
    None,
    /// The drift follows the gradient: the chain is a Metropolis-adjusted Langevin algorithm (MALA).
    Gradient,
}

impl Drift {
    fn kind(self) -> &'static str {
        match self {
            Drift::None => "random_walk",
            Drift::Gradient => "mala",
        }
    }

    /// Returns the initial step size of the adaptation. This step size is optimal on a round target with many dimensions `d` (Roberts and
    /// Rosenthal 2001). The step size is `l^2 d^-1 / 2` with `l = 2.38` for a random walk, and `l^2 d^(-1/3) / 2` with `l = 1.65` for proposals
    /// along the gradient.
    fn step_size(self, dimension: usize) -> f64 {
        let dimension = dimension.max(1) as f64;
        match self {
            Drift::None => 0.5 * 2.38 * 2.38 / dimension,
            Drift::Gradient => 0.5 * 1.65 * 1.65 / dimension.cbrt(),
        }
    }
}

/// A Metropolis-Hastings chain with either kind of proposal.
pub struct Metropolis {
    drift: Drift,
    adaptation: Adaptation,
    /// The factor of the log likelihood.
    scale: f64,
    noise: ChainNoise,
    state: State,
    /// True if the sampler waits for the density at the start of the chain. Receiving this density does not end an iteration.
    first: bool,
    candidate: Vec<f64>,
    /// The vector `m` of the proposal: see Note \[Proposals\].
    motion: Vec<f64>,
    /// `L' g` at the position, and `L' g'` at the candidate: see Note \[Proposals\].
    pulled: [Vec<f64>; 2],
    stats: [f64; STATS.len()],
}

/// The state that is saved and restored. It determines all later iterations.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct State {
    /// The number of complete iterations.
    iteration: u64,
    position: Vec<f64>,
    log_density: f64,
    /// The gradient at the position. It is zero for a random walk.
    gradient: Vec<f64>,
    /// The warm-up that adapts the metric. The step size is adapted by `step`.
    warmup: Warmup,
    step: StepSize,
}

/// Creates a chain whose proposals have a drift along the gradient.
pub fn mala(setup: &Setup<'_>, options: &MalaOptions) -> Metropolis {
    Metropolis::new(setup, Drift::Gradient, &options.0)
}

/// Creates a chain whose proposals are a random walk.
pub fn random_walk(setup: &Setup<'_>, options: &RandomWalkOptions) -> Metropolis {
    Metropolis::new(setup, Drift::None, &options.0)
}

const STATS: [&str; 4] = ["lp", "acceptance_rate", "step_size", "diverging"];

impl Metropolis {
    /// Creates a chain that starts at `setup.start`.
    fn new(setup: &Setup<'_>, drift: Drift, adaptation: &Adaptation) -> Metropolis {
        let dimension = setup.start.len();
        let zeros = || vec![0.0; dimension];
        Metropolis {
            drift,
            adaptation: *adaptation,
            scale: 1.0 / setup.temperature,
            noise: setup.noise,
            state: State {
                iteration: 0,
                position: setup.start.to_vec(),
                log_density: f64::NEG_INFINITY,
                gradient: zeros(),
                warmup: Warmup::new(adaptation, dimension, setup.warmup),
                step: StepSize::new(adaptation.target_acceptance, drift.step_size(dimension)),
            },
            first: true,
            candidate: setup.start.to_vec(),
            motion: zeros(),
            pulled: [zeros(), zeros()],
            stats: [0.0; STATS.len()],
        }
    }

    /// Returns the step size of the current iteration.
    fn step_size(&self) -> f64 {
        match self.adaptation.step_size {
            Some(step_size) => step_size,
            None if self.state.warmup.active() => self.state.step.current(),
            None => self.state.step.mean(),
        }
    }

    fn ask(&self) -> SamplerRequest<'_> {
        let (at, rows, scale) = (&self.candidate[..], None, self.scale);
        match self.drift {
            Drift::None => SamplerRequest::Value { at, rows, scale },
            Drift::Gradient => SamplerRequest::Gradient { at, rows, scale },
        }
    }

    /// Begins an iteration. A proposal with an element that is not finite is rejected without requesting its log density.
    fn go(&mut self) -> SamplerRequest<'_> {
        self.propose();
        if self.candidate.iter().all(|value| value.is_finite()) {
            self.ask()
        } else {
            self.decide(None)
        }
    }

    fn propose(&mut self) {
        let step_size = self.step_size();
        self.noise
            .normals(Purpose::Motion, self.state.iteration, &mut self.motion);
        let scale = (2.0 * step_size).sqrt();
        let whitening = self.state.warmup.whitening();
        match self.drift {
            Drift::None => self.motion.iter_mut().for_each(|normal| *normal *= scale),
            Drift::Gradient => {
                let [pulled, _] = &mut self.pulled;
                whitening.pull(pulled, &self.state.gradient);
                for (motion, slope) in self.motion.iter_mut().zip(pulled) {
                    *motion = step_size * *slope + scale * *motion;
                }
            }
        }
        whitening.drift(&mut self.candidate, &self.state.position, 1.0, &self.motion);
    }

    /// Returns `log q(theta | theta') - log q(theta' | theta)`, given the gradient at the candidate.
    fn proposal_ratio(&mut self, gradient: &[f64]) -> f64 {
        let [before, after] = &mut self.pulled;
        self.state.warmup.whitening().pull(after, gradient);
        let along = dot(&self.motion, before) + dot(&self.motion, after);
        let growth = dot(after, after) - dot(before, before);
        -0.5 * along - 0.25 * self.step_size() * growth
    }

    /// Accepts or rejects the candidate, and ends the iteration.
    fn decide(&mut self, known: Option<Known<'_>>) -> SamplerRequest<'_> {
        let log_ratio = match known {
            Some(Known {
                log_density,
                gradient,
            }) => {
                log_density - self.state.log_density
                    + gradient.map_or(0.0, |there| self.proposal_ratio(there))
            }
            None => f64::NEG_INFINITY,
        };
        // An overflow can make the log ratio NaN. The proposal is then rejected.
        let acceptance = if log_ratio >= 0.0 {
            1.0
        } else {
            log_ratio.exp().max(0.0)
        };
        let accepted = self.noise.uniform(Purpose::Accept, self.state.iteration, 0) < acceptance;
        if let Some(known) = known.filter(|_| accepted) {
            self.settle(known);
        }
        let (warmup, step_size) = (self.state.warmup.active(), self.step_size());
        self.state.iteration += 1;
        if warmup {
            self.learn(acceptance);
        }
        self.stats = [
            self.state.log_density,
            acceptance,
            step_size,
            f64::from(u8::from(known.is_none())),
        ];
        SamplerRequest::Draw(Draw {
            position: &self.state.position,
            warmup,
            stats: &self.stats,
        })
    }

    /// Adapts the step size and the metric after an iteration of the warm-up. If the metric has changed, restarts the adaptation of the step size,
    /// because the old step size does not fit the new metric.
    fn learn(&mut self, acceptance: f64) {
        self.state.step.learn(acceptance);
        if self.state.warmup.learn(acceptance, &self.state.position, None) == Change::Order {
            let start = self.drift.step_size(self.candidate.len());
            self.state.step = StepSize::new(self.adaptation.target_acceptance, start);
        }
    }

    /// Makes the candidate the current position.
    fn settle(&mut self, known: Known<'_>) {
        self.state.position.copy_from_slice(&self.candidate);
        self.state.log_density = known.log_density;
        if let Some(gradient) = known.gradient {
            self.state.gradient.copy_from_slice(gradient);
        }
    }
}

/// The log density and the gradient at a candidate. All of these numbers are finite.
#[derive(Clone, Copy)]
struct Known<'a> {
    log_density: f64,
    /// The gradient; `None` if the proposal does not use it.
    gradient: Option<&'a [f64]>,
}

impl<'a> Known<'a> {
    /// Returns `None` if the log density or an element of the gradient is not finite.
    fn new(log_density: f64, gradient: Option<&'a [f64]>) -> Option<Known<'a>> {
        let finite = gradient.is_none_or(|gradient| gradient.iter().all(|slope| slope.is_finite()));
        (log_density.is_finite() && finite).then_some(Known {
            log_density,
            gradient,
        })
    }
}

impl Sampler for Metropolis {
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_> {
        let known = match answer {
            Answer::Go if self.first => return self.ask(),
            Answer::Go => return self.go(),
            Answer::Gradient {
                log_density,
                gradient,
            } => Known::new(log_density, Some(gradient)),
            Answer::Value(log_density) => Known::new(log_density, None),
            Answer::Differences { .. } => unreachable!("differences are not asked for"),
        };
        if !self.first {
            return self.decide(known);
        }
        self.first = false;
        if let Some(known) = known {
            self.settle(known);
        }
        self.go()
    }

    fn stats(&self) -> &'static [&'static str] {
        &STATS
    }

    fn inverse_metric(&self) -> Vec<f64> {
        self.state.warmup.whitening().inverse_metric()
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self.drift.kind(), &self.state)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt> {
        let state: State = saved::read(self.drift.kind(), bytes)?;
        let dimension = self.candidate.len();
        let lengths = [state.position.len(), state.gradient.len()];
        if lengths != [dimension; 2] || !state.warmup.fits(dimension) {
            return Err(Corrupt);
        }
        self.state = state;
        self.first = false;
        Ok(())
    }
}
