//! Proves that a function is affine in some of its parameters, or affine between kinks, and finds
//! the kinks.
//!
//! A function is affine where its derivative is constant. The derivative is a graph of operations.
//! This graph shows which values the derivative depends on. If the derivative does not depend on
//! the parameters, the function is affine. If the derivative depends on the parameters only through
//! comparisons, the function is affine in every region where all comparisons keep their results.
//! The kinks are the zeros of the differences that are compared. A comparison outside the
//! derivative may make the function jump, so functions with such comparisons are rejected. A
//! comparison in the derivative of a continuous op is accepted. All other ops work without a rule
//! of their own. The derivative of a maximum along an axis contains a different kind of comparison;
//! the module `maxima` rewrites this op.

use super::maxima;
use crate::diagnostics::NoExactIntegral;
use crate::differentiate::pull_back;
use crate::methods::laplace::outputs::joined;
use crate::pass::PassContext;
use crate::{nodes, pipeline, pipelines};
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::Window;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Lower, Vjp};
use bnnc_math::scalar::Scalar;
use std::collections::HashSet;

/// The largest number of rounds in the search for kinks. The functions that locate the kinks of one
/// round may have kinks themselves, which the next round finds.
const ROUNDS: usize = 8;

/// A function that is affine between kinks.
pub struct KinkedFunction {
    /// `(parameters.. as before) -> outputs`: the values of the function, followed by the kinks, in
    /// one vector.
    pub all: Function,
    /// The number of elements of `all` that are kinks.
    pub kinks: usize,
    /// The number of kinks whose positions do not depend on other kinks. In `all`, they come before the other
    /// kinks.
    pub direct: usize,
}

/// Finds the kinks of a function that is affine in the named parameters between the kinks. The
/// function must have one result, the vector `outputs`. The inner error is the reason why the
/// function is not piecewise affine.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn pieces(
    function: &Function,
    names: &[String],
    context: &mut PassContext,
) -> Result<Result<KinkedFunction, NoExactIntegral>, Fault> {
    let size = size(function);
    let flat = pipeline::run(function, pipelines::BEFORE_DERIVATIVE, context)?;
    let moved = dependents(&flat, names).into_iter().collect();
    let mut all = maxima::by_pairs(&flat, &moved);
    let (mut known, mut direct) = (0, 0);
    for _ in 0..ROUNDS {
        let derivative = derivative(&all, names)?;
        let derivative = pipeline::run(&derivative, pipelines::BEFORE_DERIVATIVE, context)?;
        let walk = Walk::new(&derivative, names);
        if let Some(reason) = walk.jump(&all, names).or_else(|| walk.curved(&all, names)) {
            return Ok(Err(reason));
        }
        if walk.switches.len() == known {
            return Ok(Ok(KinkedFunction {
                kinks: self::size(&all) - size,
                all,
                direct,
            }));
        }
        known = walk.switches.len();
        let (mut first, mut behind) = (Vec::new(), Vec::new());
        for switch in walk.switches {
            let kinks = compared(&derivative, &[switch]);
            match bends(&kinks, names, context)? {
                true => behind.push(switch),
                false => first.push(switch),
            }
        }
        direct = match &first[..] {
            [] => 0,
            first => self::size(&compared(&derivative, first)),
        };
        let compared = compared(&derivative, &[first, behind].concat());
        all = with_kinks(&derivative, size, &compared);
    }
    Ok(Err(NoExactIntegral::NestedKinks))
}

/// Returns the number of elements of the first result.
fn size(function: &Function) -> usize {
    let result = function.results.first();
    result.map_or(0, |(_, value)| function.ty(*value).shape.count(&Sizes::default()))
}

/// Returns `(parameters.. as before, cotangents) -> outputs`, followed by one derivative for each name.
fn derivative(function: &Function, names: &[String]) -> Result<Function, Fault> {
    let (mut builder, params, values) = nodes::extended("derivative", function);
    let value = values[0];
    let ty = builder.ty(value).clone();
    let cotangent = builder.param(PortName::Cotangents.text(), ty);
    let mut wrt = params;
    wrt.retain(|param| {
        names
            .iter()
            .any(|known| *known == *nodes::param_name(builder.function(), *param))
    });
    let flows = pull_back(&mut builder, &[(value, cotangent)], &wrt)?;
    let mut results = vec![(PortName::Outputs.into(), value)];
    results.extend(
        flows
            .into_iter()
            .enumerate()
            .map(|(at, flow)| (format!("{at}").into(), flow)),
    );
    Ok(builder.finish(results))
}

/// Returns whether the derivative of a function compares values that depend on the named parameters.
fn bends(function: &Function, names: &[String], context: &mut PassContext) -> Result<bool, Fault> {
    let flat = pipeline::run(function, pipelines::BEFORE_DERIVATIVE, context)?;
    let derivative = derivative(&flat, names)?;
    let derivative = pipeline::run(&derivative, pipelines::BEFORE_DERIVATIVE, context)?;
    Ok(!Walk::new(&derivative, names).switches.is_empty())
}

