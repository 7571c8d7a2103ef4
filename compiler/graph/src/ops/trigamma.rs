//! `trigamma x`: the second derivative of `lgamma`.

use crate::example;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `trigamma x`: the second derivative of `lgamma`.
pub static TRIGAMMA: OpDef = OpDef {
    doc: "The second derivative of `lgamma`.",
    vjp: Vjp::None("the language does not have the third derivative of `lgamma`"),
    range: |x, _| {
        if x[0].lo <= 0.0 {
            return Interval::REALS;
        }
        x[0].monotone(|at| Scalar::Trigamma.eval(&[at])).above_zero()
    },
    examples: || example::elementwise(&[(0.3, 5.0)]),
    ..OpDef::scalar(Scalar::Trigamma)
};
