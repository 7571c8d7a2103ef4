//! `log1p x`: the natural logarithm of `1 + x`, accurate near zero.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log1p x`: the natural logarithm of `1 + x`, accurate near zero.
pub static LOG1P: OpDef = OpDef {
    doc: "`log(1 + x)`, accurate near zero.",
    vjp: Vjp::Rule(|b, site, dy| {
        let one = b.like(1.0, dy);
        let base = b.add(one, site.args[0]);
        vec![Some(b.div(dy, base))]
    }),
    range: |x, _| x[0].clip(Interval::new(-1.0, f64::INFINITY)).monotone(f64::ln_1p),
    examples: || example::elementwise(&[(-0.8, 4.0)]),
    ..OpDef::scalar(Scalar::Log1p)
};
