//! `sqrt x`: the square root.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sqrt x`: the square root.
pub static SQRT: OpDef = OpDef {
    name: "sqrt",
    doc: "The square root.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Sqrt, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let half = b.scale(dy, 0.5);
        vec![Some(b.div(half, site.result()))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| x[0].clip(Interval::NON_NEGATIVE).monotone(f64::sqrt),
    lower: Lower::Scalar(Scalar::Sqrt),
    examples: || example::elementwise(&[(0.2, 4.0)]),
};
