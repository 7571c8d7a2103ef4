//! The part of an inference block that depends on its method: the list of methods.

use crate::collapsed::Collapsed;
use crate::iterates::{Ensemble, Swag};
use crate::laplace::Laplace;
use crate::part::MethodPart;
use crate::sampling::Sampling;
use crate::training::Train;
use serde::{Deserialize, Serialize};

/// Declares one variant of [`Work`] for each method. The variant has the name of its type.
macro_rules! works {
    ($($(#[$meta:meta])* $name:ident,)+) => {
        /// The part of an inference block that finds a posterior.
        #[derive(Clone, Serialize, Deserialize)]
        pub enum Work {
            $( $(#[$meta])* $name(Box<$name>), )+
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
    /// Training by an optimiser.
    Train,
    /// Sampling by Markov chains.
    Sampling,
    /// A Gaussian around a maximum.
    Laplace,
    /// A Gaussian over iterates.
    Swag,
    /// An ensemble: several maxima.
    Ensemble,
    /// A mixture over iterates, in which some weights are integrated over.
    Collapsed,
}
