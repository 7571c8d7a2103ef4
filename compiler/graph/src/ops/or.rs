//! `or x, y`: the disjunction of two Booleans.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `or x, y`: the disjunction of two Booleans.
pub static OR: OpDef = OpDef {
    name: "or",
    doc: "The logical `or` of two Booleans.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::truths,
    eval: |x, _| elementwise::eval(Scalar::Or, x),
    vjp: Vjp::Zero("a Boolean"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::UNIT,
    lower: Lower::Scalar(Scalar::Or),
    examples: || example::elementwise_truths(2),
};
