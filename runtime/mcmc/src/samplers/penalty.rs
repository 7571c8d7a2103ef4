//! Metropolis sampling on mini-batches with the penalty method. The method is due to Ceperley and Dewing (1999), and was applied to neural networks
//! by Kawasaki, Holzmann and Adu-Gyamfi (2022).
//!
//! The acceptance probability of a proposal depends on the change of the loss. This change is estimated from a few batches instead of all rows. The
//! noise of the estimate increases the mean acceptance. A penalty, computed from the estimated variance of the change, reduces the acceptance by the
//! same amount. If `d` is the estimated change of the loss and `u` is the penalty, the acceptance probability is
//! `min(1, q(back) / q(forth) exp(-d - u))`.

pub mod correction;
pub mod estimate;
pub mod report;

use crate::noise::{ChainNoise, Purpose};
use crate::rows::{Batches, Chooser, split};
use crate::saved;
use crate::seam::{Answer, Corrupt, Draw, Sampler, SamplerRequest};
use crate::setup::Setup;
use bnnc_abi::methods::sampling::samplers::penalty::{Penalty, Proposal};
use estimate::{Losses, NoisyDifference, power};

/// The names of the statistics that accompany a draw. `delta` is the estimated change of the loss, and `delta_variance` is the estimated variance of
/// `delta`. Both are 0 if the density cannot be computed (`diverging`).
pub const STATS: [&str; 6] = [
    "acceptance_rate",
    "accepted",
    "delta",
    "delta_variance",
    "diverging",
    "step_size",
];

/// A chain of the penalty method.
///
/// Note \[Batches of gradients\]. The forward and the reverse proposal use gradients on the same rows. These rows are chosen independently of the
/// rows that are used to estimate the loss difference. Once the rows of the gradient are fixed, the proposal is therefore an ordinary proposal, and
/// the noise of the loss difference does not depend on it.
#[derive(Clone, Debug)]
pub struct PenaltyMethod {
    noise: ChainNoise,
    warmup: u64,
    step: f64,
    losses: Losses,
    gradients: Option<Gradients>,
    /// The index of the iteration in progress, or of the next iteration.
    iteration: u64,
    stage: Stage,
    position: Vec<f64>,
    proposal: Vec<f64>,
    /// The random part of the step, `sqrt(2 eta) noise`.
    motion: Vec<f64>,
    /// The gradient of the log density before the step, times `eta`.
    drift: Vec<f64>,
    /// `log q(back) - log q(forth)`: the log density of the reverse proposal, minus the log density of the
    /// forward proposal.
    ratio: f64,
    stats: [f64; STATS.len()],
}

/// The last request. The chain waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Draw,
    GradientBefore,
    GradientAfter,
    Differences,
}

/// Chooses the rows whose gradient determines the proposal.
#[derive(Clone, Debug)]
struct Gradients {
    /// The chooser of the rows; `None` if all rows are used.
    chooser: Option<Chooser>,
    chosen: Batches,
    scale: f64,
}

impl Gradients {
    fn new(setup: &Setup<'_>, options: &Penalty) -> Gradients {
        let rows = setup.rows();
        let batch = if options.gradient_batch == 0 {
            options.batch
        } else {
            options.gradient_batch
        };
        let power = power(options, rows, setup.temperature);
        if batch == 0 || batch >= rows {
            return Gradients {
                chooser: None,
                chosen: Batches::default(),
                scale: power,
            };
        }
        let chooser = Chooser::new(setup.shards, &split(batch, setup.shards), options.replacement);
        Gradients {
            scale: power * rows as f64 / chooser.batch() as f64,
            chooser: Some(chooser),
            chosen: Batches::default(),
        }
    }

    fn choose(&mut self, noise: ChainNoise, iteration: u64) {
        if let Some(chooser) = &mut self.chooser {
            chooser.choose(noise, Purpose::GradientRows, iteration, 1, &mut self.chosen);
        }
    }

    fn request<'a>(&'a self, at: &'a [f64]) -> SamplerRequest<'a> {
        SamplerRequest::Gradient {
            at,
            rows: self.chooser.as_ref().map(|_| &self.chosen.rows[..]),
            scale: self.scale,
        }
    }
}

impl PenaltyMethod {
    /// Creates a chain that starts at `setup.start`. The caller must have validated the options with [`bnnc_abi::methods::sampling::SamplerPart::check`].
    pub fn new(setup: &Setup<'_>, options: &Penalty) -> PenaltyMethod {
        let (step, gradients) = match options.proposal {
            Proposal::RandomWalk { step } => (step, None),
            Proposal::Langevin { step } => (step, Some(Gradients::new(setup, options))),
        };
        let zeros = vec![0.0; setup.start.len()];
        PenaltyMethod {
            noise: setup.noise,
            warmup: setup.warmup as u64,
            step,
            losses: Losses::new(options, setup.shards, setup.temperature),
            gradients,
            iteration: 0,
            stage: Stage::Draw,
            position: setup.start.to_vec(),
            proposal: zeros.clone(),
            motion: zeros.clone(),
            drift: zeros,
            ratio: 0.0,
            stats: [0.0; STATS.len()],
        }
    }

