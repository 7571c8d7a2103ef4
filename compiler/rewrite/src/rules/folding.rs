//! Rules that compute constants at compile time.

use crate::nodes::constant_of;
use crate::rule::{PendingNode, Rule, elementwise, equal};
use crate::term::{A, Bindings, X, Y, constant, example, exp, lt, number, power, select};
use bnnc_base::dtype::DType;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;

/// The rules that fold constants. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // An elementwise operation on constants is a constant.
        name: "constant-folding",
        cases: || vec![elementwise(folded, "the rule is for every op")],
        examples: || vec![example(X * power(number(2.0), 3.0))],
    },
    Rule {
        // If the condition of a selection is known, or if both branches are equal, the selection becomes one of its branches.
        name: "select-of-constant",
        cases: || {
            vec![
                equal(select(Y, X, X), X),
                equal(select(number(0.0), X, Y), Y),
                equal(select(A, X, Y), X),
            ]
        },
        examples: selections,
    },
];

fn selections() -> Vec<Function> {
    let truth = constant(DType::Bool, &[2, 3], 1.0);
    let selections = [select(truth, exp(X), X), select(lt(number(0.0), X), X, X)];
    selections.map(example).into()
}

fn folded(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let numbers: Option<Vec<f64>> = call.args.iter().map(|arg| constant_of(builder, *arg)).collect();
    let operands: Vec<Tensor> = numbers?.into_iter().map(Tensor::scalar).collect();
    let operands: Vec<&Tensor> = operands.iter().collect();
    Some(builder.constant(call.ty, call.op.evaluate(&operands, call.attrs).data[0]))
}
