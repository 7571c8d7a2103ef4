//! Derivatives: the reverse mode over nodes that are already built, and the forward mode as the reverse of the reverse.

use crate::nodes;
use crate::recurrence;
use crate::rule;
use crate::unroll;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::{Site, Vjp};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// The gradient of `output`, a real scalar, with respect to each of `wrt`; zeros where no path leads there.
pub fn differentiate(builder: &mut Builder, output: Value, wrt: &[Value]) -> Result<Vec<Value>, Fault> {
    let ty = builder.ty(output);
    if *ty != Type::scalar() {
        return Err(Fault::Bug(format!("only a real scalar has a gradient, not {ty}")));
    }
    let one = builder.real(1.0);
    pull_back(builder, &[(output, one)], wrt)
}

/// Pulls cotangents back: each seed is a value with its cotangent, and the answer is the cotangent of each of `wrt`.
pub fn pull_back(
    builder: &mut Builder,
    seeds: &[(Value, Value)],
    wrt: &[Value],
) -> Result<Vec<Value>, Fault> {
    let reaches = reached_from(builder.function(), wrt);
    let mut cotangents: HashMap<Value, Value> = HashMap::new();
    for (value, cotangent) in seeds {
        accumulate(builder, &mut cotangents, *value, *cotangent);
    }
    for index in (0..reaches.len()).rev() {
        let value = Value::from_index(index);
        let Some(&cotangent) = cotangents.get(&value) else {
            continue;
        };
        if !builder
            .function()
            .args(value)
            .iter()
            .any(|arg| reaches[arg.index()])
        {
            continue;
        }
        let args = builder.function().args(value).to_vec();
        let flows = pull_back_node(builder, value, cotangent)?;
        for (arg, flow) in args.iter().zip(flows) {
            let Some(flow) = flow else { continue };
            if reaches[arg.index()] && builder.ty(*arg).dtype == DType::Real {
                accumulate(builder, &mut cotangents, *arg, flow);
            }
        }
    }
    let result = |value: &Value| match cotangents.get(value) {
        Some(cotangent) => *cotangent,
        None => zeros(builder, *value),
    };
    Ok(wrt.iter().map(result).collect())
}

fn zeros(builder: &mut Builder, like: Value) -> Value {
    let shape = builder.shape(like);
    builder.splat(0.0, &shape)
}

/// Which of the nodes built so far depend on any of `wrt`.
fn reached_from(function: &Function, wrt: &[Value]) -> Vec<bool> {
    let mut reaches = vec![false; function.nodes.len()];
    for value in function.nodes.ids() {
        let on_path = |arg: &Value| reaches[arg.index()];
        reaches[value.index()] = wrt.contains(&value) || function.args(value).iter().any(on_path);
    }
    reaches
}

fn accumulate(builder: &mut Builder, cotangents: &mut HashMap<Value, Value>, at: Value, flow: Value) {
    let sum = match cotangents.get(&at) {
        Some(&before) => builder.add(before, flow),
        None => flow,
    };
    cotangents.insert(at, sum);
}

/// The cotangents of the operands of one node.
fn pull_back_node(
    builder: &mut Builder,
    value: Value,
    cotangent: Value,
) -> Result<Vec<Option<Value>>, Fault> {
    let NodeKind::Apply { op, args, attrs } = builder.node(value).kind.clone() else {
        return Ok(Vec::new());
    };
    if std::ptr::eq(op.0, &ops::scan::SCAN) {
        return recurrence::pull_back(builder, value, &args, &attrs, cotangent);
    }
    let loops = [&ops::map::MAP, &ops::expect::EXPECT];
    if loops.iter().any(|looped| std::ptr::eq(*looped, op.0)) {
        let types: Vec<Type> = args.iter().map(|arg| builder.ty(*arg).clone()).collect();
        let pulled = pull_back_of(&unroll::unrolled(op.0, &types, &attrs))?;
        let operands: Vec<Value> = args.iter().copied().chain([cotangent]).collect();
        return Ok(builder.inline(&pulled, &operands).into_iter().map(Some).collect());
    }
    match op.vjp {
        Vjp::Rule(rule) | Vjp::Implicit(rule) => {
            let site = Site {
                args: &args,
                attrs: &attrs,
                out: Some(value),
            };
            Ok(rule(builder, &site, cotangent))
        }
        Vjp::Zero(_) => Ok(vec![None; args.len()]),
        Vjp::None(why) => Err(Fault::Limit(format!("`{}` has no derivative: {why}", op.name))),
    }
}

/// `function` with further results `d_<name>`: the gradient of one of its results, a real scalar.
pub fn gradient(function: &Function, result: &str, wrt: &[&str]) -> Result<Function, Fault> {
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let results = builder.inline(function, &params);
    let mut named: Vec<(Arc<str>, Value)> = nodes::named(function, &results);
    let output = find(&named, result, "result")?;
    let places = params.iter().zip(&function.params);
    let inputs: HashMap<&str, Value> = places
        .filter_map(|(new, old)| Some((&**function.param_name(*old)?, *new)))
        .collect();
    let lookup = |name: &&str| {
        inputs
            .get(name)
            .copied()
            .ok_or_else(|| unknown("parameter", name))
    };
    let wrt_values: Vec<Value> = wrt.iter().map(lookup).collect::<Result<_, _>>()?;
    let gradients = differentiate(&mut builder, output, &wrt_values)?;
    named.extend(
        wrt.iter()
            .zip(gradients)
            .map(|(name, value)| (format!("d_{name}").into(), value)),
    );
    Ok(builder.finish(named))
}

