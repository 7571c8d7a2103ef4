//! `sub x, y`: the difference.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sub x, y`: the difference.
pub static SUB: OpDef = OpDef {
    name: "sub",
    doc: "`x - y`, of reals or of integers.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::numbers,
    eval: |x, _| elementwise::eval(Scalar::Sub, x),
    vjp: Vjp::Rule(|b, _, dy| vec![Some(dy), Some(b.neg(dy))]),
    batch: Batch::Elementwise,
    range: |x, _| Interval::hull(&[x[0].lo - x[1].hi, x[0].hi - x[1].lo]),
    lower: Lower::Scalar(Scalar::Sub),
    examples: || {
        example::both(
            example::elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]),
            example::elementwise_ints(2),
        )
    },
};
