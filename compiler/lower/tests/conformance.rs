//! Compares every op of the registry with the reference evaluator. Each op is tested alone, and
//! between elementwise ops.

mod executor;

use bnnc_base::dtype::DType;
use bnnc_base::shape::Sizes;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::op::{Example, Lower, OpDef};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

fn check_example(op: &'static OpDef, example: &Example) {
    let mut builder = Builder::new(op.name);
    let mut inputs: Vec<Tensor> = Vec::new();
    let mut params: Vec<Value> = Vec::new();
    for (at, (ty, interval)) in example.operands.iter().enumerate() {
        params.push(builder.param(&format!("x{at}"), ty.clone()));
        inputs.push(executor::numbers(
            ty,
            (interval.lo, interval.hi),
            at as u32,
            &Sizes::default(),
        ));
    }
    let alone = builder.apply(op, &params, example.attrs.clone());
    let mut results = vec![("alone".into(), alone)];
    let scaled: Vec<Value> = params.iter().map(|x| copied(&mut builder, *x)).collect();
    let between = builder.apply(op, &scaled, example.attrs.clone());
    if builder.ty(between).dtype == DType::Real {
        let squared = builder.square(between);
        results.push(("square".into(), squared));
        let sum = builder.reduce_sum_all(squared);
        results.push(("sum".into(), sum));
    } else {
        results.push(("between".into(), between));
    }
    let function = builder.finish(results);
    executor::check(&function, &[], &Sizes::default(), &inputs, 1e-12);
}

/// Returns a computed value that equals `x`.
fn copied(builder: &mut Builder, x: Value) -> Value {
    match builder.ty(x).dtype {
        DType::Real => {
            let half = builder.scale(x, 0.5);
            builder.add(half, half)
        }
        DType::Int => {
            let zero = builder.like(0.0, x);
            builder.add(x, zero)
        }
        DType::Bool => {
            let not = builder.not(x);
            builder.not(not)
        }
    }
}

#[test]
fn every_op_agrees_with_the_reference() {
    let mut count = 0;
    for op in ops::ALL {
        if matches!(op.lower, Lower::Removed(_)) {
            continue;
        }
        let examples = (op.examples)();
        assert!(!examples.is_empty(), "`{}` has no example", op.name);
        for example in &examples {
            check_example(op, example);
            count += 1;
        }
    }
    assert!(count > 100, "only {count} examples");
}
