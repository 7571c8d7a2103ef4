//! `literal shape, dtype, values`: a small tensor whose elements are written out.

use crate::attr::{Attr, attributes};
use crate::diagnostics::CallError;
use crate::example;
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;

attributes! { shape: Shape, dtype: DType, values: Reals }

/// A small static tensor whose elements are written out in row-major order.
pub static LITERAL: OpDef = OpDef {
    name: "literal",
    doc: "A small static tensor whose elements are listed, last axis fastest.",
    arity: Arity::Exactly(0),
    attrs: ATTRS,
    infer,
    eval: Some(|_, attrs| Tensor::new(crate::eval::sizes(shape(attrs)), values(attrs).to_vec())),
    vjp: Vjp::Zero("it has no operands"),
    batch: Batch::Elementwise,
    range: |_, attrs| Interval::hull(values(attrs)),
    lower: Lower::Kernel(KernelKind::Constant),
    examples,
};

fn infer(_: &[&Type], attrs: &[Attr]) -> Inferred {
    let (shape, values) = (shape(attrs), values(attrs));
    let sizes = shape
        .static_sizes()
        .ok_or_else(|| CallError::Rule(format!("a static shape, found {shape}")))?;
    let count = sizes
        .iter()
        .fold(1, |count: usize, size| count.saturating_mul(*size));
    if count != values.len() {
        return Err(CallError::Count {
            expected: format!("{count} elements for {shape}"),
            found: values.len(),
        });
    }
    Ok(Type::new(dtype(attrs), shape.clone()))
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], dtype: DType, values: &[f64]| {
        let attrs = vec![
            Attr::Shape(Shape::fixed(sizes)),
            Attr::DType(dtype),
            Attr::Reals(values.to_vec()),
        ];
        example::call(Vec::new(), attrs)
    };
    vec![
        of(&[3], DType::Real, &[1.5, -2.0, 1e-30]),
        of(&[2, 2], DType::Int, &[1.0, 2.0, 3.0, 4.0]),
    ]
}
