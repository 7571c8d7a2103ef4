//! Distributions in the graph. The density, the sampler and the moments of a distribution are
//! functions, so this crate needs no code for any particular family.

use crate::function::Function;
use crate::op::Interval;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};
pub use bnnc_base::support::Support;
use std::sync::Arc;

/// Returns the type of the unconstrained coordinates of a value. A bijection transforms the
/// coordinates to a value of type `ty` in `support`. For example, a simplex of `k` elements has
/// `k - 1` unconstrained coordinates.
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

/// The kind of measure that a distribution declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeasureKind {
    /// A density, or the probability of each value.
    #[default]
    Density,
    /// A density without a finite integral. It is allowed only in priors.
    Improper,
    /// A point mass: all probability is at the value of `draw`. The families of point estimates are
    /// of this kind.
    Point,
}

bnnc_base::named! {
    /// The decay of a density at one end of its range. At an infinite end, `t` is the distance of a
    /// value from zero. At a finite end, `t` is the inverse of the distance of a value from the end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TailKind {
        /// The probability beyond `t` decays like `t ^ -index`.
        Power = "power",
        /// The log density decays like minus the square of `log t`.
        LogNormal = "log_normal",
        /// The log density decays like `-(rate t) ^ order`.
        Exponential = "exponential",
        /// The log density decays like `-exp(rate t)`.
        DoubleExponential = "double_exponential",
    }
}

impl TailKind {
    /// Returns the names of the numbers by which this kind of decay is described, such as `rate`.
    pub fn numbers(self) -> &'static [&'static str] {
        match self {
            TailKind::Power => &["index"],
            TailKind::LogNormal => &[],
            TailKind::Exponential => &["rate", "order"],
            TailKind::DoubleExponential => &["rate"],
        }
    }
}

/// The decay of a density at one end. The numbers that describe the decay are functions of the
/// distribution's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTail {
    /// The kind of decay.
    pub kind: TailKind,
    /// One function `(params..) -> number` for each name in [`TailKind::numbers`]. It returns
    /// either one number for all elements or one number per element.
    pub numbers: Vec<Arc<Function>>,
}

/// One end of an interval of values with positive probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEnd {
    /// `(params..) -> position of the end`. `None` if this end is the end of the support.
    pub at: Option<Arc<Function>>,
    /// The decay of the density at this end. `None` if the distribution does not declare the decay.
    pub tail: Option<DeclaredTail>,
}

/// For each element, the interval of values with positive probability, and the decay of the density at the
/// ends of this interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The support of the values before the declared type restricts it.
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
/// The first arguments of every function are the parameters of the distribution. `params` lists the
/// names and types of these parameters. An elementwise distribution is elaborated for the whole
/// tensor, and its `log_density` returns the sum over the elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The declared name: `Normal`.
    pub name: Arc<str>,
    /// The kind of measure.
    pub measure: MeasureKind,
    /// Parameter names and types, in order.
    pub params: Vec<(Arc<str>, Type)>,
    /// The support of each parameter, in order.
    pub supports: Vec<Support>,
    /// The type of a value.
    pub value: Type,
    /// The support of the values.
    pub support: Support,
    /// The intervals of values with positive probability, before the declared type restricts the
    /// values. A mixture has one interval for each component.
    pub reach: Vec<Reach>,
    /// True if the elements of a value are independent, given the parameters.
    pub elementwise: bool,
    /// `(params.., x) -> real[]`: the log density of the tensor.
    pub log_density: Arc<Function>,
    /// `(params.., x) -> real[shape of value]`: the log density of each element. Only elementwise
    /// distributions have this function.
    pub log_density_elements: Option<Arc<Function>>,
    /// `(params.., draw, example, step: int[]) -> x`: a sampler, reparameterised if possible. Each
    /// `noise` node has the name of its stream in the attribute `site`. When the sampler is
    /// inlined, a prefix is added to these names.
    pub draw: Option<Arc<Function>>,
    /// Like `draw`, but samples the untruncated distribution, whose elements are independent. Those
    /// draws that lie inside `support` have the truncated distribution. `None` if the distribution
    /// is not truncated.
    pub wider_draw: Option<Arc<Function>>,
    /// `(params..) -> mean`, with the shape of the value.
    pub mean: Option<Arc<Function>>,
    /// `(params..) -> variance`, with the shape of the value.
    pub variance: Option<Arc<Function>>,
    /// `(params..) -> real[]`: the entropy of the whole tensor.
    pub entropy: Option<Arc<Function>>,
    /// `(params.., order: real[]) -> moment`, with the shape of the value: the mean of `x ^ order`
    /// for each element `x`. A moment that diverges is infinite.
    pub moment: Option<Arc<Function>>,
    /// `(params..) -> mean`, with the shape of the value: the mean of the logarithm of each
    /// element. `None` if the support is not positive.
    pub log_mean: Option<Arc<Function>>,
    /// `(params..) -> variance`, with the shape of the value: the variance of the logarithm of each
    /// element. `None` if the support is not positive.
    pub log_variance: Option<Arc<Function>>,
    /// `(params..) -> real[classes]`: the probability of each class, for discrete outputs.
    pub probabilities: Option<Arc<Function>>,
}
