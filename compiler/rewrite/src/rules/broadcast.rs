//! Rules that merge broadcasts, and rules that move broadcasts towards the results.

use crate::nodes::{application, constant_of};
use crate::rule::{PendingNode, Rule, elementwise, equal};
use crate::term::{A, Bindings, P, Q, ROW, X, Y, broadcast, constant, example, exp, repeat, sum, tanh};
use bnnc_base::dtype::DType;
use bnnc_graph::attr::positions;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use bnnc_graph::ops::broadcast::BROADCAST;

/// The rules for broadcasts. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // Two nested repetitions become one repetition.
        name: "broadcast-of-broadcast",
        cases: || vec![equal(repeat(repeat(X, P), Q), repeat(X, Q.at(P)))],
        examples: || {
            let inner = broadcast(X, &[2, 4, 3], &[0, 2]);
            vec![example(broadcast(inner, &[5, 2, 4, 3], &[1, 2, 3]))]
        },
    },
    Rule {
        // A repeated constant is a constant.
        name: "broadcast-of-constant",
        cases: || vec![equal(repeat(A, P), A)],
        examples: || {
            let scalar = constant(DType::Real, &[], 2.0);
            vec![example(X * broadcast(scalar, &[2, 3], &[]))]
        },
    },
    Rule {
        // An elementwise operation on repeated operands becomes the repetition of one smaller operation.
        name: "elementwise-of-broadcast",
        cases: || vec![elementwise(computed_once, "the rule is for every op")],
        examples: || {
            let rows = |row| broadcast(row, &[2, 3], &[1]);
            vec![
                example(tanh(rows(ROW))),
                example((rows(ROW) + rows(exp(ROW))) * 2.0),
            ]
        },
    },
    Rule {
        // Dividing by a repeated array becomes multiplying by the repeated reciprocal of the array.
        name: "div-by-broadcast",
        // Other rules move factors out of sums, but they do not move divisors.
        cases: || vec![equal(X / repeat(Y, P), X * repeat(1.0 / Y, P))],
        examples: || vec![example(X / broadcast(exp(sum(X, &[0, 1])), &[2, 3], &[]))],
    },
];

/// If every operand is either constant or broadcast in the same way, applies the op first and broadcasts its
/// result.
fn computed_once(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let (first, axes) = call.args.iter().find_map(|arg| repetition(builder, *arg))?;
    let inner_shape = builder.shape(first);
    let mut sources = Vec::new();
    for arg in call.args {
        match (repetition(builder, *arg), constant_of(builder, *arg)) {
            (Some((source, other)), _) if other == axes && builder.shape(source) == inner_shape => {
                sources.push(source);
            }
            (_, Some(number)) => {
                let ty = builder.ty(*arg).with_shape(inner_shape.clone());
                sources.push(builder.constant(&ty, number));
            }
            _ => return None,
        }
    }
    let shape = builder.shape(call.args[0]);
    let once = builder.apply(call.op.0, &sources, call.attrs.to_vec());
    Some(builder.broadcast(once, &shape, &axes))
}

/// If a value is a broadcast, returns its operand and its axes.
pub fn repetition(builder: &Builder, value: Value) -> Option<(Value, Vec<usize>)> {
    let (args, attrs) = application(builder, value, &BROADCAST)?;
    Some((args[0], positions(ops::broadcast::axes(attrs))))
}
