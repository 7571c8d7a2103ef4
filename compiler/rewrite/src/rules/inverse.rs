//! Functions that undo each other.

use crate::nodes::{application, operand};
use crate::rule::Rule;
use crate::rules::arithmetic::{of_one, of_two};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;

/// `log (exp x)` is `x`.
pub static LOG_OF_EXP: Rule = Rule {
    name: "log-of-exp",
    about: "The logarithm undoes the exponential, and cannot overflow on the way.",
    apply: |builder, call| {
        let is_log = std::ptr::eq(call.op.0, &ops::log::LOG);
        if is_log {
            operand(builder, call.args[0], &ops::exp::EXP)
        } else {
            None
        }
    },
    examples: || {
        vec![of_one(|b, x| {
            let e = b.exp(x);
            b.log(e)
        })]
    },
};

/// `exp (log x)` is `x`.
pub static EXP_OF_LOG: Rule = Rule {
    name: "exp-of-log",
    about: "The exponential undoes the logarithm of a positive number.",
    apply: |builder, call| {
        let is_exp = std::ptr::eq(call.op.0, &ops::exp::EXP);
        if is_exp {
            operand(builder, call.args[0], &ops::log::LOG)
        } else {
            None
        }
    },
    examples: || {
        vec![of_one(|b, x| {
            let positive = b.softplus(x);
            let log = b.log(positive);
            b.exp(log)
        })]
    },
};

/// `(x + y) - x` is `y`, and `x - (x + y)` is `-y`.
pub static DIFFERENCE_OF_SUM: Rule = Rule {
    name: "difference-of-sum",
    about: "A difference takes away a summand, without the rounding of the sum.",
    apply: |builder, call| {
        let [x, y] = call.args else { return None };
        if !std::ptr::eq(call.op.0, &ops::sub::SUB) {
            return None;
        }
        let left = other_operand(builder, *x, *y, &ops::add::ADD);
        left.or_else(|| other_operand(builder, *y, *x, &ops::add::ADD).map(|rest| builder.neg(rest)))
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let sum = b.add(x, y);
                b.sub(sum, x)
            }),
            of_two(|b, x, y| {
                let sum = b.add(x, y);
                b.sub(sum, y)
            }),
            of_two(|b, x, y| {
                let sum = b.add(x, y);
                b.sub(x, sum)
            }),
        ]
    },
};

/// `(x * y) / x` is `y`, and `-(x * y) / x` is `-y`.
pub static QUOTIENT_OF_PRODUCT: Rule = Rule {
    name: "quotient-of-product",
    about: "A quotient takes away a factor that is not zero, without the rounding of the product.",
    apply: |builder, call| {
        let [x, y] = call.args else { return None };
        if !std::ptr::eq(call.op.0, &ops::div::DIV) {
            return None;
        }
        match operand(builder, *x, &ops::neg::NEG) {
            Some(x) => other_operand(builder, x, *y, &ops::mul::MUL).map(|rest| builder.neg(rest)),
            None => other_operand(builder, *x, *y, &ops::mul::MUL),
        }
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let product = b.mul(x, y);
                b.div(product, x)
            }),
            of_two(|b, x, y| {
                let product = b.mul(y, x);
                let minus = b.neg(product);
                b.div(minus, x)
            }),
        ]
    },
};

/// The operand beside `known` where `value` is `op` of two values, one of which is `known`.
fn other_operand(builder: &Builder, value: Value, known: Value, op: &'static OpDef) -> Option<Value> {
    match application(builder, value, op)?.0 {
        [x, y] if *x == known => Some(*y),
        [x, y] if *y == known => Some(*x),
        _ => None,
    }
}
