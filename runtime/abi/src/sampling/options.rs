//! The options of samplers.

use crate::manifest::StartFrom;
use crate::method::declare::{Given, OptionValue, PRECISIONS, forms, options, words};
use crate::method::options::{DRAWS, PER_DRAW, POSITIVE, few, from};
use crate::method::{OptionKind, Phase};
use bnnc_base::dtype::Precision;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

options! {
    /// Options of every sampler.
    pub struct ChainOptions {
        /// Independent chains.
        chains: usize { "4", few(), Phase::Run, &["n_chains", "num_chains"] };
        /// Iterations of each chain before draws are kept; step size and metric are adapted in them.
        warmup: usize { "1000", OptionKind::Int(0, DRAWS), Phase::Run, &["burn", "burn_in", "burnin", "num_warmup", "tune"] };
        /// Draws kept of each chain.
        draws: usize { "1000", OptionKind::Int(1, DRAWS), Phase::Resume,
            &["iter", "iterations", "max_iter", "n_draws", "n_samples", "num_draws", "num_samples", "samples"] };
        /// Iterations per draw that is kept.
        thin: usize { "1", OptionKind::Int(1, PER_DRAW), Phase::Run };
        /// A divisor of the log likelihood: 1 gives the posterior, more a tempered one.
        temperature: f64 { "1", POSITIVE, Phase::Run };
        /// The start of the chains: the values of an earlier inference block, or `safetensors("FILE")`, a file with parameters by name.
        start: Option<StartFrom> { "", OptionKind::Start, Phase::Run };
        /// The largest distance of a chain's first position from the start, on the unconstrained scale; without a value, 2, and 0 with `start`.
        jitter: Option<f64> { "", OptionKind::AtLeast(0.0), Phase::Run };
        /// Posterior draws that predictions average over, evenly spaced over all chains.
        predictive_draws: usize { "1000", OptionKind::Int(1, DRAWS), Phase::Run };
        /// Parameters that are diagnosed element by element, and which alone the table lists; without names, all parameters of a small model, and predictions and the norm of each parameter of a large one.
        report: Report { "", OptionKind::Names, Phase::Run };
        /// Leave-one-out estimates by PSIS-LOO: `auto` if it takes at most a few million likelihoods, `always`, or `never`; never for a tempered posterior. The draws are evenly spaced, all of them if that takes a few million likelihoods, and at least `predictive_draws`.
        leave_one_out as "loo": LeaveOneOut { "auto", LeaveOneOut::KIND, Phase::Run };
        /// Where draws are kept until the end: in `memory`, or on `disk` alone, from where the draws of one site at a time are read.
        store: Store { "memory", Store::KIND, Phase::Run };
        /// Parameters in the non-centred parameterisation: the chains move `(value - loc) / scale`.
        noncentre as "non_centered": Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
        /// The width of reals.
        precision: Precision { "f64", OptionKind::Word(PRECISIONS), Phase::Compile };
    }
}

impl ChainOptions {
    /// The width of the uniform numbers that starts are moved by.
    pub fn jitter_of_start(&self) -> f64 {
        let default = if self.start.is_some() { 0.0 } else { 2.0 };
        self.jitter.unwrap_or(default)
    }

    /// Iterations of each chain, those of the warm-up included.
    pub fn iterations(&self) -> usize {
        self.warmup.saturating_add(self.draws.saturating_mul(self.thin))
    }
}

/// Whether PSIS-LOO and WAIC are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaveOneOut {
    /// Where it takes less than a few million log likelihoods.
    Automatic,
    /// Always.
    Always,
    /// Not at all.
    Never,
}

words!(LeaveOneOut { "auto" => Automatic, "always" => Always, "never" => Never });

/// Where the draws of a run are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Store {
    /// In memory (and on disk as they come, where there is an output folder).
    Memory,
    /// On disk alone. Memory does not depend on the number of draws but for what is read from there one at a time: the draws of a site
    /// that is diagnosed.
    Disk,
}

words!(Store { "memory" => Memory, "disk" => Disk });

/// The quantities for which diagnostics are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// Every element of every site where there are few; else predictions and the norm of each site.
    Automatic,
    /// These sites, element by element.
    Sites(Vec<String>),
}

impl OptionValue for Report {
    fn read(given: Given<'_>) -> Option<Report> {
        match given {
            Given::Names([]) => Some(Report::Automatic),
            Given::Names(names) => Some(Report::Sites(names.iter().map(|name| name.to_string()).collect())),
            _ => None,
        }
    }

