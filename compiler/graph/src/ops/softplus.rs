//! `softplus x`: a smooth and positive replacement of `max(x, 0)`.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `softplus x`: a smooth and positive replacement of `max(x, 0)`.
pub static SOFTPLUS: OpDef = OpDef {
    name: "softplus",
    doc: "`log (1 + exp x)`, stable in both tails: a smooth, positive approximation of `max(x, 0)`.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Softplus, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.sigmoid(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(|at| Scalar::Softplus.eval(&[at])).above_zero(),
    lower: Lower::Scalar(Scalar::Softplus),
    examples: || example::elementwise(&[(-4.0, 4.0)]),
};
