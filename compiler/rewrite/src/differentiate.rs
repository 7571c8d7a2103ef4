//! Computes derivatives in reverse mode. The nodes to differentiate already exist in the graph.

use crate::diagnostics::NO_DERIVATIVE;
use crate::{nodes, recurrence, rule, unroll};
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::{OpCall, Vjp};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the gradient of the real scalar `output` with respect to each value in `wrt`. If
/// `output` does not depend on a value, the gradient for this value is zero. Fails on ops without a
/// derivative.
pub fn differentiate(builder: &mut Builder, output: Value, wrt: &[Value]) -> Result<Vec<Value>, Fault> {
    let ty = builder.ty(output);
    if *ty != Type::scalar() {
        return Err(Fault::Bug(format!("only a real scalar has a gradient, not {ty}")));
    }
    let one = builder.real(1.0);
    pull_back(builder, &[(output, one)], wrt)
}

/// A cotangent and the elements to which it applies. For the other elements, a `select` took its
/// other branch, so the cotangent is zero. The slope of a branch may be infinite or undefined where
/// the branch was not taken. An example is the slope of `log(x)` at zero in `if x > 0 { log(x) }`.
/// The product of this slope and the zero cotangent must be zero. See Note \[Branches\].
#[derive(Clone, Copy)]
struct Cotangent {
    value: Value,
    /// The elements to which the cotangent applies, as a Boolean array of its shape. `None` means
    /// all elements.
    taken: Option<Value>,
}

/// Pulls cotangents back through the nodes. Each seed is a value with its cotangent. Returns the cotangent of each value in `wrt`.
pub fn pull_back(
    builder: &mut Builder,
    seeds: &[(Value, Value)],
    wrt: &[Value],
) -> Result<Vec<Value>, Fault> {
    let seeds = seeds.iter().map(|(value, cotangent)| {
        let whole = Cotangent {
            value: *cotangent,
            taken: None,
        };
        (*value, whole)
    });
    let seeds: Vec<(Value, Cotangent)> = seeds.collect();
    pull_back_taken(builder, &seeds, wrt)
}

fn pull_back_taken(
    builder: &mut Builder,
    seeds: &[(Value, Cotangent)],
    wrt: &[Value],
) -> Result<Vec<Value>, Fault> {
    let reaches = reached_from(builder.function(), wrt);
    let mut cotangents: HashMap<Value, Cotangent> = HashMap::new();
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
        Some(cotangent) => cotangent.value,
        None => zeros(builder, *value),
    };
    Ok(wrt.iter().map(result).collect())
}

fn zeros(builder: &mut Builder, like: Value) -> Value {
    let shape = builder.shape(like);
    builder.splat(0.0, &shape)
}

/// Returns, for each node built so far, whether the node depends on any value in `wrt`.
fn reached_from(function: &Function, wrt: &[Value]) -> Vec<bool> {
    let mut reaches = vec![false; function.nodes.len()];
    for value in function.nodes.ids() {
        let on_path = |arg: &Value| reaches[arg.index()];
        reaches[value.index()] = wrt.contains(&value) || function.args(value).iter().any(on_path);
    }
    reaches
}

fn accumulate(builder: &mut Builder, cotangents: &mut HashMap<Value, Cotangent>, at: Value, flow: Cotangent) {
    let sum = match cotangents.get(&at) {
        Some(&before) => Cotangent {
            value: builder.add(before.value, flow.value),
            taken: before.taken.zip(flow.taken).map(|(a, b)| match a == b {
                true => a,
                false => builder.apply(&ops::or::OR, &[a, b], Vec::new()),
            }),
        },
        None => flow,
    };
    cotangents.insert(at, sum);
}

/// Returns the cotangents of the operands of one node.
fn pull_back_node(
    builder: &mut Builder,
    value: Value,
    cotangent: Cotangent,
) -> Result<Vec<Option<Cotangent>>, Fault> {
    let NodeKind::Apply { op, args, attrs } = builder.node(value).kind.clone() else {
        return Ok(Vec::new());
    };
    if op.is(&ops::scan::SCAN) {
        let flows = recurrence::pull_back(builder, value, &args, &attrs, cotangent.value)?;
        return Ok(reshaped(builder, flows, cotangent));
    }
    let loops = [&ops::map::MAP, &ops::expect::EXPECT];
    if op.is_one_of(&loops) {
        let types: Vec<Type> = args.iter().map(|arg| builder.ty(*arg).clone()).collect();
        let unrolled = unroll::unrolled(op.0, &types, &attrs);
        let pulled = pull_back_function_of(&unrolled, cotangent.taken.is_some())?;
        let operands: Vec<Value> = args.iter().copied().chain([cotangent.value]).collect();
        let flows = builder.inline(&pulled, &operands).into_iter().map(Some).collect();
        return Ok(reshaped(builder, flows, cotangent));
    }
    match op.vjp {
        Vjp::Rule(rule) | Vjp::Implicit(rule) => {
            let site = OpCall {
                args: &args,
                attrs: &attrs,
                out: Some(value),
            };
            let flows = rule(builder, &site, cotangent.value);
            Ok(if op.is(&ops::select::SELECT) {
                branches(builder, args[0], flows, cotangent)
            } else if op.0.is_elementwise() {
                elementwise(builder, flows, cotangent)
            } else {
                reshaped(builder, flows, cotangent)
            })
        }
        Vjp::Zero(_) => Ok(vec![None; args.len()]),
        Vjp::None(why) => Err(Fault::limit(
            &NO_DERIVATIVE,
            format!("`{}` has no derivative: {why}", op.name),
        )),
    }
}

