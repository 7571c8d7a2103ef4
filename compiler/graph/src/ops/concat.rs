//! `concat x, .., axis`: operands joined along an axis.

use crate::attr::{Attr, attributes};
use crate::builder::{Builder, Window};
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::Dim;

attributes! { axis: Int }

/// Operands joined along an axis.
pub static CONCAT: OpDef = OpDef {
    name: "concat",
    doc: "Joins operands along an axis of static size; their other axes must be equal.",
    arity: Arity::AtLeast(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(batch),
    range: |x, _| Interval::union(x),
    lower: Lower::Kernel(KernelKind::Concat),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let axis = infer::expect_axis(axis(attrs), types[0].rank())?;
    let mut total = 0;
    for ty in types {
        let mut alike = (*ty).clone();
        if let (Some(dim), Some(first)) = (alike.shape.0.get_mut(axis), types[0].dims().get(axis)) {
            total = infer::expect_fixed(*dim, "a joined axis")?.saturating_add(total);
            *dim = *first;
        }
        if alike != *types[0] {
            return Err(CallError::Rule(format!(
                "operands equal outside axis {axis}, found {} and {ty}",
                types[0]
            )));
        }
    }
    let mut result = types[0].clone();
    result.shape.0[axis] = Dim::Fixed(total);
    Ok(result)
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let axis = axis(attrs) as usize;
    let mut shape = x[0].shape.clone();
    shape[axis] = x.iter().map(|part| part.shape[axis]).sum();
    Tensor::from_fn(shape, |index| {
        let mut inner = index.to_vec();
        let mut part = 0;
        while inner[axis] >= x[part].shape[axis] {
            inner[axis] -= x[part].shape[axis];
            part += 1;
        }
        x[part].at(&inner)
    })
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let axis = axis(site.attrs) as usize;
    let mut start = 0;
    let mut cotangents = Vec::new();
    for part in site.args {
        let shape = b.shape(*part);
        let size = shape.dims()[axis]
            .fixed()
            .unwrap_or_else(|| unreachable!("a joined axis is static"));
        cotangents.push(Some(
            b.slice(dy, Window::full(shape.rank()).with(axis, start, start + size)),
        ));
        start += size;
    }
    cotangents
}

fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let parts = site.args.iter().zip(mapped);
    let parts: Vec<Value> = parts
        .map(|(part, flag)| {
            if *flag {
                *part
            } else {
                b.broadcast_leading(*part, dim)
            }
        })
        .collect();
    b.concat(&parts, axis(site.attrs) as usize + 1)
}

fn examples() -> Vec<Example> {
    let of = |parts: &[&[usize]], axis: i64| {
        let operands = parts.iter().map(|sizes| example::real(sizes, -2.0, 2.0));
        example::call(operands.collect(), vec![Attr::Int(axis)])
    };
    vec![
        of(&[&[2], &[3]], 0),
        of(&[&[2, 1], &[2, 3], &[2, 2]], 1),
        of(&[&[1, 2], &[2, 2]], 0),
    ]
}
