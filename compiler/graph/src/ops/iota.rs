//! `iota dim`: 0, 1, 2, ...

use crate::attr::{Attr, attributes};
use crate::example;
use crate::op::{Arity, Batch, Interval, KernelKind, Lower, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};

attributes! { dim: Dim }

/// The integers from 0 to a size minus 1.
pub static IOTA: OpDef = OpDef {
    name: "iota",
    doc: "The integers 0, 1, .. below `dim`.",
    arity: Arity::Exactly(0),
    attrs: ATTRS,
    infer: |_, attrs| Ok(Type::int(Shape(vec![dim(attrs)]))),
    eval: Some(|_, attrs| Tensor::from_fn(vec![crate::eval::size(dim(attrs))], |index| index[0] as f64)),
    vjp: Vjp::Zero("it has no operands"),
    batch: Batch::Elementwise,
    range: |_, attrs| match dim(attrs).fixed() {
        Some(size) => Interval::new(0.0, size.saturating_sub(1) as f64),
        None => Interval::NON_NEGATIVE,
    },
    lower: Lower::Kernel(KernelKind::Iota),
    examples: || {
        [1, 5]
            .map(|size| example::call(Vec::new(), vec![Attr::Dim(Dim::Fixed(size))]))
            .into()
    },
};
