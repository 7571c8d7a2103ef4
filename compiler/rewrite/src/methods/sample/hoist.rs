//! `hoist`: finds values that stay constant during sampling, so that they are computed only once,
//! before a sampler starts.
//!
//! A value that depends only on data and on fixed states is constant during the run. Examples are
//! the first layers of a network whose last layer is sampled, `lgamma` of a count, and the log
//! prior of a fixed site. The pass hoists the largest of these values that cost more to compute
//! than to read. Hoisted values are the results of a separate program, and parameters of the
//! programs that a sampler evaluates.

use crate::batch::expansion_of;
use crate::pass::PassContext;
use crate::pipeline::StageFunctions;
use crate::rule::{Firing, remove_dead};
use crate::{nodes, pipelines};
use bnnc_abi::symbols::{NOISE_WEIGHT, weight};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_graph::analysis::dataflow::{dependents, needed_by};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::map::NodeImages;
use bnnc_graph::op::{KernelKind, Lower};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashSet;
use std::sync::Arc;

/// A value is hoisted only if each of its elements takes at least this number of operations. With
/// fewer operations, computing an element again costs less than reading it.
const WORTH: u64 = 4;

/// A value without an axis of rows is hoisted only if it takes at least this number of operations.
/// Even without hoisting, such a value is computed only once per evaluation and not once per row.
const SHARED_WORTH: u64 = 1 << 12;

/// The hoisted values of a row may have at most this many more elements than the row's data. The
/// limit depends on the size of the data, because hoisted values often replace the data.
const SPARE: u64 = 64;

/// A function split into two parts.
#[derive(Clone, Debug)]
pub struct Hoisted {
    /// `(fixed states.., data..) -> hoisted/0, ..`. The first axis of each result is `batch`.
    /// Results that all rows share do not have this axis.
    pub prepare: Function,
    /// Computes the results of the whole function from `(states.., data.., hoisted/0, ..)`. Data
    /// that only `prepare` needs are not parameters.
    pub rest: Function,
}

impl StageFunctions for Hoisted {
    fn functions(&self) -> Vec<&Function> {
        vec![&self.prepare, &self.rest]
    }
}

/// Describes the parameters of the function.
pub struct Params<'a> {
    /// Returns whether a sampler moves a parameter.
    pub moves: &'a dyn Fn(&str) -> bool,
    /// Returns whether axis 0 of a parameter is the axis of rows.
    pub is_of_row: &'a dyn Fn(&str) -> bool,
}

/// Splits a function whose rows lie along the axis `[batch]`. Returns `None` if no value is worth
/// hoisting, or if the pass is disabled.
pub fn hoist(function: &Function, params: &Params<'_>, context: &mut PassContext) -> Option<Hoisted> {
    if context.declines(&pipelines::HOIST) {
        return None;
    }
    let function = remove_dead(function);
    let chosen = Search::new(&function, params).chosen();
    if chosen.is_empty() {
        return None;
    }
    if let Some(trace) = context.trace.as_mut() {
        trace.extend(chosen.iter().enumerate().map(|(at, value)| Firing {
            rule: pipelines::HOIST.name,
            before: nodes::describe(&function, *value),
            after: format!("{} {}", name(at), function.ty(*value)),
        }));
    }
    Some(Hoisted {
        prepare: prepare(&function, &chosen),
        rest: rest(&function, &chosen, params),
    })
}

fn name(at: usize) -> Arc<str> {
    format!("hoisted/{at}").into()
}

/// The search for values to hoist. The search starts at the constant operands of moving values.
struct Search<'a> {
    function: &'a Function,
    moving: HashSet<Value>,
    of_rows: HashSet<Value>,
    seen: HashSet<Value>,
    chosen: Vec<Value>,
    /// The number of elements per row that is still available for hoisted values.
    spare: u64,
}

