//! `cos x`: the cosine.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `cos x`: the cosine.
pub static COS: OpDef = OpDef {
    name: "cos",
    doc: "The cosine.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Cos, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let sin = b.sin(site.args[0]);
        let slope = b.neg(sin);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |_, _| Interval::new(-1.0, 1.0),
    lower: Lower::Scalar(Scalar::Cos),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
