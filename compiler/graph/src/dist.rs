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

/// How a density falls at one end of the values, in the distance `t` from zero where that end is infinite, and in the inverse of the distance from
/// the end elsewhere.
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

    /// As a distribution declares it.
    pub fn name(self) -> &'static str {
        match self {
            TailKind::Power => "power",
            TailKind::LogNormal => "log_normal",
            TailKind::Exponential => "exponential",
            TailKind::DoubleExponential => "double_exponential",
        }
    }

    /// The numbers that it takes.
    pub fn numbers(self) -> &'static [&'static str] {
        match self {
            TailKind::Power => &["index"],
            TailKind::LogNormal => &[],
            TailKind::Exponential => &["rate", "order"],
            TailKind::DoubleExponential => &["rate"],
        }
    }
}

/// How a density falls, with the numbers that decide it as functions of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTail {
    /// In which way.
    pub kind: TailKind,
    /// `(params..) -> ` each of [`TailKind::numbers`], for all elements or for each.
    pub numbers: Vec<Arc<Function>>,
}

/// One end of the values that have probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEnd {
    /// `(params..) -> ` where it is, where that is not the end of the support.
    pub at: Option<Arc<Function>>,
    /// How the density falls there; `None` where the distribution does not declare it.
    pub tail: Option<DeclaredTail>,
}

/// Where a distribution has probability and how its density falls there, for each element by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Where values lie before they are restricted to a declared type.
    pub support: Support,
    /// The lower and the upper end.
    pub ends: [DeclaredEnd; 2],
}

impl Reach {
    /// The same with every function replaced.
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
    /// Where they have probability, before a declared type restricts them: one for each component of a mixture.
    pub reach: Vec<Reach>,
    /// Whether elements are independent given the parameters.
    pub elementwise: bool,
    /// `(params.., x) -> real[]`: the log density of the tensor.
    pub log_density: Arc<Function>,
    /// `(params.., x) -> real[shape of value]`: per element (only elementwise distributions).
    pub log_density_elements: Option<Arc<Function>>,
    /// `(params.., draw, example, step: int[]) -> x`: a reparameterised sampler where a path exists.
    /// Noise sites inside are relative; `noise` nodes carry the attribute `site`, prefixed when inlined.
    pub draw: Option<Arc<Function>>,
    /// As `draw`, of a distribution with independent elements before it was truncated to `support`: those values that lie there have this
    /// distribution. None where nothing was truncated.
    pub wider_draw: Option<Arc<Function>>,
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
