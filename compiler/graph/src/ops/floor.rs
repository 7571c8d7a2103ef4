//! `floor x`: the largest integer not above `x`.

use crate::example;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `floor x`: the largest integer not above `x`.
pub static FLOOR: OpDef = OpDef {
    doc: "The largest integer not above `x`.",
    vjp: Vjp::Zero("constant almost everywhere"),
    range: |x, _| x[0].monotone(f64::floor),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::Floor)
};
