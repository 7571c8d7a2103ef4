//! `eq x, y`: `x == y`, of reals or of integers.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `eq x, y`: `x == y`, of reals or of integers.
pub static EQ: OpDef = OpDef {
    doc: "`x == y`, of reals or of integers.",
    infer: infer::comparison,
    vjp: Vjp::Zero("a Boolean"),
    range: |_, _| Interval::UNIT,
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Eq)
};
