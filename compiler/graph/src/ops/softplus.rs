//! `softplus x`: a smooth and positive replacement of `max(x, 0)`.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `softplus x`: a smooth and positive replacement of `max(x, 0)`.
pub static SOFTPLUS: OpDef = OpDef {
    doc: "`log(1 + exp(x))`, stable in both tails.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.sigmoid(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| x[0].monotone(|at| Scalar::Softplus.eval(&[at])).above_zero(),
    examples: || example::elementwise(&[(-4.0, 4.0)]),
    ..OpDef::scalar(Scalar::Softplus)
};
