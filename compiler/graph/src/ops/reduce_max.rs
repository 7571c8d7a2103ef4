//! `reduce_max x, axes`: the largest element along axes. These axes are removed.

pub use super::reduce_sum::positions;
use super::reduce_sum::{ATTRS, examples, fold, infer};
use crate::builder::Builder;
use crate::function::Value;
use crate::op::{Arity, Batch, KernelKind, Lower, OpCall, OpDef, Vjp};
use bnnc_math::special;

/// The largest element along axes. These axes are removed.
pub static REDUCE_MAX: OpDef = OpDef {
    name: "reduce_max",
    doc: "The largest element along axes; removes these axes. If several elements are the largest, they share the derivative evenly.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(|x, attrs| fold(x[0], &positions(attrs), f64::NEG_INFINITY, special::max)),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| {
        let axes: Vec<usize> = positions(site.attrs).iter().map(|axis| axis + 1).collect();
        b.reduce_max(site.args[0], &axes)
    }),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::ReduceMax),
    examples,
};

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let (x, axes) = (site.args[0], positions(site.attrs));
    let shape = b.shape(x);
    let largest = b.restore_axes(site.result(), &shape, &axes);
    let mask = b.eq(x, largest);
    let mask = b.to_real(mask);
    let count = b.reduce_sum(mask, &axes);
    let share = b.div(dy, count);
    let share = b.restore_axes(share, &shape, &axes);
    vec![Some(b.mul(mask, share))]
}
