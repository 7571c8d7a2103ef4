//! `digamma x`: the derivative of `lgamma`.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `digamma x`: the derivative of `lgamma`.
pub static DIGAMMA: OpDef = OpDef {
    doc: "The derivative of `lgamma`.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.trigamma(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| {
        if x[0].lo <= 0.0 {
            return Interval::REALS;
        }
        x[0].monotone(|at| Scalar::Digamma.eval(&[at]))
    },
    examples: || example::elementwise(&[(0.3, 5.0)]),
    ..OpDef::scalar(Scalar::Digamma)
};
