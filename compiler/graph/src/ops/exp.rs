//! `exp x`: the natural exponential.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `exp x`: the natural exponential.
pub static EXP: OpDef = OpDef {
    name: "exp",
    doc: "The natural exponential.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Exp, x),
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.mul(dy, site.result()))]),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(f64::exp).above_zero(),
    lower: Lower::Scalar(Scalar::Exp),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
