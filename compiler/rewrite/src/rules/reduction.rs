//! Sums become smaller: over what is not repeated, and before what is common to all summands.

use crate::nodes::{application, constant_of, operand};
use crate::rule::{Call, Rule};
use crate::rules::arithmetic::of_one;
use crate::rules::broadcast::{of_row, positions, repetition};
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::{self, Attr};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::infer::without_axes;
use bnnc_graph::ops;

/// The sum of repeated elements is their number times the element.
pub static REDUCE_OF_BROADCAST: Rule = Rule {
    name: "reduce-of-broadcast",
    about: "The sum of a repetition is the sum of what is repeated, times how often.",
    apply: |builder, call| {
        let removed = summed_axes(call)?;
        let (source, axes) = repetition(builder, call.args[0])?;
        let shape = builder.shape(call.args[0]);
        let mut count = 1;
        for axis in removed.iter().filter(|axis| !axes.contains(axis)) {
            count *= shape.dims()[*axis].fixed()?;
        }
        let inner: Vec<usize> = (0..axes.len())
            .filter(|at| removed.contains(&axes[*at]))
            .collect();
        let sum = builder.reduce_sum(source, &inner);
        let sum = if count == 1 {
            sum
        } else {
            builder.scale(sum, count as f64)
        };
        let kept = axes.iter().filter(|axis| !removed.contains(axis));
        let moved: Vec<usize> = kept
            .map(|axis| axis - removed.iter().filter(|r| *r < axis).count())
            .collect();
        Some(builder.broadcast(sum, &without_axes(&shape, &removed), &moved))
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let cube = b.broadcast(x, &Shape::fixed(&[2, 4, 3]), &[0, 2]);
                b.reduce_sum(cube, &[0, 1])
            }),
            of_row(|b, row| {
                let rows = b.broadcast(row, &Shape::fixed(&[2, 3]), &[1]);
                b.reduce_sum(rows, &[1])
            }),
        ]
    },
};

/// The sum of equal constants is a product.
pub static REDUCE_OF_CONSTANT: Rule = Rule {
    name: "reduce-of-constant",
    about: "The sum of a constant is a constant.",
    apply: |builder, call| {
        let removed = summed_axes(call)?;
        let number = constant_of(builder, call.args[0])?;
        let ty = builder.ty(call.args[0]).clone();
        let mut count = 1;
        for axis in &removed {
            count *= ty.dims()[*axis].fixed()?;
        }
        let ty = ty.with_shape(without_axes(&ty.shape, &removed));
        Some(builder.constant(&ty, number * count as f64))
    },
    examples: || {
        vec![of_row(|b, row| {
            let twos = b.splat(2.0, &Shape::fixed(&[4, 3]));
            let sum = b.reduce_sum(twos, &[0]);
            b.mul(row, sum)
        })]
    },
};

/// A sum of negations is the negation of the sum.
pub static SUM_OF_NEG: Rule = Rule {
    name: "sum-of-neg",
    about: "A sum of negations is the negation of the sum.",
    apply: |builder, call| {
        let removed = summed_axes(call)?;
        let source = operand(builder, call.args[0], &ops::neg::NEG)?;
        let sum = builder.reduce_sum(source, &removed);
        Some(builder.neg(sum))
    },
    examples: || {
        vec![of_one(|b, x| {
            let minus = b.neg(x);
            b.reduce_sum(minus, &[0])
        })]
    },
};

/// A factor that all summands share leaves the sum.
pub static SUM_OF_SCALED: Rule = Rule {
    name: "sum-of-scaled",
    about: "A factor that all summands share multiplies the sum.",
    apply: |builder, call| {
        let removed = summed_axes(call)?;
        let (args, _) = application(builder, call.args[0], &ops::mul::MUL)?;
        let (x, y) = (args[0], args[1]);
        let (kept, factor) = match (
            shared_factor(builder, x, &removed),
            shared_factor(builder, y, &removed),
        ) {
            (_, Some(factor)) => (x, factor),
            (Some(factor), None) => (y, factor),
            (None, None) => return None,
        };
        let sum = builder.reduce_sum(kept, &removed);
        let shape = builder.shape(sum);
        let factor = match factor {
            Factor::Number(number) => builder.splat(number, &shape),
            Factor::Repeated(source, axes) => builder.broadcast(source, &shape, &axes),
        };
        Some(builder.mul(sum, factor))
    },
    examples: || {
        vec![
            of_one(|b, x| {
                let twice = b.scale(x, 2.0);
                b.reduce_sum(twice, &[1])
            }),
            of_one(|b, x| {
                let total = b.reduce_sum(x, &[0, 1]);
                let all = b.broadcast_to(total, &Shape::fixed(&[2, 3]));
                let e = b.exp(x);
                let product = b.mul(all, e);
                b.reduce_sum(product, &[0])
            }),
        ]
    },
};

