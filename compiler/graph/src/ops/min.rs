//! `min x, y`: the smaller of two reals or integers.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `min x, y`: the smaller of two reals or integers.
pub static MIN: OpDef = OpDef {
    doc: "The smaller of two values. If they are equal, the first one gets the derivative.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|b, site, dy| {
        let first = b.le(site.args[0], site.args[1]);
        let zero = b.like(0.0, dy);
        vec![Some(b.select(first, dy, zero)), Some(b.select(first, zero, dy))]
    }),
    range: |x, _| Interval::hull(&[x[0].lo.min(x[1].lo), x[0].hi.min(x[1].hi)]),
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Min)
};
