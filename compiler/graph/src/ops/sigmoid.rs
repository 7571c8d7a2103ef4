//! `sigmoid x`: the logistic function.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sigmoid x`: the logistic function.
pub static SIGMOID: OpDef = OpDef {
    doc: "`1 / (1 + exp(-x))`.",
    vjp: Vjp::Rule(|b, site, dy| {
        let one = b.like(1.0, dy);
        let rest = b.sub(one, site.result());
        let slope = b.mul(site.result(), rest);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |x, _| {
        // The bounds lie strictly inside (0, 1): see Note [Exact arithmetic] in
        // `interval`.
        let ends = x[0].monotone(|at| Scalar::Sigmoid.eval(&[at])).above_zero();
        Interval::new(ends.lo, ends.hi.min(1.0 - f64::EPSILON / 2.0))
    },
    examples: || example::elementwise(&[(-4.0, 4.0)]),
    ..OpDef::scalar(Scalar::Sigmoid)
};
