//! `log x`: the natural logarithm.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `log x`: the natural logarithm.
pub static LOG: OpDef = OpDef {
    doc: "The natural logarithm.",
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.div(dy, site.args[0]))]),
    range: |x, _| x[0].clip(Interval::NON_NEGATIVE).monotone(f64::ln),
    examples: || example::elementwise(&[(0.1, 5.0)]),
    ..OpDef::scalar(Scalar::Log)
};