fn find(named: &[(Arc<str>, Value)], name: &str, what: &str) -> Result<Value, Fault> {
    let found = named.iter().find(|(n, _)| &**n == name);
    found.map(|(_, value)| *value).ok_or_else(|| unknown(what, name))
}

fn unknown(what: &str, name: &str) -> Fault {
    Fault::Bug(format!("no {what} `{name}` to differentiate"))
}

/// The forward mode: `function` with a tangent parameter `t_<name>` per name in `wrt` and a result `t_<name>` per real
/// result. The pull-back is linear in its cotangent, so differentiating `<pull_back(c), t>` with respect to `c` gives
/// the push-forward of `t`.
pub fn jvp(function: &Function, wrt: &[&str]) -> Result<Function, Fault> {
    let pulled = pull_back_function(function, wrt)?;
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let tangents: Vec<Value> = wrt
        .iter()
        .map(|name| {
            let param = function.param(name).ok_or_else(|| unknown("parameter", name))?;
            Ok(builder.param(&format!("t_{name}"), function.ty(param).clone()))
        })
        .collect::<Result<_, Fault>>()?;
    let results = builder.inline(function, &params);
    let mut named = nodes::named(function, &results);
    let real: Vec<(Arc<str>, Value)> = named
        .iter()
        .filter(|(_, value)| builder.ty(*value).dtype == DType::Real)
        .cloned()
        .collect();
    let pushed = push_forward_function(&pulled, function.params.len(), real.len())?;
    let zeros: Vec<Value> = real
        .iter()
        .map(|(_, value)| zeros(&mut builder, *value))
        .collect();
    let args: Vec<Value> = [params, zeros, tangents].concat();
    let outputs = builder.inline(&pushed, &args);
    named.extend(
        real.iter()
            .zip(outputs)
            .map(|((name, _), value)| (format!("t_{name}").into(), value)),
    );
    Ok(builder.finish(named))
}

/// `(params.., a cotangent of the only result) -> a cotangent per parameter` (zeros for integers).
pub fn pull_back_of(function: &Function) -> Result<Function, Fault> {
    let mut builder = Builder::new(&function.name);
    let params = nodes::numbered_params_of(&mut builder, function);
    let results = builder.inline(function, &params);
    let ty = builder.ty(results[0]).clone();
    let cotangent = builder.param("cotangent", ty);
    let flows = pull_back(&mut builder, &[(results[0], cotangent)], &params)?;
    let named = flows
        .into_iter()
        .enumerate()
        .map(|(at, flow)| (at.to_string().into(), flow))
        .collect();
    Ok(rule::remove_dead(&builder.finish(named)))
}

/// `(params.., a cotangent per real result) -> a cotangent per name in wrt`.
fn pull_back_function(function: &Function, wrt: &[&str]) -> Result<Function, Fault> {
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let results = builder.inline(function, &params);
    let mut seeds = Vec::new();
    for ((name, _), value) in function.results.iter().zip(results) {
        let ty = builder.ty(value).clone();
        if ty.dtype == DType::Real {
            seeds.push((value, builder.param(&format!("c_{name}"), ty)));
        }
    }
    let position = |name: &str| {
        function
            .params
            .iter()
            .position(|param| function.param_name(*param).is_some_and(|n| &**n == name))
    };
    let wrt_values: Vec<Value> = wrt
        .iter()
        .map(|name| {
            position(name)
                .map(|at| params[at])
                .ok_or_else(|| unknown("parameter", name))
        })
        .collect::<Result<_, _>>()?;
    let flows = pull_back(&mut builder, &seeds, &wrt_values)?;
    Ok(builder.finish(wrt.iter().map(|name| (*name).into()).zip(flows).collect()))
}

/// From `(params.., cotangents..) -> flows..` to `(params.., cotangents.., tangents..) -> pushed tangents..`.
fn push_forward_function(pulled: &Function, params: usize, results: usize) -> Result<Function, Fault> {
    let mut builder = Builder::new(&pulled.name);
    let inputs = nodes::params_of(&mut builder, pulled);
    let flows = builder.inline(pulled, &inputs);
    let mut seeds = Vec::new();
    for ((name, _), flow) in pulled.results.iter().zip(flows) {
        let ty = builder.ty(flow).clone();
        seeds.push((flow, builder.param(&format!("t_{name}"), ty)));
    }
    let cotangents = &inputs[params..params + results];
    let pushed = pull_back(&mut builder, &seeds, cotangents)?;
    Ok(builder.finish(
        pushed
            .into_iter()
            .enumerate()
            .map(|(at, value)| (at.to_string().into(), value))
            .collect(),
    ))
}
