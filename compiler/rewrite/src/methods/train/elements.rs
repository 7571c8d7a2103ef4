//! Applies a function of scalars to each element of tensors.

use crate::batch::batch;
use bnnc_base::shape::Shape;
use bnnc_graph::function::Function;

/// Returns a function of scalars as a function of tensors. The parameters marked in `mapped` have the shape
/// `shape`; the others stay scalars.
pub fn map_elements(function: &Function, mapped: &[bool], shape: &Shape) -> Function {
    // The sizes are visited from the last axis to the first, because each batching adds its axis in front.
    shape
        .dims()
        .iter()
        .rev()
        .fold(function.clone(), |inner, dim| batch(&inner, mapped, *dim))
}
