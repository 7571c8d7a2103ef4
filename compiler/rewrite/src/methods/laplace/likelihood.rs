//! The log-likelihood of a row as a function of the outputs `f`, the derivatives of this function, and predictions.

use super::super::predict;
use super::super::task::{RewriteError, is_of_row};
use super::ROWS;
use super::jacobian::over;
use super::outputs::{LaplaceParts, OutputPiece};
use crate::batch::inline_batched;
use crate::density::dependences;
use crate::differentiate::{differentiate, pull_back};
use crate::methods::laplace::outputs::{of_row, with_row};
use crate::methods::plan::SitePlan;
use crate::methods::task::{Program, number_rows};
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::{pipeline, pipelines, rule};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Returns `(states.., data..) -> outputs, log_likelihood, slope, curvature`. The axis of rows
/// comes first in each result.
pub fn rows(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let row = row(parts)?;
    Ok(over(&row, Symbol::Batch, |name| {
        is_of_row(parts.problem.model, name)
    }))
}

/// Returns the function of [`rows`] for a single row.
fn row(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let derivatives = derivatives(parts)?;
    let Program {
        mut builder,
        mut scope,
    } = of_row("rows", parts.problem.model, parts.plans);
    let f = scope.call(&mut builder, &parts.outputs)[0].1;
    scope.set(PortName::Outputs.text(), f);
    let mut results = vec![(PortName::Outputs.into(), f)];
    results.extend(scope.call(&mut builder, &derivatives));
    Ok(rule::remove_dead(&builder.finish(results)))
}

/// Returns `(outputs, states.., shared.., inputs.., outputs of the row..) -> log_likelihood`.
pub fn log_likelihood(parts: &LaplaceParts<'_>) -> Function {
    let Program { mut builder, scope } = arguments("log_likelihood", parts);
    let results = scope.call(&mut builder, &parts.problem.densities.log_likelihood);
    rule::remove_dead(&builder.finish(results))
}

/// Adds `outputs` and the values of a row as parameters, and binds the arguments of the likelihood.
/// An argument that is part of `f` is bound to its elements in `outputs`. The other arguments are
/// computed from the row.
fn arguments(name: &str, parts: &LaplaceParts<'_>) -> Program {
    let mut builder = Builder::new(name);
    let f = builder.param(PortName::Outputs.text(), Type::real(Shape::fixed(&[parts.size])));
    let of_f = parts.split(&mut builder, f);
    bound(parts, builder, of_f)
}

/// Adds the values of a row as parameters, and binds the arguments of the likelihood. Arguments
/// that are part of `f` are bound to the values in `of_f`.
fn bound(parts: &LaplaceParts<'_>, builder: Builder, of_f: Vec<(Arc<str>, Value)>) -> Program {
    let program = Program {
        builder,
        scope: Scope::default(),
    };
    let mut program = with_row(program, parts.problem.model, parts.plans);
    let all = program.scope.call(&mut program.builder, &parts.arguments);
    program.scope.extend(all);
    program.scope.extend(of_f);
    program
}

/// Returns `(outputs, ..) -> log_likelihood, slope, curvature`.
fn derivatives(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let slope = slope(&log_likelihood(parts))?;
    let second = second(&slope)?;
    let (mut builder, params, values) = nodes::extended("derivatives", &slope);
    let mut results = nodes::named(&slope, &values);
    let size = Dim::Fixed(parts.size);
    let square = Shape(vec![size, size]);
    let line = builder.iota(size);
    let identity = builder.one_hot(line, size);
    let args: Vec<Value> = params.iter().copied().chain([identity]).collect();
    let mut mapped = vec![false; params.len()];
    mapped.push(true);
    let found = inline_batched(&mut builder, &second, &args, &mapped, size)[0];
    // The curvature is zero, and does not have the axis, if the log-likelihood is linear in its outputs.
    let found = found.repeated(&mut builder, size);
    let found = builder.reshape(found, &square);
    results.push((PortName::Curvature.into(), builder.neg(found)));
    Ok(builder.finish(results))
}

/// Returns `log_likelihood` and its gradient with respect to `outputs`.
fn slope(log_likelihood: &Function) -> Result<Function, Fault> {
    let (mut builder, _, values) = nodes::extended("slope", log_likelihood);
    let value = values[0];
    let f = output(&builder);
    let slope = differentiate(&mut builder, value, &[f])?[0];
    Ok(builder.finish(vec![
        (PortName::LogLikelihood.into(), value),
        (PortName::Slope.into(), slope),
    ]))
}

