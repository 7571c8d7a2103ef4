//! A distribution as the graph sees it: its density, sampler and moments as functions, never as an enum.

use crate::function::Function;
use crate::op::Interval;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};
pub use bnnc_base::support::Support;
use std::sync::Arc;

/// The type of the values on the reals that a bijection takes to values of type `ty` in `support`: a simplex of `k` elements has `k - 1` free
/// coordinates.
pub fn unconstrained(support: Support, ty: &Type) -> Type {
    let mut dims = ty.dims().to_vec();
    if let (Support::Simplex, Some(Dim::Fixed(last))) = (support, dims.last_mut()) {
        *last = last.saturating_sub(1);
    }
    ty.with_shape(Shape(dims))
}

/// The interval around a support.
pub fn range(support: Support) -> Interval {
    match support {
        Support::Real | Support::Ordered => Interval::REALS,
        Support::Interval(lo, hi) => Interval::new(lo, hi),
        Support::Simplex => Interval::UNIT,
        Support::Integers(0) => Interval::NON_NEGATIVE,
        Support::Integers(count) => Interval::new(0.0, count as f64 - 1.0),
    }
}

/// How the probability of a distribution is spread: a property that its declaration states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// By a density, or one probability per value.
    #[default]
    Density,
    /// By a density that has no finite integral: a prior only.
    Improper,
    /// All at the value of `draw`: a family of point estimates.
    Point,
}

/// A distribution of the library or the program, elaborated for concrete shapes.
///
/// Every function takes the distribution's parameters first, under their names, each with the type in `params`.
/// An elementwise distribution is elaborated for the whole tensor: `log_density` returns the sum over elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// As declared: `Normal`.
    pub name: Arc<str>,
    /// How its probability is spread.
    pub measure: Measure,
    /// Parameter names and types, in order.
    pub params: Vec<(Arc<str>, Type)>,
    /// Where each parameter lies, in order.
    pub supports: Vec<Support>,
    /// The type of a value.
    pub value: Type,
    /// Where values lie.
    pub support: Support,
    /// Whether elements are independent given the parameters.
    pub elementwise: bool,
    /// `(params.., x) -> real[]`: the log density of the tensor.
    pub log_density: Arc<Function>,
    /// `(params.., x) -> real[shape of value]`: per element (only elementwise distributions).
    pub log_density_elements: Option<Arc<Function>>,
    /// `(params.., draw, example, step: int[]) -> x`: a reparameterised sampler where a path exists.
    /// Noise sites inside are relative; `noise` nodes carry the attribute `site`, prefixed when inlined.
    pub draw: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped mean.
    pub mean: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped variance.
    pub variance: Option<Arc<Function>>,
    /// `(params..) -> real[]`: the total entropy of the tensor.
    pub entropy: Option<Arc<Function>>,
    /// `(params.., order: real[]) -> value`-shaped mean of each element to the power `order`; infinite where it diverges.
    pub moment: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped mean of the logarithm of each element (positive supports).
    pub log_mean: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped variance of the logarithm of each element (positive supports).
    pub log_variance: Option<Arc<Function>>,
    /// `(params..) -> real[classes]`: for discrete outputs, the probability of each class.
    pub probabilities: Option<Arc<Function>>,
}
