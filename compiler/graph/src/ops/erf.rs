//! `erf x`: the error function.

use crate::builder::Builder;
use crate::example;
use crate::function::Value;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;
use std::f64::consts::FRAC_2_SQRT_PI;

/// `erf x`: the error function.
pub static ERF: OpDef = OpDef {
    doc: "The error function.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = slope(b, site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| x[0].monotone(|at| Scalar::Erf.eval(&[at])),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
    ..OpDef::scalar(Scalar::Erf)
};

/// Returns the derivative of the error function, `2 exp(-x^2) / sqrt(pi)`.
pub(super) fn slope(b: &mut Builder, x: Value) -> Value {
    let square = b.mul(x, x);
    let decay = b.neg(square);
    let bell = b.exp(decay);
    b.scale(bell, FRAC_2_SQRT_PI)
}
