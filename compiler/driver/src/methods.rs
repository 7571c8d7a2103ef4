//! The methods as the compiler has them: one trait, one registry, and a folder for each, which imports no other but `train`.

#[cfg(feature = "collapsed")]
mod collapsed;
mod dropout;
pub(crate) mod iterates;
pub(crate) mod laplace;
mod sample;
pub(crate) mod train;

#[cfg(not(feature = "collapsed"))]
use crate::codes;
use crate::infer::{Compilation, Elaborated, Failure};
use bnnc_abi::cost::Cost;
use bnnc_abi::data::Schema;
use bnnc_abi::manifest::{Infer, SiteReport, State, Work};
use bnnc_abi::method::{Finds, MethodDef};
use bnnc_graph::function::Function;
use bnnc_loops::backend::Backend;
use bnnc_rewrite::density::Densities;

/// The material of the programs of a method.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Model, posterior and optimiser.
    pub elaborated: &'a Elaborated,
    /// The densities of the model.
    pub densities: &'a Densities,
    /// The sizes, columns and levels of the data.
    pub schema: &'a Schema,
    /// The code generator.
    pub backend: &'a dyn Backend,
}

/// The programs of an inference block, and the facts about them that every method has.
pub(crate) struct Programs {
    /// The part that finds the posterior.
    pub work: Work,
    /// Predictions for rows.
    pub predict: Function,
    /// Draws of the sites.
    pub sites: Function,
    /// Parameters and optimiser state.
    pub states: Vec<State>,
    /// The sites.
    pub reports: Vec<SiteReport>,
    /// Compile-time facts.
    pub cost: Cost,
}

/// A method of inference as the compiler sees it.
pub(crate) trait Method {
    /// The programs of an infer.
    ///
    /// # Errors
    /// A model, data or options that the method does not support.
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> Result<Programs, Failure>;

    /// Returns whether a model without sites is an error before any of its programs are made.
    fn needs_sites(&self) -> bool {
        false
    }

    /// Returns whether its training minimises a fixed loss, so that a descent from its end can check it.
    fn minimises_loss(&self) -> bool {
        false
    }

    /// Why predictions are not means over draws of all parameters, if they are not: the rest of a sentence about the method.
    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        None
    }

    /// Why no training row can be left out, if none can.
    fn keeps_rows(&self, _: &MethodDef, _: &Infer) -> Option<Kept> {
        None
    }
}

/// Why no training row can be left out.
pub(crate) enum Kept {
    /// A sentence without a full stop.
    Always(String),
    /// An option turns it off: the same, and the advice.
    TurnedOff(String, String),
}

/// A method by what it finds a posterior with.
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

/// A method that this build leaves out.
#[cfg(not(feature = "collapsed"))]
struct Absent;

#[cfg(not(feature = "collapsed"))]
impl Method for Absent {
    fn programs(&self, compilation: &mut Compilation<'_>, _: Parts<'_>) -> Result<Programs, Failure> {
        Err(Failure::Program(vec![codes::absent_method(compilation.item)]))
    }
}
