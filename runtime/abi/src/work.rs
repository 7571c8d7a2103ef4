//! The part of an inference block that depends on its method, with one variant for each method. The record of each method is
//! defined next to its options.

use crate::method::MethodDef;
use crate::part::MethodPart;
use crate::sampling::{SamplerKind, samplers};
use crate::{collapsed, dropout, iterates, laplace, sampling, training, variational};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Declares one variant of [`Work`] for each kind of work, with the records of the methods that do it. The variant has
/// the name of its type.
macro_rules! works {
    ($($(#[$meta:meta])* $module:ident::$name:ident = $records:expr;)+) => {
        /// All methods, sorted by name.
        pub static ALL: LazyLock<Vec<MethodDef>> = LazyLock::new(|| {
            let mut all = [$( $records ),+].concat();
            all.sort_unstable_by_key(|method: &MethodDef| method.name);
            all
        });

        /// The part of an inference block that finds a posterior.
        #[derive(Clone, Serialize, Deserialize)]
        pub enum Work {
            $( $(#[$meta])* $name(Box<$module::$name>), )+
        }

        impl Work {
            /// Returns the part as an object of the trait that all methods implement.
            pub fn part(&self) -> &dyn MethodPart {
                match self {
                    $( Work::$name(part) => &**part, )+
                }
            }

            /// Returns a mutable reference to the part that [`Work::part`] returns.
            pub(crate) fn part_mut(&mut self) -> &mut dyn MethodPart {
                match self {
                    $( Work::$name(part) => &mut **part, )+
                }
            }
        }
    };
}

/// The kind of computation with which a method finds a posterior. Several kinds can have the
/// same variant of [`Work`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    /// Training by an optimiser.
    Training,
    /// Training by an optimiser, with random masks. Predictions also use random masks.
    Masked,
    /// Markov chains with this sampler.
    Chains(SamplerKind),
    /// A search for a maximum, around which a Gaussian is placed.
    Laplace,
    /// A training whose iterates determine a Gaussian.
    Swag,
    /// Several trainings, each of which finds a maximum.
    Ensemble,
    /// A training whose iterates form a mixture, with exact integrals over some weights.
    Collapsed,
}

works! {
    /// Training by an optimiser.
    training::Train = &[training::MAP, dropout::RECORD, variational::RECORD][..];
    /// Sampling by Markov chains.
    sampling::Sampling = samplers::RECORDS;
    /// A Gaussian around a maximum.
    laplace::Laplace = &[laplace::RECORD];
    /// A Gaussian over iterates.
    iterates::Swag = &[iterates::SWAG];
    /// An ensemble: several maxima.
    iterates::Ensemble = &[iterates::ENSEMBLE];
    /// A mixture over iterates, in which some weights are integrated over.
    collapsed::Collapsed = &[collapsed::RECORD];
}