impl<'a> Search<'a> {
    fn new(function: &'a Function, params: &Params<'_>) -> Search<'a> {
        let that = |is: &dyn Fn(&str) -> bool| -> Vec<Value> {
            let all = function.params.iter().copied();
            all.filter(|param| is(nodes::param_name(function, *param)))
                .collect()
        };
        let rows = that(params.is_of_row);
        let width: u64 = rows.iter().map(|row| elements(function.ty(*row))).sum();
        Search {
            function,
            moving: dependents(function, &that(params.moves)),
            of_rows: dependents(function, &rows),
            seen: HashSet::new(),
            chosen: Vec::new(),
            spare: width + SPARE,
        }
    }

    /// Returns the chosen values, in order.
    fn chosen(mut self) -> Vec<Value> {
        let moving = self
            .function
            .nodes
            .ids()
            .filter(|value| self.moving.contains(value));
        let mut open: Vec<Value> = moving
            .flat_map(|value| self.function.args(value).to_vec())
            .collect();
        while let Some(value) = open.pop() {
            if self.moving.contains(&value) || !self.seen.insert(value) {
                continue;
            }
            match self.pays(value) {
                true => self.chosen.push(value),
                // If a value is not worth hoisting, its operands may be.
                false => open.extend(self.function.args(value)),
            }
        }
        self.chosen.sort_unstable();
        self.chosen
    }

    fn pays(&mut self, value: Value) -> bool {
        let ty = self.function.ty(value);
        let fixed = |dims: &[Dim]| dims.iter().all(|dim| dim.fixed().is_some());
        if ty.dtype != DType::Real || self.only_moves_elements(value) {
            return false;
        }
        let cone = needed_by(self.function, &[value]);
        let elements = elements(ty);
        match ty.dims() {
            [Dim::Symbol(Symbol::Batch), rest @ ..] if self.of_rows.contains(&value) && fixed(rest) => {
                let rows = || cone.iter().filter(|node| self.of_rows.contains(node));
                let worth = rows().map(|node| work(self.function, *node)).sum::<u64>() >= WORTH * elements;
                let is_apart = rows().all(|node| keeps_rows(self.function.ty(*node)));
                if worth && is_apart && elements <= self.spare {
                    self.spare -= elements;
                    return true;
                }
                false
            }
            dims if fixed(dims) && !self.of_rows.contains(&value) => {
                let work: u64 = cone.iter().map(|node| work(self.function, *node)).sum();
                work >= SHARED_WORTH.max(WORTH * elements)
            }
            _ => false,
        }
    }

    /// Returns whether the value only copies, repeats or reorders an operand. In this case, the
    /// operand may be hoisted instead.
    fn only_moves_elements(&self, value: Value) -> bool {
        let args = self.function.args(value);
        let widest = args.iter().map(|arg| elements(self.function.ty(*arg))).max();
        let is_smaller = widest.is_some_and(|widest| elements(self.function.ty(value)) < widest);
        work(self.function, value) == 0 && !is_smaller
    }
}

/// Returns the number of elements per row. If the value does not have an axis of rows, returns the
/// number of all elements.
fn elements(ty: &Type) -> u64 {
    ty.shape.count(&Sizes::default()) as u64
}

/// Returns whether a value of this type has an axis of rows.
fn keeps_rows(ty: &Type) -> bool {
    ty.dims().contains(&Dim::Symbol(Symbol::Batch))
}

/// Returns the number of scalar operations of one node for one row. The number is a static weight,
/// not a time. A division or a root is counted as four operations, and a function that is computed
/// by a series as sixteen.
fn work(function: &Function, value: Value) -> u64 {
    let NodeKind::Apply { op, args, attrs } = &function.nodes[value].kind else {
        return 0;
    };
    let of = |value: Value| elements(function.ty(value));
    match &op.lower {
        Lower::Scalar(scalar) => u64::from(weight(*scalar)) * of(value),
        Lower::Kernel(kind) => {
            let read: u64 = args.iter().map(|arg| of(*arg)).sum();
            match kind {
                KernelKind::Contract => products(function, args, ops::contract::labels(attrs)),
                KernelKind::Cholesky | KernelKind::TriangularSolve => read * side(function, args),
                KernelKind::GammaNoise | KernelKind::Noise => u64::from(NOISE_WEIGHT) * of(value),
                KernelKind::Scan => 4 * read,
                KernelKind::Cumsum
                | KernelKind::OverlapAdd
                | KernelKind::ReduceMax
                | KernelKind::ReduceSum
                | KernelKind::ScatterAdd => read,
                KernelKind::Broadcast
                | KernelKind::Concat
                | KernelKind::Constant
                | KernelKind::Gather
                | KernelKind::Iota
                | KernelKind::Pad
                | KernelKind::Patches
                | KernelKind::Reshape
                | KernelKind::Slice
                | KernelKind::StopGradient
                | KernelKind::Transpose => 0,
            }
        }
        Lower::Expand(_) => {
            let types = args.iter().map(|arg| function.ty(*arg).clone()).collect();
            let expansion = expansion_of(*op, attrs, types);
            expansion.nodes.ids().map(|node| work(&expansion, node)).sum()
        }
        Lower::Removed(_) => 0,
    }
}