/// Returns `(parameters.. as before) -> outputs`: the differences of the compared values, as one
/// vector.
fn compared(derivative: &Function, switches: &[(Value, Option<Value>)]) -> Function {
    let mut whole = derivative.clone();
    whole.results.clear();
    for (at, (left, right)) in switches.iter().enumerate() {
        whole.results.push((PortName::Left.at(at).into(), *left));
        let right = right.map(|right| (PortName::Right.at(at).into(), right));
        whole.results.extend(right);
    }
    let whole = nodes::without_param(&whole, PortName::Cotangents.text());
    let (mut builder, _, values) = nodes::extended("kinks", &whole);
    let mut values = values.into_iter();
    let mut parts = Vec::new();
    for (_, right) in switches {
        let Some(left) = values.next() else {
            unreachable!("each comparison has a result")
        };
        let kink = match right.and_then(|_| values.next()) {
            Some(right) => builder.sub(left, right),
            None => left,
        };
        let elements = builder.ty(kink).shape.count(&Sizes::default());
        parts.push(builder.reshape(kink, &Shape::fixed(&[elements])));
    }
    let all = joined(&mut builder, &parts);
    builder.finish(vec![(PortName::Outputs.into(), all)])
}

/// Returns a function whose result is one vector: the first `size` elements of the outputs,
/// followed by the kinks.
fn with_kinks(derivative: &Function, size: usize, kinks: &Function) -> Function {
    let mut first = derivative.clone();
    first.results.truncate(1);
    let first = nodes::without_param(&first, PortName::Cotangents.text());
    let (mut builder, params, values) = nodes::extended("pieces", &first);
    let value = builder.slice(values[0], Window::full(1).with(0, 0, size));
    let kinks = builder.inline(kinks, &params)[0];
    let all = builder.concat(&[value, kinks], 0);
    builder.finish(vec![(PortName::Outputs.into(), all)])
}

/// Finds the values of a derivative that depend on some parameters other than through comparisons.
struct Walk<'a> {
    derivative: &'a Function,
    dependent: HashSet<Value>,
    /// The operands of the comparisons that depend on the parameters. Each pair of operands occurs
    /// once. `None` stands for the constant zero.
    switches: Vec<(Value, Option<Value>)>,
}

impl<'a> Walk<'a> {
    fn new(derivative: &'a Function, names: &[String]) -> Walk<'a> {
        let mut walk = Walk {
            derivative,
            dependent: sources(derivative, names),
            switches: Vec::new(),
        };
        for value in derivative.nodes.ids() {
            let args = derivative.args(value);
            if !args.iter().any(|arg| walk.dependent.contains(arg)) {
                continue;
            }
            match switch(derivative, value) {
                Some(pair) if !walk.switches.contains(&pair) => walk.switches.push(pair),
                Some(_) => {}
                None => {
                    walk.dependent.insert(value);
                }
            }
        }
        walk
    }

    /// Returns the reason why the function is not affine between its kinks. Returns `None` if the
    /// derivative does not show such a reason.
    fn curved(&self, function: &Function, names: &[String]) -> Option<NoExactIntegral> {
        let mut flows = self.derivative.results.iter().skip(1);
        if !flows.any(|(_, flow)| self.dependent.contains(flow)) {
            return None;
        }
        let mut reached = dependents(function, names).into_iter();
        let called = reached.find_map(|value| {
            let op = function.op(value)?;
            matches!(op.lower, Lower::Scalar(scalar) if scalar.is_called()).then_some(op.name)
        });
        Some(called.map_or(NoExactIntegral::Products, NoExactIntegral::Nonlinear))
    }

    /// Returns the reason why the derivative does not determine the function. The reason is an op
    /// whose derivative is zero although the function may jump there. Returns `None` if no such
    /// op exists. A comparison in the derivative is a kink and not a jump, because it comes from a
    /// continuous function.
    fn jump(&self, function: &Function, names: &[String]) -> Option<NoExactIntegral> {
        dependents(function, names).into_iter().find_map(|value| {
            let op = function.op(value)?;
            let is_silent = matches!(op.vjp, Vjp::Zero(_) | Vjp::None(_));
            is_silent.then_some(match function.nodes[value].ty.dtype {
                DType::Bool => NoExactIntegral::Comparison,
                DType::Real | DType::Int => NoExactIntegral::Jump(op.name),
            })
        })
    }
}

/// Returns the parameters with these names.
fn sources(function: &Function, names: &[String]) -> HashSet<Value> {
    let is_named = |param: &&Value| {
        let name = nodes::param_name(function, **param);
        names.iter().any(|known| **known == *name)
    };
    function.params.iter().filter(is_named).copied().collect()
}

/// Returns the values that depend on the parameters with these names, in order.
fn dependents(function: &Function, names: &[String]) -> Vec<Value> {
    let found = nodes::dependents_of(function, |name| names.iter().any(|known| *known == *name));
    function
        .nodes
        .ids()
        .filter(|value| found.contains(value))
        .collect()
}

/// Returns the operands of a comparison of reals. The op `sign` compares its operand with zero.
fn switch(function: &Function, value: Value) -> Option<(Value, Option<Value>)> {
    let args = function.args(value);
    match (&function.op(value)?.lower, args) {
        (Lower::Scalar(Scalar::Le | Scalar::Lt), [left, right]) => Some((*left, Some(*right))),
        (Lower::Scalar(Scalar::Sign), [only]) => Some((*only, None)),
        _ => None,
    }
}
