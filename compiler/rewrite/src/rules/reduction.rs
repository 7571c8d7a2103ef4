//! Rules that make sums smaller. Some rules sum the source of a broadcast instead of the broadcast. Other rules move common factors out of sums.

use crate::rule::{Rule, equal};
use crate::term::{
    A, P, Q, ROW, X, Y, broadcast, constant, example, exp, iota, largest, on, repeat, size, sum, to_real,
};
use bnnc_base::dtype::DType;
use bnnc_graph::ops::iota::IOTA;

/// The rules for reductions. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // A sum over an empty list of axes equals its operand.
        name: "sum-over-nothing",
        cases: || vec![equal(sum(X, &[]), X)],
        examples: || vec![example(exp(sum(X, &[])))],
    },
    Rule {
        // The sum of a repeated array is the sum of the array times the number of repetitions.
        name: "reduce-of-broadcast",
        cases: || {
            let sum_of_source = sum(X, P.places_of(Q)) * size(0, Q.without(P));
            let result = repeat(sum_of_source, P.after_removal_of(Q));
            vec![equal(sum(repeat(X, P), Q), result)]
        },
        examples: || {
            let cube = broadcast(X, &[2, 4, 3], &[0, 2]);
            let rows = broadcast(ROW, &[2, 3], &[1]);
            vec![example(sum(cube, &[0, 1])), example(sum(rows, &[1]))]
        },
    },
    Rule {
        // The sum of a constant is a constant.
        name: "reduce-of-constant",
        cases: || vec![equal(sum(A, P), A * size(0, P))],
        examples: || vec![example(ROW * sum(constant(DType::Real, &[4, 3], 2.0), &[0]))],
    },
    Rule {
        // The largest element of a repeated array is the largest element of the array.
        name: "max-of-broadcast",
        cases: || {
            let result = repeat(largest(X, P.places_of(Q)), P.after_removal_of(Q));
            vec![equal(largest(repeat(X, P), Q), result)]
        },
        examples: || vec![example(largest(broadcast(ROW, &[4, 3, 2], &[1]), &[0, 1]))],
    },
    Rule {
        // The largest of the first `n` integers is a constant.
        name: "max-of-iota",
        cases: || vec![equal(largest(on(&IOTA, []), &[0]), size(0, (&[0]).into()) - 1.0)],
        examples: || {
            let last = to_real(largest(iota(5), &[0]));
            vec![example(ROW * broadcast(last, &[3], &[]))]
        },
    },
    Rule {
        // A sum of negations is the negation of the sum.
        name: "sum-of-neg",
        cases: || vec![equal(sum(-X, P), -sum(X, P))],
        examples: || vec![example(sum(-X, &[0]))],
    },
    Rule {
        // A factor that all summands share is moved out of the sum.
        name: "sum-of-scaled",
        cases: || {
            let repeated = repeat(Y, P.after_removal_of(Q));
            let is_shared = equal(sum(X * repeat(Y, P), Q), sum(X, Q) * repeated);
            let is_shared = is_shared.when(|known| !known.p().iter().any(|axis| known.q().contains(axis)));
            vec![equal(sum(X * A, Q), sum(X, Q) * A), is_shared]
        },
        examples: || {
            let total = broadcast(sum(X, &[0, 1]), &[2, 3], &[]);
            vec![example(sum(X * 2.0, &[1])), example(sum(total * exp(X), &[0]))]
        },
    },
    Rule {
        // A sum of sums is one sum.
        name: "sum-of-sum",
        cases: || vec![equal(sum(sum(X, P), Q), sum(X, P.and(Q.before_removal_of(P))))],
        examples: || vec![example(sum(sum(X, &[1]), &[0]))],
    },
];
