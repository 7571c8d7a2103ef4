//! Rules that compute selected elements of a large tensor from selected elements of its operands.
//!
//! Note \[Selections\]. An index picks `selected` elements from the gradient of a weight, whose axes have been merged by a reshape. Computed as
//! written, the selection would keep the whole gradient of every row in memory. Instead, the index is split
//! into one index along each axis of the weight. The separate indices are moved into the computation of the gradient: through elementwise ops,
//! broadcasts and sums, into the operands of a product. Each operand of the product has only one of the axes. If an index reaches an op of another
//! kind, the result of this op is stored, and elements are picked from it.

use crate::rule::{PendingNode, Rule, computed};
use crate::rules::outer::is_outer_product;
use crate::term::{Bindings, Term, X, Y, on};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::attr::positions;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::ops;
use bnnc_graph::ops::gather::GATHER;
use bnnc_graph::ops::reshape::RESHAPE;
use bnnc_graph::types::Type;
use std::collections::{HashMap, HashSet};

/// Why the replacement of the rule cannot be written as a term.
const THROUGH: &str = "a selection is moved through any number of operations at once";

/// The rules for selections. They are tried in this order.
pub static RULES: &[Rule] = &[Rule {
    // A selection from a product with merged axes becomes a product of selections from its factors.
    name: "selection-of-product",
    cases: || vec![computed(gathered(), picked_product, THROUGH)],
    examples: || {
        vec![
            example(of_flat_product),
            example(of_function_of_product),
            example(of_summed_products),
        ]
    },
}];

fn gathered() -> Term {
    on(&GATHER, [on(&RESHAPE, [X]), Y])
}

fn picked_product(builder: &mut Builder, call: &PendingNode<'_>, known: &Bindings) -> Option<Value> {
    let (x, index) = (call.args[0], call.args[1]);
    let axis = ops::gather::axis(call.attrs) as usize;
    let source = known.x()?;
    if builder.ty(index).dims() != [SELECTED] || !is_product(builder, source, &mut HashSet::new()) {
        return None;
    }
    let size = builder.ty(x).dims()[axis].fixed()?;
    let index = clamped(builder, index, size);
    let places = Places::new(builder, x, axis, index);
    let inner = places.of_reshaped(builder, source, x)?;
    if inner.0.iter().flatten().count() < 2 {
        return None;
    }
    let picked = inner.pick(builder, source, &mut Known::new());
    // The last axis is the picked axis. All other axes are axes of the source.
    let mut kept: Vec<Dim> = builder.ty(x).dims().to_vec();
    kept.remove(axis);
    kept.push(SELECTED);
    let picked = builder.reshape(picked, &Shape(kept));
    let last = builder.rank(picked) - 1;
    Some(builder.move_axis(picked, last, axis))
}

fn of_flat_product(b: &mut Builder, x: Value, y: Value, index: Value) -> Value {
    let outer = b.contract(x, y, "ko,ni->nkoi");
    let flat = b.reshape(outer, &Shape::fixed(&[2, 2, 9]));
    b.gather(flat, index, 2)
}

fn of_function_of_product(b: &mut Builder, x: Value, y: Value, index: Value) -> Value {
    let once = b.contract(x, y, "no,ni->noi");
    let row = b.reduce_sum(x, &[1]);
    let all = b.broadcast(row, &Shape::fixed(&[2, 3, 3]), &[0]);
    let e = b.exp(once);
    let sum = b.add(e, all);
    let transposed = b.transpose(sum, &[1, 2, 0]);
    let flat = b.reshape(transposed, &Shape::fixed(&[9, 2]));
    b.gather(flat, index, 0)
}

fn of_summed_products(b: &mut Builder, x: Value, y: Value, index: Value) -> Value {
    let places = b.contract(x, y, "po,pi->poi");
    let sum = b.reduce_sum(places, &[0]);
    let other = b.contract(x, y, "po,pi->oi");
    let sum = b.sub(sum, other);
    let line = b.iota(Dim::Fixed(3));
    let line = b.to_real(line);
    let line = b.broadcast(line, &Shape::fixed(&[3, 3]), &[1]);
    let scaled = b.mul(sum, line);
    let flat = b.reshape(scaled, &Shape::fixed(&[9]));
    b.gather(flat, index, 0)
}

const SELECTED: Dim = Dim::Symbol(Symbol::Selected);

/// Creates an example: a function of two matrices and a selection. The result is the sum over the selected elements.
fn example(build: impl Fn(&mut Builder, Value, Value, Value) -> Value) -> Function {
    let mut builder = Builder::new("example");
    let ty = Type::real(Shape::fixed(&[2, 3]));
    let (x, y) = (builder.param("x", ty.clone()), builder.param("y", ty));
    let index = builder.param("index", Type::int(Shape(vec![SELECTED])));
    let picked = build(&mut builder, x, y, index);
    let dims = builder.ty(picked).dims();
    let axes: Vec<usize> = (0..dims.len()).filter(|axis| dims[*axis] == SELECTED).collect();
    let value = builder.reduce_sum(picked, &axes);
    builder.finish(vec![("value".into(), value)])
}

