//! `abs x`: the absolute value.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `abs x`: the absolute value.
pub static ABS: OpDef = OpDef {
    name: "abs",
    doc: "`|x|`; the derivative at 0 is defined as 0.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Abs, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let sign = b.sign(site.args[0]);
        vec![Some(b.mul(dy, sign))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| {
        let ends = x[0].monotone(f64::abs);
        if x[0].contains(0.0) {
            Interval::new(0.0, ends.hi)
        } else {
            ends
        }
    },
    lower: Lower::Scalar(Scalar::Abs),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
