//! `erf x`: the error function.

use crate::builder::Builder;
use crate::elementwise;
use crate::example;
use crate::function::Value;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;
use std::f64::consts::FRAC_2_SQRT_PI;

/// `erf x`: the error function.
pub static ERF: OpDef = OpDef {
    name: "erf",
    doc: "The error function.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Erf, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = slope(b, site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| Scalar::Erf.eval(&[at])),
    lower: Lower::Scalar(Scalar::Erf),
    examples: || example::elementwise(&[(-2.0, 2.0)]),
};

/// Returns the derivative, `2 exp(-x^2) / sqrt(pi)`.
pub(super) fn slope(b: &mut Builder, x: Value) -> Value {
    let square = b.mul(x, x);
    let decay = b.neg(square);
    let bell = b.exp(decay);
    b.scale(bell, FRAC_2_SQRT_PI)
}
