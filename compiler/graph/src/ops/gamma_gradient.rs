//! `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `gamma_gradient shape, g`: the derivative of a gamma variate with respect to its shape.
pub static GAMMA_GRADIENT: OpDef = OpDef {
    name: "gamma_gradient",
    doc: "The derivative of a gamma variate `g` in its shape, at the probability that `g` has.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::GammaGradient, x),
    vjp: Vjp::None("the second derivatives of gamma variates are not in the language"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::NON_NEGATIVE,
    lower: Lower::Scalar(Scalar::GammaGradient),
    examples: || example::elementwise(&[(0.05, 8.0), (0.01, 9.0)]),
};
