//! Reference evaluation of elementwise ops: one scalar operation for each element.

use crate::tensor::Tensor;
use bnnc_math::scalar::Scalar;

/// Applies the operation `scalar` to operands with equal shapes.
pub fn eval(scalar: Scalar, operands: &[&Tensor]) -> Tensor {
    let mut row = vec![0.0; operands.len()];
    let data = (0..operands[0].data.len()).map(|at| {
        for (slot, operand) in row.iter_mut().zip(operands) {
            *slot = operand.data[at];
        }
        scalar.eval(&row)
    });
    let data = data.collect();
    Tensor::new(operands[0].shape.clone(), data)
}
