//! `digamma x`: the derivative of `lgamma`.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `digamma x`: the derivative of `lgamma`.
pub static DIGAMMA: OpDef = OpDef {
    name: "digamma",
    doc: "The derivative of `lgamma`.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Digamma, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.trigamma(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| {
        if x[0].lo <= 0.0 {
            return Interval::REALS;
        }
        x[0].monotone(|at| Scalar::Digamma.eval(&[at]))
    },
    lower: Lower::Scalar(Scalar::Digamma),
    examples: || example::elementwise(&[(0.3, 5.0)]),
};
