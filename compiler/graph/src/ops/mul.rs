//! `mul x, y`: the product.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `mul x, y`: the product.
pub static MUL: OpDef = OpDef {
    name: "mul",
    doc: "`x * y`, of reals or of integers.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::numbers,
    eval: |x, _| elementwise::eval(Scalar::Mul, x),
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.mul(dy, site.args[1])), Some(b.mul(dy, site.args[0]))]),
    batch: Batch::Elementwise,
    range: |x, _| x[0].times(x[1]),
    lower: Lower::Scalar(Scalar::Mul),
    examples: || {
        example::both(
            example::elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]),
            example::elementwise_ints(2),
        )
    },
};
