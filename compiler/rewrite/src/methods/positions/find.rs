//! Finds the positions that a function selects along axes. The positions become results of a new
//! function.

use crate::nodes;
use crate::unroll;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_graph::analysis::dataflow::users;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::map::NodeImages;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use std::sync::Arc;

/// The ops that only move the elements of their first operand.
static MOVING: [&OpDef; 6] = [
    &ops::gather::GATHER,
    &ops::slice::SLICE,
    &ops::reshape::RESHAPE,
    &ops::broadcast::BROADCAST,
    &ops::transpose::TRANSPOSE,
    &ops::stop_gradient::STOP_GRADIENT,
];

/// Returns a function whose results are the positions of each selection in `function`, in order,
/// and the sizes of the axes. A position is 0 where a choice takes a branch that does not use the
/// selected element.
///
/// The search runs before loops are expanded. Batching replaces a selection by a sum over a mask if
/// its index differs between positions of a loop.
pub fn positions(function: &Function) -> (Function, Vec<usize>) {
    let (found, sizes) = collect(function);
    (unroll::expand_maps(&found), sizes)
}

fn collect(function: &Function) -> (Function, Vec<usize>) {
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let copies = builder.copies(function, &params);
    let users = users(function);
    let (mut results, mut sizes) = (Vec::new(), Vec::new());
    for value in function.nodes.ids() {
        let NodeKind::Apply { op, args, attrs } = &function.nodes[value].kind else {
            continue;
        };
        if op.is(&ops::gather::GATHER) {
            let axis = ops::gather::axis(attrs) as usize;
            let Some(size) = function.ty(args[0]).dims().get(axis).and_then(|dim| dim.fixed()) else {
                continue;
            };
            let index = guarded(&mut builder, (function, &users), &copies, (value, args[1]));
            results.push(index);
            sizes.push(size);
        }
        if op.is(&ops::map::MAP) {
            let (inner, of_inner) = collect(ops::map::function(attrs));
            let operands: Vec<Value> = copies.of(args);
            for ((_, index), size) in inner.results.iter().zip(of_inner) {
                let one = Function {
                    results: vec![("element".into(), *index)],
                    ..inner.clone()
                };
                let attrs = vec![Attr::Function(Arc::new(one)), attrs[1].clone()];
                results.push(builder.apply(&ops::map::MAP, &operands, attrs));
                sizes.push(size);
            }
        }
    }
    let named = results.iter().enumerate();
    let named = named.map(|(at, value)| (PortName::Position.at(at).into(), *value));
    (builder.finish(named.collect()), sizes)
}

/// Returns the positions `index` of the selection `gather`. A position is 0 where a choice of the
/// same shape does not use the selected element.
fn guarded(
    builder: &mut Builder,
    (function, users): (&Function, &[Vec<Value>]),
    copies: &NodeImages<Value>,
    (gather, index): (Value, Value),
) -> Value {
    let mut guarded = copies[index];
    if function.ty(gather).dims() != function.ty(index).dims() {
        return guarded;
    }
    let zero = builder.like(0.0, guarded);
    let mut value = gather;
    while let [user] = &users[value.index()][..] {
        let NodeKind::Apply { op, args, .. } = &function.nodes[*user].kind else {
            break;
        };
        let is_result = function.results.iter().any(|(_, result)| *result == value);
        let same = function.ty(*user).dims() == function.ty(index).dims();
        if is_result || !same || !op.is_elementwise() {
            break;
        }
        if op.is(&ops::select::SELECT) && args[0] != value && args[1] != args[2] {
            let condition = copies[args[0]];
            guarded = match args[1] == value {
                true => builder.select(condition, guarded, zero),
                false => builder.select(condition, zero, guarded),
            };
        }
        value = *user;
    }
    guarded
}

/// Returns the row of each element of `value`, as a real. This is the position, along the first
/// axis of a whole column, from which the element is computed. Returns `None` if an element does
/// not come from a whole column. `is_column` returns whether a parameter is a whole
/// column.
pub fn rows(
    builder: &mut Builder,
    function: &Function,
    copies: &NodeImages<Value>,
    value: Value,
    is_column: &dyn Fn(Value) -> bool,
) -> Option<Value> {
    match &function.nodes[value].kind {
        NodeKind::Param(_) => {
            let shape = function.ty(value).shape.clone();
            let count = *shape.dims().first().filter(|_| is_column(value))?;
            let rows = builder.iota(count);
            let rows = builder.to_real(rows);
            Some(builder.broadcast(rows, &shape, &[0]))
        }
        NodeKind::Apply { op, args, attrs } if op.is_one_of(&MOVING) => {
            let rows = rows(builder, function, copies, args[0], is_column)?;
            let mut operands: Vec<Value> = copies.of(args);
            operands[0] = rows;
            Some(builder.apply(op.0, &operands, attrs.clone()))
        }
        NodeKind::Apply { op, args, .. } if op.is_elementwise() => args
            .iter()
            .find_map(|arg| rows(builder, function, copies, *arg, is_column)),
        NodeKind::Apply { .. } => None,
    }
}

/// Copies `function`. If the rows of a result's elements are known, they become another result,
/// [`PortName::Row`].
pub fn with_rows(function: &Function, is_column: &dyn Fn(Value) -> bool) -> Function {
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let copies = builder.copies(function, &params);
    let mut results = Vec::new();
    for (number, (name, value)) in function.results.iter().enumerate() {
        let index = nodes::as_real(&mut builder, copies[*value]);
        results.push((name.clone(), index));
        if let Some(rows) = rows(&mut builder, function, &copies, *value, is_column) {
            results.push((PortName::Row.at(number).into(), rows));
        }
    }
    builder.finish(results)
}
