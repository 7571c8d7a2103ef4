//! Rules for sums, products and powers with zeros, ones, negations and constants.

use crate::rule::{Rule, equal};
use crate::term::{A, B, Bindings, X, Y, example, number, power, softplus};
use bnnc_graph::function::Function;

/// The rules for arithmetic. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // Adding or subtracting zero does not change a value.
        name: "add-zero",
        cases: || vec![equal(X + 0.0, X), equal(X - 0.0, X), equal(0.0 - X, -X)],
        examples: || vec![example(X + 0.0), example(0.0 + X), example(0.0 - X)],
    },
    Rule {
        // Multiplying or dividing a value by one does not change the value. Multiplying or dividing by minus
        // one is a negation.
        name: "mul-one",
        cases: || {
            vec![
                equal(X * 1.0, X),
                equal(X * -1.0, -X),
                equal(X / 1.0, X),
                equal(X / -1.0, -X),
            ]
        },
        examples: || vec![example(X / 1.0), example(-1.0 * X)],
    },
    Rule {
        // The product of zero and any finite factor is zero.
        name: "mul-zero",
        cases: || vec![equal(X * 0.0, number(0.0))],
        examples: || vec![example(X + Y * 0.0), example(X + 0.0 * Y)],
    },
    Rule {
        // Dividing by a constant becomes multiplying by its reciprocal.
        name: "div-by-constant",
        cases: || vec![equal(X / A, X * (1.0 / A)).when(has_reciprocal)],
        examples: || vec![example(X / 0.5)],
    },
    Rule {
        // Two negations cancel.
        name: "neg-of-neg",
        cases: || vec![equal(-(-X), X)],
        examples: || vec![example(-(-X))],
    },
    Rule {
        // Adding a negated value becomes a subtraction, and subtracting a negated value becomes an addition.
        name: "add-of-neg",
        cases: || vec![equal(X + -Y, X - Y), equal(X - -Y, X + Y)],
        examples: || vec![example(X + -Y), example(-X + Y), example(X - -Y)],
    },
    Rule {
        // If both factors are negated, the negations cancel. If one factor is negated and the other factor is a constant, the constant is negated
        // instead.
        name: "mul-of-neg",
        cases: || vec![equal(-X * -Y, X * Y), equal(-X * A, X * -A)],
        examples: || vec![example(-X * -Y), example(-X * 3.0), example(3.0 * -X)],
    },
    Rule {
        // Two constant factors become one constant.
        name: "mul-of-constants",
        cases: || vec![equal(X * A * B, X * (A * B))],
        examples: || vec![example(X * 2.0 * 3.0), example(3.0 * (2.0 * X))],
    },
    Rule {
        // Two constant summands become one constant. It is the right summand.
        name: "add-of-constants",
        cases: || {
            vec![
                equal(X + A + B, X + (A + B)),
                equal(X + A - B, X + (A - B)),
                equal(X - A + B, X + (B - A)),
                equal(X - A - B, X + (-A - B)),
            ]
        },
        examples: sums_of_constants,
    },
    Rule {
        // A power with the exponent -1, 0, 1, 2 or 3 becomes a product or a quotient.
        name: "pow-of-constant",
        cases: || {
            vec![
                equal(power(X, -1.0), 1.0 / X),
                equal(power(X, 0.0), number(1.0)),
                equal(power(X, 1.0), X),
                equal(power(X, 2.0), X * X),
                equal(power(X, 3.0), X * X * X),
            ]
        },
        examples: || [-1.0, 0.0, 1.0, 2.0, 3.0].map(positive_power).into(),
    },
];

fn sums_of_constants() -> Vec<Function> {
    let sums = [X + 2.0 + 3.0, 2.0 + X - 3.0, X - 2.0 + 3.0, X - 2.0 - 3.0];
    sums.map(example).into()
}

/// Returns a power of a positive base, which has a derivative for every exponent.
fn positive_power(exponent: f64) -> Function {
    example(power(softplus(X), exponent))
}

fn has_reciprocal(known: &Bindings) -> bool {
    let reciprocal = known.a().map_or(f64::NAN, f64::recip);
    reciprocal.is_normal() && reciprocal.recip().is_normal()
}
