//! The op record: everything the compiler ever asks about an operation, in one place.

use crate::attr::{Attr, AttrKind, AttrSpec};
use crate::builder::Builder;
use crate::function::Value;
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::Dim;
use bnnc_math::scalar::Scalar;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// How many operands an op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many.
    Exactly(usize),
    /// This many or more.
    AtLeast(usize),
}

/// Everything the compiler ever asks about an op.
pub struct OpDef {
    /// Its name in text; the registry is sorted by it.
    pub name: &'static str,
    /// One sentence; becomes the reference manual.
    pub doc: &'static str,
    /// The number of operands.
    pub arity: Arity,
    /// The attributes, in order.
    pub attrs: &'static [AttrSpec],
    /// The type of the result, or a sentence why there is none.
    pub infer: fn(&[&Type], &[Attr]) -> Result<Type, String>,
    /// Reference semantics in `f64`, on static shapes: the oracle for backends, rules and derivatives.
    pub eval: fn(&[&Tensor], &[Attr]) -> Tensor,
    /// The reverse derivative.
    pub vjp: Vjp,
    /// How a mapped axis passes through.
    pub batch: Batch,
    /// Bounds of the elements of the result from bounds of the operands' elements.
    pub range: fn(&[Interval], &[Attr]) -> Interval,
    /// What a backend makes of it.
    pub lower: Lower,
    /// Example calls (types, attributes, intervals to draw from) that the conformance tests walk.
    pub examples: fn() -> Vec<Example>,
}

impl OpDef {
    /// Returns whether this is the given op of the registry.
    pub fn is(&self, op: &'static OpDef) -> bool {
        std::ptr::eq(self, op)
    }

    /// Returns whether this is one of the given ops of the registry.
    pub fn is_one_of(&self, ops: &[&'static OpDef]) -> bool {
        ops.iter().any(|op| self.is(op))
    }

    /// Whether each element of the result depends on the same element of each operand only.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.lower, Lower::Scalar(_))
    }

    /// Whether it is the same for its two operands in the other order.
    pub fn is_commutative(&self) -> bool {
        use Scalar::{Add, And, Eq, Max, Min, Mul, Or};
        matches!(self.lower, Lower::Scalar(Add | And | Eq | Max | Min | Mul | Or))
    }

    /// Whether it has its own derivative rule.
    pub fn is_differentiable(&self) -> bool {
        matches!(self.vjp, Vjp::Rule(_) | Vjp::Implicit(_))
    }

    /// Whether it takes functions as attributes.
    pub fn is_higher_order(&self) -> bool {
        self.attrs.iter().any(|spec| spec.kind == AttrKind::Function)
    }
}

impl Arity {
    /// Whether this many operands fit.
    pub fn admits(self, count: usize) -> bool {
        match self {
            Arity::Exactly(wanted) => count == wanted,
            Arity::AtLeast(least) => count >= least,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arity::Exactly(1) => f.write_str("1 operand"),
            Arity::Exactly(count) => write!(f, "{count} operands"),
            Arity::AtLeast(1) => f.write_str("1 operand or more"),
            Arity::AtLeast(count) => write!(f, "{count} operands or more"),
        }
    }
}

/// What a derivative, batch or lowering rule sees of the node it is applied to.
pub struct Site<'a> {
    /// The operands.
    pub args: &'a [Value],
    /// The attributes.
    pub attrs: &'a [Attr],
    /// The node's own value (for [`Vjp`]); in [`Lower::Expand`] and [`Batch`] it does not exist yet.
    pub out: Option<Value>,
}

impl Site<'_> {
    /// The node's own value, which a derivative rule always has.
    pub fn result(&self) -> Value {
        self.out
            .unwrap_or_else(|| unreachable!("a derivative rule is applied to a node that exists"))
    }
}

