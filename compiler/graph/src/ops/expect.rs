//! `expect captured, .., function, draws`: the mean of a function over draws.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::function::{Function, Value};
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use crate::{example, higher_order};
use bnnc_abi::ports::PortName;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use std::sync::Arc;

attributes! { function: Function, draws: Dim }

/// The mean of a function over draws.
pub static EXPECT: OpDef = OpDef {
    name: "expect",
    doc: "The mean of `function(draw, captured..)` over the integers `draw` below `draws`.",
    arity: Arity::AtLeast(0),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::None("`differentiate` handles it itself, through its function"),
    batch: Batch::Rule(batch),
    range: |_, _| Interval::REALS,
    lower: Lower::Removed("an earlier pass replaces it by a batch of draws or an accumulating loop"),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let mut inner = vec![Type::int(Shape::scalar())];
    inner.extend(types.iter().map(|ty| (*ty).clone()));
    let result = higher_order::result_type(function(attrs), &inner)?;
    match result.dtype {
        DType::Real => Ok(result),
        DType::Int | DType::Bool => Err(CallError::Type {
            expected: "a function to reals".to_owned(),
            found: result,
        }),
    }
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (function, draws) = (function(attrs), crate::eval::size(draws(attrs)));
    let mut sum = Tensor::zeros(crate::eval::result_sizes(function));
    for draw in 0..draws {
        let draw = Tensor::scalar(draw as f64);
        let args: Vec<&Tensor> = std::iter::once(&draw).chain(x.iter().copied()).collect();
        let term = crate::eval::only_result(function, &args);
        sum.data
            .iter_mut()
            .zip(term.data)
            .for_each(|(total, element)| *total += element);
    }
    sum.data.iter_mut().for_each(|total| *total /= draws as f64);
    sum
}

/// Lifts the function over the new batch axis, and applies `expect` to the lifted function. All
/// batch entries use the same draws.
fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let mut with_draw = vec![false];
    with_draw.extend(mapped);
    let lifted = higher_order::lifted(function(site.attrs), &with_draw, dim);
    b.apply(
        &EXPECT,
        site.args,
        vec![Attr::Function(lifted), site.attrs[1].clone()],
    )
}

/// `draw, location -> (location + noise)^2`.
fn noisy_square(sizes: &[usize]) -> Arc<Function> {
    let mut b = Builder::new("noisy_square");
    let draw = b.param(PortName::Draw.text(), Type::int(Shape::scalar()));
    let location = b.param(PortName::Location.text(), example::real(sizes, 0.0, 1.0).0);
    let zero = b.int(0);
    let noise = b.noise(NoiseKind::Normal, "x", [draw, zero, zero], &Shape::fixed(sizes));
    let sum = b.add(location, noise);
    let result = b.square(sum);
    Arc::new(b.finish(vec![("y".into(), result)]))
}

fn examples() -> Vec<Example> {
    let of = |sizes: &[usize], draws: usize| {
        let attrs = vec![Attr::Function(noisy_square(sizes)), Attr::Dim(Dim::Fixed(draws))];
        example::call(vec![example::real(sizes, -1.0, 1.0)], attrs)
    };
    vec![of(&[], 4), of(&[3], 2)]
}
