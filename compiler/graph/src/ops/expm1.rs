//! `expm1 x`: the exponential minus 1, accurate near zero.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `expm1 x`: the exponential minus 1, accurate near zero.
pub static EXPM1: OpDef = OpDef {
    name: "expm1",
    doc: "`exp x - 1`, accurate near zero.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Expm1, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.exp(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(f64::exp_m1),
    lower: Lower::Scalar(Scalar::Expm1),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
