//! The results of elaboration: a model for one example, a posterior, an optimiser.

use crate::dist::{Instance, Support};
use crate::function::{Function, Value};
use crate::types::Type;
use bnnc_abi::manifest::Init;
use std::sync::Arc;

/// A model, elaborated for one example.
///
/// `function` is probabilistic. Its parameters, by name, are the shared inputs, then the inputs of the
/// example, then the observed outputs. Every declared site is one `sample` node, whose attribute `site` is
/// the path of the site. Every output has one or more `observe` nodes. The function has no results: the
/// `density` pass splits it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The probabilistic function.
    pub function: Function,
    /// The shared inputs.
    pub shared: Vec<Input>,
    /// The inputs of one example.
    pub inputs: Vec<Input>,
    /// The observed outputs.
    pub outputs: Vec<Input>,
    /// The random sites, in order of declaration.
    pub sites: Vec<Site>,
    /// The deterministic quantities that the model names, in order, as nodes of `function`.
    pub derived: Vec<(Arc<str>, Value)>,
}

/// A parameter of a model's function.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: Arc<str>,
    /// Its type for one example.
    pub ty: Type,
    /// The support of its elements.
    pub support: Support,
    /// True if it is the row number (`= row`).
    pub row: bool,
}

/// A random quantity of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Its path: `hidden.w`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The support of its values, after truncation to the declared type.
    pub support: Support,
    /// True if every example has its own value.
    pub local: bool,
}

/// The approximation of one site, or of several sites with a joint family.
#[derive(Clone, Debug)]
pub struct SitePosterior {
    /// The site, or the name of the group if several sites share the family.
    pub site: Arc<str>,
    /// The sites that share the family, in the order in which their elements lie in its values; empty for a
    /// single site. A joint family is on `real[n]`, over the free coordinates of the members in row-major
    /// order.
    pub members: Vec<Site>,
    /// The family, for the shape of this site. `Point` has a `draw` (its `loc`) and no density.
    pub family: Arc<Instance>,
    /// The parameters of the family, in order.
    pub params: Vec<FamilyParam>,
}

/// One parameter of a variational family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyParam {
    /// Its name in the family: `loc`. A parameter of one member of a group also has the name of the member:
    /// `hidden.w/loc`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Its support: a positive scale is optimised through a softplus.
    pub support: Support,
    /// Its starting value, on the declared (constrained) scale.
    pub start: FamilyStart,
}

/// The starting value of a parameter of a family.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyStart {
    /// It is optimised from this start.
    Optimise(Init),
    /// It keeps this value.
    Fixed(Vec<f64>),
    /// It keeps the value that another inference run found: `(inference, site)`.
    From(Arc<str>, Arc<str>),
}

/// An approximation of a model's posterior.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// Its name.
    pub name: String,
    /// One entry per site of the model or group of sites, in the order of the model.
    pub sites: Vec<SitePosterior>,
}

/// An optimiser elaborated for one tensor shape.
///
/// `update` has the parameters `gradient`, `parameter` (its value before the step), one per state (by name),
/// `iteration` (real, from 1) and `rate` (real). Its results are `step`, which is added to the parameter,
/// then the next value of each state. All tensors have the same shape.
#[derive(Clone, Debug)]
pub struct ElaboratedOptimiser {
    /// Its name.
    pub name: String,
    /// The names of the states with their starting values.
    pub states: Vec<(Arc<str>, f64)>,
    /// The initial learning rate.
    pub rate: f64,
    /// The update of scalars, in elementwise ops only. The rewriter maps it over elements.
    pub update: Arc<Function>,
}
