//! Rules for pairs of functions that are inverses of each other.

use crate::rule::{Rule, equal};
use crate::term::{X, Y, example, exp, log, softplus};

/// The rules, in order.
pub static RULES: &[Rule] = &[
    // The logarithm undoes the exponential, and cannot overflow on the way.
    Rule {
        name: "log-of-exp",
        cases: || vec![equal(log(exp(X)), X)],
        examples: || vec![example(log(exp(X)))],
    },
    // The exponential undoes the logarithm of a positive number.
    Rule {
        name: "exp-of-log",
        cases: || vec![equal(exp(log(X)), X)],
        examples: || vec![example(exp(log(softplus(X))))],
    },
    // Subtracting a summand from a sum gives the other summand, without the rounding of the sum.
    Rule {
        name: "difference-of-sum",
        cases: || vec![equal(X + Y - X, Y), equal(X - (X + Y), -Y)],
        examples: || vec![example(X + Y - X), example(X + Y - Y), example(X - (X + Y))],
    },
    // Dividing a product by a factor that is not zero gives the other factor, without the rounding of the product.
    Rule {
        name: "quotient-of-product",
        cases: || vec![equal(X * Y / X, Y), equal(-(X * Y) / X, -Y)],
        examples: || vec![example(X * Y / X), example(-(Y * X) / X)],
    },
];