/// Returns `(parameters of slope.., cotangent) -> cotangent . d slope / d outputs`.
fn second(slope: &Function) -> Result<Function, Fault> {
    let (mut builder, _, values) = nodes::extended("second", slope);
    let f = output(&builder);
    let ty = builder.ty(f).clone();
    let cotangent = builder.param(PortName::Cotangent.text(), ty);
    let flow = pull_back(&mut builder, &[(values[1], cotangent)], &[f])?[0];
    Ok(builder.finish(vec![(PortName::Second.into(), flow)]))
}

/// Returns the moving states that do not affect `f`, but affect the likelihood of a row directly.
pub fn noise(parts: &LaplaceParts<'_>) -> Vec<String> {
    let on = dependences(&log_likelihood(parts), PortName::LogLikelihood.text());
    let others = parts.others().into_iter().map(SitePlan::state);
    others
        .filter(|state| on.iter().any(|name| **name == **state))
        .collect()
}

/// A derivative of the log-likelihood, with respect to an argument in `f`, that symbolic
/// differentiation shows to be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroDerivative {
    /// The first derivative is zero. The argument can then change the likelihood only by moving an
    /// end of the support.
    First,
    /// All second derivatives are zero, including mixed derivatives. The log-likelihood is then
    /// piecewise linear in the argument, like `abs`.
    Second,
}

/// Returns the arguments in `f` for which the derivative of the log-likelihood is zero wherever it
/// exists. A pulled-back derivative is linear in its cotangent, so it is zero if it does not depend
/// on the cotangent.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn flat(
    parts: &LaplaceParts<'_>,
    context: &mut PassContext,
) -> Result<Vec<(Arc<str>, ZeroDerivative)>, RewriteError> {
    let mut builder = Builder::new("flat");
    let param = |piece: &OutputPiece| builder.param(&format!("free/{}", piece.name), piece.free.clone());
    let free: Vec<Value> = parts.pieces.iter().map(param).collect();
    let pairs = parts.pieces.iter().zip(&free);
    let constrained = pairs.map(|(piece, free)| piece.constrained(&mut builder, *free));
    let constrained = constrained.collect();
    let Program { mut builder, scope } = bound(parts, builder, constrained);
    let value = scope.call(&mut builder, &parts.problem.densities.log_likelihood)[0].1;
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
fn output(builder: &Builder) -> Value {
    let found = builder.function().param(PortName::Outputs.text());
    found.unwrap_or_else(|| unreachable!("a likelihood has its outputs"))
}

/// Returns
/// `(outputs [draws, batch, ..], states.., data.., draw0, row0, step) -> log_likelihood, mean, variance, draw, probabilities`.
/// The only result is `log_likelihood` if the elements of every output belong to several observations.
pub fn functions(parts: &LaplaceParts<'_>) -> Function {
    let row = predicted_row(parts);
    let outputs = Type::real(Shape(vec![ROWS, Dim::Fixed(parts.size)]));
    let Program {
        mut builder,
        mut scope,
    } = Program::new("functions_draw")
        .param(PortName::Outputs.text(), outputs)
        .states(parts.plans)
        .data(parts.problem.model)
        .integers(&[PortName::Draw, PortName::FirstRow, PortName::Step]);
    number_rows(&mut builder, &mut scope);
    let rows = over(&row, Symbol::Batch, |name| {
        matches!(PortName::named(name), Some(PortName::Example | PortName::Outputs))
            || is_of_row(parts.problem.model, name)
    });
    let results = scope.call(&mut builder, &rows);
    let per_draw = builder.finish(results);
    predict::over_draws("functions", &per_draw, &[PortName::Outputs.into()])
}

/// Returns the log-likelihood and the predictive quantities of one row as functions of its outputs.
fn predicted_row(parts: &LaplaceParts<'_>) -> Function {
    let Program { mut builder, scope } = arguments("row", parts).integers(&PortName::COORDINATES);
    let mut results: Vec<(Arc<str>, Value)> =
        scope.call(&mut builder, &parts.problem.densities.log_likelihood);
    results.extend(scope.call(&mut builder, &parts.problem.densities.predictive));
    for (_, value) in &mut results {
        *value = nodes::as_real(&mut builder, *value);
    }
    builder.finish(results)
}
