//! `mul x, y`: the product.

use crate::example;
use crate::infer;
use crate::op::{OpDef, Vjp};
use bnnc_math::scalar::Scalar;

/// `mul x, y`: the product.
pub static MUL: OpDef = OpDef {
    doc: "`x * y`, of reals or of integers.",
    infer: infer::numbers,
    vjp: Vjp::Rule(|b, site, dy| vec![Some(b.mul(dy, site.args[1])), Some(b.mul(dy, site.args[0]))]),
    range: |x, _| x[0].times(x[1]),
    examples: example::two_numbers,
    ..OpDef::scalar(Scalar::Mul)
};
