//! Powers with small constant exponents are products.

use crate::nodes::constant_of;
use crate::rule::Rule;
use crate::rules::arithmetic::of_one;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;

/// `x ^ 2` is `x * x`, and so on.
pub static POW_OF_CONSTANT: Rule = Rule {
    name: "pow-of-constant",
    about: "A power with the exponent -1, 0, 1, 2 or 3 is a product or quotient.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::pow::POW) {
            return None;
        }
        let [x, exponent] = call.args else { return None };
        match constant_of(builder, *exponent)? {
            -1.0 => Some(builder.reciprocal(*x)),
            0.0 => Some(builder.like(1.0, *x)),
            1.0 => Some(*x),
            2.0 => Some(builder.square(*x)),
            3.0 => {
                let square = builder.square(*x);
                Some(builder.mul(square, *x))
            }
            _ => None,
        }
    },
    examples: || [-1.0, 0.0, 1.0, 2.0, 3.0].map(example).into(),
};

/// The exponent is a constant, the base is positive, where every power has derivatives.
fn example(exponent: f64) -> Function {
    of_one(|b: &mut Builder, x: Value| {
        let base = b.softplus(x);
        let exponent = b.like(exponent, x);
        b.pow(base, exponent)
    })
}
