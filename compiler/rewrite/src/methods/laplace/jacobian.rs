//! Jacobians of the outputs with respect to the weights, computed by pulling back cotangents.

use super::super::task::{RewriteError, is_of_row};
use super::outputs::LaplaceParts;
use super::prior;
use crate::batch::batch_named;
use crate::differentiate::pull_back;
use crate::nodes;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::function::Function;
use std::sync::Arc;

/// Returns `(states.., shared.., inputs.., outputs.., cotangents [outputs]) -> STATE/jacobian`,
/// with one result for each weight. The function takes one row and one cotangent.
pub fn pulled(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let (mut builder, params, values) = nodes::extended("jacobian", &parts.outputs);
    let f = values[0];
    let ty = builder.ty(f).clone();
    let cotangent = builder.param(PortName::Cotangents.text(), ty);
    let wrt = prior::weights(&mut builder, parts, &parts.outputs, &params);
    let flows = pull_back(&mut builder, &[(f, cotangent)], &wrt)?;
    let named = parts.weights.iter().zip(flows);
    let results = named.map(|(weight, flow)| {
        let name: Arc<str> = PortName::Jacobian.of(&weight.state()).into();
        (name, flow)
    });
    Ok(builder.finish(results.collect()))
}

/// Returns `(.., cotangents [batch, columns, outputs]) -> STATE/jacobian [batch, columns, ..]`.
pub fn jacobian(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    Ok(over_rows(parts, &over_columns(&pulled(parts)?)))
}

/// Turns a function of one cotangent into a function of several cotangents, along the axis `columns`.
pub fn over_columns(function: &Function) -> Function {
    over(function, Symbol::Columns, |name| {
        name == PortName::Cotangents.text()
    })
}

/// Turns a function of one row into a function of several rows, along the axis `batch`.
pub fn over_rows(parts: &LaplaceParts<'_>, function: &Function) -> Function {
    over(function, Symbol::Batch, |name| {
        name == PortName::Cotangents.text() || is_of_row(parts.problem.model, name)
    })
}

/// Batches a function along a new axis. `has_axis` selects the parameters that have the new axis.
pub fn over(function: &Function, symbol: Symbol, has_axis: impl Fn(&str) -> bool) -> Function {
    batch_named(function, Dim::Symbol(symbol), has_axis)
}
