//! `sign x`: -1, 0 or 1.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sign x`: -1, 0 or 1.
pub static SIGN: OpDef = OpDef {
    doc: "-1, 0 or 1.",
    vjp: Vjp::Zero("constant almost everywhere"),
    range: |x, _| x[0].monotone(|at| Scalar::Sign.eval(&[at])),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Sign)
};