/// Returns whether a selection from a value can be replaced by selections from smaller operands. `seen` holds the values for which this is
/// known to be impossible.
fn is_product(builder: &Builder, value: Value, seen: &mut HashSet<Value>) -> bool {
    if !seen.insert(value) {
        return false;
    }
    let NodeKind::Apply { op, args, .. } = &builder.node(value).kind else {
        return false;
    };
    let smaller = [
        &ops::contract::CONTRACT,
        &ops::broadcast::BROADCAST,
        &ops::reduce_sum::REDUCE_SUM,
    ];
    let moves = [&RESHAPE, &ops::transpose::TRANSPOSE];
    let is_move = op.is_one_of(&moves) || op.is_elementwise();
    op.is_one_of(&smaller) || is_move && args.iter().any(|arg| is_product(builder, *arg, seen))
}

/// Clamps positions to `0..size`.
fn clamped(builder: &mut Builder, index: Value, size: usize) -> Value {
    let (zero, last) = (
        builder.like(0.0, index),
        builder.like(size.saturating_sub(1) as f64, index),
    );
    let above = builder.max(index, zero);
    builder.min(above, last)
}

/// The results of earlier picks.
type Known = HashMap<(Value, Places), Value>;

/// For each axis of a tensor, the positions that are picked along it, or `None` if the axis is not picked. The `k`-th positions along all picked
/// axes together select one element.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Places(Vec<Option<Value>>);

impl Places {
    fn new(builder: &Builder, of: Value, axis: usize, index: Value) -> Places {
        let mut places = vec![None; builder.rank(of)];
        places[axis] = Some(index);
        Places(places)
    }

    /// Picks elements of `value`. The result has the axes that are not picked, followed by the picked axis.
    fn pick(&self, builder: &mut Builder, value: Value, known: &mut Known) -> Value {
        // A pick along a single axis reads the tensor from memory. An outer product must never be stored, so it is not picked in this way.
        let count = self.0.iter().flatten().count();
        if count == 0 || count == 1 && !is_outer_product(builder, value) {
            return self.pick_in_memory(builder, value);
        }
        let key = (value, self.clone());
        if let Some(picked) = known.get(&key) {
            return *picked;
        }
        let picked = self.pick_anew(builder, value, known);
        known.insert(key, picked);
        picked
    }

    fn pick_anew(&self, builder: &mut Builder, value: Value, known: &mut Known) -> Value {
        let NodeKind::Apply { op, args, attrs } = builder.node(value).kind.clone() else {
            return self.pick_in_memory(builder, value);
        };
        if op.is_elementwise() {
            let picked: Vec<Value> = args.iter().map(|arg| self.pick(builder, *arg, known)).collect();
            return builder.apply(op.0, &picked, attrs);
        }
        if op.is(&ops::constant::CONSTANT) {
            let ty = builder.ty(value).with_shape(self.picked_shape(builder, value));
            return builder.constant(&ty, ops::constant::value(&attrs));
        }
        if op.is(&ops::transpose::TRANSPOSE) {
            return self.pick_transposed(builder, args[0], &positions(ops::transpose::axes(&attrs)), known);
        }
        if op.is(&ops::broadcast::BROADCAST) {
            let shape = self.picked_shape(builder, value);
            return self.pick_repeated(
                builder,
                (args[0], &shape),
                &positions(ops::broadcast::axes(&attrs)),
                known,
            );
        }
        if op.is(&ops::reduce_sum::REDUCE_SUM) {
            return self.pick_summed(builder, args[0], &ops::reduce_sum::positions(&attrs), known);
        }
        if op.is(&ops::contract::CONTRACT) {
            let labels = ops::contract::parsed(&attrs);
            return self.pick_contracted(builder, [args[0], args[1]], &labels, known);
        }
        if op.is(&RESHAPE)
            && let Some(inner) = self.of_reshaped(builder, args[0], value)
        {
            let shape = self.picked_shape(builder, value);
            let picked = inner.pick(builder, args[0], known);
            return builder.reshape(picked, &shape);
        }
        self.pick_in_memory(builder, value)
    }

    /// Returns the shape after picking. It consists of the axes that are not picked. If at least one axis is picked, the picked axis
    /// follows.
    fn picked_shape(&self, builder: &Builder, value: Value) -> Shape {
        let dims = builder.ty(value).dims();
        let kept = self.kept().into_iter().map(|axis| dims[axis]);
        let picked = self.0.iter().any(Option::is_some).then_some(SELECTED);
        Shape(kept.chain(picked).collect())
    }

