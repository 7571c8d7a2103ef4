//! The results of elaboration: a model for one example, a posterior, and an optimiser.

use crate::dist::{Instance, Support};
use crate::function::{Function, Value};
use crate::types::Type;
use bnnc_abi::manifest::Init;
use std::sync::Arc;

/// A model, elaborated for one example.
///
/// `function` is probabilistic. The parameters of `function` are the shared inputs, then the inputs
/// of the example, then the observed outputs. Parameters are identified by name. Every declared
/// site is one `sample` node, whose attribute `site` is the path of the site. Every
/// output has one or more `observe` nodes. The function does not have results, because the
/// `density` pass splits it into functions.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name of the model.
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
    /// The running means over rows, in order. Each is one `running_mean` node, whose attribute `name` is its path.
    pub running: Vec<RunningMean>,
    /// The named deterministic quantities of the model, in order. Each quantity is a node of `function`.
    pub derived: Vec<(Arc<str>, Value)>,
}

/// A parameter of a model's function.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name of the parameter.
    pub name: Arc<str>,
    /// The type for one example.
    pub ty: Type,
    /// The support of the parameter's elements.
    pub support: Support,
    /// True if the parameter is the row number (`= row`).
    pub row: bool,
}

/// A random quantity of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The path of the site: `hidden.w`.
    pub name: Arc<str>,
    /// The type of the random quantity.
    pub ty: Type,
    /// The support of its values, after truncation to the declared type.
    pub support: Support,
    /// True if every example has its own value.
    pub local: bool,
    /// The start that a layer declares for its weights, `start = he`. A posterior can replace it.
    pub start: Option<Init>,
}

/// A mean over the rows of a training step. The trained model stores the average of this mean over
/// the steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningMean {
    /// The path of the mean: `norm.mean`.
    pub name: Arc<str>,
    /// The type of the mean, which is the type of the averaged value for one example.
    pub ty: Type,
    /// The weight of a new mean in the stored average.
    pub momentum: f64,
    /// The stored value before the first step.
    pub start: f64,
}

/// The approximation of one site, or of several sites that share a joint family.
#[derive(Clone, Debug)]
pub struct SitePosterior {
    /// The site, or the name of the group if several sites share the family.
    pub site: Arc<str>,
    /// The sites that share the family. They are in the order in which a value of the family holds
    /// their elements. The list is empty for a single site. A joint family is a distribution on
    /// `real[n]`, over the unconstrained coordinates of the members in row-major order.
    pub members: Vec<Site>,
    /// The family, elaborated for the shape of this site. The family `Point` has no density, but a `draw`
    /// that returns its parameter `loc`.
    pub family: Arc<Instance>,
    /// The parameters of the family, in order.
    pub params: Vec<FamilyParam>,
}

/// One parameter of a variational family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyParam {
    /// The name of the parameter in the family, such as `loc`. If the parameter belongs to one member of a
    /// group, the name of the member comes first: `hidden.w/loc`.
    pub name: Arc<str>,
    /// The type of the parameter.
    pub ty: Type,
    /// The support of the parameter. A positive scale, for example, is optimised through a softplus.
    pub support: Support,
    /// The starting value of the parameter, on the declared (constrained) scale.
    pub start: FamilyStart,
}

/// The starting value of a family's parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyStart {
    /// The parameter is optimised, and starts at this value.
    Optimise(Init),
    /// The parameter keeps this value.
    Fixed(Vec<f64>),
    /// The parameter keeps the value from an earlier inference run. The fields are
    /// `(inference, site)`.
    From(Arc<str>, Arc<str>),
}

/// An approximation of a model's posterior.
#[derive(Clone, Debug)]
pub struct ApproximatePosterior {
    /// The name of the approximation.
    pub name: String,
    /// The approximations of the sites, in the order of the model's sites. A group of sites has one entry.
    pub sites: Vec<SitePosterior>,
}

/// An optimiser elaborated for one tensor shape.
///
/// `update` has these parameters: `gradient`, `parameter` (the value before the step), one
/// parameter per state with the name of the state, `iteration` (a real that counts from 1) and
/// `rate` (a real). The first result is `step`, which is added to the parameter. The other results
/// are the next values of the states, in order. All tensors have the same shape.
#[derive(Clone, Debug)]
pub struct ElaboratedOptimiser {
    /// The names of the states with their starting values.
    pub states: Vec<(Arc<str>, f64)>,
    /// The initial learning rate.
    pub rate: f64,
    /// The update of scalars. It contains only elementwise ops. The rewriter applies the update to
    /// each element of a tensor.
    pub update: Arc<Function>,
}
