//! `reshape x, shape`: the same elements in the same order with another shape.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape, Symbol};

attributes! { shape: Shape }

/// The same elements in the same order with another shape.
pub static RESHAPE: OpDef = OpDef {
    name: "reshape",
    doc: "The same elements in the same order with another shape; axes of symbolic size stay, in the same order.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(|x, attrs| Tensor::new(crate::eval::sizes(shape(attrs)), x[0].data.clone())),
    vjp: Vjp::Rule(|b, site, dy| {
        let shape = b.shape(site.args[0]);
        vec![Some(b.reshape(dy, &shape))]
    }),
    batch: Batch::Rule(|b, site, _, dim| {
        let shape = shape(site.attrs).prepend(dim);
        b.reshape(site.args[0], &shape)
    }),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Reshape),
    examples,
};

/// Returns the symbolic sizes of a shape, in order, and the products of the static sizes before,
/// between and after them.
fn segments(shape: &Shape) -> (Vec<Symbol>, Vec<usize>) {
    let (mut symbols, mut counts) = (Vec::new(), vec![1usize]);
    for dim in shape.dims() {
        match dim {
            Dim::Symbol(symbol) => {
                symbols.push(*symbol);
                counts.push(1);
            }
            Dim::Fixed(size) => {
                let last = counts.len() - 1;
                counts[last] = counts[last].saturating_mul(*size);
            }
        }
    }
    (symbols, counts)
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let shape = shape(attrs);
    if segments(shape) != segments(&types[0].shape) {
        return Err(CallError::Rule(format!(
            "a shape with the elements of {}, found {shape}",
            types[0]
        )));
    }
    Ok(types[0].with_shape(shape.clone()))
}

fn examples() -> Vec<Example> {
    let of = |from: &[usize], to: &[usize]| {
        example::call(
            vec![example::real(from, -2.0, 2.0)],
            vec![Attr::Shape(Shape::fixed(to))],
        )
    };
    vec![of(&[], &[1, 1]), of(&[6], &[2, 3]), of(&[2, 3, 2], &[4, 3])]
}
