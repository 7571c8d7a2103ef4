//! `softmax x, axis`: exponentials along an axis, normalised to sum to one.

use super::logsumexp::{ATTRS, examples, position};
use crate::builder::Builder;
use crate::function::Value;
use crate::op::{Arity, Batch, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;

/// Exponentials along an axis, normalised to sum to one.
pub static SOFTMAX: OpDef = OpDef {
    name: "softmax",
    doc: "Exponentials along an axis, normalised so that their sum is one.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer: super::log_softmax::LOG_SOFTMAX.infer,
    eval: Some(|x, attrs| {
        let log = super::log_softmax::LOG_SOFTMAX.evaluate(x, attrs);
        Tensor::new(log.shape, log.data.into_iter().map(f64::exp).collect())
    }),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| b.softmax(site.args[0], position(site.attrs) + 1)),
    range: |_, _| Interval::UNIT,
    lower: Lower::Expand(|b, site| {
        let log = b.log_softmax(site.args[0], position(site.attrs));
        b.exp(log)
    }),
    examples,
};

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let axis = position(site.attrs);
    let shape = b.shape(dy);
    let weighted = b.mul(dy, site.result());
    let mean = b.reduce_sum(weighted, &[axis]);
    let mean = b.restore_axes(mean, &shape, &[axis]);
    let shared = b.mul(mean, site.result());
    vec![Some(b.sub(weighted, shared))]
}
