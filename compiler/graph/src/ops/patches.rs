//! `patches x, sizes, strides`: all windows of a size, as one array.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { sizes: Ints, strides: Ints }

/// All windows of a size.
pub static PATCHES: OpDef = OpDef {
    name: "patches",
    doc: "All windows of these sizes over the last axes, `strides` apart. The last axes become the positions in a window, followed by the positions of the windows. Elements at the ends that do not fill a window are left out.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let (whole, count) = (b.shape(site.args[0]), sizes(site.attrs).len());
        let spatial = &whole.dims()[whole.rank() - count..];
        let sizes: Vec<usize> = spatial.iter().filter_map(|dim| dim.fixed()).collect();
        let attrs = vec![Attr::positions(&sizes), site.attrs[1].clone()];
        vec![Some(b.apply(&super::overlap_add::OVERLAP_ADD, &[dy], attrs))]
    }),
    batch: Batch::Rule(|b, site, _, _| b.apply(&PATCHES, site.args, site.attrs.to_vec())),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Patches),
    examples,
};

/// Returns the number of windows of `size` that fit into `whole`. Fails if no window fits.
pub(super) fn windows(whole: usize, size: i64, stride: i64) -> Result<usize, CallError> {
    if size < 1 || stride < 1 || size as u64 > whole as u64 {
        return Err(CallError::Rule(format!(
            "windows of 1 to {whole} elements and a stride of 1 or more, found {size} and {stride}"
        )));
    }
    Ok((whole - size as usize) / stride as usize + 1)
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Real])?;
    let (x, sizes, strides) = (types[0], sizes(attrs), strides(attrs));
    if sizes.is_empty() || sizes.len() != strides.len() {
        return Err(CallError::Rule(format!(
            "a size and a stride for each axis, found {sizes:?} and {strides:?}"
        )));
    }
    infer::expect_rank(types, 0, sizes.len())?;
    let (leading, spatial) = x.dims().split_at(x.rank() - sizes.len());
    let mut dims = leading.to_vec();
    dims.extend(sizes.iter().map(|size| Dim::Fixed((*size).max(0) as usize)));
    for ((dim, size), stride) in spatial.iter().zip(sizes).zip(strides) {
        let whole = infer::expect_fixed(*dim, "an axis with windows")?;
        dims.push(Dim::Fixed(windows(whole, *size, *stride)?));
    }
    Ok(x.with_shape(Shape(dims)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (x, sizes, strides) = (x[0], sizes(attrs), strides(attrs));
    let count = sizes.len();
    let first = x.shape.len() - count;
    let mut shape = x.shape[..first].to_vec();
    shape.extend(sizes.iter().map(|size| *size as usize));
    shape.extend((0..count).map(|at| (x.shape[first + at] - sizes[at] as usize) / strides[at] as usize + 1));
    Tensor::from_fn(shape, |index| {
        let mut inner = index[..first + count].to_vec();
        for at in 0..count {
            inner[first + at] += index[first + count + at] * strides[at] as usize;
        }
        x.at(&inner)
    })
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], window: &[usize], strides: &[usize]| {
        let attrs = vec![Attr::positions(window), Attr::positions(strides)];
        example::call(vec![example::real(sizes, -2.0, 2.0)], attrs)
    };
    vec![
        of(&[4], &[4], &[1]),
        of(&[7], &[2], &[2]),
        of(&[2, 6], &[3], &[2]),
        of(&[2, 4, 5], &[2, 3], &[1, 1]),
        of(&[4, 5], &[1, 2], &[2, 3]),
    ]
}
