//! Computes forward-mode derivatives by applying the reverse mode twice.

use crate::differentiate::pull_back;
use crate::nodes;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

fn unknown(name: &str) -> Fault {
    Fault::Bug(format!("no parameter `{name}` to differentiate"))
}

/// Computes forward-mode derivatives. The returned function has an additional parameter `t_<name>`,
/// the tangent, for each name in `wrt`. The function also has an additional result `t_<name>` for
/// each real result. The pull-back is linear in its cotangent `c`, so the derivative of
/// `<pull_back(c), t>` with respect to `c` is the push-forward of `t`.
pub fn jvp(function: &Function, wrt: &[&str]) -> Result<Function, Fault> {
    let pulled = pull_back_function(function, wrt)?;
    let mut builder = Builder::new(&function.name);
    let params = nodes::params_of(&mut builder, function);
    let tangents: Vec<Value> = wrt
        .iter()
        .map(|name| {
            let param = function.param(name).ok_or_else(|| unknown(name))?;
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
    let zeros: Vec<Value> = real.iter().map(|(_, value)| builder.like(0.0, *value)).collect();
    let args: Vec<Value> = [params, zeros, tangents].concat();
    let outputs = builder.inline(&pushed, &args);
    named.extend(
        real.iter()
            .zip(outputs)
            .map(|((name, _), value)| (format!("t_{name}").into(), value)),
    );
    Ok(builder.finish(named))
}

/// Returns `(params.., a cotangent per real result) -> a cotangent per name in wrt`.
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
        .map(|name| position(name).map(|at| params[at]).ok_or_else(|| unknown(name)))
        .collect::<Result<_, _>>()?;
    let flows = pull_back(&mut builder, &seeds, &wrt_values)?;
    Ok(builder.finish(wrt.iter().map(|name| (*name).into()).zip(flows).collect()))
}

/// Turns the function `(params.., cotangents..) -> flows..` into the function
/// `(params.., cotangents.., tangents..) -> pushed tangents..`.
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
