//! `trigamma x`: the second derivative of `lgamma`.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `trigamma x`: the second derivative of `lgamma`.
pub static TRIGAMMA: OpDef = OpDef {
    name: "trigamma",
    doc: "The second derivative of `lgamma`.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Trigamma, x),
    vjp: Vjp::None("the language does not have the third derivative of `lgamma`"),
    batch: Batch::Elementwise,
    range: |x, _| {
        if x[0].lo <= 0.0 {
            return Interval::REALS;
        }
        x[0].monotone(|at| Scalar::Trigamma.eval(&[at])).above_zero()
    },
    lower: Lower::Scalar(Scalar::Trigamma),
    examples: || example::elementwise(&[(0.3, 5.0)]),
};
