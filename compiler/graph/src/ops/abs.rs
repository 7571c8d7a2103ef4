//! `abs x`: the absolute value.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `abs x`: the absolute value.
pub static ABS: OpDef = OpDef {
    doc: "The absolute value; its derivative at 0 is 0.",
    vjp: Vjp::Rule(|b, site, dy| {
        let sign = b.sign(site.args[0]);
        vec![Some(b.mul(dy, sign))]
    }),
    range: |x, _| {
        let ends = x[0].monotone(f64::abs);
        if x[0].contains(0.0) {
            Interval::new(0.0, ends.hi)
        } else {
            ends
        }
    },
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Abs)
};
