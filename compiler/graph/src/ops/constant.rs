//! `constant shape, dtype, value`: one number in every element.

use crate::attr::{Attr, attributes};
use crate::example;
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;

attributes! { shape: Shape, dtype: DType, value: Real }

/// One number in every element.
pub static CONSTANT: OpDef = OpDef {
    name: "constant",
    doc: "One number in every element of a tensor.",
    arity: Arity::Exactly(0),
    attrs: ATTRS,
    infer: |_, attrs| Ok(Type::new(dtype(attrs), shape(attrs).clone())),
    eval: Some(|_, attrs| {
        let sizes = crate::eval::sizes(shape(attrs));
        Tensor::from_fn(sizes, |_| value(attrs))
    }),
    vjp: Vjp::Zero("it has no operands"),
    batch: Batch::Elementwise,
    range: |_, attrs| Interval::point(value(attrs)),
    lower: Lower::Kernel(KernelKind::Constant),
    examples,
};

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], dtype: DType, value: f64| {
        let attrs = vec![
            Attr::Shape(Shape::fixed(sizes)),
            Attr::DType(dtype),
            Attr::Real(value),
        ];
        example::call(Vec::new(), attrs)
    };
    vec![
        of(&[], DType::Real, 0.5),
        of(&[2, 3], DType::Int, -4.0),
        of(&[2], DType::Real, f64::NEG_INFINITY),
    ]
}
