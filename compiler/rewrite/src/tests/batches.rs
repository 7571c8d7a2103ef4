//! Compares `batch` with separate evaluations at each position, for every op and every choice of
//! mapped operands.

use super::inputs::{Numbers, assert_close, evaluate, function_of, operand_of, real_params, with_loss};
use crate::batch::batch;
use crate::differentiate::gradient;
use bnnc_base::shape::Dim;
use bnnc_graph::function::Function;
use bnnc_graph::op::{Example, Lower};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

const SIZE: usize = 3;

/// Fails if the batched function differs from the function at a position.
fn check(function: &Function, example: &Example, mapped: &[bool], context: &str) {
    let batched = batch(function, mapped, Dim::Fixed(SIZE));
    let mut numbers = Numbers::new(5);
    let mut rows: Vec<Vec<Tensor>> = vec![Vec::new(); SIZE];
    let mut inputs = Vec::new();
    for (at, is_mapped) in mapped.iter().enumerate() {
        let count = if *is_mapped { SIZE } else { 1 };
        let slices: Vec<Tensor> = (0..count)
            .map(|_| operand_of(example, at, &mut numbers))
            .collect();
        for (at, row) in rows.iter_mut().enumerate() {
            row.push(slices[at.min(slices.len() - 1)].clone());
        }
        inputs.push(match is_mapped {
            true => Tensor::stack(&slices[0].shape, &slices),
            false => slices[0].clone(),
        });
    }
    let results = evaluate(&batched, &inputs);
    for (at, row) in rows.iter().enumerate() {
        for (got, want) in results.iter().zip(evaluate(function, row)) {
            assert_close(&got.leading(at), &want, 1e-12, context);
        }
    }
}

fn subsets(count: usize) -> impl Iterator<Item = Vec<bool>> {
    (1..1_usize << count.min(4)).map(move |bits| (0..count).map(|at| bits >> at & 1 == 1).collect())
}

#[test]
fn batching_any_op_equals_separate_evaluation() {
    for op in ops::ALL
        .iter()
        .filter(|op| !matches!(op.lower, Lower::Removed(_)) || op.is_higher_order())
    {
        for example in (op.examples)() {
            for mapped in subsets(example.operands.len()) {
                check(
                    &function_of(op, &example),
                    &example,
                    &mapped,
                    &format!("{} {mapped:?}", op.name),
                );
            }
        }
    }
}

/// At each position, the batched gradient equals the gradient that is computed for this position
/// alone. Batching a derivative therefore gives per-example Jacobians.
#[test]
fn batched_gradients_are_per_example_gradients() {
    for op in ops::ALL {
        for example in (op.examples)().into_iter().take(2) {
            let function = function_of(op, &example);
            if function.ty(function.results[0].1).dtype != bnnc_base::dtype::DType::Real {
                continue;
            }
            let loss = with_loss(&function);
            let Ok(differentiated) = gradient(&loss, "$loss", &real_params(&loss)) else {
                continue;
            };
            let mapped = vec![true; example.operands.len()];
            if mapped.is_empty() {
                continue;
            }
            check(&differentiated, &example, &mapped, op.name);
        }
    }
}
