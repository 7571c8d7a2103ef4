//! `scatter_add index, updates, axis, dim`: adds slices at integer positions; the adjoint of `gather`.

use super::gather::{clamped, position_mask};
use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { axis: Int, dim: Dim }

/// Adds slices at integer positions.
pub static SCATTER_ADD: OpDef = OpDef {
    name: "scatter_add",
    doc: "Adds slices of `updates` to an array of zeros, at the positions `index` along `axis`, which has size `dim`. The axes of `index` stand at `axis` in `updates`. Positions outside are clamped to the ends.",
    arity: Arity::Exactly(2),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let axis = axis(site.attrs) as usize;
        vec![None, Some(b.gather(dy, site.args[0], axis))]
    }),
    batch: Batch::Rule(batch),
    range: |x, _| Interval::union(&[x[1].sum_of_some(), Interval::point(0.0)]),
    lower: Lower::Kernel(KernelKind::ScatterAdd),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let (index, updates) = (types[0], types[1]);
    infer::expect_dtype(types, 0, &[DType::Int])?;
    infer::expect_dtype(types, 1, &[DType::Real])?;
    let axis = infer::expect_axis(axis(attrs), updates.rank() + 1)?;
    let end = axis + index.rank();
    if updates.dims().get(axis..end) != Some(index.dims()) {
        return Err(CallError::Type {
            expected: format!("axes {} of the index at axis {axis} of the updates", index.shape),
            found: updates.clone(),
        });
    }
    let mut dims = updates.dims().to_vec();
    dims.splice(axis..end, [dim(attrs)]);
    Ok(updates.with_shape(Shape(dims)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (axis, size) = (axis(attrs) as usize, crate::eval::size(dim(attrs)));
    let (index, updates) = (x[0], x[1]);
    let end = axis + index.shape.len();
    let mut shape = updates.shape.clone();
    shape.splice(axis..end, [size]);
    let mut result = Tensor::zeros(shape);
    let mut at = vec![0; updates.shape.len()];
    for update in &updates.data {
        let mut outer = at.clone();
        outer.splice(axis..end, [clamped(index.at(&at[axis..end]), size)]);
        let offset = result.offset(&outer);
        result.data[offset] += update;
        crate::tensor::advance(&mut at, &updates.shape);
    }
    result
}

fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let (index, mut updates) = (site.args[0], site.args[1]);
    let (axis, size) = (axis(site.attrs) as usize + 1, self::dim(site.attrs));
    if !mapped[0] {
        return b.scatter_add(index, updates, axis, size);
    }
    if !mapped[1] {
        updates = b.broadcast_leading(updates, dim);
    }
    // The positions may differ along the mapped axis. The updates for each position are therefore
    // selected by a mask that compares positions.
    let end = axis + b.rank(index) - 1;
    let mut dims = b.shape(updates).dims().to_vec();
    dims.insert(end, size);
    let shape = Shape(dims);
    let of_index: Vec<usize> = std::iter::once(0).chain(axis..end).collect();
    let mask = position_mask(b, index, &shape, &of_index, end);
    let spread = b.restore_axes(updates, &shape, &[end]);
    let zero = b.like(0.0, spread);
    let kept = b.select(mask, spread, zero);
    b.reduce_sum(kept, &(axis..end).collect::<Vec<_>>())
}

fn examples() -> Vec<Example> {
    let of = |index: &[usize], updates: &[usize], axis: i64| {
        let operands = vec![example::int(index, -1, 5), example::real(updates, -2.0, 2.0)];
        example::call(operands, vec![Attr::Int(axis), Attr::Dim(Dim::Fixed(4))])
    };
    vec![
        of(&[], &[], 0),
        of(&[3], &[3], 0),
        of(&[3], &[2, 3], 1),
        of(&[2, 2], &[3, 2, 2, 2], 1),
    ]
}