/// Reverse derivative: from the cotangent of the result to those of the operands.
pub enum Vjp {
    /// One entry per operand; `None` where no derivative flows (integers, conditions).
    Rule(fn(&mut Builder, &Site, Value) -> Vec<Option<Value>>),
    /// As [`Vjp::Rule`], for a random result: its derivative at a fixed probability. It gives the derivatives of expectations,
    /// although with the same random numbers single values may move otherwise.
    Implicit(fn(&mut Builder, &Site, Value) -> Vec<Option<Value>>),
    /// Constant almost everywhere, or not differentiable by intent; with the reason.
    Zero(&'static str),
    /// A refusal is declared with its reason, never left out.
    None(&'static str),
}

/// How a mapped axis passes through an op. Mapped operands and results carry it as axis 0.
pub enum Batch {
    /// Operands that are not mapped are broadcast along the new axis; attributes stay.
    Elementwise,
    /// `(builder, site with mapped operands, which operands are mapped, size of the axis) -> mapped result`.
    Rule(fn(&mut Builder, &Site, &[bool], Dim) -> Value),
    /// Expand first (see [`Lower::Expand`]), then map the expansion.
    Expand,
}

/// What becomes of an op below the graph.
pub enum Lower {
    /// One scalar operation per element.
    Scalar(Scalar),
    /// A view or an index map, a reduction, a library call: a kernel family of the `lower` crate.
    Kernel(KernelKind),
    /// Rewritten into other ops before lowering.
    Expand(fn(&mut Builder, &Site) -> Value),
    /// Only legal before `density`: removed by a pass.
    Removed(&'static str),
}

/// The kernel families that `lower` knows. Closed: matched without a wildcard there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKind {
    /// Repeats elements along new axes.
    Broadcast,
    /// Lower-triangular Cholesky factor of the last two axes.
    Cholesky,
    /// Joins operands along an axis.
    Concat,
    /// A literal tensor.
    Constant,
    /// Labelled contraction.
    Contract,
    /// Running sum along an axis.
    Cumsum,
    /// Counter-based gamma variates.
    GammaNoise,
    /// Picks slices by an integer operand.
    Gather,
    /// 0, 1, 2, ...
    Iota,
    /// Counter-based random numbers.
    Noise,
    /// Windows added where they overlap.
    OverlapAdd,
    /// Zeros around and between elements.
    Pad,
    /// All windows of a size.
    Patches,
    /// The largest element along axes.
    ReduceMax,
    /// The sum along axes.
    ReduceSum,
    /// The same elements under another shape.
    Reshape,
    /// A first-order recurrence along an axis.
    Scan,
    /// Adds slices at integer positions.
    ScatterAdd,
    /// A strided window.
    Slice,
    /// The operand itself, with no derivative.
    StopGradient,
    /// Permuted axes.
    Transpose,
    /// Solves with a triangular matrix.
    TriangularSolve,
}

/// Bounds of the elements of a value; `lo > hi` never.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Smallest possible element.
    pub lo: f64,
    /// Largest possible element.
    pub hi: f64,
}

impl Interval {
    /// Anything.
    pub const REALS: Interval = Interval {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    /// The closed interval.
    pub fn new(lo: f64, hi: f64) -> Interval {
        Interval { lo, hi }
    }
}

/// One call that conformance tests make: each operand with its type and the interval its elements are drawn from.
pub struct Example {
    /// Operand types (static shapes) with intervals; integers are drawn from the interval and rounded down.
    pub operands: Vec<(Type, Interval)>,
    /// Attributes in declared order.
    pub attrs: Vec<Attr>,
    /// Added to the diagonal of the last two axes of the first operand, for matrices that must be invertible.
    pub diagonal: f64,
}

/// A typed handle: compared by identity, never by name.
#[derive(Clone, Copy)]
pub struct Op(pub &'static OpDef);

impl PartialEq for Op {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.0)
    }
}

impl Eq for Op {}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl Deref for Op {
    type Target = OpDef;
    fn deref(&self) -> &OpDef {
        self.0
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
