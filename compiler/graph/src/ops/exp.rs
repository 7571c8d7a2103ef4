//! `exp x`: the natural exponential.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `exp x`: the natural exponential.
pub static EXP: OpDef = OpDef {
    doc: "The natural exponential.",
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.mul(dy, site.result()))]),
    range: |x, _| x[0].monotone(f64::exp).above_zero(),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Exp)
};
