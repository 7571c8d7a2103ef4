//! `sqrt x`: the square root.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sqrt x`: the square root.
pub static SQRT: OpDef = OpDef {
    doc: "The square root.",
    vjp: Vjp::Rule(|b, site, dy| {
        let half = b.scale(dy, 0.5);
        vec![Some(b.div(half, site.result()))]
    }),
    range: |x, _| x[0].clip(Interval::NON_NEGATIVE).monotone(f64::sqrt),
    examples: || example::elementwise(&[(0.2, 4.0)]),
    ..OpDef::scalar(Scalar::Sqrt)
};
