//! Helpers that read the nodes of a function under construction or copy the parameters of a
//! function.

use crate::rule::PendingNode;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Dim;
use bnnc_graph::analysis::dataflow::{self, needed_by};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Adds the parameters of `function` to `builder`.
pub fn params_of(builder: &mut Builder, function: &Function) -> Vec<Value> {
    let add = |param: &Value| builder.param(param_name(function, *param), function.ty(*param).clone());
    function.params.iter().map(add).collect()
}

/// Adds the parameters of `function` to `builder`. The name of each new parameter is its position.
pub fn numbered_params_of(builder: &mut Builder, function: &Function) -> Vec<Value> {
    let types: Vec<Type> = function
        .params
        .iter()
        .map(|param| function.ty(*param).clone())
        .collect();
    numbered_params(builder, &types)
}

/// Adds parameters of these types to `builder`. The name of each parameter is its position.
pub fn numbered_params(builder: &mut Builder, types: &[Type]) -> Vec<Value> {
    let add = |(at, ty): (usize, &Type)| builder.param(&at.to_string(), ty.clone());
    types.iter().enumerate().map(add).collect()
}

/// Creates a builder that computes the results of `function`. Returns the builder, the parameters
/// and the results.
pub fn extended(name: &str, function: &Function) -> (Builder, Vec<Value>, Vec<Value>) {
    let mut builder = Builder::new(name);
    let params = params_of(&mut builder, function);
    let results = builder.inline(function, &params);
    (builder, params, results)
}

/// Returns, for each parameter of `function`, whether its name satisfies `is_named`.
pub fn named_params(function: &Function, is_named: impl Fn(&str) -> bool) -> Vec<bool> {
    let params = function.params.iter();
    params
        .map(|param| is_named(param_name(function, *param)))
        .collect()
}

/// Returns the values that depend on a parameter whose name satisfies `is_named`, including these
/// parameters.
pub fn dependents_of(function: &Function, is_named: impl Fn(&str) -> bool) -> HashSet<Value> {
    let params = function.params.iter().copied();
    let named: Vec<Value> = params
        .filter(|param| is_named(param_name(function, *param)))
        .collect();
    dataflow::dependents(function, &named)
}

/// Returns the value with this name.
pub fn find(values: &[(Arc<str>, Value)], name: &str) -> Option<Value> {
    let found = values.iter().find(|(known, _)| **known == *name);
    found.map(|(_, value)| *value)
}

/// Returns the value as a real.
pub fn as_real(builder: &mut Builder, value: Value) -> Value {
    match builder.ty(value).dtype {
        DType::Real => value,
        DType::Int | DType::Bool => builder.to_real(value),
    }
}

/// Adds two values. An absent value is zero.
pub fn sum(builder: &mut Builder, x: Option<Value>, y: Option<Value>) -> Option<Value> {
    match (x, y) {
        (Some(x), Some(y)) => Some(builder.add(x, y)),
        (x, y) => x.or(y),
    }
}

/// Returns `function` without the parameter `name`. The parameter must be unused.
pub fn without_param(function: &Function, name: &str) -> Function {
    let names = function.params.iter().map(|param| param_name(function, *param));
    let keep = names.filter(|known| *known != name).collect();
    with_params(&crate::rule::remove_dead(function), &keep)
}

/// Returns `function` without its unused parameters. The parameters named in `keep` are kept in any
/// case.
pub fn with_params(function: &Function, keep: &HashSet<&str>) -> Function {
    let args = function.nodes.ids().flat_map(|value| function.args(value));
    let results = function.results.iter().map(|(_, value)| value);
    let used: HashSet<&Value> = args.chain(results).collect();
    let mut builder = Builder::new(&function.name);
    let mut args = Vec::new();
    for param in &function.params {
        let name = param_name(function, *param);
        // A removed parameter is unused, so the placeholder for its value is never read.
        args.push(match used.contains(param) || keep.contains(name) {
            true => builder.param(name, function.ty(*param).clone()),
            false => Value(0),
        });
    }
    let results = builder.inline(function, &args);
    let named = named(function, &results);
    builder.finish(named)
}

