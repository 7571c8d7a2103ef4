//! Rules for pairs of functions that are inverses of each other.

use crate::rule::{Rule, equal};
use crate::term::{X, Y, example, exp, log, softplus};

/// The rules for inverse functions. They are tried in this order.
pub static RULES: &[Rule] = &[
    Rule {
        // The logarithm of an exponential is the exponent. The rule avoids an overflow of the exponential.
        name: "log-of-exp",
        cases: || vec![equal(log(exp(X)), X)],
        examples: || vec![example(log(exp(X)))],
    },
    Rule {
        // The exponential of the logarithm of a positive number is this number.
        name: "exp-of-log",
        cases: || vec![equal(exp(log(X)), X)],
        examples: || vec![example(exp(log(softplus(X))))],
    },
    Rule {
        // Subtracting one summand from a sum gives the other summand. The rule avoids the rounding of the sum.
        name: "difference-of-sum",
        cases: || vec![equal(X + Y - X, Y), equal(X - (X + Y), -Y)],
        examples: || vec![example(X + Y - X), example(X + Y - Y), example(X - (X + Y))],
    },
    Rule {
        // Dividing a product by a factor that is not zero gives the other factor. The rule avoids the rounding of the product.
        name: "quotient-of-product",
        cases: || vec![equal(X * Y / X, Y), equal(-(X * Y) / X, -Y)],
        examples: || vec![example(X * Y / X), example(-(Y * X) / X)],
    },
];
