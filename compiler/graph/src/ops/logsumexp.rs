//! `logsumexp x, axis`: the logarithm of the sum of exponentials along an axis. The axis is
//! removed.

use super::reduce_sum::fold;
use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred, without_axes};
use crate::op::{Arity, Batch, Example, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::special;

attributes! { axis: Int }

/// The logarithm of the sum of exponentials along an axis. The axis is removed.
pub static LOGSUMEXP: OpDef = OpDef {
    name: "logsumexp",
    doc: "The logarithm of the sum of exponentials along an axis; removes the axis. It does not overflow, and is minus infinity if all elements are.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| b.logsumexp(site.args[0], position(site.attrs) + 1)),
    range: |x, _| Interval::new(x[0].lo, f64::INFINITY),
    lower: Lower::Expand(expand),
    examples,
};

/// Returns the axis attribute of an op that works along a single axis.
pub(super) fn position(attrs: &[Attr]) -> usize {
    axis(attrs) as usize
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Real])?;
    let axis = infer::expect_axis(axis(attrs), types[0].rank())?;
    Ok(types[0].with_shape(without_axes(&types[0].shape, &[axis])))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    // Uses `log(e^a + e^b) = max + log1p(e^(min - max))`.
    let join = |a: f64, b: f64| {
        let largest = special::max(a, b);
        if largest.is_infinite() {
            largest
        } else {
            largest + (-(a - b).abs()).exp().ln_1p()
        }
    };
    fold(x[0], &[position(attrs)], f64::NEG_INFINITY, join)
}

/// Returns `x` with 0 in place of elements that are not finite, so that infinities are never
/// subtracted from each other.
fn finite_or_zero(b: &mut Builder, x: Value) -> Value {
    let size = b.abs(x);
    let infinity = b.like(f64::INFINITY, x);
    let finite = b.lt(size, infinity);
    let zero = b.like(0.0, x);
    b.select(finite, x, zero)
}

/// The elements of `x` minus the largest element along an axis. Where the largest element is
/// infinite, nothing is subtracted.
struct Shifted {
    /// The values of `x` minus the largest element.
    x: Value,
    /// The logarithm of `sum(exp(x))` along the axis, for the shifted `x`.
    log_sum: Value,
    largest: Value,
}

impl Shifted {
    fn new(b: &mut Builder, x: Value, axis: usize) -> Shifted {
        let shape = b.shape(x);
        let largest = b.reduce_max(x, &[axis]);
        let largest = finite_or_zero(b, largest);
        let largest = b.stop_gradient(largest);
        let offset = b.restore_axes(largest, &shape, &[axis]);
        let x = b.sub(x, offset);
        let terms = b.exp(x);
        let sum = b.reduce_sum(terms, &[axis]);
        let log_sum = b.log(sum);
        Shifted { x, log_sum, largest }
    }
}

/// The weights are computed from differences from the largest element, which are precise even if the
/// elements are large.
fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let (x, axis) = (site.args[0], position(site.attrs));
    let shape = b.shape(x);
    let shifted = Shifted::new(b, x, axis);
    let total = finite_or_zero(b, shifted.log_sum);
    let total = b.restore_axes(total, &shape, &[axis]);
    let log_weight = b.sub(shifted.x, total);
    let weight = b.exp(log_weight);
    let dy = b.restore_axes(dy, &shape, &[axis]);
    vec![Some(b.mul(dy, weight))]
}

fn expand(b: &mut Builder, site: &OpCall) -> Value {
    let shifted = Shifted::new(b, site.args[0], position(site.attrs));
    b.add(shifted.log_sum, shifted.largest)
}

/// Returns calls with several ranks and axes.
pub(super) fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], axis: i64| {
        example::call(vec![example::real(sizes, -3.0, 3.0)], vec![Attr::Int(axis)])
    };
    vec![of(&[4], 0), of(&[2, 3], 1), of(&[2, 3], 0), of(&[2, 3, 2], 1)]
}
