//! `max x, y`: the larger of two reals or integers.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Interval, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `max x, y`: the larger of two reals or integers.
pub static MAX: OpDef = OpDef {
    name: "max",
    doc: "The larger of two values. If they are equal, the first one gets the derivative.",
    arity: Arity::Exactly(2),
    attrs: &[],
    infer: infer::numbers,
    eval: |x, _| elementwise::eval(Scalar::Max, x),
    vjp: Vjp::Rule(|b, site, dy| {
        let first = b.le(site.args[1], site.args[0]);
        let zero = b.like(0.0, dy);
        vec![Some(b.select(first, dy, zero)), Some(b.select(first, zero, dy))]
    }),
    batch: Batch::Elementwise,
    range: |x, _| Interval::hull(&[x[0].lo.max(x[1].lo), x[0].hi.max(x[1].hi)]),
    lower: Lower::Scalar(Scalar::Max),
    examples: || {
        example::both(
            example::elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]),
            example::elementwise_ints(2),
        )
    },
};
