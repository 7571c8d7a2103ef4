//! Rules that make sums smaller. They sum the source of a broadcast instead of the broadcast, and move common
//! factors out of sums.

use crate::nodes::{application, constant_of};
use crate::rule::{PendingNode, Rule, computed};
use crate::rules::broadcast::repetition;
use crate::term::{
    A, Bindings, ROW, Term, X, Y, broadcast, constant, example, exp, iota, largest, on, sum, to_real,
};
use bnnc_base::dtype::DType;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::infer::without_axes;
use bnnc_graph::ops;
use bnnc_graph::ops::broadcast::BROADCAST;
use bnnc_graph::ops::iota::IOTA;
use bnnc_graph::ops::reduce_max::REDUCE_MAX;
use bnnc_graph::ops::reduce_sum::REDUCE_SUM;

/// The rules, in order.
pub static RULES: &[Rule] = &[
    Rule {
        name: "sum-over-nothing",
        about: "A sum over no axis is its operand.",
        cases: || {
            vec![computed(on(&REDUCE_SUM, [X]), |_, call, known| {
                known.x().filter(|_| axes(call).is_empty())
            })]
        },
        examples: || vec![example(exp(sum(X, &[])))],
    },
    Rule {
        name: "reduce-of-broadcast",
        about: "The sum of a repeated array is the sum of the array times the number of repetitions.",
        cases: || vec![computed(on(&REDUCE_SUM, [repeated()]), sum_of_repetition)],
        examples: || {
            let cube = broadcast(X, &[2, 4, 3], &[0, 2]);
            vec![
                example(sum(cube, &[0, 1])),
                example(sum(broadcast(ROW, &[2, 3], &[1]), &[1])),
            ]
        },
    },
    Rule {
        name: "reduce-of-constant",
        about: "The sum of a constant is a constant.",
        cases: || vec![computed(on(&REDUCE_SUM, [A]), sum_of_constant)],
        examples: || vec![example(ROW * sum(constant(DType::Real, &[4, 3], 2.0), &[0]))],
    },
    Rule {
        name: "max-of-broadcast",
        about: "The largest element of a repeated array is that of the array.",
        cases: || vec![computed(on(&REDUCE_MAX, [repeated()]), max_of_repetition)],
        examples: || vec![example(largest(broadcast(ROW, &[4, 3, 2], &[1]), &[0, 1]))],
    },
    Rule {
        name: "max-of-iota",
        about: "The largest of the first `n` integers is known.",
        cases: || vec![computed(on(&REDUCE_MAX, [on(&IOTA, [])]), last_position)],
        examples: || {
            let last = to_real(largest(iota(5), &[0]));
            vec![example(ROW * broadcast(last, &[3], &[]))]
        },
    },
    Rule {
        name: "sum-of-neg",
        about: "A sum of negations is the negation of the sum.",
        cases: || {
            vec![computed(on(&REDUCE_SUM, [-X]), |builder, call, known| {
                let sum = builder.reduce_sum(known.x()?, &axes(call));
                Some(builder.neg(sum))
            })]
        },
        examples: || vec![example(sum(-X, &[0]))],
    },
    Rule {
        name: "sum-of-scaled",
        about: "A factor that all summands share multiplies the sum.",
        cases: || vec![computed(on(&REDUCE_SUM, [X * Y]), scaled_sum)],
        examples: || {
            let total = broadcast(sum(X, &[0, 1]), &[2, 3], &[]);
            vec![example(sum(X * 2.0, &[1])), example(sum(total * exp(X), &[0]))]
        },
    },
    Rule {
        name: "sum-of-sum",
        about: "A sum of sums is one sum.",
        cases: || vec![computed(on(&REDUCE_SUM, [on(&REDUCE_SUM, [X])]), one_sum)],
        examples: || vec![example(sum(sum(X, &[1]), &[0]))],
    },
];

fn repeated() -> Term {
    on(&BROADCAST, [X])
}

fn sum_of_repetition(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let repeated = Repeated::new(builder, call)?;
    let count = repeated.count(builder)?;
    let sum = builder.reduce_sum(repeated.source, &repeated.inner);
    let sum = match count {
        1 => sum,
        count => builder.scale(sum, count as f64),
    };
    Some(repeated.restored(builder, sum))
}

