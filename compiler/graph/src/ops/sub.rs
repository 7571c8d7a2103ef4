//! `sub x, y`: the difference.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `sub x, y`: the difference.
pub static SUB: OpDef = OpDef {
    doc: "`x - y`, of reals or of integers.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|b, _, dy| vec![Some(dy), Some(b.neg(dy))]),
    range: |x, _| Interval::hull(&[x[0].lo - x[1].hi, x[0].hi - x[1].lo]),
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Sub)
};
