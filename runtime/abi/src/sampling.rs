//! How posteriors are sampled: the programs of a sampling infer, and the transitions of its chains with their options.

pub mod penalty;

use crate::code::Artifact;
use crate::method::declare::{Given, OptionValue, options, words};
use crate::method::options::from;
use crate::method::{OptionKind, Phase};
use serde::{Deserialize, Serialize};

/// The part of an infer that samples.
///
/// Programs and their ports. A position is one unconstrained tensor per site, in the states of the infer:
/// - `density`: inputs the states, the data ports, `scale` (real); symbol `batch`; outputs `log_density` (real: log prior + log
///   Jacobian + `scale` times the sum over rows of `log p(row)`) and `STATE/gradient` for each state that moves. Where
///   [`Sampling::abreast`] is above 1, the states that move and all outputs are `[draws, ..]`: a chain has its own place among them.
/// - `rows`: inputs the states and the data ports; symbol `batch`; outputs `log_prior` (real: log prior + log Jacobian) and
///   `log_likelihood` `[batch]`.
/// - both take as inputs what [`Prepare`] computed, where there is any, and lack the data and states that only it needs.
/// - [`crate::manifest::Infer::predict`] and [`crate::manifest::Infer::sites`] take `[draws, ..]` for each state that moves.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sampling {
    /// What no position changes, computed once before the chains.
    pub prepare: Option<Prepare>,
    /// The log density with its gradient.
    pub density: Artifact,
    /// Chains that one run of `density` serves. A run always has this many positions, so that what a chain is answered does not depend on
    /// the chains beside it.
    pub abreast: usize,
    /// The log likelihood of each row.
    pub rows: Artifact,
    /// The states that make a position, one after the other; the others stay where they start.
    pub moved: Vec<String>,
    /// The sites whose positions are the noise of their priors, by number in the infer's reports.
    pub noncentred: Vec<usize>,
    /// The sites that move and that the model compares or rounds: the likelihood may jump at some of their values.
    #[serde(default)]
    pub jumps: Vec<String>,
    /// Chains.
    pub chains: usize,
    /// Iterations of warm-up of each chain.
    pub warmup: usize,
    /// Draws kept of each chain.
    pub draws: usize,
    /// Iterations per draw that is kept.
    pub thin: usize,
    /// What an iteration does.
    pub transition: Transition,
    /// What the log likelihood is divided by: 1 is the posterior.
    pub temperature: f64,
    /// Starts are moved by uniform numbers between minus and plus this, on the unconstrained scale.
    pub jitter: f64,
    /// Where draws are kept until the end.
    pub store: Store,
    /// What diagnostics are computed for.
    pub report: Report,
    /// Whether the training rows are left out one at a time.
    pub leave_one_out: LeaveOneOut,
}

/// Values that depend on data and on states that stay.
#[derive(Clone, Serialize, Deserialize)]
pub struct Prepare {
    /// Inputs the states that stay and the data ports; symbol `batch`; outputs the columns.
    pub program: Artifact,
    /// Its outputs.
    pub columns: Vec<Column>,
}

/// A value of [`Prepare`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The port, an output there and an input of the other programs.
    pub name: String,
    /// Elements per row, or in all.
    pub width: usize,
    /// Whether each row has its own; otherwise all share them.
    pub of_row: bool,
}

impl Sampling {
    pub(crate) fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let prepare = self.prepare.iter_mut().map(|prepare| &mut prepare.program);
        prepare.chain([&mut self.density, &mut self.rows]).collect()
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

/// Where the draws of a run are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Store {
    /// In memory (and on disk as they come, where there is an output folder).
    Memory,
    /// On disk alone. Memory does not depend on the number of draws but for what is read from there one at a time: the draws of a site
    /// that is diagnosed.
    Disk,
}

/// What diagnostics are computed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// Every element of every site where there are few; else predictions and the norm of each site.
    Automatic,
    /// These sites, element by element.
    Sites(Vec<String>),
}

