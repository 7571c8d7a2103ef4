//! How posteriors are sampled: the programs of a sampling infer, and the transitions of its chains with their options.

mod adaptation;
mod options;
pub(crate) mod samplers;
mod schedule;

use crate::code::Artifact;
use crate::method::declare::OptionGroup;
use crate::steering::{Place, Refusal};
use crate::work::{Extent, MethodPart};
pub use adaptation::{Adaptation, Metric};
pub use options::{ChainOptions, LeaveOneOut, Report, Store};
pub use samplers::hmc::HmcOptions;
pub use samplers::mala::MalaOptions;
pub use samplers::nuts::NutsOptions;
pub use samplers::penalty::{Correction, Estimator, Loss, Penalty, Proposal};
pub use samplers::random_walk::RandomWalkOptions;
pub use samplers::sghmc::SghmcOptions;
pub use samplers::sgld::SgldOptions;
pub use samplers::{EvaluationRows, Sampler, SamplerPart, Transition};
pub use schedule::Steps;
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
    /// The values that no position changes, computed once before the chains.
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
    /// The sites below an unknown scale that are sampled as they are.
    #[serde(default)]
    pub centred: Vec<String>,
    /// The options of every sampler.
    pub options: ChainOptions,
    /// The transition of an iteration.
    pub transition: Transition,
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

impl MethodPart for Sampling {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let prepare = self.prepare.iter_mut().map(|prepare| &mut prepare.program);
        prepare.chain([&mut self.density, &mut self.rows]).collect()
    }

    fn predictive_draws(&self) -> usize {
        self.options.predictive_draws
    }

    fn place(&mut self, option: &str) -> Option<Place<'_>> {
        let of_chains = self.options.place(option);
        of_chains.or_else(|| self.transition.part_mut().place(option))
    }

    fn check(&self, extent: Extent<'_>) -> Result<(), Refusal> {
        self.transition.part().check(extent.schema.train, &self.options)
    }

    fn per_draw(&self) -> Vec<&str> {
        self.moved.iter().map(String::as_str).collect()
    }

    fn held(&self) -> Option<&[String]> {
        Some(&self.moved)
    }

    fn noncentred(&self) -> &[usize] {
        &self.noncentred
    }

    fn temperature(&self) -> f64 {
        self.options.temperature
    }
}
