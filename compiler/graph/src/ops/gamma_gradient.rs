//! `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.
pub static GAMMA_GRADIENT: OpDef = OpDef {
    name: "gamma_gradient",
    doc: "The derivative of a gamma variate `g` with respect to its shape, at a fixed probability of values below `g`.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::GammaGradient, x),
    vjp: Vjp::None("the language does not have second derivatives of gamma variates"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::NON_NEGATIVE,
    lower: Lower::Scalar(Scalar::GammaGradient),
    examples: || example::elementwise(&[(0.05, 8.0), (0.01, 9.0)]),
};
