//! `floor x`: the largest integer not above `x`.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `floor x`: the largest integer not above `x`.
pub static FLOOR: OpDef = OpDef {
    name: "floor",
    doc: "The largest integer not above `x`.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: infer::reals,
    eval: |x, _| elementwise::eval(Scalar::Floor, x),
    vjp: Vjp::Zero("constant almost everywhere"),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(f64::floor),
    lower: Lower::Scalar(Scalar::Floor),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
