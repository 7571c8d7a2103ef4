//! `cumsum x, axis, reverse`: running sums along an axis.

use crate::attr::{Attr, attributes};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::{example, infer};
use bnnc_base::dtype::DType;

attributes! { axis: Int, reverse: Int }

/// Running sums along an axis.
pub static CUMSUM: OpDef = OpDef {
    name: "cumsum",
    doc: "Running sums along an axis, each including its own element; they start at the end if `reverse` is 1.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer: |types, attrs| {
        infer::expect_dtype(types, 0, &[DType::Real])?;
        infer::expect_axis(axis(attrs), types[0].rank())?;
        Ok(types[0].clone())
    },
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let (axis, reverse) = (axis(site.attrs) as usize, reverse(site.attrs) != 0);
        vec![Some(b.cumsum(dy, axis, !reverse))]
    }),
    batch: Batch::Rule(|b, site, _, _| {
        let (axis, reverse) = (axis(site.attrs) as usize, reverse(site.attrs) != 0);
        b.cumsum(site.args[0], axis + 1, reverse)
    }),
    range: |x, _| x[0].sum_of_some(),
    lower: Lower::Kernel(KernelKind::Cumsum),
    examples,
};

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (axis, reverse) = (axis(attrs) as usize, reverse(attrs) != 0);
    let size = x[0].shape[axis];
    Tensor::from_fn(x[0].shape.clone(), |index| {
        let range = if reverse {
            index[axis]..size
        } else {
            0..index[axis] + 1
        };
        let mut inner = index.to_vec();
        let element = |at| {
            inner[axis] = at;
            x[0].at(&inner)
        };
        range.map(element).sum()
    })
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], axis: i64, reverse: i64| {
        example::call(
            vec![example::real(sizes, -2.0, 2.0)],
            vec![Attr::Int(axis), Attr::Int(reverse)],
        )
    };
    vec![
        of(&[4], 0, 0),
        of(&[4], 0, 1),
        of(&[2, 3], 0, 0),
        of(&[2, 3, 2], 1, 1),
    ]
}
