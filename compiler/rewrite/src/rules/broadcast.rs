//! Repetition moves outwards and merges.

use crate::nodes::{application, constant_of};
use crate::rule::Rule;
use crate::rules::arithmetic::of_one;
use bnnc_base::shape::Shape;
use bnnc_graph::attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// A repeated repetition is one repetition.
pub static BROADCAST_OF_BROADCAST: Rule = Rule {
    name: "broadcast-of-broadcast",
    about: "A repetition of a repetition is one repetition.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::broadcast::BROADCAST) {
            return None;
        }
        let (source, inner) = repetition(builder, call.args[0])?;
        let outer = positions(attr::ints(call.attrs, 1));
        let axes: Vec<usize> = inner.iter().map(|axis| outer[*axis]).collect();
        let shape = attr::shape(call.attrs, 0).clone();
        Some(builder.broadcast(source, &shape, &axes))
    },
    examples: || {
        vec![of_one(|b, x| {
            let once = b.broadcast(x, &Shape::fixed(&[2, 4, 3]), &[0, 2]);
            b.broadcast(once, &Shape::fixed(&[5, 2, 4, 3]), &[1, 2, 3])
        })]
    },
};

/// A repeated constant is a constant.
pub static BROADCAST_OF_CONSTANT: Rule = Rule {
    name: "broadcast-of-constant",
    about: "A repeated constant is a constant.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::broadcast::BROADCAST) {
            return None;
        }
        let value = constant_of(builder, call.args[0])?;
        let ty = builder
            .ty(call.args[0])
            .with_shape(attr::shape(call.attrs, 0).clone());
        Some(builder.constant(&ty, value))
    },
    examples: || {
        vec![of_one(|b, x| {
            let two = b.real(2.0);
            let twos = b.broadcast_to(two, &Shape::fixed(&[2, 3]));
            b.mul(x, twos)
        })]
    },
};

/// `x / s` for a repeated `s` is `x * (1 / s)`: one division for all, and a factor that leaves sums.
pub static DIV_BY_BROADCAST: Rule = Rule {
    name: "div-by-broadcast",
    about: "A quotient by what is repeated is a product with its reciprocal, computed before the repetition.",
    apply: |builder, call| {
        let [x, y] = call.args else { return None };
        if !std::ptr::eq(call.op.0, &ops::div::DIV) {
            return None;
        }
        let (source, axes) = repetition(builder, *y)?;
        let shape = builder.shape(*y);
        let one = builder.like(1.0, source);
        let reciprocal = builder.div(one, source);
        let factor = builder.broadcast(reciprocal, &shape, &axes);
        Some(builder.mul(*x, factor))
    },
    examples: || {
        vec![of_one(|b, x| {
            let total = b.reduce_sum(x, &[0, 1]);
            let e = b.exp(total);
            let all = b.broadcast_to(e, &Shape::fixed(&[2, 3]));
            b.div(x, all)
        })]
    },
};

/// An elementwise operation on operands that are all repeated in the same way is computed once and then repeated.
pub static ELEMENTWISE_OF_BROADCAST: Rule = Rule {
    name: "elementwise-of-broadcast",
    about: "An elementwise operation on repeated operands is computed before the repetition.",
    apply: |builder, call| {
        if !call.op.is_elementwise() {
            return None;
        }
        let (first, axes) = call.args.iter().find_map(|arg| repetition(builder, *arg))?;
        let inner_shape = builder.shape(first);
        let mut sources = Vec::new();
        for arg in call.args {
            match (repetition(builder, *arg), constant_of(builder, *arg)) {
                (Some((source, other)), _) if other == axes && builder.shape(source) == inner_shape => {
                    sources.push(source);
                }
                (_, Some(number)) => {
                    let ty = builder.ty(*arg).with_shape(inner_shape.clone());
                    sources.push(builder.constant(&ty, number));
                }
                _ => return None,
            }
        }
        let shape = builder.shape(call.args[0]);
        let once = builder.apply(call.op.0, &sources, call.attrs.to_vec());
        Some(builder.broadcast(once, &shape, &axes))
    },
    examples: || {
        vec![
            of_row(|b, row| {
                let rows = b.broadcast(row, &Shape::fixed(&[2, 3]), &[1]);
                b.tanh(rows)
            }),
            of_row(|b, row| {
                let rows = b.broadcast(row, &Shape::fixed(&[2, 3]), &[1]);
                let e = b.exp(row);
                let e = b.broadcast(e, &Shape::fixed(&[2, 3]), &[1]);
                let sum = b.add(rows, e);
                b.scale(sum, 2.0)
            }),
        ]
    },
};

/// The operand and the axes of a repetition.
pub fn repetition(builder: &Builder, value: Value) -> Option<(Value, Vec<usize>)> {
    let (args, attrs) = application(builder, value, &ops::broadcast::BROADCAST)?;
    Some((args[0], positions(attr::ints(attrs, 1))))
}

/// Axes as positions.
pub fn positions(axes: &[i64]) -> Vec<usize> {
    axes.iter().map(|axis| *axis as usize).collect()
}

/// A function of one vector, for examples of rules.
pub fn of_row(build: impl Fn(&mut Builder, Value) -> Value) -> Function {
    let mut builder = Builder::new("example");
    let x = builder.param("x", Type::real(Shape::fixed(&[3])));
    let value = build(&mut builder, x);
    builder.finish(vec![("value".into(), value)])
}
