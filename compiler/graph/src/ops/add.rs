//! `add x, y`: the sum.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `add x, y`: the sum.
pub static ADD: OpDef = OpDef {
    doc: "`x + y`, of reals or of integers.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|_, _, dy| vec![Some(dy), Some(dy)]),
    range: |x, _| Interval::hull(&[x[0].lo + x[1].lo, x[0].hi + x[1].hi]),
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Add)
};
