//! The options that all samplers share.

use crate::method::declare::{OptionValue, PRECISIONS, RawOption, options, words};
use crate::method::options::{DRAWS, PER_DRAW, POSITIVE, few};
use crate::method::{OptionKind, Phase};
use crate::methods::training::StartFrom;
use bnnc_base::dtype::Precision;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

options! {
    /// Options of every sampler.
    pub struct ChainOptions {
        /// The number of independent chains.
        chains: usize { "4", few(), Phase::Run, &["n_chains", "num_chains"] };
        /// Iterations of each chain before draws are kept. During these iterations, `nuts`, `hmc`, `mala` and `random_walk` adapt the step size and
        /// the metric.
        warmup: usize { "1000", OptionKind::Int(0, DRAWS), Phase::Run, &["burn", "burn_in", "burnin", "num_warmup", "tune"] };
        /// Draws to keep from each chain.
        draws: usize { "1000", OptionKind::Int(1, DRAWS), Phase::Resume,
            &["iter", "iterations", "max_iter", "n_draws", "n_samples", "num_draws", "num_samples", "samples"] };
        /// Iterations per kept draw.
        thin: usize { "1", OptionKind::Int(1, PER_DRAW), Phase::Run };
        /// The divisor of the log likelihood: 1 gives the posterior, any other number gives a tempered posterior.
        temperature: f64 { "1", POSITIVE, Phase::Run };
        /// The start of the chains: the values of an earlier inference block, or `safetensors("FILE")`, a file with parameters by name.
        start: Option<StartFrom> { "", OptionKind::Start, Phase::Run };
        /// The largest distance, in each unconstrained coordinate, between the first position of a chain and the start. Without a value, the distance
        /// is at most 2, or 0 if there is a `start`.
        jitter: Option<f64> { "", OptionKind::AtLeast(0.0), Phase::Run };
        /// The number of posterior draws over which predictions average. The draws are evenly spaced over all chains.
        predictive_draws: usize { "1000", OptionKind::Int(1, DRAWS), Phase::Run };
        /// Parameters to diagnose element by element; the table lists only these. If no names are given, parameters of layers and parameters with
        /// more than 64 elements are diagnosed by their norms, together with some predictions; all other parameters are diagnosed element by element.
        report: DiagnosedQuantities { "", OptionKind::Names, Phase::Run };
        /// Leave-one-out estimates by PSIS-LOO: `auto` (if `predictive_draws` times the number of rows is at most 8 million), `always`, or `never`;
        /// not available for a tempered posterior. The estimates use all draws, unless draws times rows, or draws times parameters, exceed 8 million.
        /// In this case, the estimates use evenly spaced draws: as many as this limit allows, but at least `predictive_draws`.
        leave_one_out as "loo": LooPolicy { "auto", LooPolicy::KIND, Phase::Run };
        /// Where draws are kept until the end of the run: in `memory`, or only on `disk`. Draws on disk are read one parameter at a time.
        store: DrawStorage { "memory", DrawStorage::KIND, Phase::Run };
        /// Parameters in the non-centred parameterisation: the chains sample `(value - loc) / scale` instead of the value.
        noncentre as "non_centered": Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
        /// The width of reals.
        precision: Precision { "f64", OptionKind::Word(PRECISIONS), Phase::Compile };
    }
}

impl ChainOptions {
    /// Returns the largest distance, in each unconstrained coordinate, between the start and the
    /// first position of a chain. The distance has a uniform distribution.
    pub fn jitter_of_start(&self) -> f64 {
        let default = if self.start.is_some() { 0.0 } else { 2.0 };
        self.jitter.unwrap_or(default)
    }

    /// Returns the number of iterations of each chain, including the warm-up.
    pub fn iterations(&self) -> usize {
        self.warmup.saturating_add(self.draws.saturating_mul(self.thin))
    }
}

/// The rule that decides whether PSIS-LOO and WAIC are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LooPolicy {
    /// PSIS-LOO and WAIC are computed if they need at most 8 million log likelihoods.
    Automatic,
    /// PSIS-LOO and WAIC are always computed.
    Always,
    /// PSIS-LOO and WAIC are never computed.
    Never,
}

words!(LooPolicy { "auto" => Automatic, "always" => Always, "never" => Never });

/// The place where the draws of a run are kept until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrawStorage {
    /// Draws are kept in memory. If the run has an output folder, they are also written to disk as
    /// they are made.
    Memory,
    /// Draws are kept only on disk. The memory of the run does not depend on the number of draws,
    /// except while the draws of one site are diagnosed.
    Disk,
}

words!(DrawStorage { "memory" => Memory, "disk" => Disk });

/// The choice of the quantities whose convergence is diagnosed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiagnosedQuantities {
    /// Sites in layers and sites with more than 64 elements are diagnosed by their norms, together
    /// with some predictions. All other sites are diagnosed element by element.
    Automatic,
    /// Only these sites are diagnosed, element by element.
    Sites(Vec<String>),
}

impl OptionValue for DiagnosedQuantities {
    fn read(given: RawOption<'_>) -> Option<DiagnosedQuantities> {
        match given {
            RawOption::Names([]) => Some(DiagnosedQuantities::Automatic),
            RawOption::Names(names) => Some(DiagnosedQuantities::Sites(
                names.iter().map(|name| name.to_string()).collect(),
            )),
            _ => None,
        }
    }

    fn absent() -> Option<DiagnosedQuantities> {
        Some(DiagnosedQuantities::Automatic)
    }
}
