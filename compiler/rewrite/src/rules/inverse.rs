//! Functions that undo each other.

use crate::nodes::operand;
use crate::rule::Rule;
use crate::rules::arithmetic::of_one;
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
