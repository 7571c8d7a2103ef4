//! The record of an op: all properties that the compiler uses, in one place.

use crate::attr::{Attr, AttrKind, AttrSpec};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::elementwise;
use crate::function::Value;
use crate::infer::{self, Inferred};
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
    /// Exactly this number of operands.
    Exactly(usize),
    /// This number of operands or more.
    AtLeast(usize),
}

/// Evaluates an op on its operands and attributes.
pub type OpEvaluation = fn(&[&Tensor], &[Attr]) -> Tensor;

/// An op, with all its properties.
pub struct OpDef {
    /// The name of the op in text form. The registry is sorted by name.
    pub name: &'static str,
    /// A sentence about the op that the reference manual prints.
    pub doc: &'static str,
    /// The number of operands.
    pub arity: Arity,
    /// The attributes, in order.
    pub attrs: &'static [AttrSpec],
    /// Returns the type of the result, or the reason why the operands do not fit.
    pub infer: fn(&[&Type], &[Attr]) -> Inferred,
    /// The function that evaluates the op. If this field is `None`, [`OpDef::evaluate`] applies the
    /// operation of [`Lower::Scalar`] to each element.
    pub eval: Option<OpEvaluation>,
    /// The reverse-mode derivative of the op.
    pub vjp: Vjp,
    /// The batching rule of the op, for operands with a mapped axis.
    pub batch: Batch,
    /// Returns bounds of the result's elements, given bounds of the operands' elements.
    pub range: fn(&[Interval], &[Attr]) -> Interval,
    /// How the op is lowered.
    pub lower: Lower,
    /// Returns example calls for the conformance tests. Each call has the types of its operands,
    /// the intervals of their random elements, and attributes.
    pub examples: fn() -> Vec<Example>,
}

/// The reason why an op with the placeholder derivative of [`OpDef::scalar`] cannot be differentiated. Every op in the registry must
/// replace this placeholder.
pub const NO_RULE: &str = "its record lacks a derivative rule";

impl OpDef {
    /// Creates an op that applies a scalar operation to each element of reals. The caller still has to set the documentation, the examples, the
    /// derivative and, if they are known, narrower bounds.
    pub const fn scalar(scalar: Scalar) -> OpDef {
        OpDef {
            name: scalar.name(),
            doc: "",
            arity: Arity::Exactly(scalar.arity()),
            attrs: &[],
            infer: infer::reals,
            eval: None,
            vjp: Vjp::None(NO_RULE),
            batch: Batch::Elementwise,
            range: |_, _| Interval::REALS,
            lower: Lower::Scalar(scalar),
            examples: Vec::new,
        }
    }

    /// Evaluates the op in `f64` on static shapes. Backends, rules and derivatives are tested against this evaluation.
    pub fn evaluate(&self, x: &[&Tensor], attrs: &[Attr]) -> Tensor {
        match (self.eval, &self.lower) {
            (None, Lower::Scalar(scalar)) => elementwise::eval(*scalar, x),
            (None, _) => unreachable!("`{}` has an evaluation", self.name),
            (Some(eval), _) => eval(x, attrs),
        }
    }

    /// Returns whether this is the given op of the registry.
    pub fn is(&self, op: &'static OpDef) -> bool {
        std::ptr::eq(self, op)
    }

    /// Returns whether this op is one of the given ops of the registry.
    pub fn is_one_of(&self, ops: &[&'static OpDef]) -> bool {
        ops.iter().any(|op| self.is(op))
    }

    /// Returns whether each element of the result depends only on the same element of each operand.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.lower, Lower::Scalar(_))
    }

    /// Returns whether the two operands may be exchanged without changing the result.
    pub fn is_commutative(&self) -> bool {
        use Scalar::{Add, And, Eq, Max, Min, Mul, Or};
        matches!(self.lower, Lower::Scalar(Add | And | Eq | Max | Min | Mul | Or))
    }

    /// Returns whether the op has functions as attributes.
    pub fn is_higher_order(&self) -> bool {
        self.attrs.iter().any(|spec| spec.kind == AttrKind::Function)
    }

    /// Checks the number of operands and the kinds of attributes of a call, and applies the type
    /// rule of the op. Returns the type of the result.
    pub fn check_call(&self, types: &[&Type], attrs: &[Attr]) -> Inferred {
        if !self.arity.admits(types.len()) {
            return Err(CallError::Count {
                expected: self.arity.to_string(),
                found: types.len(),
            });
        }
        if attrs.len() != self.attrs.len() {
            return Err(CallError::Count {
                expected: format!("{} attributes", self.attrs.len()),
                found: attrs.len(),
            });
        }
        for (spec, attr) in self.attrs.iter().zip(attrs) {
            if spec.kind != attr.kind() {
                let (name, wanted, found) = (spec.name, spec.kind, attr.kind());
                return Err(CallError::Rule(format!(
                    "`{name}` to be {wanted:?}, found {found:?}"
                )));
            }
        }
        (self.infer)(types, attrs)
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
pub struct OpCall<'a> {
    /// The operands.
    pub args: &'a [Value],
    /// The attributes.
    pub attrs: &'a [Attr],
    /// The value of the node, for [`Vjp`]. The value does not exist yet when [`Lower::Expand`] and [`Batch`] are applied.
    pub out: Option<Value>,
}

impl OpCall<'_> {
    /// Returns the value of the node. Only derivative rules may call this method, because only then
    /// does the node exist already.
    pub fn result(&self) -> Value {
        self.out
            .unwrap_or_else(|| unreachable!("a derivative rule is applied to a node that exists"))
    }
}

