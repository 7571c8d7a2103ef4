//! `tanh x`: the hyperbolic tangent.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `tanh x`: the hyperbolic tangent.
pub static TANH: OpDef = OpDef {
    name: "tanh",
    doc: "The hyperbolic tangent.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Tanh, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let square = b.mul(site.result(), site.result());
        let one = b.like(1.0, dy);
        let slope = b.sub(one, square);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(f64::tanh),
    lower: Lower::Scalar(Scalar::Tanh),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
};
