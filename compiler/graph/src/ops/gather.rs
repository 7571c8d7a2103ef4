//! `gather x, index, axis`: slices picked by an integer tensor.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { axis: Int }

/// Slices picked by an integer tensor.
pub static GATHER: OpDef = OpDef {
    name: "gather",
    doc: "Slices of `x` at positions along `axis`: the axes of `index` replace `axis`, and each position gives the slice of `x` there. Positions outside are clamped to the ends.",
    arity: Arity::Exactly(2),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let axis = axis(site.attrs) as usize;
        let dim = b.shape(site.args[0]).dims()[axis];
        vec![Some(b.scatter_add(site.args[1], dy, axis, dim)), None]
    }),
    batch: Batch::Rule(batch),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Gather),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let (x, index) = (types[0], types[1]);
    infer::expect_dtype(types, 1, &[DType::Int])?;
    let axis = infer::expect_axis(axis(attrs), x.rank())?;
    let mut dims = x.dims().to_vec();
    dims.splice(axis..=axis, index.dims().iter().copied());
    Ok(x.with_shape(Shape(dims)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let axis = axis(attrs) as usize;
    let (source, index) = (x[0], x[1]);
    let rank = index.shape.len();
    let mut shape = source.shape.clone();
    shape.splice(axis..=axis, index.shape.iter().copied());
    Tensor::from_fn(shape, |at| {
        let mut inner = at.to_vec();
        let place = clamped(index.at(&at[axis..axis + rank]), source.shape[axis]);
        inner.splice(axis..axis + rank, [place]);
        source.at(&inner)
    })
}

/// Returns a position clamped to `0..size`.
pub(super) fn clamped(position: f64, size: usize) -> usize {
    (position.max(0.0) as usize).min(size.saturating_sub(1))
}

fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let (x, index) = (site.args[0], site.args[1]);
    let axis = axis(site.attrs) as usize;
    match (mapped[0], mapped[1]) {
        (_, false) => b.gather(x, index, axis + 1),
        (false, true) => {
            let picked = b.gather(x, index, axis);
            b.move_axis(picked, axis, 0)
        }
        (true, true) => pick_by_mask(b, x, index, axis + 1, dim),
    }
}

/// Gathers slices if both operands are mapped. A mask selects the elements of each slice by
/// comparing positions. The sum over the gathered axis then contains only these elements. The mask
/// and the sum fuse into one reduction. `axis` is an axis of the operand that includes the mapped
/// axis.
fn pick_by_mask(b: &mut Builder, x: Value, index: Value, axis: usize, dim: Dim) -> Value {
    let (source, places) = (b.shape(x), b.shape(index));
    let rank = places.rank() - 1;
    let mut dims = source.dims().to_vec();
    dims.splice(axis..axis, places.dims()[1..].iter().copied());
    debug_assert_eq!(dims[0], dim);
    let shape = Shape(dims);
    let of_source: Vec<usize> = (0..shape.rank())
        .filter(|at| !(axis..axis + rank).contains(at))
        .collect();
    let of_index: Vec<usize> = std::iter::once(0).chain(axis..axis + rank).collect();
    let mask = position_mask(b, index, &shape, &of_index, axis + rank);
    let spread = b.broadcast(x, &shape, &of_source);
    let zero = b.like(0.0, spread);
    let kept = b.select(mask, spread, zero);
    b.reduce_sum(kept, &[axis + rank])
}

/// Returns a Boolean tensor of shape `shape`. An element is true if its position along the axis
/// `counted` equals the corresponding element of `index`, after clamping. `axes` gives, for each
/// axis of `index`, its axis in `shape`.
pub(super) fn position_mask(
    b: &mut Builder,
    index: Value,
    shape: &Shape,
    axes: &[usize],
    counted: usize,
) -> Value {
    let dim = shape.dims()[counted];
    let line = b.iota(dim);
    let wide = b.broadcast(index, shape, axes);
    let line = b.broadcast(line, shape, &[counted]);
    let zero = b.like(0.0, wide);
    let above = b.max(wide, zero);
    // The last position is computed as the maximum of all positions along the axis, because this
    // also works for a symbolic size.
    let reversed = b.iota(dim);
    let last = b.reduce_max(reversed, &[0]);
    let last = b.broadcast_to(last, shape);
    let inside = b.min(above, last);
    b.eq(inside, line)
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], index: &[usize], axis: i64| {
        let operands = vec![example::real(sizes, -2.0, 2.0), example::int(index, -1, 5)];
        example::call(operands, vec![Attr::Int(axis)])
    };
    vec![
        of(&[4], &[], 0),
        of(&[4], &[3], 0),
        of(&[2, 4], &[3], 1),
        of(&[3, 2, 2], &[2, 2], 1),
    ]
}