fn max_of_repetition(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let repeated = Repeated::new(builder, call)?;
    let largest = builder.reduce_max(repeated.source, &repeated.inner);
    Some(repeated.restored(builder, largest))
}

/// A reduction of a broadcast.
struct Repeated {
    whole: Value,
    source: Value,
    /// The axes of `whole` that come from axes of `source`.
    axes: Vec<usize>,
    /// The axes of `whole` that are reduced.
    removed: Vec<usize>,
    /// The axes of `source` that are reduced.
    inner: Vec<usize>,
}

impl Repeated {
    fn new(builder: &Builder, call: &PendingNode<'_>) -> Option<Repeated> {
        let (removed, whole) = (axes(call), call.args[0]);
        let (source, axes) = repetition(builder, whole)?;
        let inner = (0..axes.len()).filter(|at| removed.contains(&axes[*at]));
        Some(Repeated {
            inner: inner.collect(),
            whole,
            source,
            axes,
            removed,
        })
    }

    /// Returns the number of times that each element of `source` is reduced; `None` if the number is not
    /// known.
    fn count(&self, builder: &Builder) -> Option<usize> {
        let dims = builder.ty(self.whole).dims();
        let repeated = self.removed.iter().filter(|axis| !self.axes.contains(axis));
        repeated.map(|axis| dims[*axis].fixed()).product()
    }

    /// Broadcasts the reduction of `source` along the axes that are not reduced.
    fn restored(&self, builder: &mut Builder, reduced: Value) -> Value {
        let shape = without_axes(&builder.shape(self.whole), &self.removed);
        let kept = self.axes.iter().filter(|axis| !self.removed.contains(axis));
        let moved: Vec<usize> = kept.map(|axis| after_removal(*axis, &self.removed)).collect();
        builder.broadcast(reduced, &shape, &moved)
    }
}

fn sum_of_constant(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (removed, ty) = (axes(call), builder.ty(call.args[0]).clone());
    let count: Option<usize> = removed.iter().map(|axis| ty.dims()[*axis].fixed()).product();
    let ty = ty.with_shape(without_axes(&ty.shape, &removed));
    Some(builder.constant(&ty, known.a()? * count? as f64))
}

fn last_position(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let (_, attrs) = application(builder, call.args[0], &IOTA)?;
    let size = ops::iota::dim(attrs).fixed().filter(|size| *size > 0)?;
    (!axes(call).is_empty()).then(|| builder.int(size as i64 - 1))
}

fn scaled_sum(builder: &mut Builder, call: &PendingNode<'_>, _: &Bindings) -> Option<Value> {
    let removed = axes(call);
    let args = builder.function().args(call.args[0]);
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
}

/// A factor that all terms of a sum share.
enum Factor {
    Number(f64),
    /// A smaller tensor, and the positions of its axes in the result of the sum.
    Repeated(Value, Vec<usize>),
}

fn shared_factor(builder: &Builder, value: Value, removed: &[usize]) -> Option<Factor> {
    if let Some(number) = constant_of(builder, value) {
        return Some(Factor::Number(number));
    }
    let (source, axes) = repetition(builder, value)?;
    let is_shared = !axes.iter().any(|axis| removed.contains(axis));
    let moved = axes.iter().map(|axis| after_removal(*axis, removed));
    is_shared.then(|| Factor::Repeated(source, moved.collect()))
}

fn one_sum(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (_, attrs) = application(builder, call.args[0], &REDUCE_SUM)?;
    let (source, inner) = (known.x()?, ops::reduce_sum::positions(attrs));
    let kept: Vec<usize> = (0..builder.rank(source))
        .filter(|axis| !inner.contains(axis))
        .collect();
    let mut axes: Vec<usize> = axes(call).iter().map(|axis| kept[*axis]).chain(inner).collect();
    axes.sort_unstable();
    Some(builder.reduce_sum(source, &axes))
}

/// Returns the axes of a reduction.
fn axes(call: &PendingNode<'_>) -> Vec<usize> {
    ops::reduce_sum::positions(call.attrs)
}

/// Returns the new position of an axis after other axes are removed.
fn after_removal(axis: usize, removed: &[usize]) -> usize {
    axis - removed.iter().filter(|other| **other < axis).count()
}
