//! `transpose x, axes`: permuted axes.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::Shape;

attributes! { axes: Ints }

/// Permuted axes.
pub static TRANSPOSE: OpDef = OpDef {
    name: "transpose",
    doc: "Permutes axes: axis `i` of the result is axis `axes[i]` of `x`.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let axes = axes(site.attrs);
        let mut inverse = vec![0; axes.len()];
        axes.iter()
            .enumerate()
            .for_each(|(at, axis)| inverse[*axis as usize] = at);
        vec![Some(b.transpose(dy, &inverse))]
    }),
    batch: Batch::Rule(|b, site, _, _| {
        let shifted = axes(site.attrs).iter().map(|axis| *axis as usize + 1);
        let axes: Vec<usize> = std::iter::once(0).chain(shifted).collect();
        b.transpose(site.args[0], &axes)
    }),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Transpose),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let (x, axes) = (types[0], axes(attrs));
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if axes.len() != x.rank() || infer::expect_increasing(&sorted, x.rank()).is_err() {
        return Err(CallError::Rule(format!(
            "a permutation of the {} axes of {x}, found {axes:?}",
            x.rank()
        )));
    }
    Ok(x.with_shape(Shape(axes.iter().map(|axis| x.dims()[*axis as usize]).collect())))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let axes = axes(attrs);
    let shape = axes.iter().map(|axis| x[0].shape[*axis as usize]).collect();
    Tensor::from_fn(shape, |index| {
        let mut inner = vec![0; index.len()];
        axes.iter()
            .zip(index)
            .for_each(|(axis, at)| inner[*axis as usize] = *at);
        x[0].at(&inner)
    })
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], axes: &[usize]| {
        example::call(vec![example::real(sizes, -2.0, 2.0)], vec![Attr::positions(axes)])
    };
    vec![
        of(&[2, 3], &[1, 0]),
        of(&[2, 3, 4], &[2, 0, 1]),
        of(&[2, 3, 4], &[0, 2, 1]),
    ]
}
