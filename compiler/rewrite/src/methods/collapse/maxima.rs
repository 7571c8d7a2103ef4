//! Rewrites the maximum along an axis as a tree of maxima of two values.
//!
//! The maximum of two values is affine on both sides of a kink. The derivative of such a maximum
//! compares the two values, and the kink is where their difference is zero. The derivative of a
//! maximum along an axis instead tests which elements equal the maximum. This test does not show
//! where the kinks are.

use bnnc_base::dtype::DType;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::infer::without_axes;
use bnnc_graph::ops;
use std::collections::HashSet;

/// Returns `function` with pairwise maxima in place of maxima along axes. Only maxima of reals that
/// depend on `moved` are replaced.
pub fn by_pairs(function: &Function, moved: &HashSet<Value>) -> Function {
    function.rebuild(|builder, call, copies| {
        let is_largest = call.op.is(&ops::reduce_max::REDUCE_MAX)
            && moved.contains(&call.args[0])
            && function.ty(call.args[0]).dtype == DType::Real;
        let axes = is_largest.then(|| ops::reduce_max::positions(call.attrs));
        let found = axes.and_then(|axes| largest(builder, copies[0], &axes));
        found.unwrap_or_else(|| builder.apply(call.op.0, copies, call.attrs.to_vec()))
    })
}

/// Returns the maximum of `x` along `axes`. The result does not have these axes. Returns `None` if
/// a size is not fixed or is zero.
fn largest(builder: &mut Builder, x: Value, axes: &[usize]) -> Option<Value> {
    let shape = builder.shape(x);
    let sizes: Option<Vec<usize>> = axes.iter().map(|axis| shape.0[*axis].fixed()).collect();
    let sizes = sizes.filter(|sizes| sizes.iter().all(|size| *size > 0))?;
    let mut found = x;
    for (&axis, mut size) in axes.iter().zip(sizes) {
        while size > 1 {
            let part = |builder: &mut Builder, from: usize, to: usize| {
                let window = Window::full(builder.rank(found)).with(axis, from, to);
                builder.slice(found, window)
            };
            let half = size / 2;
            let (first, second) = (part(builder, 0, half), part(builder, half, 2 * half));
            let rest = (size > 2 * half).then(|| part(builder, 2 * half, size));
            let larger = builder.max(first, second);
            found = match rest {
                Some(rest) => builder.concat(&[larger, rest], axis),
                None => larger,
            };
            size -= half;
        }
    }
    Some(builder.reshape(found, &without_axes(&shape, axes)))
}
