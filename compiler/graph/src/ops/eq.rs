//! `eq x, y`: `x == y`, of reals or of integers.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `eq x, y`: `x == y`, of reals or of integers.
pub static EQ: OpDef = OpDef {
    name: "eq",
    doc: "`x == y`, of reals or of integers.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::comparison,
    eval: |x, _| elementwise::eval(Scalar::Eq, x),
    vjp: Vjp::Zero("a Boolean"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::UNIT,
    lower: Lower::Scalar(Scalar::Eq),
    examples: || {
        example::both(
            example::elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]),
            example::elementwise_ints(2),
        )
    },
};
