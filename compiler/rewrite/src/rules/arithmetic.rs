//! Sums and products with zeros, ones and negations.

use crate::nodes::{constant_of, operand};
use crate::rule::{Call, Rule};
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// `x + 0`, `0 + x` and `x - 0` are `x`.
pub static ADD_ZERO: Rule = Rule {
    name: "add-zero",
    about: "Adding or subtracting zero changes nothing.",
    apply: |builder, call| {
        let is_zero = |value| constant_of(builder, value) == Some(0.0);
        match call.op.0 {
            op if std::ptr::eq(op, &ops::add::ADD) && is_zero(call.args[0]) => Some(call.args[1]),
            op if std::ptr::eq(op, &ops::add::ADD) && is_zero(call.args[1]) => Some(call.args[0]),
            op if std::ptr::eq(op, &ops::sub::SUB) && is_zero(call.args[1]) => Some(call.args[0]),
            op if std::ptr::eq(op, &ops::sub::SUB) && is_zero(call.args[0]) => {
                Some(builder.neg(call.args[1]))
            }
            _ => None,
        }
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let zero = b.zeros_like(x);
                b.add(x, zero)
            }),
            of_one(|b, x| {
                let zero = b.zeros_like(x);
                b.sub(zero, x)
            }),
        ]
    },
};

/// `x * 1`, `1 * x` and `x / 1` are `x`; times -1 is a negation.
pub static MUL_ONE: Rule = Rule {
    name: "mul-one",
    about: "Multiplying or dividing by one changes nothing; by minus one it is a negation.",
    apply: |builder, call| {
        let [x, y] = call.args else { return None };
        let is_mul = std::ptr::eq(call.op.0, &ops::mul::MUL);
        let is_div = std::ptr::eq(call.op.0, &ops::div::DIV);
        let (kept, factor) = match (constant_of(builder, *x), constant_of(builder, *y)) {
            (_, Some(factor)) if is_mul || is_div => (*x, factor),
            (Some(factor), _) if is_mul => (*y, factor),
            _ => return None,
        };
        match factor {
            1.0 => Some(kept),
            -1.0 => Some(builder.neg(kept)),
            _ => None,
        }
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let one = b.like(1.0, x);
                b.div(x, one)
            }),
            of_one(|b, x| {
                let one = b.like(-1.0, x);
                b.mul(one, x)
            }),
        ]
    },
};

/// `x * 0` is zero.
pub static MUL_ZERO: Rule = Rule {
    name: "mul-zero",
    about: "A product with zero is zero, for every finite factor.",
    apply: |builder, call| {
        let [x, y] = call.args else { return None };
        let is_product = std::ptr::eq(call.op.0, &ops::mul::MUL);
        let zeros = [*x, *y]
            .into_iter()
            .find(|arg| constant_of(builder, *arg) == Some(0.0));
        zeros
            .filter(|_| is_product)
            .map(|zeros| builder.zeros_like(zeros))
    },
    examples: || {
        vec![of_two(|b, x, y| {
            let nothing = b.scale(y, 0.0);
            b.add(x, nothing)
        })]
    },
};

/// `x / c` is `x * (1 / c)`.
pub static DIV_BY_CONSTANT: Rule = Rule {
    name: "div-by-constant",
    about: "Dividing by a constant is multiplying by its reciprocal.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::div::DIV) {
            return None;
        }
        let reciprocal = constant_of(builder, call.args[1])?.recip();
        let is_safe = reciprocal.is_normal() && reciprocal.recip().is_normal();
        is_safe.then(|| builder.scale(call.args[0], reciprocal))
    },
    examples: || {
        vec![of_one(|b, x| {
            let half = b.like(0.5, x);
            b.div(x, half)
        })]
    },
};

/// `(x + a) - b` is `x + (a - b)`, constants on the right.
pub static ADD_OF_CONSTANTS: Rule = Rule {
    name: "add-of-constants",
    about: "Two constant summands become one.",
    apply: |builder, call| {
        let (inner, outer_offset) = with_offset(builder, call.op.0, call.args)?;
        let NodeKind::Apply { op, args, .. } = &builder.node(inner).kind else {
            return None;
        };
        let (kept, offset) = with_offset(builder, op.0, args)?;
        Some(builder.shift(kept, offset + outer_offset))
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let once = b.shift(x, 2.0);
                b.shift(once, 3.0)
            }),
            of_one(|b, x| {
                let (two, three) = (b.like(2.0, x), b.like(3.0, x));
                let once = b.add(two, x);
                b.sub(once, three)
            }),
        ]
    },
};

/// A sum or difference as its other operand and its constant summand.
fn with_offset(builder: &Builder, op: &'static OpDef, args: &[Value]) -> Option<(Value, f64)> {
    let [x, y] = args else { return None };
    let (left, right) = (constant_of(builder, *x), constant_of(builder, *y));
    match op {
        op if std::ptr::eq(op, &ops::add::ADD) => match (left, right) {
            (_, Some(offset)) => Some((*x, offset)),
            (Some(offset), None) => Some((*y, offset)),
            (None, None) => None,
        },
        op if std::ptr::eq(op, &ops::sub::SUB) => right.map(|offset| (*x, -offset)),
        _ => None,
    }
}

