//! `sin x`: the sine.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sin x`: the sine.
pub static SIN: OpDef = OpDef {
    doc: "The sine.",
    vjp: Vjp::Rule(|b, site, dy| {
        let slope = b.cos(site.args[0]);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |_, _| Interval::new(-1.0, 1.0),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Sin)
};