    fn absent() -> Option<Report> {
        Some(Report::Automatic)
    }
}

options! {
    /// How step size and metric are found during the warm-up.
    #[derive(Copy)]
    pub struct Adaptation {
        /// The mean acceptance rate to which the step size is adapted.
        target_acceptance: f64 { "0.8", OptionKind::Real(0.0, 1.0), Phase::Run,
            &["adapt_delta", "delta", "target_accept", "target_accept_prob"] };
        /// The step size; without a value, it is adapted in the warm-up.
        step_size: Option<f64> { "", POSITIVE, Phase::Run, &["learning_rate", "lr"] };
        /// The metric that the warm-up adapts: `diagonal`, or `dense` with correlations, from positions and, in `nuts` and `hmc`, gradients; `windowed` and `windowed_dense` from positions alone, in the windows of Stan; `unit` does not adapt. `automatic` is `dense` for `nuts` and `hmc` of models without layers in at most 50 dimensions, else `diagonal`. A `dense` metric is diagonal until a window has two draws for each dimension, which a warm-up of 1000 has in up to 230 dimensions.
        metric: Metric { "automatic", Metric::KIND, Phase::Run };
    }
}

/// The shape of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// [`Metric::Dense`] where [`Transition::resolve`](super::Transition::resolve) finds that it pays, else [`Metric::Diagonal`].
    Automatic,
    /// The identity; never adapted.
    Unit,
    /// A diagonal, learnt from positions and gradients where the transition has gradients.
    Diagonal,
    /// A diagonal, learnt from positions alone in the windows of Stan.
    Windowed,
    /// A full matrix, learnt like `Diagonal`, with correlations.
    Dense,
    /// A full matrix, learnt from positions alone in the windows of Stan.
    WindowedDense,
}

words!(Metric {
    "automatic" => Automatic,
    "diagonal" => Diagonal,
    "dense" => Dense,
    "windowed" => Windowed,
    "windowed_dense" => WindowedDense,
    "unit" => Unit,
});

impl Metric {
    /// Returns whether it is a matrix.
    pub fn is_dense(self) -> bool {
        matches!(self, Metric::Dense | Metric::WindowedDense)
    }
}

options! {
    /// Options of the no-U-turn sampler.
    #[derive(Copy)]
    pub struct NutsOptions {
        /// The largest number of doublings of a trajectory.
        max_depth: usize { "10", OptionKind::Int(1, 30), Phase::Run, &["max_tree_depth", "max_treedepth"] };
        ..adaptation: Adaptation;
    }
}

options! {
    /// Options of static Hamiltonian Monte Carlo.
    #[derive(Copy)]
    pub struct HmcOptions {
        /// Leapfrog steps per iteration.
        steps: usize { "16", from(1), Phase::Run };
        ..adaptation: Adaptation;
    }
}

options! {
    /// Options of stochastic-gradient Langevin dynamics.
    #[derive(Copy)]
    pub struct SgldOptions {
        /// Rows per gradient; 0 takes all rows.
        batch: usize { "128", from(0), Phase::Run, &["batch_size"] };
        /// The step size; stable below 2 over the largest curvature of the negative log density, which grows with the rows.
        step_size: f64 { "1e-5", POSITIVE, Phase::Run, &["learning_rate", "lr"] };
        /// The step size over the run: `constant`, `polynomial(b, gamma)` (times (1 + t / b)^-gamma in iteration t), or `cyclical(cycles, exploration)` (a cosine to zero in each cycle, of whose first part no draws are kept).
        schedule: Steps { "constant", Steps::KIND, Phase::Run };
    }
}

options! {
    /// Options of stochastic-gradient Hamiltonian Monte Carlo.
    #[derive(Copy)]
    pub struct SghmcOptions {
        /// Rows per gradient, as of [`SgldOptions`].
        batch: usize { like SgldOptions };
        /// The step size, as of [`SgldOptions`].
        step_size: f64 { like SgldOptions };
        /// The fraction of the momentum that is lost in an iteration.
        friction: f64 { "0.1", OptionKind::Real(0.0, 1.0), Phase::Run };
        /// The step size over the run, as of [`SgldOptions`].
        schedule: Steps { like SgldOptions };
    }
}

