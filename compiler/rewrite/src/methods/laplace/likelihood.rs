//! The log-likelihood of a row as a function of the outputs `f`, the derivatives of this function, and predictions.

use super::super::plan;
use super::super::predict;
use super::super::task::{Refusal, bind_data, bind_scalars, is_of_row};
use super::ROWS;
use super::jacobian::over;
use super::outputs::{LaplaceParts, OutputPiece, bind_row};
use crate::batch::inline_batched;
use crate::density::{coordinates, dependences};
use crate::differentiate::{differentiate, pull_back};
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::{pipeline, pipelines, rule};
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Returns `(states.., data..) -> outputs, log_likelihood, slope, curvature`. The axis of rows
/// comes first in each result.
pub fn rows(parts: &LaplaceParts<'_>) -> Result<Function, Refusal> {
    let row = row(parts)?;
    Ok(over(&row, Symbol::Batch, |name| is_of_row(parts.model, name)))
}

/// Returns the function of [`rows`] for a single row.
fn row(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let derivatives = derivatives(parts)?;
    let mut builder = Builder::new("rows");
    let mut scope = Scope::default();
    bind_row(&mut builder, parts.model, parts.plans, &mut scope);
    let f = scope.call(&mut builder, &parts.outputs)[0].1;
    scope.set(PortName::Outputs.text(), f);
    let mut results = vec![(PortName::Outputs.into(), f)];
    results.extend(scope.call(&mut builder, &derivatives));
    Ok(rule::remove_dead(&builder.finish(results)))
}

/// Returns `(outputs, states.., shared.., inputs.., outputs of the row..) -> log_likelihood`.
pub fn log_likelihood(parts: &LaplaceParts<'_>) -> Function {
    let mut builder = Builder::new("log_likelihood");
    let scope = arguments(parts, &mut builder);
    let results = scope.call(&mut builder, &parts.densities.log_likelihood);
    rule::remove_dead(&builder.finish(results))
}

/// Adds `outputs` and the values of a row as parameters, and binds the arguments of the likelihood.
/// Arguments that are part of `f` are bound to elements of `outputs`; all others are computed from
/// the row.
fn arguments(parts: &LaplaceParts<'_>, builder: &mut Builder) -> Scope {
    let f = builder.param(PortName::Outputs.text(), Type::real(Shape::fixed(&[parts.size])));
    let of_f = parts.split(builder, f);
    bound(parts, builder, of_f)
}

/// Adds the values of a row as parameters, and binds the arguments of the likelihood. Arguments
/// that are part of `f` are bound to the values in `of_f`.
fn bound(parts: &LaplaceParts<'_>, builder: &mut Builder, of_f: Vec<(Arc<str>, Value)>) -> Scope {
    let mut scope = Scope::default();
    bind_row(builder, parts.model, parts.plans, &mut scope);
    let all = scope.call(builder, &parts.arguments);
    scope.extend(all);
    scope.extend(of_f);
    scope
}

/// Returns `(outputs, ..) -> log_likelihood, slope, curvature`.
fn derivatives(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let slope = slope(&log_likelihood(parts))?;
    let second = second(&slope)?;
    let mut builder = Builder::new("derivatives");
    let params = nodes::params_of(&mut builder, &slope);
    let values = builder.inline(&slope, &params);
    let mut results = nodes::named(&slope, &values);
    let size = Dim::Fixed(parts.size);
    let square = Shape(vec![size, size]);
    let line = builder.iota(size);
    let identity = builder.one_hot(line, size);
    let args: Vec<Value> = params.iter().copied().chain([identity]).collect();
    let mut mapped = vec![false; params.len()];
    mapped.push(true);
    let (found, has_axis) = inline_batched(&mut builder, &second, &args, &mapped, size)[0];
    let found = match has_axis {
        true => found,
        // The curvature is zero if the log-likelihood is linear in its outputs.
        false => builder.broadcast_leading(found, size),
    };
    let found = builder.reshape(found, &square);
    results.push((PortName::Curvature.into(), builder.neg(found)));
    Ok(builder.finish(results))
}

/// Returns `log_likelihood` with its gradient with respect to `outputs`.
fn slope(log_likelihood: &Function) -> Result<Function, Fault> {
    let mut builder = Builder::new("slope");
    let params = nodes::params_of(&mut builder, log_likelihood);
    let value = builder.inline(log_likelihood, &params)[0];
    let f = output(log_likelihood, &params);
    let slope = differentiate(&mut builder, value, &[f])?[0];
    Ok(builder.finish(vec![
        (PortName::LogLikelihood.into(), value),
        (PortName::Slope.into(), slope),
    ]))
}

/// Returns `(parameters of slope.., cotangent) -> cotangent . d slope / d outputs`.
fn second(slope: &Function) -> Result<Function, Fault> {
    let mut builder = Builder::new("second");
    let params = nodes::params_of(&mut builder, slope);
    let values = builder.inline(slope, &params);
    let f = output(slope, &params);
    let ty = builder.ty(f).clone();
    let cotangent = builder.param(PortName::Cotangent.text(), ty);
    let flow = pull_back(&mut builder, &[(values[1], cotangent)], &[f])?[0];
    Ok(builder.finish(vec![(PortName::Second.into(), flow)]))
}

/// Returns the moving states that affect the likelihood of a row for fixed `f`, but do not affect
/// `f`.
pub fn noise(parts: &LaplaceParts<'_>) -> Vec<String> {
    let on = dependences(&log_likelihood(parts), PortName::LogLikelihood.text());
    let others = parts.others().into_iter().map(super::state);
    others
        .filter(|state| on.iter().any(|name| **name == **state))
        .collect()
}

