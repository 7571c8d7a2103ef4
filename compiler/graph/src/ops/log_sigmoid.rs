//! `log_sigmoid x`: the logarithm of the logistic function.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log_sigmoid x`: the logarithm of the logistic function.
pub static LOG_SIGMOID: OpDef = OpDef {
    doc: "`log(sigmoid(x))`, stable in both tails.",
    vjp: Vjp::Rule(|b, site, dy| {
        let flipped = b.neg(site.args[0]);
        let slope = b.sigmoid(flipped);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| x[0].monotone(|at| Scalar::LogSigmoid.eval(&[at])),
    examples: || example::elementwise(&[(-4.0, 4.0)]),
    ..OpDef::scalar(Scalar::LogSigmoid)
};
