//! Checks that selected elements of outer products, and sums of outer products, are correct without
//! computing the outer products.

use super::inputs::{Numbers, assert_close};
use crate::rule::{self, RuleSet};
use crate::rules::selection;
use crate::simplify;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

const ROWS: Dim = Dim::Symbol(Symbol::Batch);
const SELECTED: Dim = Dim::Symbol(Symbol::Selected);

/// Returns a function of `x [batch, 4]`, `y [batch, 3]` and an index of eleven positions.
fn function(build: impl Fn(&mut Builder, Value, Value, Value) -> Value) -> Function {
    let mut builder = Builder::new("selection");
    let of = |width: usize| Type::real(Shape(vec![ROWS, Dim::Fixed(width)]));
    let (x, y) = (builder.param("x", of(4)), builder.param("y", of(3)));
    let index = builder.param("index", Type::int(Shape(vec![SELECTED])));
    let value = build(&mut builder, x, y, index);
    builder.finish(vec![("value".into(), value)])
}

fn flat(b: &mut Builder, x: Value, sizes: &[usize]) -> Value {
    let fixed = sizes.iter().map(|size| Dim::Fixed(*size));
    b.reshape(x, &Shape([ROWS].into_iter().chain(fixed).collect()))
}

fn same(name: &str, function: &Function, fires: bool) {
    let sizes = Sizes::default().with(Symbol::Batch, 2).with(Symbol::Selected, 11);
    let mut numbers = Numbers::new(5);
    let reals = Interval::new(-1.5, 2.0);
    let mut inputs: Vec<Tensor> = function.params[..2]
        .iter()
        .map(|param| {
            let ty = function.ty(*param);
            Tensor::from_fn(ty.shape.resolve(&sizes), |_| numbers.within(reals, ty.dtype))
        })
        .collect();
    // Positions before the first element and after the last element are clamped.
    inputs.push(Tensor::new(
        vec![11],
        vec![-3.0, 0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 11.0, 12.0, 40.0],
    ));
    let mut trace = Vec::new();
    let after = rule::rewrite(function, &RuleSet::new(selection::RULES), Some(&mut trace)).unwrap();
    assert_eq!(!trace.is_empty(), fires, "{name}: {trace:?}");
    assert!(trace.len() <= 1, "{name}: {trace:?}");
    let want = evaluate(function, &inputs, &sizes);
    for after in [after, simplify::simplify(function).unwrap()] {
        assert_close(&evaluate(&after, &inputs, &sizes)[0], &want[0], 1e-12, name);
    }
}

#[test]
fn picked_elements_equal_those_of_the_whole() {
    let outer = |b: &mut Builder, x: Value, y: Value| b.contract(x, y, "no,ni->noi");
    let product = function(|b, x, y, index| {
        let cube = outer(b, x, y);
        let line = flat(b, cube, &[12]);
        b.gather(line, index, 1)
    });
    same("product", &product, true);
    let transposed = function(|b, x, y, index| {
        let cube = outer(b, x, y);
        let swapped = b.transpose(cube, &[0, 2, 1]);
        let e = b.exp(swapped);
        let split = flat(b, e, &[3, 2, 2]);
        let merged = flat(b, split, &[12]);
        b.gather(merged, index, 1)
    });
    same("transposed", &transposed, true);
    let summed = function(|b, x, y, index| {
        let first = b.contract(x, y, "no,mi->nmoi");
        let sum = b.reduce_sum(first, &[1]);
        let ones = b.like(1.0, sum);
        let more = b.add(sum, ones);
        let shape = b.shape(sum);
        let row = b.broadcast(x, &shape, &[0, 1]);
        let all = b.mul(more, row);
        let line = flat(b, all, &[12]);
        b.gather(line, index, 1)
    });
    same("summed", &summed, true);
    let stacked = function(|b, x, y, index| {
        let cube = outer(b, x, y);
        let again = b.contract(cube, y, "noi,mi->mno");
        let last = b.contract(again, y, "mno,mi->noi");
        let line = flat(b, last, &[12]);
        b.gather(line, index, 1)
    });
    same("stacked", &stacked, true);
    // A selection along one axis, or of elements that are not part of a product, reads from memory.
    let row = function(|b, x, _, index| b.gather(x, index, 1));
    same("row", &row, false);
    let kept = function(|b, x, _, index| {
        let square = flat(b, x, &[2, 2]);
        let soft = b.softmax(square, 1);
        let line = flat(b, soft, &[4]);
        b.gather(line, index, 1)
    });
    same("kept", &kept, false);
}

/// Returns the number of elements of the largest tensor with an axis of rows.
fn largest(function: &Function) -> usize {
    let size = |value: Value| {
        let dims = function.ty(value).dims();
        let fixed = dims.iter().filter_map(|dim| dim.fixed());
        match dims.contains(&ROWS) {
            true => fixed.product(),
            false => 0,
        }
    };
    function.nodes.ids().map(size).max().unwrap_or(0)
}

#[test]
fn no_outer_product_is_stored() {
    let picked = function(|b, x, y, index| {
        let once = b.contract(x, y, "no,ni->noi");
        let twice = b.neg(once);
        let e = b.exp(x);
        let other = b.contract(e, y, "no,ni->noi");
        let sum = b.add(twice, other);
        let line = flat(b, sum, &[12]);
        b.gather(line, index, 1)
    });
    let squared = function(|b, x, y, _| {
        let once = b.contract(x, y, "no,ni->noi");
        let e = b.exp(x);
        let other = b.contract(e, y, "no,ni->noi");
        let difference = b.sub(once, other);
        let squares = b.square(difference);
        b.reduce_sum(squares, &[0])
    });
    for function in [&picked, &squared] {
        assert_eq!(largest(function), 12);
        assert!(largest(&simplify::simplify(function).unwrap()) <= 4);
    }
    let is_sum = |value: Value| {
        let op = squared.op(value);
        op.is_some_and(|op| op.is(&ops::reduce_sum::REDUCE_SUM))
    };
    assert!(squared.nodes.ids().any(is_sum));
}
