//! `to_real x`: an integer or Boolean as a real number.

use crate::example;
use crate::infer;
use crate::op::{OpDef, Vjp};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

/// An integer or Boolean as a real number.
pub static TO_REAL: OpDef = OpDef {
    doc: "Converts an integer or a Boolean to a real number.",
    infer: |types, _| {
        infer::expect_dtype(types, 0, &[DType::Int, DType::Bool])?;
        Ok(Type::real(types[0].shape.clone()))
    },
    vjp: Vjp::Zero("integers and Booleans have no derivative"),
    range: |x, _| x[0],
    examples: || example::both(example::elementwise_ints(1), example::elementwise_truths(1)),
    ..OpDef::scalar(Scalar::ToReal)
};
