//! `constant shape, dtype, value`: one number in every element.

use crate::attr::{self, Attr, AttrKind, AttrSpec};
use crate::example;
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;

/// One number in every element.
pub static CONSTANT: OpDef = OpDef {
    name: "constant",
    doc: "One number in every element of a tensor.",
    arity: Arity::Exactly(0),
    attrs: &[
        AttrSpec::new("shape", AttrKind::Shape),
        AttrSpec::new("dtype", AttrKind::DType),
        AttrSpec::new("value", AttrKind::Real),
    ],
    infer: |_, attrs| Ok(Type::new(*attr::dtype(attrs, 1), attr::shape(attrs, 0).clone())),
    eval: |_, attrs| {
        let sizes = crate::eval::sizes(attr::shape(attrs, 0));
        Tensor::from_fn(sizes, |_| *attr::real(attrs, 2))
    },
    vjp: Vjp::Zero("it has no operands"),
    batch: Batch::Elementwise,
    range: |_, attrs| Interval::point(*attr::real(attrs, 2)),
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
