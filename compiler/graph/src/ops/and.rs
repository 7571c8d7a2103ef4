//! `and x, y`: the conjunction of two Booleans.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `and x, y`: the conjunction of two Booleans.
pub static AND: OpDef = OpDef {
    doc: "The logical `and` of two Booleans.",
    infer: infer::truths,
    vjp: Vjp::Zero("a Boolean"),
    range: |_, _| Interval::UNIT,
    examples: || example::elementwise_truths(2),
    ..OpDef::scalar(Scalar::And)
};