    fn kept(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|axis| self.0[*axis].is_none()).collect()
    }

    /// Picks from a tensor in memory. The picked axes are merged into one axis.
    fn pick_in_memory(&self, builder: &mut Builder, value: Value) -> Value {
        let picked: Vec<usize> = (0..self.0.len()).filter(|axis| self.0[*axis].is_some()).collect();
        if picked.is_empty() {
            return value;
        }
        let kept = self.kept();
        let axes: Vec<usize> = kept.iter().chain(&picked).copied().collect();
        let transposed = builder.transpose(value, &axes);
        let dims = builder.ty(transposed).dims().to_vec();
        let (outer, merged) = dims.split_at(kept.len());
        let sizes: Option<Vec<usize>> = merged.iter().map(|dim| dim.fixed()).collect();
        let sizes = sizes.unwrap_or_else(|| unreachable!("only axes of known sizes are picked from"));
        let mut shape = outer.to_vec();
        shape.push(Dim::Fixed(sizes.iter().product()));
        let flat = builder.reshape(transposed, &Shape(shape));
        let places: Vec<Value> = picked.iter().filter_map(|axis| self.0[*axis]).collect();
        let index = joined(builder, &places, &sizes);
        builder.gather(flat, index, kept.len())
    }

    fn pick_transposed(
        &self,
        builder: &mut Builder,
        source: Value,
        axes: &[usize],
        known: &mut Known,
    ) -> Value {
        let mut inner = vec![None; axes.len()];
        for (at, axis) in axes.iter().enumerate() {
            inner[*axis] = self.0[at];
        }
        let inner = Places(inner);
        let picked = inner.pick(builder, source, known);
        // The axes that are not picked, in the order of the permutation.
        let left = inner.kept();
        let order = axes
            .iter()
            .filter_map(|axis| left.iter().position(|kept| kept == axis));
        let order: Vec<usize> = order.chain(left.len()..builder.rank(picked)).collect();
        builder.transpose(picked, &order)
    }

    fn pick_repeated(
        &self,
        builder: &mut Builder,
        (source, shape): (Value, &Shape),
        axes: &[usize],
        known: &mut Known,
    ) -> Value {
        let inner = Places(axes.iter().map(|axis| self.0[*axis]).collect());
        let picked = inner.pick(builder, source, known);
        let kept = self.kept();
        let mut to: Vec<usize> = axes
            .iter()
            .filter_map(|axis| kept.iter().position(|known| known == axis))
            .collect();
        if inner.0.iter().any(Option::is_some) {
            to.push(kept.len());
        }
        builder.broadcast(picked, shape, &to)
    }

    fn pick_summed(
        &self,
        builder: &mut Builder,
        source: Value,
        removed: &[usize],
        known: &mut Known,
    ) -> Value {
        let mut places = self.0.iter().copied();
        let rank = builder.rank(source);
        let inner = (0..rank).map(|axis| match removed.contains(&axis) {
            true => None,
            false => places.next().flatten(),
        });
        let inner = Places(inner.collect());
        let picked = inner.pick(builder, source, known);
        let kept = inner.kept();
        let axes: Vec<usize> = (0..kept.len())
            .filter(|at| removed.contains(&kept[*at]))
            .collect();
        builder.reduce_sum(picked, &axes)
    }

    /// Picks from the operands of a contraction. A single new letter replaces all picked letters.
    fn pick_contracted(
        &self,
        builder: &mut Builder,
        args: [Value; 2],
        labels: &ContractionLabels,
        known: &mut Known,
    ) -> Value {
        let letter = labels.unused();
        let place = |of: &char| {
            let at = labels.result.iter().position(|known| known == of);
            at.and_then(|at| self.0[at])
        };
        let mut of = |arg: Value, letters: &[char]| {
            let inner = Places(letters.iter().map(place).collect());
            let mut left: Vec<char> = inner.kept().into_iter().map(|axis| letters[axis]).collect();
            if left.len() < letters.len() {
                left.push(letter);
            }
            (inner.pick(builder, arg, known), left)
        };
        let (left, right) = (of(args[0], &labels.left), of(args[1], &labels.right));
        let kept = self.kept().into_iter().map(|axis| labels.result[axis]);
        let picked = ContractionLabels {
            left: left.1,
            right: right.1,
            result: kept.chain([letter]).collect(),
        };
        builder.contract(left.0, right.0, &picked.to_string())
    }

    /// Returns these positions for `inner`, which holds the elements of `outer` in another shape. Returns `None` if the reshape merges axes of
    /// which only some are picked.
    fn of_reshaped(&self, builder: &mut Builder, inner: Value, outer: Value) -> Option<Places> {
        let (from, to) = (builder.shape(outer).0, builder.shape(inner).0);
        let mut places = vec![None; to.len()];
        for (outer, inner) in segments(&from, &to)? {
            let picked: Vec<Value> = outer.clone().filter_map(|axis| self.0[axis]).collect();
            if picked.is_empty() {
                continue;
            }
            let fixed = |dims: &[Dim]| dims.iter().map(|dim| dim.fixed()).collect::<Option<Vec<usize>>>();
            let parts = fixed(&to[inner.clone()])?;
            let whole = outer
                .clone()
                .all(|axis| self.0[axis].is_some() || from[axis] == Dim::Fixed(1));
            if !whole {
                return None;
            }
            let known = outer
                .filter(|axis| self.0[*axis].is_some())
                .map(|axis| from[axis]);
            let known = fixed(&known.collect::<Vec<Dim>>())?;
            let index = joined(builder, &picked, &known);
            split(builder, index, &parts)
                .into_iter()
                .zip(inner)
                .for_each(|(place, axis)| places[axis] = place);
        }
        Some(Places(places))
    }
}

