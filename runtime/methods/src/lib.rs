//! The inference methods, one per folder. The methods do not depend on each other. Other crates obtain a method
//! from [`of`].

#[cfg(not(feature = "collapsed"))]
mod absent;
#[cfg(feature = "collapsed")]
pub mod collapsed;
pub mod iterates;
pub mod laplace;
pub mod sample;
pub mod train;

use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::diagnostic::Code;
use bnnc_inference::method::Method;

/// Returns the method of an inference block.
pub fn of<'a>(infer: &'a InferenceBlock) -> Box<dyn Method + 'a> {
    match &infer.work {
        #[cfg(not(feature = "collapsed"))]
        Work::Collapsed(collapsed) => Box::new(absent::Absent {
            infer,
            train: &collapsed.iterates.train,
        }),
        #[cfg(feature = "collapsed")]
        Work::Collapsed(collapsed) => Box::new(collapsed::method::Collapses { infer, collapsed }),
        Work::Ensemble(ensemble) => Box::new(iterates::method::Ensembles { infer, ensemble }),
        Work::Laplace(laplace) => Box::new(laplace::method::Approximates { infer, laplace }),
        Work::Sampling(sampling) => Box::new(sample::method::Samples { infer, sampling }),
        Work::Swag(swag) => Box::new(iterates::method::Averages { infer, swag }),
        Work::Train(train) => Box::new(train::Trains { infer, train }),
    }
}

/// The codes of the diagnostics of all methods, one list for each method.
pub static CODES: &[&[&Code]] = &[
    #[cfg(feature = "collapsed")]
    collapsed::diagnostics::CODES,
    iterates::diagnostics::CODES,
    laplace::diagnostics::CODES,
    sample::diagnostics::CODES,
];

/// In a run folder, a tensor whose name begins with one of these prefixes is not a state.
pub const PREFIXES: &[&str] = &[
    #[cfg(feature = "collapsed")]
    collapsed::choice::PREFIX,
    laplace::gaussian::PREFIX,
];