/// Returns the size of the last axis of a node's first operand.
fn side(function: &Function, args: &[Value]) -> u64 {
    let dim = args.first().and_then(|matrix| function.ty(*matrix).dims().last());
    dim.map_or(1, |dim| dim.resolve(&Sizes::default()) as u64)
}

/// Returns the number of multiplications in a contraction, which is the product of the sizes of all its
/// letters.
fn products(function: &Function, args: &[Value], labels: &str) -> u64 {
    let labels = ContractionLabels::checked(labels);
    let size = |letter: &char| {
        let operands = args.iter().zip([&labels.left, &labels.right]);
        let found = operands.filter_map(|(arg, letters)| {
            let at = letters.iter().position(|other| other == letter)?;
            function.ty(*arg).dims().get(at)
        });
        found
            .map(|dim| dim.resolve(&Sizes::default()) as u64)
            .max()
            .unwrap_or(1)
    };
    labels.all().iter().map(size).product()
}

/// Returns the function that computes the chosen values. It has only the parameters that they need.
fn prepare(function: &Function, chosen: &[Value]) -> Function {
    let needed = needed_by(function, chosen);
    let mut builder = Builder::new("prepare");
    let copies = copy(&mut builder, function, |value| needed.contains(&value), &[]);
    let values = chosen.iter().enumerate();
    let results = values.filter_map(|(at, value)| Some((name(at), copies[*value]?)));
    let results = results.collect();
    builder.finish(results)
}

/// Returns the function with parameters in place of the chosen values. Moving states always stay parameters.
fn rest(function: &Function, chosen: &[Value], params: &Params<'_>) -> Function {
    let mut needed: HashSet<Value> = HashSet::new();
    let mut open: Vec<Value> = function.results.iter().map(|(_, value)| *value).collect();
    let moved = function.params.iter().copied();
    open.extend(moved.filter(|param| (params.moves)(nodes::param_name(function, *param))));
    while let Some(value) = open.pop() {
        if needed.insert(value) && !chosen.contains(&value) {
            open.extend(function.args(value));
        }
    }
    let mut builder = Builder::new(&function.name);
    let copies = copy(&mut builder, function, |value| needed.contains(&value), chosen);
    let results: Vec<Value> = (function.results.iter())
        .filter_map(|(_, value)| copies[*value])
        .collect();
    builder.finish(nodes::named(function, &results))
}

/// Copies the nodes that the results need, with parameters in place of the nodes in `replaced`. The
/// parameters come first.
fn copy(
    builder: &mut Builder,
    function: &Function,
    is_needed: impl Fn(Value) -> bool,
    replaced: &[Value],
) -> NodeImages<Option<Value>> {
    let params: Vec<Option<Value>> = (function.params.iter())
        .map(|param| is_needed(*param).then(|| builder.param_like(function, *param)))
        .collect();
    let stand_ins: Vec<Value> = (replaced.iter().enumerate())
        .map(|(at, value)| builder.param(&name(at), function.ty(*value).clone()))
        .collect();
    function.map_nodes(params, |call, copies| {
        let stand_in = replaced.iter().position(|value| *value == call.value);
        let copy = match stand_in {
            Some(at) => stand_ins[at],
            None if is_needed(call.value) => {
                let args: Vec<Value> = copies.of(call.args).into_iter().flatten().collect();
                builder.apply(call.op.0, &args, call.attrs.to_vec())
            }
            None => return None,
        };
        if is_needed(call.value) {
            builder.label_as(copy, call.label);
        }
        Some(copy)
    })
}
