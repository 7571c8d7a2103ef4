//! `max x, y`: the larger of two reals or integers.

use crate::example;
use crate::infer;
use crate::op::{Interval, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `max x, y`: the larger of two reals or integers.
pub static MAX: OpDef = OpDef {
    doc: "The larger of two values. If they are equal, the first one gets the derivative.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|b, site, dy| {
        let first = b.le(site.args[1], site.args[0]);
        let zero = b.like(0.0, dy);
        vec![Some(b.select(first, dy, zero)), Some(b.select(first, zero, dy))]
    }),
    range: |x, _| Interval::hull(&[x[0].lo.max(x[1].lo), x[0].hi.max(x[1].hi)]),
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Max)
};
