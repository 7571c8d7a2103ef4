//! `to_int x`: a real number as an integer, rounded towards zero.

use crate::example;
use crate::infer;
use crate::op::{OpDef, Vjp};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

/// A real number as an integer, rounded towards zero.
pub static TO_INT: OpDef = OpDef {
    doc: "Converts a real number to an integer, rounding towards zero.",
    infer: |types, attrs| Ok(Type::new(DType::Int, infer::reals(types, attrs)?.shape)),
    vjp: Vjp::Zero("constant almost everywhere"),
    range: |x, _| x[0].monotone(f64::trunc),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
    ..OpDef::scalar(Scalar::ToInt)
};