type Run = std::ops::Range<usize>;

/// Splits the axes of two shapes into runs of consecutive axes. Corresponding runs have the same number of elements.
fn segments(from: &[Dim], to: &[Dim]) -> Option<Vec<(Run, Run)>> {
    let mut found = Vec::new();
    let (mut outer, mut inner) = (0, 0);
    while outer < from.len() || inner < to.len() {
        let start = (outer, inner);
        if let (Some(Dim::Symbol(x)), Some(Dim::Symbol(y))) = (from.get(outer), to.get(inner)) {
            if x != y {
                return None;
            }
            (outer, inner) = (outer + 1, inner + 1);
        } else {
            let (mut left, mut right) = (1, 1);
            loop {
                let next = |dims: &[Dim], at: usize| dims.get(at).and_then(|dim| dim.fixed());
                match (next(from, outer), next(to, inner)) {
                    (Some(size), _) if left < right || left == right && (size == 1 || outer == start.0) => {
                        (left, outer) = (left * size, outer + 1);
                    }
                    (_, Some(size)) if right < left || right == left && (size == 1 || inner == start.1) => {
                        (right, inner) = (right * size, inner + 1);
                    }
                    _ => break,
                }
            }
            if left != right || (outer, inner) == start {
                return None;
            }
        }
        found.push((start.0..outer, start.1..inner));
    }
    Some(found)
}

/// Returns the position along a merged axis, given the positions along the separate axes.
fn joined(builder: &mut Builder, places: &[Value], sizes: &[usize]) -> Value {
    let mut index = places[0];
    for (place, size) in places.iter().zip(sizes).skip(1) {
        let scaled = builder.scale(index, *size as f64);
        index = builder.add(scaled, *place);
    }
    index
}

/// Splits positions along a merged axis into positions along the axes that were merged. The result for an axis of
/// size one is `None`.
fn split(builder: &mut Builder, index: Value, sizes: &[usize]) -> Vec<Option<Value>> {
    let mut places = vec![None; sizes.len()];
    let last = (0..sizes.len()).find(|at| sizes[*at] > 1);
    let mut rest = index;
    for at in (0..sizes.len()).rev().filter(|at| sizes[*at] > 1) {
        if Some(at) == last {
            places[at] = Some(rest);
            break;
        }
        let above = quotient(builder, rest, sizes[at]);
        let whole = builder.scale(above, sizes[at] as f64);
        places[at] = Some(builder.sub(rest, whole));
        rest = above;
    }
    places
}

/// Returns the floor of `index / divisor`. The result is exact, although reals may have only 24 bits. The second of two steps divides the remainder
/// that the first leaves. The quotient is then off by at most one, and this error is corrected.
fn quotient(builder: &mut Builder, index: Value, divisor: usize) -> Value {
    let mut quotient = builder.like(0.0, index);
    let mut rest = index;
    for _ in 0..2 {
        let real = builder.to_real(rest);
        let scaled = builder.scale(real, 1.0 / divisor as f64);
        let below = builder.floor(scaled);
        let part = builder.to_int(below);
        quotient = builder.add(quotient, part);
        let whole = builder.scale(part, divisor as f64);
        rest = builder.sub(rest, whole);
    }
    debug_assert_eq!(builder.ty(index).dtype, DType::Int);
    let (zero, one, most) = (
        builder.like(0.0, index),
        builder.like(1.0, index),
        builder.like(divisor as f64 - 1.0, index),
    );
    let (below, above) = (builder.lt(rest, zero), builder.lt(most, rest));
    let (down, up) = (builder.select(below, one, zero), builder.select(above, one, zero));
    let raised = builder.add(quotient, up);
    builder.sub(raised, down)
}
