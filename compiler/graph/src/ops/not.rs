//! `not x`: the negation of a Boolean.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `not x`: the negation of a Boolean.
pub static NOT: OpDef = OpDef {
    doc: "The negation of a Boolean.",
    infer: infer::truths,
    vjp: Vjp::Zero("a Boolean"),
    range: |_, _| Interval::UNIT,
    examples: || example::elementwise_truths(1),
    ..OpDef::scalar(Scalar::Not)
};
