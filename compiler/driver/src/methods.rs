//! The compiler's part of each method: one trait, one registry, and one folder per method. The folder of a method imports from no other method's
//! folder except `train`.

#[cfg(feature = "collapsed")]
mod collapsed;
mod dropout;
pub(crate) mod iterates;
pub(crate) mod laplace;
mod sample;
pub(crate) mod train;

#[cfg(not(feature = "collapsed"))]
use crate::diagnostics;
use crate::infer::{Compilation, CompileFailure, ElaboratedInference};
use bnnc_abi::cost::Cost;
use bnnc_abi::data::Schema;
use bnnc_abi::manifest::{InferenceBlock, SiteReport, State, Work};
use bnnc_abi::method::{Finds, MethodDef};
use bnnc_graph::function::Function;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;

/// The inputs from which the programs of a method are built.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// The model, the posterior and the optimiser.
    pub elaborated: &'a ElaboratedInference,
    /// The densities of the model.
    pub densities: &'a Densities,
    /// The sizes, columns and levels of the data.
    pub schema: &'a Schema,
    /// The code generator.
    pub backend: &'a dyn Backend,
}

/// The programs of an inference block, and the properties that all methods report.
pub(crate) struct Programs {
    /// The inference itself.
    pub work: Work,
    /// Predictions for rows.
    pub predict: Function,
    /// Draws of the sites.
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

/// The part of a method of inference that belongs to the compiler.
pub(crate) trait Method {
    /// Builds the programs of an inference.
    ///
    /// # Errors
    /// Fails for a model, data or options that the method does not support.
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms;

    /// Returns whether a model without sites is rejected before any program is built.
    fn needs_sites(&self) -> bool {
        false
    }

    /// Returns whether training minimises a fixed loss. If it does, a gradient descent from the final parameters can check whether training has
    /// converged.
    fn minimises_loss(&self) -> bool {
        false
    }

    /// Returns the reason why predictions are not means over draws of all parameters; `None` if they are such means. The reason is the predicate of a
    /// sentence about the method.
    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        None
    }

    /// Returns the reason why training rows cannot be left out of the posterior; `None` if they can.
    fn keeps_rows(&self, _: &MethodDef, _: &InferenceBlock) -> Option<Kept> {
        None
    }
}

/// The reason why training rows cannot be left out of the posterior.
pub(crate) enum Kept {
    /// A reason that holds for every setting of the options: a sentence without a full stop.
    Always(String),
    /// The reason is the value of an option. The fields are a sentence without a full stop, and a help that gives the value to set.
    TurnedOff(String, String),
}

/// Returns the method that finds a posterior in this way.
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
        Err(CompileFailure::Program(vec![diagnostics::absent_method(
            compilation.item,
        )]))
    }
}
