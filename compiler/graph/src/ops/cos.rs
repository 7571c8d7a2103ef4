//! `cos x`: the cosine.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `cos x`: the cosine.
pub static COS: OpDef = OpDef {
    doc: "The cosine.",
    vjp: Vjp::Rule(|b, site, dy| {
        let sin = b.sin(site.args[0]);
        let slope = b.neg(sin);
        vec![Some(b.mul(dy, slope))]
    }),
    range: |_, _| Interval::new(-1.0, 1.0),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Cos)
};
