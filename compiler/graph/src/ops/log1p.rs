//! `log1p x`: the natural logarithm of `1 + x`, accurate near zero.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log1p x`: the natural logarithm of `1 + x`, accurate near zero.
pub static LOG1P: OpDef = OpDef {
    name: "log1p",
    doc: "The natural logarithm of `1 + x`, accurate near zero.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Log1p, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let one = b.like(1.0, dy);
        let base = b.add(one, site.args[0]);
        vec![Some(b.div(dy, base))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].clip(Interval::new(-1.0, f64::INFINITY)).monotone(f64::ln_1p),
    lower: Lower::Scalar(Scalar::Log1p),
    examples: || example::elementwise(&[(-0.8, 4.0)]),
};
