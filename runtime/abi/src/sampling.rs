//! How posteriors are sampled: the programs of a sampling infer, and the transitions of its chains with their options.

mod checks;
mod options;
pub mod penalty;

use crate::code::Artifact;
use crate::method::declare::{Mismatch, OptionGroup, Source};
use crate::steering::{Place, Refusal};
use crate::work::{Extent, MethodPart};
pub use options::{
    Adaptation, ChainOptions, Correction, Estimator, HmcOptions, LeaveOneOut, Loss, Metric, NutsOptions,
    Penalty, Proposal, Report, SghmcOptions, SgldOptions, Steps, Store,
};
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
        of_chains.or_else(|| self.transition.place(option))
    }

    fn check(&self, extent: Extent<'_>) -> Result<(), Refusal> {
        self.transition.check(extent.schema.train, &self.options)
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

/// The samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// Static Hamiltonian Monte Carlo.
    Hmc,
    /// The Metropolis-adjusted Langevin algorithm.
    Mala,
    /// The no-U-turn sampler.
    Nuts,
    /// The penalty method.
    Penalty,
    /// Random-walk Metropolis.
    RandomWalk,
    /// Stochastic-gradient Hamiltonian Monte Carlo.
    Sghmc,
    /// Stochastic-gradient Langevin dynamics.
    Sgld,
}

/// One iteration of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transition {
    /// The no-U-turn sampler with multinomial trajectories (Hoffman and Gelman 2014; Betancourt 2017).
    Nuts(NutsOptions),
    /// Static Hamiltonian Monte Carlo.
    Hmc(HmcOptions),
    /// The Metropolis-adjusted Langevin algorithm.
    Mala(Adaptation),
    /// Random-walk Metropolis.
    RandomWalk(Adaptation),
    /// Stochastic-gradient Langevin dynamics (Welling and Teh 2011): `theta' = theta + eta gradient + sqrt(2 eta) noise`.
    Sgld(SgldOptions),
    /// Stochastic-gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin 2014, equation 15).
    Sghmc(SghmcOptions),
    /// Metropolis sampling with the penalty method.
    Penalty(Penalty),
}

impl Transition {
    /// The options of a sampler.
    ///
    /// # Errors
    /// A bug of the checker or of a record.
    pub fn read(sampler: Sampler, source: &Source<'_>) -> Result<Transition, Mismatch> {
        Ok(match sampler {
            Sampler::Hmc => Transition::Hmc(HmcOptions::read(source)?),
            Sampler::Mala => Transition::Mala(Adaptation::read(source)?),
            Sampler::Nuts => Transition::Nuts(NutsOptions::read(source)?),
            Sampler::Penalty => Transition::Penalty(Penalty::read(source)?),
            Sampler::RandomWalk => Transition::RandomWalk(Adaptation::read(source)?),
            Sampler::Sghmc => Transition::Sghmc(SghmcOptions::read(source)?),
            Sampler::Sgld => Transition::Sgld(SgldOptions::read(source)?),
        })
    }

    /// Chooses the metric where the program leaves it open; `is_small` holds of a model without layers in few dimensions.
    pub fn resolve(&mut self, is_small: bool) {
        let (adaptation, has_trajectories) = match self {
            Transition::Nuts(nuts) => (&mut nuts.adaptation, true),
            Transition::Hmc(hmc) => (&mut hmc.adaptation, true),
            Transition::Mala(adaptation) | Transition::RandomWalk(adaptation) => (adaptation, false),
            Transition::Sgld(_) | Transition::Sghmc(_) | Transition::Penalty(_) => return,
        };
        if adaptation.metric == Metric::Automatic {
            adaptation.metric = match has_trajectories && is_small {
                true => Metric::Dense,
                false => Metric::Diagonal,
            };
        }
    }

    /// Where the number of an option is kept that can be set at run time.
    pub(crate) fn place(&mut self, option: &str) -> Option<Place<'_>> {
        match self {
            Transition::Nuts(options) => options.place(option),
            Transition::Hmc(options) => options.place(option),
            Transition::Mala(options) | Transition::RandomWalk(options) => options.place(option),
            Transition::Sgld(options) => options.place(option),
            Transition::Sghmc(options) => options.place(option),
            Transition::Penalty(options) => options.place(option),
        }
    }

    /// How step size and metric are found, if they are.
    pub fn adaptation(&self) -> Option<Adaptation> {
        match self {
            Transition::Nuts(nuts) => Some(nuts.adaptation),
            Transition::Hmc(hmc) => Some(hmc.adaptation),
            Transition::Mala(adaptation) | Transition::RandomWalk(adaptation) => Some(*adaptation),
            Transition::Sgld(_) | Transition::Sghmc(_) | Transition::Penalty(_) => None,
        }
    }

    /// How the step size changes over the run.
    pub fn schedule(&self) -> Steps {
        match self {
            Transition::Sgld(sgld) => sgld.schedule,
            Transition::Sghmc(sghmc) => sghmc.schedule,
            Transition::Nuts(_)
            | Transition::Hmc(_)
            | Transition::Mala(_)
            | Transition::RandomWalk(_)
            | Transition::Penalty(_) => Steps::Constant,
        }
    }

    /// Returns whether every question is about all rows.
    pub fn reads_all(&self) -> bool {
        match self {
            Transition::Nuts(_) | Transition::Hmc(_) | Transition::Mala(_) | Transition::RandomWalk(_) => {
                true
            }
            Transition::Sgld(_) | Transition::Sghmc(_) | Transition::Penalty(_) => false,
        }
    }
}
