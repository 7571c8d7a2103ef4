//! The options of every sampler.

use crate::manifest::StartFrom;
use crate::method::declare::{Given, OptionValue, PRECISIONS, options, words};
use crate::method::options::{DRAWS, PER_DRAW, POSITIVE, few};
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
