//! `broadcast x, shape, axes`: repeats elements along new axes.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};

attributes! { shape: Shape, axes: Ints }

/// Repeats elements along new axes.
pub static BROADCAST: OpDef = OpDef {
    name: "broadcast",
    doc: "Repeats elements along new axes: axis `i` of `x` becomes axis `axes[i]` of the result, which has this shape.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(|b, site, dy| {
        let axes = axes(site.attrs);
        let new: Vec<usize> = (0..b.rank(dy))
            .filter(|axis| !axes.contains(&(*axis as i64)))
            .collect();
        vec![Some(b.reduce_sum(dy, &new))]
    }),
    batch: Batch::Rule(batch),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Broadcast),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let (shape, axes) = (shape(attrs), axes(attrs));
    let x = types[0];
    if axes.len() != x.rank() {
        return Err(CallError::Rule(format!(
            "one axis for each of {x}, found {axes:?}"
        )));
    }
    for (dim, axis) in x.dims().iter().zip(infer::expect_increasing(axes, shape.rank())?) {
        if shape.dims()[axis] != *dim {
            return Err(CallError::Rule(format!(
                "axis {axis} of {shape} to have size {dim} as in {x}"
            )));
        }
    }
    Ok(x.with_shape(shape.clone()))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let axes = axes(attrs);
    Tensor::from_fn(crate::eval::sizes(shape(attrs)), |index| {
        let inner: Vec<usize> = axes.iter().map(|axis| index[*axis as usize]).collect();
        x[0].at(&inner)
    })
}

fn batch(b: &mut Builder, site: &OpCall, _: &[bool], dim: Dim) -> Value {
    let shape = shape(site.attrs).prepend(dim);
    let shifted = axes(site.attrs).iter().map(|axis| *axis as usize + 1);
    let axes: Vec<usize> = std::iter::once(0).chain(shifted).collect();
    b.broadcast(site.args[0], &shape, &axes)
}

fn examples() -> Vec<Example> {
    let of = |from: &[usize], to: &[usize], axes: &[usize]| {
        let attrs = vec![Attr::Shape(Shape::fixed(to)), Attr::positions(axes)];
        example::call(vec![example::real(from, -2.0, 2.0)], attrs)
    };
    vec![
        of(&[], &[3], &[]),
        of(&[3], &[2, 3], &[1]),
        of(&[3], &[3, 2], &[0]),
        of(&[2, 3], &[2, 4, 3], &[0, 2]),
    ]
}