/// Returns the function that computes `results`. The new function has only the parameters that the
/// results need. The time is proportional to the size of the new function, and does not depend on
/// the size of `function`.
pub fn slice(function: &Function, results: &[(Arc<str>, Value)]) -> Function {
    let values: Vec<Value> = results.iter().map(|(_, value)| *value).collect();
    let needed: BTreeSet<Value> = needed_by(function, &values).into_iter().collect();
    let mut builder = Builder::new(&function.name);
    let mut copies: HashMap<Value, Value> = HashMap::new();
    let is_param = |value: &&Value| function.param_name(**value).is_some();
    // Parameters come first and keep their order, because the order of the parameters is part of
    // the signature.
    let (params, nodes): (Vec<&Value>, Vec<&Value>) = needed.iter().partition(is_param);
    for value in params {
        let param = builder.param(param_name(function, *value), function.ty(*value).clone());
        copies.insert(*value, param);
    }
    for value in nodes {
        let NodeKind::Apply { op, args, attrs } = &function.nodes[*value].kind else {
            continue;
        };
        let args: Vec<Value> = args.iter().map(|arg| copies[arg]).collect();
        copies.insert(*value, builder.apply(op.0, &args, attrs.clone()));
    }
    for value in &needed {
        if let Some(label) = &function.nodes[*value].label {
            builder.label(copies[value], label);
        }
    }
    for (name, value) in results {
        builder.label(copies[value], name);
    }
    let results = results.iter().map(|(name, value)| (name.clone(), copies[value]));
    builder.finish(results.collect())
}

/// Returns a map from the names of a function's parameters to the parameters.
pub fn params_by_name(function: &Function) -> HashMap<Arc<str>, Value> {
    let named = |param: &Value| Some((function.param_name(*param)?.clone(), *param));
    function.params.iter().filter_map(named).collect()
}

/// Returns the name of a parameter.
pub fn param_name(function: &Function, param: Value) -> &str {
    function.param_name(param).map_or("", |name| name)
}

/// Returns the copy of the parameter `name`. `params` are the copies of all parameters of
/// `function`. If `function` does not have such a parameter, adds a new parameter.
pub fn param_or_new(
    builder: &mut Builder,
    (function, params): (&Function, &[Value]),
    name: &str,
    ty: impl FnOnce() -> Type,
) -> Value {
    let mut names = function.params.iter().map(|param| param_name(function, *param));
    match names.position(|known| known == name) {
        Some(at) => params[at],
        None => builder.param(name, ty()),
    }
}

/// Pairs `values` with the names of the results of `function`.
pub fn named(function: &Function, values: &[Value]) -> Vec<(Arc<str>, Value)> {
    function
        .results
        .iter()
        .zip(values)
        .map(|((name, _), value)| (name.clone(), *value))
        .collect()
}

/// Returns a copy of the attributes, with `replace` applied to every function among them.
pub fn with_functions(attrs: &[Attr], mut replace: impl FnMut(&Function) -> Function) -> Vec<Attr> {
    let one = |attr: &Attr| match attr {
        Attr::Function(function) => Attr::Function(Arc::new(replace(function))),
        other => other.clone(),
    };
    attrs.iter().map(one).collect()
}

/// A map from names to values, used as arguments of functions.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    values: HashMap<Arc<str>, Value>,
}

impl Scope {
    /// Binds a name to a value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.into(), value);
    }

    /// Adds a parameter to `builder`, and binds its name to it. Returns the parameter.
    pub fn param(&mut self, builder: &mut Builder, name: &str, ty: Type) -> Value {
        let value = builder.param(name, ty);
        self.set(name, value);
        value
    }

    /// Binds every name to its value.
    pub fn extend(&mut self, named: impl IntoIterator<Item = (Arc<str>, Value)>) {
        self.values.extend(named);
    }

    /// Returns the value to which a name is bound.
    pub fn get(&self, name: &str) -> Value {
        match self.values.get(name) {
            Some(value) => *value,
            None => unreachable!("no value for `{name}`"),
        }
    }

    /// Returns the values of the parameters of `function`. Each value is found by the name of its parameter.
    pub fn arguments(&self, function: &Function) -> Vec<Value> {
        function
            .params
            .iter()
            .map(|param| self.get(param_name(function, *param)))
            .collect()
    }

    /// Inlines `function` with arguments that are found by name. Returns the results with their names.
    pub fn call(&self, builder: &mut Builder, function: &Function) -> Vec<(Arc<str>, Value)> {
        let results = builder.inline(function, &self.arguments(function));
        named(function, &results)
    }
}