    /// Begins an iteration.
    fn begin(&mut self) -> SamplerRequest<'_> {
        self.noise
            .normals(Purpose::Motion, self.iteration, &mut self.motion);
        let scale = (2.0 * self.step).sqrt();
        self.motion.iter_mut().for_each(|value| *value *= scale);
        self.ratio = 0.0;
        if let Some(gradients) = &mut self.gradients {
            gradients.choose(self.noise, self.iteration);
            return self.ask_gradient(Stage::GradientBefore);
        }
        for ((to, from), motion) in self.proposal.iter_mut().zip(&self.position).zip(&self.motion) {
            *to = from + motion;
        }
        self.ask_differences()
    }

    /// Requests the gradient at the position or at the proposal, depending on `stage`.
    fn ask_gradient(&mut self, stage: Stage) -> SamplerRequest<'_> {
        self.stage = stage;
        let at = if stage == Stage::GradientBefore {
            &self.position
        } else {
            &self.proposal
        };
        match &self.gradients {
            Some(gradients) => gradients.request(at),
            None => unreachable!("a random walk asks for no gradient"),
        }
    }

    fn ask_differences(&mut self) -> SamplerRequest<'_> {
        self.stage = Stage::Differences;
        let batches = self.losses.choose(self.noise, self.iteration);
        SamplerRequest::Differences {
            from: &self.position,
            to: &self.proposal,
            rows: &batches.rows,
            ends: &batches.ends,
        }
    }

    /// Makes a proposal from the gradient at the current position.
    fn drift(&mut self, gradient: &[f64]) -> SamplerRequest<'_> {
        if !gradient.iter().all(|value| value.is_finite()) {
            return self.settle(None);
        }
        for (at, slope) in gradient.iter().enumerate() {
            self.drift[at] = self.step * slope;
            self.proposal[at] = self.position[at] + self.drift[at] + self.motion[at];
        }
        self.ask_gradient(Stage::GradientAfter)
    }

    /// Computes the log density of the reverse proposal minus the log density of the forward proposal, from the gradient at the proposal.
    /// The result is `-(|s + r|^2 - |r|^2) / (4 eta)`, where `s` is the sum of both drifts and `r` is the random part of the step.
    fn weigh(&mut self, gradient: &[f64]) -> SamplerRequest<'_> {
        let parts = gradient.iter().zip(&self.drift).zip(&self.motion);
        let excess: f64 = parts
            .map(|((slope, drift), motion)| {
                let both = drift + self.step * slope;
                both * (both + 2.0 * motion)
            })
            .sum();
        self.ratio = -excess / (4.0 * self.step);
        if !self.ratio.is_finite() {
            return self.settle(None);
        }
        self.ask_differences()
    }

    /// Accepts or rejects the proposal, and ends the iteration. If the loss difference could not be estimated, the proposal is rejected.
    fn settle(&mut self, estimate: Option<NoisyDifference>) -> SamplerRequest<'_> {
        let known = estimate.filter(|one| one.difference.is_finite() && one.penalty.is_finite());
        let logarithm = known.map_or(f64::NEG_INFINITY, |one| {
            log_acceptance(self.ratio, one.difference, one.penalty)
        });
        let uniform = self.noise.uniform(Purpose::Accept, self.iteration, 0);
        let accepted = uniform.ln() <= logarithm;
        if accepted {
            self.position.copy_from_slice(&self.proposal);
        }
        let estimate = known.unwrap_or_default();
        self.stats = [
            logarithm.exp(),
            f64::from(u8::from(accepted)),
            estimate.difference,
            estimate.variance,
            f64::from(u8::from(known.is_none())),
            self.step,
        ];
        self.stage = Stage::Draw;
        let warmup = self.iteration < self.warmup;
        self.iteration += 1;
        SamplerRequest::Draw(Draw {
            position: &self.position,
            warmup,
            stats: &self.stats,
        })
    }
}

/// Returns the logarithm of the acceptance probability. `ratio` is `log q(back) - log q(forth)`, and `difference` is the estimated loss after the
/// step minus the estimated loss before the step.
pub fn log_acceptance(ratio: f64, difference: f64, penalty: f64) -> f64 {
    (ratio - difference - penalty).min(0.0)
}

impl Sampler for PenaltyMethod {
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_> {
        match (self.stage, answer) {
            (Stage::Draw, Answer::Go) => self.begin(),
            (Stage::GradientBefore, Answer::Gradient { gradient, .. }) => self.drift(gradient),
            (Stage::GradientAfter, Answer::Gradient { gradient, .. }) => self.weigh(gradient),
            (Stage::Differences, Answer::Differences { prior, sums }) => {
                let estimate = self.losses.estimate(prior, sums);
                self.settle(Some(estimate))
            }
            _ => unreachable!("an answer is to the last request"),
        }
    }

    fn stats(&self) -> &'static [&'static str] {
        &STATS
    }

    fn save(&self) -> Vec<u8> {
        saved::write("penalty", &(self.iteration, &self.position))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt> {
        let (iteration, position): (u64, Vec<f64>) = saved::read("penalty", bytes)?;
        if position.len() != self.position.len() {
            return Err(Corrupt);
        }
        self.iteration = iteration;
        self.position = position;
        self.stage = Stage::Draw;
        Ok(())
    }
}
