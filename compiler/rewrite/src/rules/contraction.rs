//! Rules that move broadcasts and permutations of operands into the labels of contractions.

use crate::rule::{Case, Rule, equal};
use crate::term::{
    Axes, LEFT, P, RESULT, RIGHT, X, Y, broadcast, contract, example, lettered, repeat, size, transpose,
};

/// The rules for contractions. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // If an operand of a contraction is a broadcast array, the rule contracts the array that was
        // broadcast.
        name: "contract-of-broadcast",
        cases: || vec![of_repetition(0, LEFT, RIGHT), of_repetition(1, RIGHT, LEFT)],
        examples: || {
            let cube = |size| broadcast(X, &[size, 2, 3], &[1, 2]);
            let left = contract(cube(2), Y, "aij,aj->ai");
            let right = ["kj,aij->aik", "kj,aij->ik"].map(|labels| contract(Y, cube(4), labels));
            [left].into_iter().chain(right).map(example).collect()
        },
    },
    Rule {
        // Contracts the array before the transpose, and permutes the letters of the operand.
        name: "contract-of-transpose",
        cases: || {
            let (left, right) = (
                [LEFT.placed_at(P), RIGHT, RESULT],
                [LEFT, RIGHT.placed_at(P), RESULT],
            );
            vec![
                equal(lettered(transpose(X, P), Y, ALL), lettered(X, Y, left)),
                equal(lettered(X, transpose(Y, P), ALL), lettered(X, Y, right)),
            ]
        },
        examples: || vec![example(contract(transpose(X, &[1, 0]), Y, "ji,bj->bi"))],
    },
];

/// The letters of a contraction: those of each operand and of the result.
const ALL: [Axes; 3] = [LEFT, RIGHT, RESULT];

/// Returns the case in which the operand `at` is repeated. `own` are the letters of this operand.
///
/// A letter of a repeated axis belongs to one of three groups. If the other operand has the letter too, the letter stays in that operand. If only
/// the result has the letter, the result is repeated along its axis. If only the repeated operand has the letter, the contraction sums over it.
/// This sum becomes a multiplication by the size of the axis.
fn of_repetition(at: usize, own: Axes, other: Axes) -> Case {
    let kept = own.clone().at(P);
    let lost = own.clone().without(kept.clone()).without(other);
    let result = RESULT.without(lost.clone());
    let (pattern, product) = match at {
        0 => (lettered(repeat(X, P), Y, ALL), [kept, RIGHT, result.clone()]),
        _ => (lettered(X, repeat(Y, P), ALL), [LEFT, kept, result.clone()]),
    };
    let product = lettered(X, Y, product) * size(at, own.places_of(lost.without(RESULT)));
    let case = equal(pattern, repeat(product, RESULT.places_of(result)));
    // If the repeated operand is a scalar, the rule does not apply, because no letter of the operand would be left.
    case.when(|known| !known.p().is_empty())
}