/// What multiplies every summand.
enum Factor {
    Number(f64),
    /// A smaller tensor and where its axes lie in the result of the sum.
    Repeated(Value, Vec<usize>),
}

fn shared_factor(builder: &Builder, value: Value, removed: &[usize]) -> Option<Factor> {
    if let Some(number) = constant_of(builder, value) {
        return Some(Factor::Number(number));
    }
    let (source, axes) = repetition(builder, value)?;
    if axes.iter().any(|axis| removed.contains(axis)) {
        return None;
    }
    let moved = axes
        .iter()
        .map(|axis| axis - removed.iter().filter(|r| *r < axis).count())
        .collect();
    Some(Factor::Repeated(source, moved))
}

/// The largest of repeated elements is the largest of what is repeated.
pub static MAX_OF_BROADCAST: Rule = Rule {
    name: "max-of-broadcast",
    about: "The largest element of a repetition is that of what is repeated.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::reduce_max::REDUCE_MAX) {
            return None;
        }
        let removed = positions(attr::ints(call.attrs, 0));
        let (source, axes) = repetition(builder, call.args[0])?;
        let inner: Vec<usize> = (0..axes.len())
            .filter(|at| removed.contains(&axes[*at]))
            .collect();
        let largest = builder.reduce_max(source, &inner);
        let shape = without_axes(&builder.shape(call.args[0]), &removed);
        let kept = axes.iter().filter(|axis| !removed.contains(axis));
        let moved: Vec<usize> = kept
            .map(|axis| axis - removed.iter().filter(|r| *r < axis).count())
            .collect();
        Some(builder.broadcast(largest, &shape, &moved))
    },
    examples: || {
        vec![of_row(|b, row| {
            let cube = b.broadcast(row, &Shape::fixed(&[4, 3, 2]), &[1]);
            b.reduce_max(cube, &[0, 1])
        })]
    },
};

/// The largest of `0, 1, .., n - 1` is `n - 1`.
pub static MAX_OF_IOTA: Rule = Rule {
    name: "max-of-iota",
    about: "The largest of the first `n` integers is known.",
    apply: |builder, call| {
        if !std::ptr::eq(call.op.0, &ops::reduce_max::REDUCE_MAX) {
            return None;
        }
        let (_, attrs) = application(builder, call.args[0], &ops::iota::IOTA)?;
        let size = attr::dim(attrs, 0).fixed().filter(|size| *size > 0)?;
        let is_whole = !attr::ints(call.attrs, 0).is_empty();
        is_whole.then(|| builder.int(size as i64 - 1))
    },
    examples: || {
        vec![of_row(|b, row| {
            let positions = b.iota(Dim::Fixed(5));
            let largest = b.reduce_max(positions, &[0]);
            let largest = b.to_real(largest);
            let all = b.broadcast_to(largest, &Shape::fixed(&[3]));
            b.mul(row, all)
        })]
    },
};

/// A sum over no axis is its operand.
pub static SUM_OVER_NOTHING: Rule = Rule {
    name: "sum-over-nothing",
    about: "A sum over no axis is what it sums.",
    apply: |_, call| summed_axes(call)?.is_empty().then_some(call.args[0]),
    examples: || {
        vec![of_one(|b, x| {
            let sum = b.apply(&ops::reduce_sum::REDUCE_SUM, &[x], vec![Attr::Ints(Vec::new())]);
            b.exp(sum)
        })]
    },
};

/// A sum of sums is one sum.
pub static SUM_OF_SUM: Rule = Rule {
    name: "sum-of-sum",
    about: "A sum of sums is one sum.",
    apply: |builder, call| {
        let outer = summed_axes(call)?;
        let (args, attrs) = application(builder, call.args[0], &ops::reduce_sum::REDUCE_SUM)?;
        let (source, inner) = (args[0], positions(attr::ints(attrs, 0)));
        let kept: Vec<usize> = (0..builder.rank(source))
            .filter(|axis| !inner.contains(axis))
            .collect();
        let mut axes: Vec<usize> = outer.iter().map(|axis| kept[*axis]).chain(inner).collect();
        axes.sort_unstable();
        Some(builder.reduce_sum(source, &axes))
    },
    examples: || {
        vec![of_one(|b, x| {
            let rows = b.reduce_sum(x, &[1]);
            b.reduce_sum(rows, &[0])
        })]
    },
};

/// The axes of a sum.
fn summed_axes(call: &Call<'_>) -> Option<Vec<usize>> {
    let is_sum = std::ptr::eq(call.op.0, &ops::reduce_sum::REDUCE_SUM);
    is_sum.then(|| positions(attr::ints(call.attrs, 0)))
}