/// `--x` is `x`.
pub static NEG_OF_NEG: Rule = Rule {
    name: "neg-of-neg",
    about: "Two negations cancel.",
    apply: |builder, call| {
        let is_neg = std::ptr::eq(call.op.0, &ops::neg::NEG);
        if is_neg {
            operand(builder, call.args[0], &ops::neg::NEG)
        } else {
            None
        }
    },
    examples: || {
        vec![of_one(|b, x| {
            let once = b.neg(x);
            b.neg(once)
        })]
    },
};

/// `x + (-y)` is `x - y`, `x - (-y)` is `x + y`, `-(x - y)` is `y - x`.
pub static ADD_OF_NEG: Rule = Rule {
    name: "add-of-neg",
    about: "A negation inside a sum or difference becomes a difference or sum.",
    apply: |builder, call| {
        let negated = |value| operand(builder, value, &ops::neg::NEG);
        match call.op.0 {
            op if std::ptr::eq(op, &ops::add::ADD) => match (negated(call.args[0]), negated(call.args[1])) {
                (_, Some(y)) => Some(builder.sub(call.args[0], y)),
                (Some(x), None) => Some(builder.sub(call.args[1], x)),
                (None, None) => None,
            },
            op if std::ptr::eq(op, &ops::sub::SUB) => {
                let y = negated(call.args[1])?;
                Some(builder.add(call.args[0], y))
            }
            _ => None,
        }
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let minus = b.neg(y);
                b.add(x, minus)
            }),
            of_two(|b, x, y| {
                let minus = b.neg(x);
                b.add(minus, y)
            }),
            of_two(|b, x, y| {
                let minus = b.neg(y);
                b.sub(x, minus)
            }),
        ]
    },
};

/// `(-x) * (-y)` is `x * y`; `(-x) * c` is `x * -c`.
pub static MUL_OF_NEG: Rule = Rule {
    name: "mul-of-neg",
    about: "Negations of both factors cancel; a constant factor absorbs one.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::mul::MUL) {
            return None;
        }
        let negated = |value| operand(builder, value, &ops::neg::NEG);
        match (negated(call.args[0]), negated(call.args[1])) {
            (Some(x), Some(y)) => Some(builder.mul(x, y)),
            (Some(x), None) => {
                let factor = constant_of(builder, call.args[1])?;
                Some(builder.scale(x, -factor))
            }
            (None, Some(y)) => {
                let factor = constant_of(builder, call.args[0])?;
                Some(builder.scale(y, -factor))
            }
            (None, None) => None,
        }
    },
    examples: || {
        vec![
            of_two(|b, x, y| {
                let (x, y) = (b.neg(x), b.neg(y));
                b.mul(x, y)
            }),
            of_one(|b, x| {
                let minus = b.neg(x);
                b.scale(minus, 3.0)
            }),
        ]
    },
};

/// `(x * a) * b` is `x * (a b)`, constants on the right.
pub static MUL_OF_CONSTANTS: Rule = Rule {
    name: "mul-of-constants",
    about: "Two constant factors become one.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::mul::MUL) {
            return None;
        }
        let (inner, outer_factor) = with_factor(builder, call)?;
        let (args, _) = crate::nodes::application(builder, inner, &ops::mul::MUL)?;
        let (x, y) = (args[0], args[1]);
        let (kept, factor) = match (constant_of(builder, x), constant_of(builder, y)) {
            (_, Some(factor)) => (x, factor),
            (Some(factor), None) => (y, factor),
            (None, None) => return None,
        };
        Some(builder.scale(kept, factor * outer_factor))
    },
    examples: || {
        vec![of_one(|b, x| {
            let once = b.scale(x, 2.0);
            b.scale(once, 3.0)
        })]
    },
};

/// A product as its other operand and its constant factor.
fn with_factor(builder: &Builder, call: &Call<'_>) -> Option<(Value, f64)> {
    let [x, y] = call.args else { return None };
    match (constant_of(builder, *x), constant_of(builder, *y)) {
        (_, Some(factor)) => Some((*x, factor)),
        (Some(factor), None) => Some((*y, factor)),
        (None, None) => None,
    }
}

/// A function of one matrix, for examples of rules.
pub fn of_one(build: impl Fn(&mut Builder, Value) -> Value) -> Function {
    let mut builder = Builder::new("example");
    let x = builder.param("x", Type::real(Shape::fixed(&[2, 3])));
    let value = build(&mut builder, x);
    builder.finish(vec![("value".into(), value)])
}

/// A function of two matrices, for examples of rules.
pub fn of_two(build: impl Fn(&mut Builder, Value, Value) -> Value) -> Function {
    let mut builder = Builder::new("example");
    let ty = Type::real(Shape::fixed(&[2, 3]));
    let (x, y) = (builder.param("x", ty.clone()), builder.param("y", ty));
    let value = build(&mut builder, x, y);
    builder.finish(vec![("value".into(), value)])
}
