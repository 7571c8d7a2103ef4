//! `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.
pub static GAMMA_GRADIENT: OpDef = OpDef {
    doc: "The derivative of a gamma variate `g` with respect to its shape, at a fixed probability of values below `g`.",
    vjp: Vjp::None("the language does not have second derivatives of gamma variates"),
    range: |_, _| Interval::NON_NEGATIVE,
    examples: || example::elementwise(&[(0.05, 8.0), (0.01, 9.0)]),
    ..OpDef::scalar(Scalar::GammaGradient)
};
