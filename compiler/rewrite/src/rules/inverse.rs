//! Rules for pairs of functions that are inverses of each other.

use crate::rule::{Rule, equal};
use crate::term::{X, Y, example, exp, log, softplus};

/// The rules, in order.
pub static RULES: &[Rule] = &[
    Rule {
        name: "log-of-exp",
        about: "The logarithm undoes the exponential, and cannot overflow on the way.",
        cases: || vec![equal(log(exp(X)), X)],
        examples: || vec![example(log(exp(X)))],
    },
    Rule {
        name: "exp-of-log",
        about: "The exponential undoes the logarithm of a positive number.",
        cases: || vec![equal(exp(log(X)), X)],
        examples: || vec![example(exp(log(softplus(X))))],
    },
    Rule {
        name: "difference-of-sum",
        about: "Subtracting a summand from a sum gives the other summand, without the rounding of the sum.",
        cases: || vec![equal(X + Y - X, Y), equal(X - (X + Y), -Y)],
        examples: || vec![example(X + Y - X), example(X + Y - Y), example(X - (X + Y))],
    },
    Rule {
        name: "quotient-of-product",
        about: "Dividing a product by a factor that is not zero gives the other factor, without the rounding of the product.",
        cases: || vec![equal(X * Y / X, Y), equal(-(X * Y) / X, -Y)],
        examples: || vec![example(X * Y / X), example(-(Y * X) / X)],
    },
];
