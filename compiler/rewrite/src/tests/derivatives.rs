//! Compares first and second derivatives of every op with finite differences.

use super::forward::jvp;
use super::inputs::{assert_close, differences, evaluate, function_of, operands_of, real_params, with_loss};
use crate::differentiate::gradient;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::op::{OpDef, Vjp};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

/// Returns the example calls of an op with real results, converted to losses, with their operands.
/// Two kinds of ops are left out: `stop_gradient`, whose derivative is zero on purpose, and ops
/// that differentiate a quantile ([`Vjp::Implicit`]).
fn losses(op: &'static OpDef) -> Vec<(Function, Vec<Tensor>)> {
    if op.is(&ops::stop_gradient::STOP_GRADIENT) || matches!(op.vjp, Vjp::Implicit(_)) {
        return Vec::new();
    }
    let real = |function: &Function| {
        let (_, value) = &function.results[0];
        function.ty(*value).dtype == bnnc_base::dtype::DType::Real
    };
    let calls = (op.examples)().into_iter().enumerate();
    let with_operands = calls.map(|(at, example)| (function_of(op, &example), operands_of(&example, at + 3)));
    with_operands
        .filter(|(function, _)| real(function))
        .map(|(f, x)| (with_loss(&f), x))
        .collect()
}

fn check_gradient(op: &str, loss: &Function, operands: &[Tensor], tolerance: f64) -> Result<(), Fault> {
    let names = real_params(loss);
    let differentiated = gradient(loss, &loss.results[0].0, &names)?;
    let results = evaluate(&differentiated, operands);
    for (at, name) in names.iter().enumerate() {
        let which = loss
            .params
            .iter()
            .position(|p| crate::nodes::param_name(loss, *p) == *name)
            .unwrap();
        let numeric = differences(|x| evaluate(loss, x)[0].data[0], operands, which);
        assert_close(
            &results[1 + at],
            &numeric,
            tolerance,
            &format!("{op}, operand {name}"),
        );
    }
    Ok(())
}

#[test]
fn first_derivatives_agree_with_finite_differences() {
    let mut checked = 0;
    for op in ops::ALL {
        for (loss, operands) in losses(op) {
            match check_gradient(op.name, &loss, &operands, 1e-6) {
                Ok(()) => checked += 1,
                Err(Fault::Limit(_)) => {}
                Err(fault) => panic!("{}: {fault}", op.name),
            }
        }
    }
    assert!(checked > 80, "only {checked} calls were differentiated");
}

/// The contraction of a gradient with weights is a scalar loss, whose derivative can also be
/// tested.
#[test]
fn second_derivatives_agree_with_finite_differences() {
    let mut checked = 0;
    for op in ops::ALL {
        for (loss, operands) in losses(op) {
            let names = real_params(&loss);
            let Ok(differentiated) = gradient(&loss, "$loss", &names) else {
                continue;
            };
            for result in 1..differentiated.results.len() {
                let mut part = differentiated.clone();
                part.results = vec![differentiated.results[result].clone()];
                match check_gradient(op.name, &with_loss(&part), &operands, 1e-5) {
                    Ok(()) => checked += 1,
                    Err(Fault::Limit(_)) => {}
                    Err(fault) => panic!("{}: {fault}", op.name),
                }
            }
        }
    }
    assert!(checked > 80, "only {checked} gradients were differentiated");
}

/// The inner products `<cotangent, jvp(tangent)>` and `<vjp(cotangent), tangent>` are equal. The
/// loss is a scalar, so one of the two inner products is a plain sum.
#[test]
fn forward_mode_agrees_with_reverse_mode() {
    let mut checked = 0;
    for op in ops::ALL {
        for (loss, operands) in losses(op) {
            let names = real_params(&loss);
            let Ok(reverse) = gradient(&loss, "$loss", &names) else {
                continue;
            };
            let forward = jvp(&loss, &names).unwrap();
            let gradients = &evaluate(&reverse, &operands)[1..];
            let tangents: Vec<Tensor> = gradients
                .iter()
                .map(|g| Tensor::from_fn(g.shape.clone(), |i| 0.3 + i.len() as f64))
                .collect();
            let inputs: Vec<Tensor> = operands.iter().chain(&tangents).cloned().collect();
            let pushed = evaluate(&forward, &inputs)[1].data[0];
            let products = gradients
                .iter()
                .zip(&tangents)
                .flat_map(|(g, t)| g.data.iter().zip(&t.data));
            let wanted: f64 = products.map(|(g, t)| g * t).sum();
            assert!(
                (pushed - wanted).abs() < 1e-9 * (1.0 + wanted.abs()),
                "{}: {pushed} {wanted}",
                op.name
            );
            checked += 1;
        }
    }
    assert!(checked > 80, "only {checked} calls were pushed forward");
}
