//! What elaboration hands to the rewriter: a model for one example, a posterior, an optimiser.

use crate::dist::{Instance, Support};
use crate::function::{Function, Value};
use crate::types::Type;
use bnnc_abi::manifest::Init;
use std::sync::Arc;

/// A model, elaborated for one example.
///
/// `function` is probabilistic: its parameters are the shared inputs, then the example's inputs, then the observed outputs,
/// by name. Every declared site is one `sample` node (attribute `site` is its path), every output one or more `observe`
/// nodes. It has no results of its own: the `density` pass splits it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The probabilistic function.
    pub function: Function,
    /// Shared inputs.
    pub shared: Vec<Input>,
    /// Inputs of one example.
    pub inputs: Vec<Input>,
    /// Observed outputs.
    pub outputs: Vec<Input>,
    /// Random sites in order of declaration.
    pub sites: Vec<Site>,
    /// Deterministic quantities that the model names, in order: nodes of `function`.
    pub derived: Vec<(Arc<str>, Value)>,
}

/// A parameter of a model's function.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: Arc<str>,
    /// Its type for one example.
    pub ty: Type,
    /// What its elements may be.
    pub support: Support,
    /// Whether it is the row number (`= row`).
    pub row: bool,
}

/// A random quantity of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Its path: `hidden.w`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Where its values lie (after truncation to the declared type).
    pub support: Support,
    /// Whether every example has its own.
    pub local: bool,
}

/// How one site is approximated, or several together.
#[derive(Clone, Debug)]
pub struct SitePosterior {
    /// The site; where several share the family, the name of their group.
    pub site: Arc<str>,
    /// The sites that share the family, in the order in which their elements lie in its values; none where `site` has it for
    /// itself. A family that is shared is on `real[n]`, over the free coordinates of the members in row-major order.
    pub members: Vec<Site>,
    /// The family for this site's shape. `Point` has a `draw` (its `loc`) and no density.
    pub family: Arc<Instance>,
    /// One per parameter of the family, in order.
    pub params: Vec<FamilyParam>,
}

/// One parameter of a variational family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyParam {
    /// Its name in the family: `loc`. What one member of a group has of it is named by the member too: `hidden.w/loc`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Where it may lie: a positive scale is optimised through a softplus.
    pub support: Support,
    /// Where it starts, on the declared (constrained) scale.
    pub start: FamilyStart,
}

/// Where a parameter of a family starts.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyStart {
    /// It is optimised from here.
    Optimise(Init),
    /// It stays here.
    Fixed(Vec<f64>),
    /// It keeps the value that another infer found: `(infer, site)`.
    From(Arc<str>, Arc<str>),
}

/// An approximation of a model's posterior.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// Its name.
    pub name: String,
    /// One per site of the model or group of sites, in the model's order.
    pub sites: Vec<SitePosterior>,
}

/// An optimiser elaborated for one tensor shape.
///
/// `update`: parameters `gradient`, `parameter` (its value before the step), one per state (by name), `iteration` (real, from 1), `rate` (real); results: `step`
/// (added to the parameter), then one per state (its next value). All tensors have the same shape.
#[derive(Clone, Debug)]
pub struct ElaboratedOptimiser {
    /// Its name.
    pub name: String,
    /// State names and their starts.
    pub states: Vec<(Arc<str>, f64)>,
    /// The learning rate at the start.
    pub rate: f64,
    /// The update for scalars; it is mapped over elements by the rewriter (elementwise ops only).
    pub update: Arc<Function>,
}