/// The reverse-mode derivative: computes the cotangents of the operands from the cotangent of the result.
pub enum Vjp {
    /// A rule that returns one entry per operand. The entry is `None` if the operand does not have
    /// a derivative, such as an integer or a condition.
    Rule(fn(&mut Builder, &OpCall, Value) -> Vec<Option<Value>>),
    /// Like [`Vjp::Rule`], but for a random result. The rule differentiates the quantile at a fixed
    /// probability, which gives correct derivatives of expectations. Drawing the variate again,
    /// from the same random numbers and with a changed parameter, may change it by a different
    /// amount.
    Implicit(fn(&mut Builder, &OpCall, Value) -> Vec<Option<Value>>),
    /// The derivative is zero, because the op is constant almost everywhere or not differentiable
    /// on purpose. The text gives the reason.
    Zero(&'static str),
    /// The op does not have a derivative. The text gives the reason.
    None(&'static str),
}

/// The batching rule of an op. The mapped axis is axis 0 in mapped operands and in the result.
pub enum Batch {
    /// Operands that are not mapped are broadcast along the mapped axis. The attributes of the op
    /// do not change.
    Elementwise,
    /// A rule
    /// `(builder, call with mapped operands, flags of the mapped operands, size of the axis) -> mapped result`.
    Rule(fn(&mut Builder, &OpCall, &[bool], Dim) -> Value),
    /// The op is expanded (see [`Lower::Expand`]), and the expansion is batched.
    Expand,
}

/// How an op is lowered.
pub enum Lower {
    /// The op is one scalar operation for each element.
    Scalar(Scalar),
    /// The op is lowered by a kernel family of the `lower` crate: a view, an index map, a reduction or a
    /// library call.
    Kernel(KernelKind),
    /// The op is rewritten into other ops before lowering.
    Expand(fn(&mut Builder, &OpCall) -> Value),
    /// The op is allowed only before the pass `density`, because this pass removes it.
    Removed(&'static str),
}

/// The kernel families of the `lower` crate. `lower` matches this enum without a wildcard, so every
/// new family must be handled there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKind {
    /// Repeats elements along new axes.
    Broadcast,
    /// Computes the lower-triangular Cholesky factor of the last two axes.
    Cholesky,
    /// Joins operands along an axis.
    Concat,
    /// Returns a literal tensor.
    Constant,
    /// Contracts two operands by labels.
    Contract,
    /// Computes cumulative sums along an axis.
    Cumsum,
    /// Draws gamma variates from a counter-based stream.
    GammaNoise,
    /// Picks slices at the positions in an integer operand.
    Gather,
    /// Returns the integers 0, 1, 2, ...
    Iota,
    /// Draws random numbers from a counter-based stream.
    Noise,
    /// Adds up windows, which may overlap.
    OverlapAdd,
    /// Adds zeros around and between elements.
    Pad,
    /// Collects all windows of a given size.
    Patches,
    /// Computes the largest element along some axes.
    ReduceMax,
    /// Computes the sum along some axes.
    ReduceSum,
    /// Returns the same elements in another shape.
    Reshape,
    /// Computes a first-order recurrence along an axis.
    Scan,
    /// Adds slices at integer positions.
    ScatterAdd,
    /// Takes a strided window.
    Slice,
    /// Returns the operand itself, but with derivative zero.
    StopGradient,
    /// Permutes axes.
    Transpose,
    /// Solves equations with a triangular matrix.
    TriangularSolve,
}

/// Bounds of the elements of a value: an interval with `lo <= hi`.
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

    /// Returns the closed interval from `lo` to `hi`.
    pub fn new(lo: f64, hi: f64) -> Interval {
        Interval { lo, hi }
    }

    /// Returns whether both ends are finite.
    pub fn is_bounded(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// Returns a number inside the interval.
    pub fn inside(self) -> f64 {
        match (self.lo.is_finite(), self.hi.is_finite()) {
            (true, true) => 0.5 * (self.lo + self.hi),
            (true, false) => self.lo + 1.0,
            (false, true) => self.hi - 1.0,
            (false, false) => 0.0,
        }
    }
}

/// One call in the conformance tests.
pub struct Example {
    /// The static types of the operands, and the intervals of their random elements. The elements
    /// of integer operands are rounded down.
    pub operands: Vec<(Type, Interval)>,
    /// The attributes, in declared order.
    pub attrs: Vec<Attr>,
    /// A number that is added to the diagonal of each matrix in the last two axes of the first
    /// operand. Ops that need invertible matrices use a positive number.
    pub diagonal: f64,
}

/// A reference to an op. Two references are equal if they refer to the same entry of the registry.
/// Names are not compared.
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
