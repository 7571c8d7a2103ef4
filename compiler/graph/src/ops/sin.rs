//! `sin x`: the sine.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sin x`: the sine.
pub static SIN: OpDef = OpDef {
    name: "sin",
    doc: "The sine.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Sin, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.cos(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |_, _| Interval::new(-1.0, 1.0),
    lower: Lower::Scalar(Scalar::Sin),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
