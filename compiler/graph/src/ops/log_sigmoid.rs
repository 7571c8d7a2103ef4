//! `log_sigmoid x`: the logarithm of the logistic function.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log_sigmoid x`: the logarithm of the logistic function.
pub static LOG_SIGMOID: OpDef = OpDef {
    name: "log_sigmoid",
    doc: "`log (sigmoid x)`, stable in both tails.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::LogSigmoid, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let flipped = b.neg(site.args[0]);
        let slope = b.sigmoid(flipped);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| Scalar::LogSigmoid.eval(&[at])),
    lower: Lower::Scalar(Scalar::LogSigmoid),
    examples: || example::elementwise(&[(-4.0, 4.0)]),
};