/// Splits the cotangents of a `select`: each branch receives the cotangents of those elements for
/// which it was taken.
fn branches(
    builder: &mut Builder,
    condition: Value,
    flows: Vec<Option<Value>>,
    cotangent: Cotangent,
) -> Vec<Option<Cotangent>> {
    let other = builder.apply(&ops::not::NOT, &[condition], Vec::new());
    let mut of = |branch: Value| match cotangent.taken {
        Some(taken) => builder.apply(&ops::and::AND, &[branch, taken], Vec::new()),
        None => branch,
    };
    let taken = [None, Some(of(condition)), Some(of(other))];
    let flows = flows.into_iter().zip(taken);
    flows
        .map(|(flow, taken)| flow.map(|value| Cotangent { value, taken }))
        .collect()
}

/// Returns the cotangents of the operands of an elementwise op. They are zero at the elements to
/// which the cotangent of the result does not apply.
fn elementwise(
    builder: &mut Builder,
    flows: Vec<Option<Value>>,
    cotangent: Cotangent,
) -> Vec<Option<Cotangent>> {
    let mut of = |flow: Value| {
        let Some(taken) = cotangent.taken else {
            return Cotangent {
                value: flow,
                taken: None,
            };
        };
        // The slopes of sums and differences are 1 and -1. They are finite everywhere.
        let is_sign = flow == cotangent.value || flow == builder.neg(cotangent.value);
        let value = match is_sign || builder.ty(flow).dtype != DType::Real {
            true => flow,
            false => {
                let zero = builder.like(0.0, flow);
                builder.select(taken, flow, zero)
            }
        };
        Cotangent {
            value,
            taken: Some(taken),
        }
    };
    flows.into_iter().map(|flow| flow.map(&mut of)).collect()
}

/// Returns the cotangents of operands whose shapes differ from the shape of the op's result. The
/// cotangent of the result is taken to apply to the elements at which it is not zero.
fn reshaped(
    builder: &mut Builder,
    flows: Vec<Option<Value>>,
    cotangent: Cotangent,
) -> Vec<Option<Cotangent>> {
    let mut of = |value: Value| Cotangent {
        value,
        taken: match cotangent.taken {
            Some(_) if builder.ty(value).dtype == DType::Real => Some(is_nonzero(builder, value)),
            _ => None,
        },
    };
    flows.into_iter().map(|flow| flow.map(&mut of)).collect()
}

fn is_nonzero(builder: &mut Builder, value: Value) -> Value {
    let zero = builder.like(0.0, value);
    let is_zero = builder.apply(&ops::eq::EQ, &[value, zero], Vec::new());
    builder.apply(&ops::not::NOT, &[is_zero], Vec::new())
}

/// Returns `function` with additional results `d_<name>`: the gradients of its result `result`, a
/// real scalar. Each parameter in `wrt` has one such result.
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

/// Returns `(params.., a cotangent of the only result) -> one cotangent per parameter`. The cotangents of integer parameters are
/// zero.
pub fn pull_back_of(function: &Function) -> Result<Function, Fault> {
    pull_back_function_of(function, false)
}

/// Like [`pull_back_of`]. If `in_branch` is true, the cotangent applies only to the elements where
/// it is not zero.
fn pull_back_function_of(function: &Function, in_branch: bool) -> Result<Function, Fault> {
    let mut builder = Builder::new(&function.name);
    let params = nodes::numbered_params_of(&mut builder, function);
    let results = builder.inline(function, &params);
    let ty = builder.ty(results[0]).clone();
    let cotangent = builder.param(PortName::Cotangent.text(), ty);
    let taken = in_branch.then(|| is_nonzero(&mut builder, cotangent));
    let seed = Cotangent {
        value: cotangent,
        taken,
    };
    let flows = pull_back_taken(&mut builder, &[(results[0], seed)], &params)?;
    let named = flows
        .into_iter()
        .enumerate()
        .map(|(at, flow)| (at.to_string().into(), flow))
        .collect();
    Ok(rule::remove_dead(&builder.finish(named)))
}

// Note [Branches]. In `select c, f(x), g(x)`, the cotangent of `f(x)` is `select c, dy, 0`, and the
// derivative rule of `f` multiplies this cotangent by the slope of `f`. Where `c` is false, the
// slope may be infinite or NaN. The product `0 * inf` would then make every operand of `f` NaN. A
// cotangent therefore keeps the condition of its branch. This condition masks the cotangents of the
// operands of each elementwise op again. For an op that changes shapes, the mask instead selects
// the elements at which the cotangent is not zero. The mask is applied in the same kernel as the
// product, at the cost of one instruction.