/// Returns the operands and attributes of `value` if it is an application of `op`.
pub fn application<'a>(
    builder: &'a Builder,
    value: Value,
    op: &'static OpDef,
) -> Option<(&'a [Value], &'a [Attr])> {
    match &builder.node(value).kind {
        NodeKind::Apply {
            op: found,
            args,
            attrs,
        } if found.is(op) => Some((args, attrs)),
        NodeKind::Apply { .. } | NodeKind::Param(_) => None,
    }
}

/// Returns the first operand of `value` if it is an application of `op`.
pub fn operand(builder: &Builder, value: Value, op: &'static OpDef) -> Option<Value> {
    application(builder, value, op).and_then(|(args, _)| args.first().copied())
}

/// If a value is a constant or a broadcast constant, and all its elements are equal, returns this
/// number. Otherwise returns `None`.
pub fn constant_of(builder: &Builder, value: Value) -> Option<f64> {
    if let Some(source) = operand(builder, value, &ops::broadcast::BROADCAST) {
        return constant_of(builder, source);
    }
    application(builder, value, &ops::constant::CONSTANT).map(|(_, attrs)| ops::constant::value(attrs))
}

/// Returns the mean of a tensor along axis 0.
pub fn mean_leading(builder: &mut Builder, value: Value) -> Value {
    let dim = builder.ty(value).dims()[0];
    let sum = builder.reduce_sum(value, &[0]);
    let shape = builder.shape(sum);
    match dim {
        Dim::Fixed(count) => builder.scale(sum, 1.0 / count as f64),
        Dim::Symbol(_) => {
            let ones = builder.splat(1.0, &bnnc_base::shape::Shape(vec![dim]));
            let count = builder.reduce_sum(ones, &[0]);
            let count = builder.broadcast_to(count, &shape);
            builder.div(sum, count)
        }
    }
}

/// Formats `value` as an expression that is at most three operations deep.
pub fn describe(function: &Function, value: Value) -> String {
    describe_to(function, value, 3)
}

/// Formats `value` as a single operation. Operands that are operations themselves are printed as
/// `..`.
pub fn describe_call_of(function: &Function, value: Value) -> String {
    let NodeKind::Apply { op, args, .. } = &function.nodes[value].kind else {
        return describe_to(function, value, 0);
    };
    let arg = |arg: &Value| match &function.nodes[*arg].kind {
        NodeKind::Param(_) => describe_to(function, *arg, 0),
        NodeKind::Apply { .. } => "..".to_owned(),
    };
    let args: Vec<String> = args.iter().map(arg).collect();
    format!("{}({})", op.name, args.join(", "))
}

/// Formats a call as an expression.
pub fn describe_call(function: &Function, call: &PendingNode<'_>) -> String {
    let args: Vec<String> = call
        .args
        .iter()
        .map(|arg| describe_to(function, *arg, 2))
        .collect();
    format!("{}({})", call.op.name, args.join(", "))
}

fn describe_to(function: &Function, value: Value, depth: usize) -> String {
    match &function.nodes[value].kind {
        NodeKind::Param(name) => name.to_string(),
        NodeKind::Apply { op, attrs, .. } if op.is(&ops::constant::CONSTANT) => {
            ops::constant::value(attrs).to_string()
        }
        NodeKind::Apply { .. } if depth == 0 => value.to_string(),
        NodeKind::Apply { op, args, .. } => {
            let args: Vec<String> = args
                .iter()
                .map(|arg| describe_to(function, *arg, depth - 1))
                .collect();
            format!("{}({})", op.name, args.join(", "))
        }
    }
}
