//! `div x, y`: the quotient.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `div x, y`: the quotient.
pub static DIV: OpDef = OpDef {
    name: "div",
    doc: "`x / y`, of reals.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Div, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let over = b.div(dy, site.args[1]);
        let scaled = b.mul(over, site.result());
        vec![Some(over), Some(b.neg(scaled))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].over(x[1]),
    lower: Lower::Scalar(Scalar::Div),
    examples: || example::elementwise(&[(-3.0, 3.0), (0.5, 3.0)]),
};
