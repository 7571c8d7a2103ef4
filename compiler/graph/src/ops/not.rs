//! `not x`: the negation of a Boolean.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `not x`: the negation of a Boolean.
pub static NOT: OpDef = OpDef {
    name: "not",
    doc: "The negation of a Boolean.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::truths,
    eval: |x, _| elementwise::eval(Scalar::Not, x),
    vjp: Vjp::Zero("a Boolean"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::UNIT,
    lower: Lower::Scalar(Scalar::Not),
    examples: || example::elementwise_truths(1),
};
