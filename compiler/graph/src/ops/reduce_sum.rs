//! `reduce_sum x, axes`: the sum along axes. These axes are removed.

use crate::attr::{Attr, attributes};
use crate::example;
use crate::infer::{self, Inferred, without_axes};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;

attributes! { axes: Ints }

/// The sum along axes. These axes are removed.
pub static REDUCE_SUM: OpDef = OpDef {
    name: "reduce_sum",
    doc: "The sum along axes; removes these axes.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(|x, attrs| fold(x[0], &positions(attrs), 0.0, |sum, element| sum + element)),
    vjp: Vjp::Rule(|b, site, dy| {
        let shape = b.shape(site.args[0]);
        vec![Some(b.restore_axes(dy, &shape, &positions(site.attrs)))]
    }),
    batch: Batch::Rule(|b, site, _, _| {
        let axes: Vec<usize> = positions(site.attrs).iter().map(|axis| axis + 1).collect();
        b.reduce_sum(site.args[0], &axes)
    }),
    range: |x, attrs| {
        if axes(attrs).is_empty() {
            x[0]
        } else {
            x[0].sum_of_some()
        }
    },
    lower: Lower::Kernel(KernelKind::ReduceSum),
    examples,
};

/// Returns the axes of a reduction.
pub fn positions(attrs: &[Attr]) -> Vec<usize> {
    crate::attr::positions(axes(attrs))
}

/// Returns the result type of a reduction.
pub(super) fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    infer::expect_dtype(types, 0, &[DType::Real, DType::Int])?;
    let axes = infer::expect_increasing(axes(attrs), types[0].rank())?;
    Ok(types[0].with_shape(without_axes(&types[0].shape, &axes)))
}

/// Combines the elements along some axes with `combine`, starting with the value `start`.
pub(super) fn fold(x: &Tensor, axes: &[usize], start: f64, combine: impl Fn(f64, f64) -> f64) -> Tensor {
    let keep = |at: &usize| !axes.contains(at);
    let kept: Vec<usize> = (0..x.shape.len()).filter(keep).collect();
    let mut result = Tensor::from_fn(kept.iter().map(|axis| x.shape[*axis]).collect(), |_| start);
    let mut index = vec![0; x.shape.len()];
    for element in &x.data {
        let outer: Vec<usize> = kept.iter().map(|axis| index[*axis]).collect();
        let offset = result.offset(&outer);
        result.data[offset] = combine(result.data[offset], *element);
        crate::tensor::advance(&mut index, &x.shape);
    }
    result
}

/// Returns calls with several ranks and axes.
pub(super) fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], axes: &[usize]| {
        example::call(vec![example::real(sizes, -2.0, 2.0)], vec![Attr::positions(axes)])
    };
    let ints = example::call(vec![example::int(&[2, 3], -4, 5)], vec![Attr::positions(&[0])]);
    vec![
        of(&[4], &[0]),
        of(&[2, 3], &[1]),
        of(&[2, 3, 2], &[0, 2]),
        of(&[2, 2], &[0, 1]),
        ints,
    ]
}
