//! `log x`: the natural logarithm.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log x`: the natural logarithm.
pub static LOG: OpDef = OpDef {
    name: "log",
    doc: "The natural logarithm.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Log, x),
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.div(dy, site.args[0]))]),
    batch: Batch::Elementwise,
    range: |x, _| x[0].clip(Interval::NON_NEGATIVE).monotone(f64::ln),
    lower: Lower::Scalar(Scalar::Log),
    examples: || example::elementwise(&[(0.1, 5.0)]),
};
