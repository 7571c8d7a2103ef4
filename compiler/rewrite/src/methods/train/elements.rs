//! Applies a function of scalars to each element of tensors.

use crate::batch::batch;
use bnnc_base::shape::Shape;
use bnnc_graph::function::Function;

/// Turns a function of scalars into a function of tensors. The parameters marked in `mapped` have
/// the shape `shape`; the others stay scalars.
pub fn map_elements(function: &Function, mapped: &[bool], shape: &Shape) -> Function {
    // Each call of `batch` adds its axis in front, so the axes are added from the last to the
    // first.
    shape
        .dims()
        .iter()
        .rev()
        .fold(function.clone(), |inner, dim| batch(&inner, mapped, *dim))
}
