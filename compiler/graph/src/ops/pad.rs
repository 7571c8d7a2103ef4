//! `pad x, low, high, interior`: zeros around and between elements.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::example;
use crate::function::Value;
use crate::infer::{self, Inferred};
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use bnnc_base::shape::{Dim, Shape};

attributes! { low: Ints, high: Ints, interior: Ints }

/// Zeros around and between elements.
pub static PAD: OpDef = OpDef {
    name: "pad",
    doc: "Inserts zeros before (`low`), after (`high`) and between (`interior`) the elements of each axis.",
    arity: Arity::Exactly(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::Rule(vjp),
    batch: Batch::Rule(|b, site, _, _| {
        let widths = [low(site.attrs), high(site.attrs), interior(site.attrs)];
        let widen = |entries: &[i64]| Attr::Ints([&[0], entries].concat());
        b.apply(&PAD, site.args, widths.map(widen).into())
    }),
    range: |x, _| Interval::union(&[x[0], Interval::point(0.0)]),
    lower: Lower::Kernel(KernelKind::Pad),
    examples,
};

/// The largest number of zeros that `pad` may add at one place of an axis. A larger number is a
/// mistake, and sums of larger numbers would overflow.
const LIMIT: i64 = 1 << 31;

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let x = types[0];
    let lists = [low(attrs), high(attrs), interior(attrs)];
    if lists
        .iter()
        .any(|list| list.len() != x.rank() || list.iter().any(|zeros| !(0..LIMIT).contains(zeros)))
    {
        return Err(CallError::Rule(format!(
            "numbers of zeros for each axis of {x}, found {lists:?}"
        )));
    }
    let [low, high, interior] =
        lists.map(|list| list.iter().map(|zeros| *zeros as usize).collect::<Vec<_>>());
    let padded = |(at, dim): (usize, &Dim)| {
        if low[at] + high[at] + interior[at] == 0 {
            return Ok(*dim);
        }
        let size = infer::expect_fixed(*dim, "a padded axis")?;
        Ok(Dim::Fixed(
            low[at] + high[at] + size + size.saturating_sub(1) * interior[at],
        ))
    };
    let dims: Result<Vec<Dim>, CallError> = x.dims().iter().enumerate().map(padded).collect();
    Ok(x.with_shape(Shape(dims?)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let [low, high, interior] = [low(attrs), high(attrs), interior(attrs)];
    let size = |(at, size): (usize, &usize)| {
        (low[at] + high[at]) as usize + size + size.saturating_sub(1) * interior[at] as usize
    };
    let mut result = Tensor::zeros(x[0].shape.iter().enumerate().map(size).collect());
    let mut index = vec![0; x[0].shape.len()];
    for element in &x[0].data {
        let place = |(at, i): (usize, &usize)| low[at] as usize + i * (interior[at] as usize + 1);
        let outer: Vec<usize> = index.iter().enumerate().map(place).collect();
        let offset = result.offset(&outer);
        result.data[offset] = *element;
        crate::tensor::advance(&mut index, &x[0].shape);
    }
    result
}

fn vjp(b: &mut Builder, site: &OpCall, dy: Value) -> Vec<Option<Value>> {
    let shape = b.shape(site.args[0]);
    let [low, high, interior] = [low(site.attrs), high(site.attrs), interior(site.attrs)];
    let mut limits = Vec::new();
    let mut strides = Vec::new();
    for (at, dim) in shape.dims().iter().enumerate() {
        let untouched = low[at] + high[at] + interior[at] == 0;
        let stride = interior[at] + 1;
        limits.push(match dim.fixed() {
            Some(size) if !untouched => low[at] + (size as i64 - 1) * stride + 1,
            _ => -1,
        });
        strides.push(stride);
    }
    let attrs = vec![Attr::Ints(low.to_vec()), Attr::Ints(limits), Attr::Ints(strides)];
    vec![Some(b.apply(&super::slice::SLICE, &[dy], attrs))]
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], low: &[usize], high: &[usize], interior: &[usize]| {
        let attrs = [low, high, interior].map(Attr::positions);
        example::call(vec![example::real(sizes, -2.0, 2.0)], attrs.to_vec())
    };
    vec![
        of(&[3], &[1], &[2], &[0]),
        of(&[3], &[0], &[1], &[2]),
        of(&[2, 3], &[0, 1], &[0, 0], &[0, 1]),
    ]
}
