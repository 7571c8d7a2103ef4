//! Distributions in the graph: density, sampler and moments are functions, so that the graph never enumerates
//! families.

use crate::function::Function;
use crate::op::Interval;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};
pub use bnnc_base::support::Support;
use std::sync::Arc;

/// Returns the type of the unconstrained values that a bijection transforms to values of type `ty` in
/// `support`. A simplex of `k` elements has `k - 1` free coordinates.
pub fn unconstrained(support: Support, ty: &Type) -> Type {
    let mut dims = ty.dims().to_vec();
    if let (Support::Simplex, Some(Dim::Fixed(last))) = (support, dims.last_mut()) {
        *last = last.saturating_sub(1);
    }
    ty.with_shape(Shape(dims))
}

/// Returns the smallest interval that contains a support.
pub fn range(support: Support) -> Interval {
    match support {
        Support::Real | Support::Ordered => Interval::REALS,
        Support::Interval(lo, hi) => Interval::new(lo, hi),
        Support::Simplex => Interval::UNIT,
        Support::Integers(0) => Interval::NON_NEGATIVE,
        Support::Integers(count) => Interval::new(0.0, count as f64 - 1.0),
    }
}

/// The kind of measure of a distribution, as its declaration states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// A density, or one probability per value.
    #[default]
    Density,
    /// A density without a finite integral, for priors only.
    Improper,
    /// All probability at the value of `draw`: a family of point estimates.
    Point,
}

/// The kind of decay of a density at one end of its values. The distance `t` is measured from zero at an
/// infinite end, and is the inverse of the distance from the end at a finite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// The probability beyond `t` falls like `t ^ -index`.
    Power,
    /// The log density falls like the square of `log t`.
    LogNormal,
    /// The log density falls like `-(rate t) ^ order`.
    Exponential,
    /// The log density falls like `-exp(rate t)`.
    DoubleExponential,
}

impl TailKind {
    /// Every kind.
    pub const ALL: [TailKind; 4] = [
        TailKind::Power,
        TailKind::LogNormal,
        TailKind::Exponential,
        TailKind::DoubleExponential,
    ];

    /// Returns the name in declarations of distributions.
    pub fn name(self) -> &'static str {
        match self {
            TailKind::Power => "power",
            TailKind::LogNormal => "log_normal",
            TailKind::Exponential => "exponential",
            TailKind::DoubleExponential => "double_exponential",
        }
    }

    /// Returns the names of its numbers.
    pub fn numbers(self) -> &'static [&'static str] {
        match self {
            TailKind::Power => &["index"],
            TailKind::LogNormal => &[],
            TailKind::Exponential => &["rate", "order"],
            TailKind::DoubleExponential => &["rate"],
        }
    }
}

/// The decay of a density, with its numbers as functions of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTail {
    /// The kind of decay.
    pub kind: TailKind,
    /// `(params..) ->` each of [`TailKind::numbers`], one for all elements or one per element.
    pub numbers: Vec<Arc<Function>>,
}

/// One end of the values with positive probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEnd {
    /// `(params..) -> position of the end`; `None` for the end of the support.
    pub at: Option<Arc<Function>>,
    /// The decay of the density there; `None` if the distribution does not declare it.
    pub tail: Option<DeclaredTail>,
}

/// The range of the values with positive probability and the decay of the density at its ends, for each
/// element separately.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The support, before a declared type restricts it.
    pub support: Support,
    /// The lower and the upper end.
    pub ends: [DeclaredEnd; 2],
}

impl Reach {
    /// Returns a copy with every function replaced.
    pub fn map(&self, mut replace: impl FnMut(&Arc<Function>) -> Arc<Function>) -> Reach {
        let ends = self.ends.each_ref().map(|end| DeclaredEnd {
            at: end.at.as_ref().map(&mut replace),
            tail: end.tail.as_ref().map(|tail| DeclaredTail {
                kind: tail.kind,
                numbers: tail.numbers.iter().map(&mut replace).collect(),
            }),
        });
        Reach { ends, ..*self }
    }
}

/// A distribution of the library or the program, elaborated for concrete shapes.
///
/// The first arguments of every function are the parameters of the distribution, under their names, with the
/// types in `params`. An elementwise distribution is elaborated for the whole tensor: `log_density` returns
/// the sum over elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The declared name: `Normal`.
    pub name: Arc<str>,
    /// The kind of measure.
    pub measure: Measure,
    /// Parameter names and types, in order.
    pub params: Vec<(Arc<str>, Type)>,
    /// The support of each parameter, in order.
    pub supports: Vec<Support>,
    /// The type of a value.
    pub value: Type,
    /// The support of the values.
    pub support: Support,
    /// The ranges of the values with positive probability, before a declared type restricts them: one for
    /// each component of a mixture.
    pub reach: Vec<Reach>,
    /// True if elements are independent given the parameters.
    pub elementwise: bool,
    /// `(params.., x) -> real[]`: the log density of the tensor.
    pub log_density: Arc<Function>,
    /// `(params.., x) -> real[shape of value]`: per element (only elementwise distributions).
    pub log_density_elements: Option<Arc<Function>>,
    /// `(params.., draw, example, step: int[]) -> x`: a sampler, reparameterised if possible. The names of
    /// its noise streams are relative: inlining prefixes the attribute `site` of `noise` nodes.
    pub draw: Option<Arc<Function>>,
    /// Like `draw`, for a distribution with independent elements before its truncation to `support`: the
    /// draws inside the support have this distribution. `None` without a truncation.
    pub wider_draw: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped mean.
    pub mean: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped variance.
    pub variance: Option<Arc<Function>>,
    /// `(params..) -> real[]`: the total entropy of the tensor.
    pub entropy: Option<Arc<Function>>,
    /// `(params.., order: real[]) -> value`-shaped mean of each element to the power `order`; infinite where
    /// the moment diverges.
    pub moment: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped mean of the logarithm of each element (positive supports).
    pub log_mean: Option<Arc<Function>>,
    /// `(params..) -> value`-shaped variance of the logarithm of each element (positive supports).
    pub log_variance: Option<Arc<Function>>,
    /// `(params..) -> real[classes]`: for discrete outputs, the probability of each class.
    pub probabilities: Option<Arc<Function>>,
}
