//! `expm1 x`: the exponential minus 1, accurate near zero.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `expm1 x`: the exponential minus 1, accurate near zero.
pub static EXPM1: OpDef = OpDef {
    doc: "`exp(x) - 1`, accurate near zero.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.exp(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| x[0].monotone(f64::exp_m1),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Expm1)
};
