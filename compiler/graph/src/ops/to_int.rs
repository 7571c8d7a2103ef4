//! `to_int x`: a real number as an integer, rounded towards zero.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

/// A real number as an integer, rounded towards zero.
pub static TO_INT: OpDef = OpDef {
    name: "to_int",
    doc: "Converts a real number to an integer, rounding towards zero.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: |types, attrs| Ok(Type::new(DType::Int, infer::reals(types, attrs)?.shape)),
    eval: |x, _| elementwise::eval(Scalar::ToInt, x),
    vjp: Vjp::Zero("constant almost everywhere"),
    batch: Batch::Elementwise,
    range: |x, _| x[0].monotone(f64::trunc),
    lower: Lower::Scalar(Scalar::ToInt),
    examples: || example::elementwise(&[(-3.0, 3.0)]),
};
