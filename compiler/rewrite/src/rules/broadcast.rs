//! Rules that merge broadcasts, and rules that move broadcasts towards the results.

use crate::nodes::{application, constant_of};
use crate::rule::{PendingNode, Rule, computed, elementwise};
use crate::rules::moves::same_number;
use crate::term::{A, Bindings, ROW, X, Y, broadcast, constant, example, exp, on, sum, tanh};
use bnnc_base::dtype::DType;
use bnnc_graph::attr::positions;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use bnnc_graph::ops::broadcast::BROADCAST;

/// The rules, in order.
pub static RULES: &[Rule] = &[
    Rule {
        name: "broadcast-of-broadcast",
        about: "A repetition of a repetition is one repetition.",
        cases: || vec![computed(on(&BROADCAST, [on(&BROADCAST, [X])]), one_repetition)],
        examples: || {
            vec![example(broadcast(
                broadcast(X, &[2, 4, 3], &[0, 2]),
                &[5, 2, 4, 3],
                &[1, 2, 3],
            ))]
        },
    },
    Rule {
        name: "broadcast-of-constant",
        about: "A repeated constant is a constant.",
        cases: || vec![computed(on(&BROADCAST, [A]), same_number)],
        examples: || {
            vec![example(
                X * broadcast(constant(DType::Real, &[], 2.0), &[2, 3], &[]),
            )]
        },
    },
    Rule {
        name: "elementwise-of-broadcast",
        about: "An elementwise operation on repeated operands is computed before the repetition.",
        cases: || vec![elementwise(computed_once)],
        examples: || {
            let rows = |row| broadcast(row, &[2, 3], &[1]);
            vec![
                example(tanh(rows(ROW))),
                example((rows(ROW) + rows(exp(ROW))) * 2.0),
            ]
        },
    },
    Rule {
        name: "div-by-broadcast",
        about: "A quotient by a repeated array is a product with the reciprocal of the array, computed before the repetition.",
        cases: || vec![computed(X / on(&BROADCAST, [Y]), times_reciprocal)],
        examples: || vec![example(X / broadcast(exp(sum(X, &[0, 1])), &[2, 3], &[]))],
    },
];

fn one_repetition(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (_, inner) = repetition(builder, call.args[0])?;
    let outer = positions(ops::broadcast::axes(call.attrs));
    let axes: Vec<usize> = inner.iter().map(|axis| outer[*axis]).collect();
    Some(builder.broadcast(known.x()?, ops::broadcast::shape(call.attrs), &axes))
}

/// Replaces division by a broadcast with multiplication by the broadcast reciprocal, because only a factor
/// can be moved out of sums.
fn times_reciprocal(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (source, axes) = repetition(builder, call.args[1])?;
    let shape = builder.shape(call.args[1]);
    let reciprocal = builder.reciprocal(source);
    let factor = builder.broadcast(reciprocal, &shape, &axes);
    Some(builder.mul(known.x()?, factor))
}

/// Applies the op before the broadcast if every operand is either constant or broadcast in the same way.
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

/// Returns the operand and the axes of a broadcast.
pub fn repetition(builder: &Builder, value: Value) -> Option<(Value, Vec<usize>)> {
    let (args, attrs) = application(builder, value, &BROADCAST)?;
    Some((args[0], positions(ops::broadcast::axes(attrs))))
}
