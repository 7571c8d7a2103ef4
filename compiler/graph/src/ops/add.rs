//! `add x, y`: the sum.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `add x, y`: the sum.
pub static ADD: OpDef = OpDef {
    name: "add",
    doc: "`x + y`, of reals or of integers.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::numbers,
    eval: |x, _| elementwise::eval(Scalar::Add, x),
    vjp: Vjp::Rule(|_, _, dy| vec![Some(dy), Some(dy)]),
    batch: Batch::Elementwise,
    range: |x, _| Interval::hull(&[x[0].lo + x[1].lo, x[0].hi + x[1].hi]),
    lower: Lower::Scalar(Scalar::Add),
    examples: || {
        example::both(
            example::elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]),
            example::elementwise_ints(2),
        )
    },
};
