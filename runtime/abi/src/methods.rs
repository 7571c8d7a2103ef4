//! The registry of the methods: one module for each, with its record, its options and its part of an inference block.

pub mod collapsed;
pub mod dropout;
pub mod iterates;
pub mod laplace;
pub mod sampling;
pub mod training;
pub mod variational;

use crate::method::MethodDef;
use crate::part::MethodPart;
use sampling::samplers::{self, SamplerKind};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Declares the methods. For each part of an inference block, an entry has its type, the kinds of computation that use
/// this part, and the records of the methods with these kinds. The variant of [`Work`] has the name of the type.
macro_rules! works {
    ($($(#[$meta:meta])* $module:ident::$name:ident: $($finds:ident $(($kind:ty))?)|+ = $records:expr;)+) => {
        /// All methods, sorted by name.
        pub static ALL: LazyLock<Vec<MethodDef>> = LazyLock::new(|| {
            let mut all = [$( $records ),+].concat();
            all.sort_unstable_by_key(|method: &MethodDef| method.name);
            all
        });

        /// The kind of computation with which a method finds a posterior. The compiler makes the programs of each kind in
        /// a different way. Several kinds can have the same variant of [`Work`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Finds {
            $( $( #[doc = concat!("A computation described by [`Work::", stringify!($name), "`].")] $finds $(($kind))?, )+ )+
        }

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

works! {
    /// Training by an optimiser. If it is masked, training and predictions use random masks.
    training::Train: Training | Masked = &[training::MAP, dropout::RECORD, variational::RECORD][..];
    /// Sampling by Markov chains.
    sampling::Sampling: Chains(SamplerKind) = samplers::RECORDS;
    /// A search for a maximum, around which a Gaussian is placed.
    laplace::Laplace: Laplace = &[laplace::RECORD];
    /// A training whose iterates determine a Gaussian.
    iterates::Swag: Swag = &[iterates::SWAG];
    /// An ensemble: several trainings, each of which finds a maximum.
    iterates::Ensemble: Ensemble = &[iterates::ENSEMBLE];
    /// A training whose iterates form a mixture, in which some weights are integrated over.
    collapsed::Collapsed: Collapsed = &[collapsed::RECORD];
}