/// One iteration of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transition {
    /// The no-U-turn sampler with multinomial trajectories (Hoffman and Gelman 2014; Betancourt 2017).
    Nuts {
        /// The largest number of doublings.
        max_depth: usize,
        /// How step size and metric are found.
        adaptation: Adaptation,
    },
    /// Static Hamiltonian Monte Carlo.
    Hmc {
        /// Leapfrog steps per iteration.
        steps: usize,
        /// How step size and metric are found.
        adaptation: Adaptation,
    },
    /// The Metropolis-adjusted Langevin algorithm.
    Mala {
        /// How step size and metric are found.
        adaptation: Adaptation,
    },
    /// Random-walk Metropolis.
    RandomWalk {
        /// How step size and metric are found.
        adaptation: Adaptation,
    },
    /// Stochastic-gradient Langevin dynamics (Welling and Teh 2011).
    Sgld {
        /// Rows per gradient; 0 takes all.
        batch: usize,
        /// The step size `eta`: `theta' = theta + eta gradient + sqrt(2 eta) noise`.
        step_size: f64,
        /// How it changes.
        schedule: Steps,
    },
    /// Stochastic-gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin 2014, equation 15).
    Sghmc {
        /// Rows per gradient; 0 takes all.
        batch: usize,
        /// The step size (their `eta`).
        step_size: f64,
        /// The friction (their `alpha`), between 0 and 1.
        friction: f64,
        /// How the step size changes.
        schedule: Steps,
    },
    /// Metropolis sampling on mini-batches with the penalty method.
    Penalty(Penalty),
}

impl Transition {
    /// How step size and metric are found, if they are.
    pub fn adaptation(&self) -> Option<Adaptation> {
        match self {
            Transition::Nuts { adaptation, .. }
            | Transition::Hmc { adaptation, .. }
            | Transition::Mala { adaptation }
            | Transition::RandomWalk { adaptation } => Some(*adaptation),
            Transition::Sgld { .. } | Transition::Sghmc { .. } | Transition::Penalty(_) => None,
        }
    }

    /// Whether every question is about all rows.
    pub fn reads_all(&self) -> bool {
        match self {
            Transition::Nuts { .. }
            | Transition::Hmc { .. }
            | Transition::Mala { .. }
            | Transition::RandomWalk { .. } => true,
            Transition::Sgld { .. } | Transition::Sghmc { .. } | Transition::Penalty(_) => false,
        }
    }
}

/// How step size and metric are found during the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptation {
    /// The step size; where there is none it is adapted.
    pub step_size: Option<f64>,
    /// The mean acceptance rate that the step size is adapted to.
    pub target_acceptance: f64,
    /// The shape of the metric.
    pub metric: Metric,
}

/// The shape of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
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

impl Metric {
    /// Whether it is a matrix.
    pub fn is_dense(self) -> bool {
        matches!(self, Metric::Dense | Metric::WindowedDense)
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

impl Steps {
    /// Iterations of a cycle in a run of so many, warm-up included: all of them where there are no cycles.
    pub fn cycle(self, iterations: usize) -> usize {
        let cycles = match self {
            Steps::Constant | Steps::Polynomial { .. } => 1,
            Steps::Cyclical { cycles, .. } => cycles.max(1),
        };
        iterations.div_ceil(cycles).max(1)
    }

    /// Whether an iteration, counted from 0, only looks for a mode; `cycle` is that of the run.
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
    pub struct Penalty {
        /// Rows per batch, over all files of the data; 0 takes all rows, which is exact.
        batch: usize = "100", from(0), Phase::Run;
        /// Batches per iteration, from which the variance of the loss difference is estimated.
        batches: usize = "10", from(1), Phase::Run;
        /// What the likelihood of a batch stands for: `data` (all rows: the ordinary posterior) or `batch` (itself: the
        /// posterior tempered by batch / rows).
        loss: Loss = "batch", OptionKind::Word(Loss::WORDS), Phase::Run;
        /// The loss difference: `mean` over all batches, or of a `single` one, with its variance from the others.
        estimator: Estimator = "mean", OptionKind::Word(Estimator::WORDS), Phase::Run;
        /// What corrects for the noise of the difference: `plain` (half its variance), `corrected` (also for the noise
        /// of the variance) or `naive` (nothing).
        correction as "penalty": Correction = "plain", OptionKind::Word(Correction::WORDS), Phase::Run;
        /// How states are proposed: `random_walk(step)` or `mala(step)`, whose gradient has a batch of its own.
        proposal: Proposal = "random_walk(1e-3)", OptionKind::Call, Phase::Run;
        /// Rows of the batch whose gradient proposes; 0 takes `batch`.
        gradient_batch: usize = "0", from(0), Phase::Run;
        /// Whether a row may be in a batch more than once.
        replacement: bool = "false", OptionKind::Bool, Phase::Run;
    }
}

words!(Loss { "batch" => Batch, "data" => Data });

words!(Estimator { "mean" => Mean, "single" => Single });

words!(Correction { "plain" => Plain, "corrected" => Corrected, "naive" => Naive });

impl OptionValue for Proposal {
    fn read(given: Given<'_>) -> Option<Proposal> {
        match given {
            Given::Call("random_walk", [step]) => Some(Proposal::RandomWalk { step: *step }),
            Given::Call("mala", [step]) => Some(Proposal::Langevin { step: *step }),
            _ => None,
        }
    }
}

/// What the likelihood of a batch stands for.
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
