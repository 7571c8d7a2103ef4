//! `sign x`: -1, 0 or 1.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sign x`: -1, 0 or 1.
pub static SIGN: OpDef = OpDef {
    name: "sign",
    doc: "-1, 0 or 1.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Sign, x),
    vjp: Vjp::Zero("constant almost everywhere"),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| Scalar::Sign.eval(&[at])),
    lower: Lower::Scalar(Scalar::Sign),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
