//! `slice x, starts, limits, strides`: a strided window.

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

attributes! { starts: Ints, limits: Ints, strides: Ints }

/// A strided window.
pub static SLICE: OpDef = OpDef {
    name: "slice",
    doc: "A strided window: the positions `start, start + stride, ..` below `limit` of each axis. The limit -1 means the end.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| {
        let widen = |full: i64, entries: &[i64]| Attr::Ints([&[full], entries].concat());
        let (starts, strides) = (widen(0, starts(site.attrs)), widen(1, strides(site.attrs)));
        b.apply(
            &SLICE,
            site.args,
            vec![starts, widen(-1, limits(site.attrs)), strides],
        )
    }),
    range: |x, _| x[0],
    lower: Lower::Kernel(KernelKind::Slice),
    examples,
};

/// Returns the size of the window on one axis. Fails if the window does not fit.
fn window(dim: Dim, start: i64, limit: i64, stride: i64) -> Result<Dim, CallError> {
    if (start, limit, stride) == (0, -1, 1) {
        return Ok(dim);
    }
    let size = infer::expect_fixed(dim, "a sliced axis")? as i64;
    let limit = if limit == -1 { size } else { limit };
    if start < 0 || limit <= start || limit > size || stride < 1 {
        let found = format!("{start}..{limit} by {stride}");
        return Err(CallError::Rule(format!(
            "a window of one element or more inside 0..{size}, found {found}"
        )));
    }
    Ok(Dim::Fixed(((limit - start - 1) / stride + 1) as usize))
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let x = types[0];
    let [starts, limits, strides] = [starts(attrs), limits(attrs), strides(attrs)];
    if [starts, limits, strides]
        .iter()
        .any(|list| list.len() != x.rank())
    {
        return Err(CallError::Rule(format!(
            "one start, limit and stride for each axis of {x}"
        )));
    }
    let dims = x
        .dims()
        .iter()
        .enumerate()
        .map(|(at, dim)| window(*dim, starts[at], limits[at], strides[at]));
    Ok(x.with_shape(Shape(dims.collect::<Result<_, _>>()?)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let [starts, limits, strides] = [starts(attrs), limits(attrs), strides(attrs)];
    let size = |at: usize| {
        let limit = if limits[at] == -1 {
            x[0].shape[at] as i64
        } else {
            limits[at]
        };
        ((limit - starts[at] - 1) / strides[at] + 1) as usize
    };
    Tensor::from_fn((0..starts.len()).map(size).collect(), |index| {
        let outer = index
            .iter()
            .enumerate()
            .map(|(at, i)| starts[at] as usize + i * strides[at] as usize);
        x[0].at(&outer.collect::<Vec<_>>())
    })
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let (whole, part) = (b.shape(site.args[0]), b.shape(dy));
    let [starts, strides] = [starts(site.attrs), strides(site.attrs)];
    let (mut low, mut high, mut interior) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (outer, inner)) in whole.dims().iter().zip(part.dims()).enumerate() {
        let (start, stride) = (starts[at] as usize, strides[at] as usize);
        low.push(start);
        interior.push(stride - 1);
        high.push(match (outer.fixed(), inner.fixed()) {
            (Some(size), Some(count)) => size - (start + (count - 1) * stride + 1),
            _ => 0,
        });
    }
    if low.iter().chain(&high).chain(&interior).all(|zeros| *zeros == 0) {
        return vec![Some(dy)];
    }
    vec![Some(b.pad(dy, &low, &high, &interior))]
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], starts: &[i64], limits: &[i64], strides: &[i64]| {
        let attrs = [starts, limits, strides].map(|list| Attr::Ints(list.to_vec()));
        example::call(vec![example::real(sizes, -2.0, 2.0)], attrs.to_vec())
    };
    vec![
        of(&[5], &[1], &[4], &[1]),
        of(&[7], &[1], &[-1], &[3]),
        of(&[4, 3], &[1, 0], &[3, -1], &[1, 1]),
        of(&[2, 5, 3], &[0, 0, 1], &[-1, 4, 2], &[1, 2, 1]),
    ]
}
