//! `log_softmax x, axis`: the logarithm of `softmax`.

use super::logsumexp::{ATTRS, axis, examples, position};
use super::reduce_sum::fold;
use crate::builder::Builder;
use crate::function::Value;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use bnnc_base::dtype::DType;
use bnnc_math::special;

/// The logarithm of `softmax`.
pub static LOG_SOFTMAX: OpDef = OpDef {
    name: "log_softmax",
    doc: "`x` minus its `logsumexp` along an axis: logits as normalised log probabilities.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer: |types, attrs| {
        infer::expect_dtype(types, 0, &[DType::Real])?;
        infer::expect_axis(axis(attrs), types[0].rank())?;
        Ok(types[0].clone())
    },
    eval: Some(|x, attrs| {
        let axis = position(attrs);
        let less = |of: &Tensor, by: &Tensor| {
            Tensor::from_fn(of.shape.clone(), |index| {
                let mut outer = index.to_vec();
                outer.remove(axis);
                of.at(index) - by.at(&outer)
            })
        };
        let shifted = less(x[0], &fold(x[0], &[axis], f64::NEG_INFINITY, special::max));
        less(
            &shifted,
            &super::logsumexp::LOGSUMEXP.evaluate(&[&shifted], attrs),
        )
    }),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| b.log_softmax(site.args[0], position(site.attrs) + 1)),
    range: |_, _| Interval::new(f64::NEG_INFINITY, 0.0),
    lower: Lower::Expand(expand),
    examples,
};

/// Differences from the largest element are precise even if the elements are large. Differences from `logsumexp` would contain the rounding
/// error of `logsumexp`.
fn expand(b: &mut Builder, site: &OpCall) -> Value {
    let (x, axis) = (site.args[0], position(site.attrs));
    let shape = b.shape(x);
    let largest = b.reduce_max(x, &[axis]);
    let largest = b.stop_gradient(largest);
    let largest = b.restore_axes(largest, &shape, &[axis]);
    let shifted = b.sub(x, largest);
    let terms = b.exp(shifted);
    let sum = b.reduce_sum(terms, &[axis]);
    let log = b.log(sum);
    let log = b.restore_axes(log, &shape, &[axis]);
    b.sub(shifted, log)
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let axis = position(site.attrs);
    let shape = b.shape(dy);
    let weight = b.exp(site.result());
    let total = b.reduce_sum(dy, &[axis]);
    let total = b.restore_axes(total, &shape, &[axis]);
    let shared = b.mul(weight, total);
    vec![Some(b.sub(dy, shared))]
}
