//! `neg x`: the negative.

use crate::example;
use crate::infer;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `neg x`: the negative.
pub static NEG: OpDef = OpDef {
    doc: "`-x`, of reals or of integers.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|b, _, dy| vec![Some(b.neg(dy))]),
    range: |x, _| x[0].monotone(|at| -at),
    examples: || example::both(example::elementwise(&[(-3.0, 3.0)]), example::elementwise_ints(1)),
    ..OpDef::scalar(Scalar::Neg)
};
