//! `overlap_add x, sizes, strides`: sums overlapping windows; the adjoint of `patches`.

use super::patches::windows;
use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { sizes: Ints, strides: Ints }

/// Sums overlapping windows.
pub static OVERLAP_ADD: OpDef = OpDef {
    name: "overlap_add",
    doc: "Adds windows that are `strides` apart into axes of these sizes. The last axes of `x` are the positions in a window, followed by the positions of the windows; each pair becomes one axis. Elements outside all windows are zero.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let (parts, count) = (b.shape(site.args[0]), sizes(site.attrs).len());
        let window = &parts.dims()[parts.rank() - 2 * count..parts.rank() - count];
        let sizes: Vec<usize> = window.iter().filter_map(|dim| dim.fixed()).collect();
        let attrs = vec![Attr::positions(&sizes), site.attrs[1].clone()];
        vec![Some(b.apply(&super::patches::PATCHES, &[dy], attrs))]
    }),
    batch: Batch::Rule(|b, site, _, _| b.apply(&OVERLAP_ADD, site.args, site.attrs.to_vec())),
    range: |x, _| Interval::union(&[x[0].sum_of_some(), Interval::point(0.0)]),
    lower: Lower::Kernel(KernelKind::OverlapAdd),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Real])?;
    let (x, sizes, strides) = (types[0], sizes(attrs), strides(attrs));
    let count = sizes.len();
    if count == 0 || count != strides.len() {
        return Err(CallError::Rule(format!(
            "a size and a stride for each axis, found {sizes:?} and {strides:?}"
        )));
    }
    infer::expect_rank(types, 0, 2 * count)?;
    let (leading, parts) = x.dims().split_at(x.rank() - 2 * count);
    let mut dims = leading.to_vec();
    for at in 0..count {
        let size = infer::expect_fixed(parts[at], "an axis of windows")?;
        let whole = usize::try_from(sizes[at]).unwrap_or(0);
        let fitting = windows(whole, size as i64, strides[at])?;
        if parts[count + at] != Dim::Fixed(fitting) {
            return Err(CallError::Type {
                expected: format!("{fitting} windows of {size} in {whole}"),
                found: x.clone(),
            });
        }
        dims.push(Dim::Fixed(whole));
    }
    Ok(x.with_shape(Shape(dims)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (x, sizes, strides) = (x[0], sizes(attrs), strides(attrs));
    let count = sizes.len();
    let first = x.shape.len() - 2 * count;
    let mut shape = x.shape[..first].to_vec();
    shape.extend(sizes.iter().map(|size| *size as usize));
    let mut result = Tensor::zeros(shape);
    let mut index = vec![0; x.shape.len()];
    for element in &x.data {
        let mut outer = index[..first + count].to_vec();
        for at in 0..count {
            outer[first + at] += index[first + count + at] * strides[at] as usize;
        }
        let offset = result.offset(&outer);
        result.data[offset] += element;
        crate::tensor::advance(&mut index, &x.shape);
    }
    result
}

fn examples() -> Vec<Example> {
    let of = |parts: &[usize], sizes: &[usize], strides: &[usize]| {
        let attrs = vec![Attr::positions(sizes), Attr::positions(strides)];
        example::call(vec![example::real(parts, -2.0, 2.0)], attrs)
    };
    vec![
        of(&[4, 1], &[4], &[1]),
        of(&[2, 3], &[7], &[2]),
        of(&[2, 3, 2], &[6], &[2]),
        of(&[2, 2, 3, 3, 3], &[4, 5], &[1, 1]),
        of(&[1, 2, 2, 2], &[4, 5], &[2, 3]),
    ]
}
