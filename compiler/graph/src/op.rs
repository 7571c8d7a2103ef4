//! The record of an op: all properties that the compiler uses, in one place.

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

/// The number of operands of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This number.
    Exactly(usize),
    /// This number or more.
    AtLeast(usize),
}

/// The properties of an op.
pub struct OpDef {
    /// Its name in text; the registry is sorted by it.
    pub name: &'static str,
    /// One sentence for the reference manual.
    pub doc: &'static str,
    /// The number of operands.
    pub arity: Arity,
    /// The attributes, in order.
    pub attrs: &'static [AttrSpec],
    /// Returns the type of the result, or a sentence with the reason why there is none.
    pub infer: fn(&[&Type], &[Attr]) -> Result<Type, String>,
    /// Reference semantics in `f64`, on static shapes: the oracle for backends, rules and derivatives.
    pub eval: fn(&[&Tensor], &[Attr]) -> Tensor,
    /// The reverse derivative.
    pub vjp: Vjp,
    /// The batching rule, for a mapped axis.
    pub batch: Batch,
    /// Returns bounds of the elements of the result, from bounds of the elements of the operands.
    pub range: fn(&[Interval], &[Attr]) -> Interval,
    /// The lowering.
    pub lower: Lower,
    /// Returns example calls (types, attributes, intervals to draw from) for the conformance tests.
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

    /// Returns whether each element of the result depends only on the same element of each operand.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.lower, Lower::Scalar(_))
    }

    /// Returns whether the two operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        use Scalar::{Add, And, Eq, Max, Min, Mul, Or};
        matches!(self.lower, Lower::Scalar(Add | And | Eq | Max | Min | Mul | Or))
    }

    /// Returns whether the op has a derivative rule.
    pub fn is_differentiable(&self) -> bool {
        matches!(self.vjp, Vjp::Rule(_) | Vjp::Implicit(_))
    }

    /// Returns whether it has functions as attributes.
    pub fn is_higher_order(&self) -> bool {
        self.attrs.iter().any(|spec| spec.kind == AttrKind::Function)
    }
}

impl Arity {
    /// Returns whether this number of operands is allowed.
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

/// The node to which a derivative, batching or lowering rule is applied.
pub struct Site<'a> {
    /// The operands.
    pub args: &'a [Value],
    /// The attributes.
    pub attrs: &'a [Attr],
    /// The value of the node, for [`Vjp`]. In [`Lower::Expand`] and [`Batch`] it does not exist yet.
    pub out: Option<Value>,
}

impl Site<'_> {
    /// Returns the value of the node, which a derivative rule always has.
    pub fn result(&self) -> Value {
        self.out
            .unwrap_or_else(|| unreachable!("a derivative rule is applied to a node that exists"))
    }
}

/// The reverse derivative: computes the cotangents of the operands from that of the result.
pub enum Vjp {
    /// A rule with one entry per operand; `None` for operands without a derivative (integers, conditions).
    Rule(fn(&mut Builder, &Site, Value) -> Vec<Option<Value>>),
    /// Like [`Vjp::Rule`], for a random result: its derivative at a fixed probability. It is valid for
    /// expectations. Single values with the same random numbers may change differently.
    Implicit(fn(&mut Builder, &Site, Value) -> Vec<Option<Value>>),
    /// Constant almost everywhere, or not differentiable on purpose, with the reason.
    Zero(&'static str),
    /// No derivative, with the reason, which must always be stated.
    None(&'static str),
}

/// The batching rule of an op. Mapped operands and results have the mapped axis as axis 0.
pub enum Batch {
    /// Operands that are not mapped are broadcast along the new axis. Attributes do not change.
    Elementwise,
    /// `(builder, site with mapped operands, flags of the mapped operands, size of the axis) -> mapped result`.
    Rule(fn(&mut Builder, &Site, &[bool], Dim) -> Value),
    /// The op is expanded (see [`Lower::Expand`]), and the expansion is batched.
    Expand,
}

/// The lowering of an op.
pub enum Lower {
    /// One scalar operation per element.
    Scalar(Scalar),
    /// A kernel family of the `lower` crate: a view, an index map, a reduction or a library call.
    Kernel(KernelKind),
    /// Rewritten into other ops before lowering.
    Expand(fn(&mut Builder, &Site) -> Value),
    /// Allowed only before the pass `density`, which removes it.
    Removed(&'static str),
}

/// The kernel families of the `lower` crate. The enum is closed: `lower` matches it without a wildcard.
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
    /// The same elements with another shape.
    Reshape,
    /// A first-order recurrence along an axis.
    Scan,
    /// Adds slices at integer positions.
    ScatterAdd,
    /// A strided window.
    Slice,
    /// The operand itself, with derivative zero.
    StopGradient,
    /// Permuted axes.
    Transpose,
    /// Solves with a triangular matrix.
    TriangularSolve,
}

/// Bounds of the elements of a value, with `lo <= hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The smallest possible element.
    pub lo: f64,
    /// The largest possible element.
    pub hi: f64,
}

impl Interval {
    /// All reals.
    pub const REALS: Interval = Interval {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    /// Returns the closed interval.
    pub fn new(lo: f64, hi: f64) -> Interval {
        Interval { lo, hi }
    }
}

/// One call in the conformance tests.
pub struct Example {
    /// The types of the operands (static shapes), with the intervals from which their elements are drawn.
    /// Integers are rounded down.
    pub operands: Vec<(Type, Interval)>,
    /// The attributes, in declared order.
    pub attrs: Vec<Attr>,
    /// The amount added to the diagonal of the last two axes of the first operand, for matrices that must be
    /// invertible.
    pub diagonal: f64,
}

/// A handle of an op, compared by identity and never by name.
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