/// The step sizes of methods without an acceptance step. `t` counts iterations from 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Steps {
    /// The same.
    Constant,
    /// `step_size * (1 + t / b)^-gamma` (Welling and Teh 2011 with `a b^-gamma = step_size`).
    Polynomial {
        /// Their `b`.
        b: f64,
        /// Their `gamma`, above 0.5 and at most 1 for convergence.
        gamma: f64,
    },
    /// A cosine from `step_size` to zero in each of `cycles` cycles over the run; draws are taken in the last part of each, the
    /// rest explores without noise (Zhang et al. 2020).
    Cyclical {
        /// The number of cycles.
        cycles: usize,
        /// The fraction of a cycle that explores.
        exploration: f64,
    },
}

forms!(Steps {
    "constant" => Steps::Constant,
    "polynomial"(b, gamma) => Steps::Polynomial { b, gamma },
    "cyclical"(cycles, exploration) => Steps::Cyclical { cycles: cycles as usize, exploration },
});

impl Steps {
    /// Iterations of a cycle in a run of so many, warm-up included: all of them where there are no cycles.
    pub fn cycle(self, iterations: usize) -> usize {
        let cycles = match self {
            Steps::Constant | Steps::Polynomial { .. } => 1,
            Steps::Cyclical { cycles, .. } => cycles.max(1),
        };
        iterations.div_ceil(cycles).max(1)
    }

    /// Returns whether an iteration, counted from 0, only looks for a mode; `cycle` is that of the run.
    pub fn explores(self, iteration: u64, cycle: u64) -> bool {
        match self {
            Steps::Constant | Steps::Polynomial { .. } => false,
            Steps::Cyclical { exploration, .. } => part(iteration, cycle) < exploration,
        }
    }
}

/// How much of its cycle is over when an iteration begins.
fn part(iteration: u64, cycle: u64) -> f64 {
    (iteration % cycle) as f64 / cycle as f64
}

options! {
    /// Options of the penalty method.
    #[derive(Copy)]
    pub struct Penalty {
        /// Rows per batch, over all files of the data; 0 takes all rows, which is exact.
        batch: usize { "100", from(0), Phase::Run, &["batch_size"] };
        /// Batches per iteration, from which the variance of the loss difference is estimated.
        batches: usize { "10", from(1), Phase::Run };
        /// The rows that the likelihood of a batch represents: `data` (all rows, which gives the ordinary posterior) or `batch` (itself,
        /// which gives the posterior tempered by batch / rows).
        loss: Loss { "batch", Loss::KIND, Phase::Run };
        /// The loss difference: `mean` over all batches, or of a `single` one, with its variance from the others.
        estimator: Estimator { "mean", Estimator::KIND, Phase::Run };
        /// The correction for the noise of the difference: `plain` (half its variance), `corrected` (also for the noise
        /// of the variance) or `naive` (none).
        correction as "penalty": Correction { "plain", Correction::KIND, Phase::Run };
        /// The proposal: `random_walk(step)` or `mala(step)`, whose gradient uses a separate batch.
        proposal: Proposal { "random_walk(1e-3)", Proposal::KIND, Phase::Run };
        /// Rows of the batch for the gradient of the proposal; 0 takes `batch`.
        gradient_batch: usize { "0", from(0), Phase::Run };
        /// Allows a row to be in a batch more than once.
        replacement: bool { "false", OptionKind::Bool, Phase::Run };
    }
}

words!(Loss { "batch" => Batch, "data" => Data });

words!(Estimator { "mean" => Mean, "single" => Single });

words!(Correction { "plain" => Plain, "corrected" => Corrected, "naive" => Naive });

forms!(Proposal {
    "random_walk"(step) => Proposal::RandomWalk { step },
    "mala"(step) => Proposal::Langevin { step },
});

/// The rows that the likelihood of a batch represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// Itself: the target is tempered by batch / rows.
    Batch,
    /// All rows: the target is the ordinary posterior.
    Data,
}

/// How a noisy difference is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimator {
    /// The difference on one batch; its variance from further batches.
    Single,
    /// The mean of the differences on all batches; the variance of the mean from the same batches.
    Mean,
}

/// How the noise of the estimated difference is corrected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Correction {
    /// Not at all: the naive replacement, for comparison.
    Naive,
    /// By half the estimated variance (Ceperley and Dewing 1999, equation 15).
    Plain,
    /// With the correction for a variance that is itself estimated (their equation 47 and following).
    Corrected,
}

/// How states are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Proposal {
    /// `theta' = theta + sqrt(2 eta) noise`.
    RandomWalk {
        /// The step `eta`.
        step: f64,
    },
    /// `theta' = theta - eta g(theta) + sqrt(2 eta) noise`, with the gradient `g` of the negative log density on a batch of its own.
    Langevin {
        /// The step `eta`.
        step: f64,
    },
}
