//! `and x, y`: the conjunction of two Booleans.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `and x, y`: the conjunction of two Booleans.
pub static AND: OpDef = OpDef {
    name: "and",
    doc: "The logical `and` of two Booleans.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::truths,
    eval: |x, _| elementwise::eval(Scalar::And, x),
    vjp: Vjp::Zero("a Boolean"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::UNIT,
    lower: Lower::Scalar(Scalar::And),
    examples: || example::elementwise_truths(2),
};
