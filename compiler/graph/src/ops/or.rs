//! `or x, y`: the disjunction of two Booleans.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `or x, y`: the disjunction of two Booleans.
pub static OR: OpDef = OpDef {
    doc: "The logical `or` of two Booleans.",
    infer: infer::truths,
    vjp: Vjp::Zero("a Boolean"),
    range: |_, _| Interval::UNIT,
    examples: || example::elementwise_truths(2),
    ..OpDef::scalar(Scalar::Or)
};
