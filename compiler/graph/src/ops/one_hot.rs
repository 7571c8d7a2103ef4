//! `one_hot index, dim`: a new last axis that is 1 at the position `index` and 0 elsewhere.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::function::Value;
use crate::op::{Arity, Batch, Example, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use crate::{example, infer};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};

attributes! { dim: Dim }

/// A new last axis that is 1 at the position `index` and 0 elsewhere.
pub static ONE_HOT: OpDef = OpDef {
    name: "one_hot",
    doc: "Adds a last axis of size `dim`, with 1 at the position `index` and 0 elsewhere.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer: |types, attrs| {
        infer::expect_dtype(types, 0, &[DType::Int])?;
        Ok(Type::real(append(&types[0].shape, dim(attrs))))
    },
    eval: Some(|x, attrs| {
        let mut shape = x[0].shape.clone();
        shape.push(crate::eval::size(dim(attrs)));
        Tensor::from_fn(shape, |index| {
            let (last, outer) = index.split_last().unwrap_or((&0, &[]));
            f64::from(u8::from(x[0].at(outer) == *last as f64))
        })
    }),
    vjp: Vjp::Zero("integers have no derivative"),
    batch: Batch::Elementwise,
    range: |_, _| Interval::UNIT,
    lower: Lower::Expand(expand),
    examples,
};

fn append(shape: &Shape, dim: Dim) -> Shape {
    let mut dims = shape.dims().to_vec();
    dims.push(dim);
    Shape(dims)
}

fn expand(b: &mut Builder, site: &OpCall) -> Value {
    let (index, dim) = (site.args[0], dim(site.attrs));
    let shape = append(&b.shape(index), dim);
    let rank = shape.rank();
    let wide = b.restore_axes(index, &shape, &[rank - 1]);
    let line = b.iota(dim);
    let line = b.broadcast(line, &shape, &[rank - 1]);
    let equal = b.eq(wide, line);
    b.to_real(equal)
}

fn examples() -> Vec<Example> {
    let of =
        |sizes: &[usize]| example::call(vec![example::int(sizes, -1, 5)], vec![Attr::Dim(Dim::Fixed(4))]);
    vec![of(&[]), of(&[3]), of(&[2, 2])]
}
