//! `neg x`: the negative.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `neg x`: the negative.
pub static NEG: OpDef = OpDef {
    name: "neg",
    doc: "`-x`, of reals or of integers.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::numbers,
    eval: |x, _| elementwise::eval(Scalar::Neg, x),
    vjp: Vjp::Rule(|b, _, dy| vec![Some(b.neg(dy))]),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| -at),
    lower: Lower::Scalar(Scalar::Neg),
    examples: || example::both(example::elementwise(&[(-3.0, 3.0)]), example::elementwise_ints(1)),
};
