//! `map x, .., captured, .., function, mapped`: applies a function at each position of the first
//! axis.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::function::{Function, Value};
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, Interval, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use crate::{example, higher_order};
use bnnc_base::shape::Dim;
use std::sync::Arc;

attributes! { function: Function, mapped: Int }

/// Applies a function at each position of the first axis.
pub static MAP: OpDef = OpDef {
    name: "map",
    doc: "Applies `function` at each position of the first axis of the first `mapped` operands, and joins the results along a new first axis. The other operands are captured: every position uses them whole.",
    arity: Arity::AtLeast(1),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::None("`batch` inlines it before differentiation"),
    batch: Batch::Rule(batch),
    range: |_, _| Interval::REALS,
    lower: Lower::Removed("`batch` inlines it"),
    examples,
};

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let count = super::scan::expect_count(mapped(attrs), types.len())?;
    let (size, mut inner) = higher_order::unmap(&types[..count])?;
    inner.extend(types[count..].iter().map(|ty| (*ty).clone()));
    let result = higher_order::result_type(function(attrs), &inner)?;
    Ok(result.with_shape(result.shape.prepend(size)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (function, count) = (function(attrs), mapped(attrs) as usize);
    let rows = (0..x[0].shape[0]).map(|row| {
        let slices: Vec<Tensor> = x[..count].iter().map(|operand| operand.leading(row)).collect();
        let args: Vec<&Tensor> = slices.iter().chain(x[count..].iter().copied()).collect();
        crate::eval::only_result(function, &args)
    });
    let rows: Vec<Tensor> = rows.collect();
    Tensor::stack(&crate::eval::result_sizes(function), &rows)
}

/// Lifts the function over the new batch axis, and applies `map` to the lifted function. A batched
/// operand has the axis along which `map` runs first, and the batch axis second.
fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let (function, count) = (function(site.attrs), self::mapped(site.attrs) as usize);
    let args = super::scan::new_axis_second(b, site.args, mapped, 0..count);
    let lifted = higher_order::lifted(function, mapped, dim);
    let result = b.apply(&MAP, &args, vec![Attr::Function(lifted), Attr::Int(count as i64)]);
    b.move_axis(result, 1, 0)
}

/// `x, c -> exp(x) * c`.
fn scaled_exp(sizes: &[usize]) -> Arc<Function> {
    let mut b = Builder::new("scaled_exp");
    let ty = example::real(sizes, 0.0, 1.0).0;
    let (x, c) = (b.param("x", ty.clone()), b.param("c", ty));
    let e = b.exp(x);
    let result = b.mul(e, c);
    Arc::new(b.finish(vec![("y".into(), result)]))
}

fn examples() -> Vec<Example> {
    let of = |x: &[usize], c: &[usize], inner: &[usize], count: i64| {
        let operands = vec![example::real(x, -1.0, 1.0), example::real(c, -1.0, 1.0)];
        example::call(
            operands,
            vec![Attr::Function(scaled_exp(inner)), Attr::Int(count)],
        )
    };
    vec![
        of(&[3], &[], &[], 1),
        of(&[3], &[3], &[], 2),
        of(&[2, 3], &[3], &[3], 1),
    ]
}