/// Derivatives of the log-likelihood with respect to arguments in `f`, if symbolic differentiation
/// shows that they are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroDerivative {
    /// The first derivative is zero. The argument can then change the likelihood only by moving an
    /// end of the support.
    First,
    /// All second derivatives are zero, including mixed derivatives. The log-likelihood is then
    /// piecewise linear in the argument, like `abs`.
    Second,
}

/// Returns the arguments in `f` that have a zero derivative of the log-likelihood wherever this
/// derivative exists. A pulled-back derivative is linear in its cotangent. The derivative is
/// therefore zero if it does not depend on the cotangent.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn flat(
    parts: &LaplaceParts<'_>,
    context: &mut PassContext,
) -> Result<Vec<(Arc<str>, ZeroDerivative)>, Refusal> {
    let mut builder = Builder::new("flat");
    let param = |piece: &OutputPiece| builder.param(&format!("free/{}", piece.name), piece.free.clone());
    let free: Vec<Value> = parts.pieces.iter().map(param).collect();
    let pairs = parts.pieces.iter().zip(&free);
    let carried = pairs.map(|(piece, free)| piece.carried(&mut builder, *free));
    let carried = carried.collect();
    let scope = bound(parts, &mut builder, carried);
    let value = scope.call(&mut builder, &parts.densities.log_likelihood)[0].1;
    let slopes = differentiate(&mut builder, value, &free)?;
    let mut results = Vec::new();
    for (order, of) in [(PortName::First, vec![value]), (PortName::Second, slopes)] {
        let mut seeds = Vec::new();
        for (at, value) in of.into_iter().enumerate() {
            let ty = builder.ty(value).clone();
            seeds.push((value, builder.param(&order.at(at), ty)));
        }
        let flows = pull_back(&mut builder, &seeds, &free)?;
        let named = parts.pieces.iter().zip(flows);
        results.extend(named.map(|(piece, flow)| (order.of(&piece.name).into(), flow)));
    }
    let flows = rule::remove_dead(&builder.finish(results));
    let flows = pipeline::run(&flows, pipelines::BEFORE_LOWERING, context)?;
    let is_zero = |order: PortName, piece: &OutputPiece| {
        let on = dependences(&flows, &order.of(&piece.name));
        !on.iter().any(|name| order.number(name).is_some())
    };
    let of_piece = |piece: &OutputPiece| {
        let flat = match (is_zero(PortName::First, piece), is_zero(PortName::Second, piece)) {
            (true, _) => ZeroDerivative::First,
            (false, true) => ZeroDerivative::Second,
            (false, false) => return None,
        };
        Some((piece.name.clone(), flat))
    };
    Ok(parts.pieces.iter().filter_map(of_piece).collect())
}

/// Returns the parameter that holds `f`.
fn output(function: &Function, params: &[Value]) -> Value {
    match output_at(function) {
        Some(at) => params[at],
        None => unreachable!("a likelihood has its outputs"),
    }
}

/// Returns the index of the parameter that holds `f`.
fn output_at(function: &Function) -> Option<usize> {
    let mut names = function
        .params
        .iter()
        .map(|param| nodes::param_name(function, *param));
    names.position(|name| name == PortName::Outputs.text())
}

/// Returns
/// `(outputs [draws, batch, ..], states.., data.., draw0, row0, step) -> log_likelihood, mean, variance, draw, probabilities`.
/// If no output is covered by a single observation, the only result is `log_likelihood`.
pub fn functions(parts: &LaplaceParts<'_>) -> Function {
    let row = predicted_row(parts);
    let mut builder = Builder::new("functions_draw");
    let mut scope = Scope::default();
    let outputs = Type::real(Shape(vec![ROWS, Dim::Fixed(parts.size)]));
    scope.set(
        PortName::Outputs.text(),
        builder.param(PortName::Outputs.text(), outputs),
    );
    plan::bind_states(&mut builder, parts.plans, &mut scope);
    bind_data(&mut builder, parts.model, &mut scope);
    let int = Type::int(Shape::scalar());
    bind_scalars(
        &mut builder,
        &mut scope,
        &int,
        &[PortName::Draw, PortName::FirstRow, PortName::Step],
    );
    let line = builder.iota(ROWS);
    let first = builder.broadcast_leading(scope.get(PortName::FirstRow.text()), ROWS);
    let example = builder.add(first, line);
    scope.set(PortName::Example.text(), example);
    let rows = over(&row, Symbol::Batch, |name| {
        matches!(PortName::named(name), Some(PortName::Example | PortName::Outputs))
            || is_of_row(parts.model, name)
    });
    let results = scope.call(&mut builder, &rows);
    let per_draw = builder.finish(results);
    predict::over_draws("functions", &per_draw, &[PortName::Outputs.into()])
}

/// Returns the log-likelihood and the predictive quantities of one row as functions of its outputs.
fn predicted_row(parts: &LaplaceParts<'_>) -> Function {
    let mut builder = Builder::new("row");
    let mut scope = arguments(parts, &mut builder);
    let [draw, example, step] = coordinates(&mut builder);
    scope.extend([
        (PortName::Draw.into(), draw),
        (PortName::Example.into(), example),
        (PortName::Step.into(), step),
    ]);
    let mut results: Vec<(Arc<str>, Value)> = scope.call(&mut builder, &parts.densities.log_likelihood);
    results.extend(scope.call(&mut builder, &parts.densities.predictive));
    for (_, value) in &mut results {
        if builder.ty(*value).dtype != DType::Real {
            *value = builder.to_real(*value);
        }
    }
    builder.finish(results)
}
