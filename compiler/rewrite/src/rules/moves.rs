//! Rules that merge consecutive permutations and reshapes.

use crate::rule::{Rule, equal};
use crate::term::{A, P, Q, X, broadcast, constant, example, on, reshape, reshaped, transpose};
use bnnc_base::dtype::DType;
use bnnc_graph::ops::patches::PATCHES;
use bnnc_graph::ops::reshape::RESHAPE;
use bnnc_graph::ops::slice::SLICE;
use bnnc_graph::ops::transpose::TRANSPOSE;

/// The rules for permutations and reshapes. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // Two consecutive permutations of axes become one permutation. If they undo each other, both disappear.
        name: "transpose-of-transpose",
        cases: || vec![equal(transpose(transpose(X, P), Q), transpose(X, P.at(Q)))],
        examples: || {
            let cube = broadcast(X, &[4, 2, 3], &[1, 2]);
            let transposed = transpose(transpose(cube, &[1, 2, 0]), &[1, 2, 0]);
            vec![
                example(transpose(transpose(X, &[1, 0]), &[1, 0])),
                example(transposed),
            ]
        },
    },
    Rule {
        // Of several consecutive reshapes, only the last is kept.
        name: "reshape-of-reshape",
        cases: || vec![equal(reshaped(reshaped(X)), reshaped(X))],
        examples: || vec![example(reshape(reshape(X, &[6]), &[3, 2]))],
    },
    Rule {
        // A constant that is permuted, reshaped or sliced becomes a constant.
        name: "move-of-constant",
        cases: || {
            let moves = [&TRANSPOSE, &RESHAPE, &SLICE, &PATCHES];
            moves.map(|op| equal(on(op, [A]), A)).into()
        },
        examples: || {
            let constant = constant(DType::Real, &[3, 2], 2.0);
            vec![example(X * transpose(constant, &[1, 0]))]
        },
    },
];
