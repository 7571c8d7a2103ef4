//! `positions`: the positions that data select along axes, for the rows to be checked before anything is computed from them.
//!
//! Kernels clamp a position that lies outside its axis, which is safe and says nothing: a model that forgets that positions count from 0
//! would merge two groups. What bounds of the data prove to be inside is not computed.

use super::train::{bind_data, is_of_row};
use crate::batch::batch;
use crate::nodes::{self, Scope};
use crate::rule::remove_dead;
use crate::unroll;
use bnnc_abi::manifest::Check;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::analysis::ranges::ranges;
use bnnc_graph::attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::{Input, Model};
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use std::collections::HashSet;
use std::sync::Arc;

const ROWS: Dim = Dim::Symbol(Symbol::Batch);

/// The positions of each row.
#[derive(Clone, Debug)]
pub struct Positions {
    /// `(data..) -> lowest/0, highest/0, ..`, each `[batch]`.
    pub function: Function,
    /// The axis of each pair.
    pub checks: Vec<Check>,
}

/// Positions of a row that data select and that may lie outside their axes; none where all are inside for certain.
pub fn positions(row: &Function, model: &Model) -> Option<Positions> {
    let row = remove_dead(&unroll::expand_maps(row));
    let data = || model.shared.iter().chain(&model.inputs).chain(&model.outputs);
    let input = |param: &Value| {
        let name = nodes::param_name(&row, *param);
        data().find(|input| *input.name == *name)
    };
    let bounds: Vec<Interval> = row
        .params
        .iter()
        .map(|param| input(param).map_or(Interval::REALS, bounds))
        .collect();
    let ranges = ranges(&row, &bounds);
    let mut builder = Builder::new("positions_row");
    let arguments = nodes::params_of(&mut builder, &row);
    let copies = all_values(&mut builder, &row, &arguments);
    let (mut results, mut checks, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for value in row.nodes.ids() {
        let NodeKind::Apply { op, args, attrs } = &row.nodes[value].kind else {
            continue;
        };
        if !std::ptr::eq(op.0, &ops::gather::GATHER) {
            continue;
        }
        let axis = *attr::int(attrs, 0) as usize;
        let Some(size) = row.ty(args[0]).dims().get(axis).and_then(|dim| dim.fixed()) else {
            continue;
        };
        let range = &ranges[args[1].index()];
        let is_inside = range.lo >= 0.0 && range.hi <= size as f64 - 1.0;
        let needed = needed_by(&row, &[args[1]]);
        let mut of = row.params.iter().filter(|param| needed.contains(param));
        if is_inside || !known.insert((args[1], size)) || of.clone().any(|param| input(param).is_none()) {
            continue;
        }
        let inputs = of
            .by_ref()
            .map(|param| nodes::param_name(&row, *param).to_owned());
        let inputs: Vec<String> = inputs.collect();
        if inputs.is_empty() {
            continue;
        }
        let index = copies[args[1].index()];
        let at = checks.len();
        let (lowest, highest) = ends(&mut builder, index);
        results.push((Arc::from(format!("lowest/{at}")), lowest));
        results.push((Arc::from(format!("highest/{at}")), highest));
        checks.push(Check { size, inputs });
    }
    if checks.is_empty() {
        return None;
    }
    let of_one = nodes::with_params(&remove_dead(&builder.finish(results)), &HashSet::new());
    let function = of_rows(&of_one, model);
    Some(Positions { function, checks })
}

/// What the values of an input may be.
fn bounds(input: &Input) -> Interval {
    match (input.support, input.ty.dtype) {
        (Support::Integers(size @ 1..), _) => Interval::new(0.0, size as f64 - 1.0),
        (Support::Interval(lo, hi), _) => Interval::new(lo, hi),
        _ => Interval::REALS,
    }
}

/// Copies every value of a function.
fn all_values(builder: &mut Builder, function: &Function, arguments: &[Value]) -> Vec<Value> {
    let all: Vec<Value> = function.nodes.ids().collect();
    let whole = Function {
        results: all
            .iter()
            .enumerate()
            .map(|(at, value)| (Arc::from(at.to_string()), *value))
            .collect(),
        ..function.clone()
    };
    builder.inline(&whole, arguments)
}

/// The smallest and the largest element, as reals.
fn ends(builder: &mut Builder, index: Value) -> (Value, Value) {
    let index = match builder.ty(index).dtype {
        DType::Real => index,
        DType::Int | DType::Bool => builder.to_real(index),
    };
    let axes: Vec<usize> = (0..builder.ty(index).rank()).collect();
    if axes.is_empty() {
        return (index, index);
    }
    let highest = builder.reduce_max(index, &axes);
    let negative = builder.neg(index);
    let lowest = builder.reduce_max(negative, &axes);
    (builder.neg(lowest), highest)
}

/// The function of one row for a batch of rows.
fn of_rows(row: &Function, model: &Model) -> Function {
    let mut builder = Builder::new("positions");
    let mut scope = Scope::default();
    bind_data(&mut builder, model, &mut scope);
    let of_row = |param: &Value| is_of_row(model, nodes::param_name(row, *param));
    let mapped: Vec<bool> = row.params.iter().map(of_row).collect();
    let results = scope.call(&mut builder, &batch(row, &mapped, ROWS));
    nodes::with_params(&remove_dead(&builder.finish(results)), &HashSet::new())
}
