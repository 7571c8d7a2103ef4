//! `to_real x`: an integer or Boolean as a real number.

use crate::elementwise;
use crate::example;
use crate::infer;
use crate::op::{Arity, Batch, Lower, OpDef, Vjp};
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_math::scalar::Scalar;

/// An integer or Boolean as a real number.
pub static TO_REAL: OpDef = OpDef {
    name: "to_real",
    doc: "Converts an integer or a Boolean to a real number.",
    arity: Arity::Exactly(1),
    attrs: &[],
    infer: |types, _| {
        infer::expect_dtype(types, 0, &[DType::Int, DType::Bool])?;
        Ok(Type::real(types[0].shape.clone()))
    },
    eval: |x, _| elementwise::eval(Scalar::ToReal, x),
    vjp: Vjp::Zero("integers and Booleans have no derivative"),
    batch: Batch::Elementwise,
    range: |x, _| x[0],
    lower: Lower::Scalar(Scalar::ToReal),
    examples: || example::both(example::elementwise_ints(1), example::elementwise_truths(1)),
};
