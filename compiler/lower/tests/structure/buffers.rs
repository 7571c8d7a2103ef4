//! Tests buffers that are read, overwritten or copied.

use crate::{BATCH, batched, check, executor, real};
use bnnc_abi::plan::PlanStep;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::types::Type;
use std::sync::Arc;

#[test]
fn old_values_are_read_before_they_are_overwritten() {
    let mut b = Builder::new("swap");
    let [x, y] = ["x", "y"].map(|name| b.param(name, real(&[4, 4])));
    let flipped = b.transpose(y, &[1, 0]);
    let sum = b.add(x, flipped);
    let product = b.contract(x, y, "ij,jk->ik");
    let total = b.reduce_sum_all(x);
    let results = vec![
        ("x".into(), sum),
        ("y".into(), x),
        ("product".into(), product),
        ("total".into(), total),
    ];
    check(&b.finish(results), &["x", "y"]);

    let mut b = Builder::new("in_place");
    let [x, y] = ["x", "y"].map(|name| b.param(name, real(&[4, 4])));
    let (next_x, next_y) = (b.add(x, y), b.mul(x, y));
    let program = check(
        &b.finish(vec![("x".into(), next_x), ("y".into(), next_y)]),
        &["x", "y"],
    );
    assert_eq!(
        executor::counts(&program),
        (1, 0),
        "each reads what the other overwrites\n{program}"
    );

    let mut b = Builder::new("transposed_state");
    let x = b.param("x", real(&[4, 4]));
    let flipped = b.transpose(x, &[1, 0]);
    check(&b.finish(vec![("x".into(), flipped)]), &["x"]);
}

#[test]
fn results_that_are_parameters_or_each_other_are_copied() {
    let mut b = Builder::new("copies");
    let x = b.param("x", batched(&[3]));
    let y = b.exp(x);
    let results = vec![("a".into(), x), ("b".into(), y), ("c".into(), y), ("d".into(), x)];
    let program = check(&b.finish(results), &[]);
    assert_eq!(executor::counts(&program), (1, 0), "{program}");
}

#[test]
fn the_carry_of_a_recurrence_is_updated_after_it_is_read() {
    let mut b = Builder::new("cell");
    let carry = b.param("carry", batched(&[4]));
    let x = b.param("x", batched(&[3]));
    let (w, u) = (b.param("w", real(&[40, 4])), b.param("u", real(&[40, 3])));
    let (from_carry, from_x) = (b.contract(carry, w, "bi,oi->bo"), b.contract(x, u, "bi,oi->bo"));
    let sum = b.add(from_carry, from_x);
    let wide = b.tanh(sum);
    let next = b.contract(wide, w, "bo,oi->bi");
    let next = b.scale(next, 0.1);
    let cell = Arc::new(b.finish(vec![("next".into(), next)]));

    let mut b = Builder::new("recurrent");
    let init = b.param("init", batched(&[4]));
    let xs = b.param("xs", Type::real(Shape(vec![Dim::Fixed(5), BATCH, Dim::Fixed(3)])));
    let (w, u) = (b.param("w", real(&[40, 4])), b.param("u", real(&[40, 3])));
    let (start, rows) = (b.exp(init), b.tanh(xs));
    let carries = b.apply(
        &bnnc_graph::ops::scan::SCAN,
        &[start, rows, w, u],
        vec![Attr::Function(cell), Attr::Int(1)],
    );
    let squares = b.square(carries);
    let total = b.reduce_sum_all(squares);
    let program = check(
        &b.finish(vec![("carries".into(), carries), ("total".into(), total)]),
        &[],
    );
    let bodies: Vec<usize> = program
        .plan
        .steps
        .iter()
        .filter_map(|step| match step {
            PlanStep::Repeat { body, .. } => Some(body.len()),
            PlanStep::Launch(_) | PlanStep::Call(_) => None,
        })
        .collect();
    // The body consists of six steps: a copy of the row, three products, the activation, and the
    // next carry. The last step also stores the carry in its row of the result.
    assert_eq!(bodies, [6], "{program}");
}

#[test]
fn long_chains_of_tensors_are_cut() {
    let mut b = Builder::new("chain");
    let x = b.param("x", real(&[4]));
    let y = (0..3000).fold(x, |y, _| {
        let shifted = b.shift(y, 0.5);
        b.tanh(shifted)
    });
    let program = check(&b.finish(vec![("y".into(), y)]), &[]);
    assert!(executor::counts(&program).0 <= 25, "{program}");
}
