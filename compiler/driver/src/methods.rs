//! The compiler's part of each method: one trait, one registry, and one folder per method. The
//! folder of a method may import from the folder `train`, but not from the folders of other
//! methods.

#[cfg(feature = "collapsed")]
mod collapsed;
mod dropout;
pub(crate) mod iterates;
pub(crate) mod laplace;
mod sample;
pub(crate) mod train;

use crate::compilation::{Compilation, ElaboratedInference};
#[cfg(not(feature = "collapsed"))]
use crate::diagnostics;
use crate::failure::CompileFailure;
use bnnc_abi::cost::Cost;
use bnnc_abi::manifest::{InferenceBlock, SiteReport, State, Work};
use bnnc_abi::method::{Finds, MethodDef};
use bnnc_abi::schema::Schema;
use bnnc_graph::function::Function;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::plan::InferenceProblem;

/// The inputs from which the programs of a method are built.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// The model, the posterior and the optimiser.
    pub elaborated: &'a ElaboratedInference,
    /// The densities of the model.
    pub densities: &'a Densities,
    /// The sizes, columns and levels of the data.
    pub schema: &'a Schema,
}

impl<'a> Parts<'a> {
    /// Returns the model with its densities and the approximation of its posterior.
    pub(crate) fn problem(&self) -> InferenceProblem<'a> {
        self.elaborated.problem(self.densities)
    }
}

/// The programs of an inference block, and the properties that every method reports.
pub(crate) struct Programs {
    /// The programs and settings that are specific to the method.
    pub work: Work,
    /// Computes predictions for rows.
    pub predict: Function,
    /// Draws the sites from the posterior.
    pub sites: Function,
    /// The states: parameters, and the optimiser's own states.
    pub states: Vec<State>,
    /// The reports of the sites.
    pub reports: Vec<SiteReport>,
    /// Facts about the size of the computation that are known at compile time.
    pub cost: Cost,
}

/// The programs of an inference block, or the reason why they cannot be built.
pub(crate) type BuiltPrograms = Result<Programs, CompileFailure>;

/// The compiler's part of an inference method.
pub(crate) trait Method {
    /// Builds the programs of an inference.
    ///
    /// # Errors
    /// Fails if the method does not support the model, the data or the options.
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms;

    /// Returns whether the method rejects a model without sites before it builds any program.
    fn needs_sites(&self) -> bool {
        false
    }

    /// Returns whether training minimises a fixed loss. If it is fixed, a gradient descent from the
    /// final parameters can show whether training has converged.
    fn minimises_loss(&self) -> bool {
        false
    }

    /// Returns the reason why the method rejects models with running means, or `None` if it supports them. The reason is a clause without a full
    /// stop. If a method supports them, its predictions use, for each draw of the weights, the means that belong to this draw.
    fn without_running_means(&self) -> Option<&'static str> {
        None
    }

    /// If predictions are not means over draws of all parameters, returns the reason. It is the predicate of a sentence whose subject is the
    /// method.
    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        None
    }

    /// If training rows cannot be left out of the posterior, returns the reason.
    fn keeps_rows(&self, _: &MethodDef, _: &InferenceBlock) -> Option<Kept> {
        None
    }
}

/// The reason why training rows cannot be left out of the posterior.
pub(crate) enum Kept {
    /// The reason does not depend on the options. The field is a sentence without a full stop.
    Always(String),
    /// The value of an option is the reason. The fields are a sentence without a full stop, and a
    /// help text with a value that avoids the problem.
    TurnedOff(String, String),
}

/// Returns the compiler's part of the methods of the kind `finds`.
pub(crate) fn of(finds: Finds) -> Box<dyn Method> {
    match finds {
        Finds::Chains(sampler) => Box::new(sample::Samples(sampler)),
        #[cfg(feature = "collapsed")]
        Finds::Collapsed => Box::new(collapsed::Collapses),
        #[cfg(not(feature = "collapsed"))]
        Finds::Collapsed => Box::new(Absent),
        Finds::Ensemble => Box::new(iterates::Ensembles),
        Finds::Laplace => Box::new(laplace::Approximates),
        Finds::Masked => Box::new(dropout::Drops),
        Finds::Swag => Box::new(iterates::Averages),
        Finds::Training => Box::new(train::Trains),
    }
}

/// A method that this build does not include.
#[cfg(not(feature = "collapsed"))]
struct Absent;

#[cfg(not(feature = "collapsed"))]
impl Method for Absent {
    fn programs(&self, compilation: &mut Compilation<'_>, _: Parts<'_>) -> BuiltPrograms {
        Err(diagnostics::absent_method(compilation.item).into())
    }
}
