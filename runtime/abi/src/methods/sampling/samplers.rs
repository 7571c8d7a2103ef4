//! The registry of the samplers, one module each. A module contains the record of its sampler, the options, and the
//! properties on which the rest of a run depends.

pub mod hmc;
pub mod mala;
pub mod nuts;
pub mod penalty;
pub mod random_walk;
pub mod sghmc;
pub mod sgld;
mod stan;

use super::{Adaptation, ChainOptions, MetricKind, Steps};
use crate::method::conflict::OptionConflict;
use crate::method::declare::{Mismatch, OptionField, OptionGroup, OptionSource};
use crate::method::{Finds, MethodDef, OptionDef, Takes};
use penalty::Penalty;
use serde::{Deserialize, Serialize};

/// Declares the samplers by module, name and options.
macro_rules! samplers {
    ($($module:ident: $name:ident($options:ident)),+ $(,)?) => {
        /// The records of the samplers.
        pub(crate) const RECORDS: &[MethodDef] = &[$( $module::RECORD ),+];

        /// The samplers of bnnc.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SamplerKind {
            $( #[doc = concat!("The sampler of [`", stringify!($options), "`](", stringify!($module), "::", stringify!($options), ").")] $name, )+
        }

        /// One iteration of a chain: the sampler and its options.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Transition {
            $( #[doc = concat!("An iteration with [`", stringify!($options), "`](", stringify!($module), "::", stringify!($options), ").")] $name($module::$options), )+
        }

        impl Transition {
            /// Reads the options of a sampler.
            ///
            /// # Errors
            /// Fails if a value does not have the type of its option, which is a bug of the checker
            /// or of a record.
            pub fn read(sampler: SamplerKind, source: &OptionSource<'_>) -> Result<Transition, Mismatch> {
                Ok(match sampler {
                    $( SamplerKind::$name => Transition::$name(OptionGroup::read(source)?), )+
                })
            }

            /// Returns the properties of the sampler.
            pub fn part(&self) -> &dyn SamplerPart {
                match self {
                    $( Transition::$name(options) => options, )+
                }
            }

            /// Returns the field of an option that can be set at run time.
            pub(crate) fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
                match self {
                    $( Transition::$name(options) => OptionGroup::place(options, option), )+
                }
            }

            /// Returns a mutable reference to the part that [`Transition::part`] returns.
            pub(crate) fn part_mut(&mut self) -> &mut dyn SamplerPart {
                match self {
                    $( Transition::$name(options) => options, )+
                }
            }
        }
    };
}

samplers! {
    hmc: Hmc(HmcOptions),
    mala: Mala(MalaOptions),
    nuts: Nuts(NutsOptions),
    penalty: Penalty(Penalty),
    random_walk: RandomWalk(RandomWalkOptions),
    sghmc: Sghmc(SghmcOptions),
    sgld: Sgld(SgldOptions),
}

/// For each program of a chain, the number of rows that one call evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationRows {
    /// The number of rows on which a log density and its gradient are evaluated.
    pub gradient: usize,
    /// To estimate a difference of log likelihoods, the log likelihoods of this number of rows are
    /// computed; 0 if log densities are exact.
    pub differences: usize,
}

/// The options by which a sampler follows gradients of batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientBatches {
    /// The number of rows per gradient; 0 means all rows.
    pub batch: usize,
    /// The step size over the run.
    pub schedule: Steps,
}

/// The properties of a sampler on which the rest of a run depends. The default implementations
/// describe a Metropolis sampler that reads all rows and does not adapt.
pub trait SamplerPart {
    /// Returns the settings in the form of the comments that CmdStan writes. Each line is a pair of its depth and
    /// its text.
    fn stan_settings(&self) -> Vec<(usize, String)>;

    /// Returns the options for the adaptation of step size and metric; `None` for a sampler that
    /// does not adapt.
    fn adaptation(&self) -> Option<&Adaptation> {
        None
    }

    /// Returns a mutable reference to the adaptation that [`SamplerPart::adaptation`] returns.
    fn adaptation_mut(&mut self) -> Option<&mut Adaptation> {
        None
    }

    /// Returns whether an iteration follows the gradient over several steps.
    fn has_trajectories(&self) -> bool {
        false
    }

    /// Returns how the sampler follows gradients of batches without an acceptance step; `None` for other samplers.
    fn gradient_batches(&self) -> Option<GradientBatches> {
        None
    }

    /// Returns whether an iteration ends with an acceptance step, which rejects points without a finite density.
    fn has_acceptance_step(&self) -> bool {
        self.gradient_batches().is_none()
    }

    /// Returns whether every evaluation reads all rows.
    fn reads_all(&self) -> bool {
        self.gradient_batches().is_none()
    }

    /// Returns whether iterations need gradients.
    fn takes_gradients(&self) -> bool {
        true
    }

    /// Returns the largest number of doublings of a trajectory, if the sampler has such a limit.
    fn max_depth(&self) -> Option<usize> {
        None
    }

    /// Returns the schedule of the step size.
    fn schedule(&self) -> Steps {
        self.gradient_batches()
            .map_or(Steps::Constant, |own| own.schedule)
    }

    /// Returns the numbers of rows that an evaluation reads, if there are `rows` rows.
    fn evaluation(&self, rows: usize) -> EvaluationRows {
        EvaluationRows {
            gradient: batch(self.gradient_batches().map_or(0, |own| own.batch), rows),
            differences: 0,
        }
    }

    /// Returns the power to which the target density at temperature 1 raises the likelihood of
    /// `rows` rows. Returns `None` if the sampler does not have such a target density.
    fn likelihood_power(&self, rows: usize) -> Option<f64> {
        let _ = rows;
        Some(1.0)
    }

    /// Returns the options of the acceptance step on mini-batches; `None` if the sampler does not
    /// have such a step.
    fn penalty(&self) -> Option<&Penalty> {
        None
    }

    /// Checks that the options are compatible with each other on this number of rows.
    ///
    /// # Errors
    /// Returns the first incompatible options.
    fn check(&self, rows: usize, chains: &ChainOptions) -> Result<(), OptionConflict> {
        let _ = rows;
        self.schedule().check(chains)
    }

    /// Checks that the options are possible for data files with these numbers of rows.
    ///
    /// # Errors
    /// Fails if a batch size is smaller than the number of non-empty files, because each batch
    /// contains rows of every non-empty file.
    fn check_shards(&self, shards: &[usize]) -> Result<(), OptionConflict> {
        let _ = shards;
        Ok(())
    }
}

impl Transition {
    /// Replaces [`MetricKind::Automatic`] by the metric that it stands for. `is_small` is true if
    /// the model does not have layers and has few dimensions.
    pub fn resolve(&mut self, is_small: bool) {
        let part = self.part_mut();
        let is_dense = part.has_trajectories() && is_small;
        if let Some(adaptation) = part.adaptation_mut()
            && adaptation.metric == MetricKind::Automatic
        {
            adaptation.metric = match is_dense {
                true => MetricKind::Dense,
                false => MetricKind::Diagonal,
            };
        }
    }
}

/// Returns the number of rows in a batch. If the option `batch` is 0, a batch has all rows.
fn batch(batch: usize, rows: usize) -> usize {
    match batch {
        0 => rows,
        batch => batch.min(rows),
    }
}

/// Returns the record of a sampler.
const fn sampler(
    name: &'static str,
    doc: &'static str,
    sampler: SamplerKind,
    options: &'static [OptionDef],
) -> MethodDef {
    MethodDef {
        name,
        doc,
        options,
        takes: Takes::ModelOrFixed,
        finds: Finds::Chains(sampler),
    }
}
