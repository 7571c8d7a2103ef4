//! Applies a function of scalars to each element of tensors.

use crate::batch::batch;
use bnnc_base::shape::Shape;
use bnnc_graph::function::Function;

/// `function` of scalars for tensors of `shape`: the flagged parameters get the shape, the others stay scalars.
pub fn map_elements(function: &Function, mapped: &[bool], shape: &Shape) -> Function {
    // The last axis first: each further batch puts its axis in front.
    shape
        .dims()
        .iter()
        .rev()
        .fold(function.clone(), |inner, dim| batch(&inner, mapped, *dim))
}
