//! `scan init, x, .., captured, .., function, mapped`: a recurrence along the first axis.

use crate::attr::{Attr, attributes};
use crate::builder::Builder;
use crate::diagnostics::CallError;
use crate::function::{Function, Value};
use crate::infer::Inferred;
use crate::op::{Arity, Batch, Example, Interval, KernelKind, Lower, OpCall, OpDef, Vjp};
use crate::tensor::Tensor;
use crate::types::Type;
use crate::{example, higher_order};
use bnnc_base::shape::Dim;
use std::ops::Range;
use std::sync::Arc;

attributes! { function: Function, mapped: Int }

/// A recurrence along the first axis.
pub static SCAN: OpDef = OpDef {
    name: "scan",
    doc: "Applies `function(carry, x.., captured..) -> carry` at each position of the first axis of the next `mapped` operands, starting with `init`, and joins the carries along a new first axis.",
    arity: Arity::AtLeast(2),
    attrs: ATTRS,
    infer,
    eval: Some(eval),
    vjp: Vjp::None("`differentiate` handles it itself, through its function"),
    batch: Batch::Rule(batch),
    range: |_, _| Interval::REALS,
    lower: Lower::Kernel(KernelKind::Scan),
    examples,
};

/// Checks the number of mapped operands. A scan needs at least one mapped operand, because the
/// mapped operands determine its length.
pub(super) fn expect_count(count: i64, operands: usize) -> Result<usize, CallError> {
    match usize::try_from(count) {
        Ok(count) if (1..=operands).contains(&count) => Ok(count),
        _ => Err(CallError::Rule(format!(
            "1 to {operands} mapped operands, found {count}"
        ))),
    }
}

fn infer(types: &[&Type], attrs: &[Attr]) -> Inferred {
    let count = expect_count(mapped(attrs), types.len() - 1)?;
    let (size, xs) = higher_order::unmap(&types[1..=count])?;
    let carry = types[0].clone();
    let mut inner = vec![carry.clone()];
    inner.extend(xs);
    inner.extend(types[count + 1..].iter().map(|ty| (*ty).clone()));
    let result = higher_order::result_type(function(attrs), &inner)?;
    if result != carry {
        return Err(CallError::Type {
            expected: format!("the function to return the carry {carry}"),
            found: result,
        });
    }
    Ok(carry.with_shape(carry.shape.prepend(size)))
}

fn eval(x: &[&Tensor], attrs: &[Attr]) -> Tensor {
    let (function, count) = (function(attrs), mapped(attrs) as usize);
    let mut carries: Vec<Tensor> = Vec::new();
    for row in 0..x[1].shape[0] {
        let slices: Vec<Tensor> = x[1..=count].iter().map(|operand| operand.leading(row)).collect();
        let mut args = vec![carries.last().unwrap_or(x[0])];
        args.extend(&slices);
        args.extend(&x[count + 1..]);
        let next = crate::eval::only_result(function, &args);
        carries.push(next);
    }
    Tensor::stack(&x[0].shape, &carries)
}

/// For each mapped operand in `looped`, moves the new first axis to the second position. The axis
/// of the loop then comes first again.
pub(super) fn new_axis_second(
    b: &mut Builder,
    args: &[Value],
    mapped: &[bool],
    looped: Range<usize>,
) -> Vec<Value> {
    let moves = |at: usize| mapped[at] && looped.contains(&at);
    let args = args.iter().enumerate();
    args.map(|(at, arg)| if moves(at) { b.move_axis(*arg, 0, 1) } else { *arg })
        .collect()
}

/// Lifts the function over the new batch axis, and applies `scan` to the lifted function. The carry
/// is always batched.
fn batch(b: &mut Builder, site: &OpCall, mapped: &[bool], dim: Dim) -> Value {
    let (function, count) = (function(site.attrs), self::mapped(site.attrs) as usize);
    let mut args = new_axis_second(b, site.args, mapped, 1..count + 1);
    let mut mapped = mapped.to_vec();
    if !mapped[0] {
        args[0] = b.broadcast_leading(args[0], dim);
        mapped[0] = true;
    }
    let lifted = higher_order::lifted(function, &mapped, dim);
    let result = b.apply(
        &SCAN,
        &args,
        vec![Attr::Function(lifted), Attr::Int(count as i64)],
    );
    b.move_axis(result, 1, 0)
}

/// `carry, x, decay -> tanh(decay * carry + x)`.
fn cell(sizes: &[usize]) -> Arc<Function> {
    let mut b = Builder::new("cell");
    let ty = example::real(sizes, 0.0, 1.0).0;
    let [carry, x, decay] = ["carry", "x", "decay"].map(|name| b.param(name, ty.clone()));
    let kept = b.mul(decay, carry);
    let sum = b.add(kept, x);
    let result = b.tanh(sum);
    Arc::new(b.finish(vec![("carry".into(), result)]))
}

fn examples() -> Vec<Example> {
    let of = |init: &[usize], x: &[usize], decay: &[usize], count: i64| {
        let operands = [init, x, decay].map(|sizes| example::real(sizes, -1.0, 1.0));
        example::call(
            operands.into(),
            vec![Attr::Function(cell(init)), Attr::Int(count)],
        )
    };
    vec![
        of(&[], &[3], &[], 1),
        of(&[2], &[3, 2], &[2], 1),
        of(&[], &[3], &[3], 2),
    ]
}
