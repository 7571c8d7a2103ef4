//! Rules that merge permutations and reshapes.

use crate::nodes::application;
use crate::rule::{PendingNode, Rule, computed};
use crate::term::{A, Bindings, X, broadcast, constant, example, on, reshape, transpose};
use bnnc_base::dtype::DType;
use bnnc_graph::attr::positions;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use bnnc_graph::ops::patches::PATCHES;
use bnnc_graph::ops::reshape::RESHAPE;
use bnnc_graph::ops::slice::SLICE;
use bnnc_graph::ops::transpose::TRANSPOSE;
use bnnc_graph::types::Type;

/// The rules, in order.
pub static RULES: &[Rule] = &[
    Rule {
        name: "transpose-of-transpose",
        about: "Two permutations of axes are one, or none.",
        cases: || vec![computed(on(&TRANSPOSE, [on(&TRANSPOSE, [X])]), one_permutation)],
        examples: || {
            let cube = broadcast(X, &[4, 2, 3], &[1, 2]);
            let turned = transpose(transpose(cube, &[1, 2, 0]), &[1, 2, 0]);
            vec![
                example(transpose(transpose(X, &[1, 0]), &[1, 0])),
                example(turned),
            ]
        },
    },
    Rule {
        name: "reshape-of-reshape",
        about: "Only the last of several shapes matters.",
        cases: || {
            vec![computed(
                on(&RESHAPE, [on(&RESHAPE, [X])]),
                |builder, call, known| Some(builder.reshape(known.x()?, ops::reshape::shape(call.attrs))),
            )]
        },
        examples: || vec![example(reshape(reshape(X, &[6]), &[3, 2]))],
    },
    Rule {
        name: "move-of-constant",
        about: "A permuted, reshaped or cut constant is a constant.",
        cases: || {
            let moves = [&TRANSPOSE, &RESHAPE, &SLICE, &PATCHES];
            moves.map(|op| computed(on(op, [A]), same_number)).into()
        },
        examples: || {
            vec![example(
                X * transpose(constant(DType::Real, &[3, 2], 2.0), &[1, 0]),
            )]
        },
    },
];

fn one_permutation(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (_, attrs) = application(builder, call.args[0], &TRANSPOSE)?;
    let (inner, outer) = (
        positions(ops::transpose::axes(attrs)),
        positions(ops::transpose::axes(call.attrs)),
    );
    let axes: Vec<usize> = outer.iter().map(|axis| inner[*axis]).collect();
    Some(builder.transpose(known.x()?, &axes))
}

/// Returns the constant with the type of the call's result, for ops that only move elements.
pub(super) fn same_number(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let types: Vec<&Type> = call.args.iter().map(|arg| builder.ty(*arg)).collect();
    let ty = (call.op.infer)(&types, call.attrs).ok()?;
    Some(builder.constant(&ty, known.a()?))
}
