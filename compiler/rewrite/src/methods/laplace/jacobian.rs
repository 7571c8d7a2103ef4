//! Jacobians of the outputs in the weights, as cotangents that are pulled back.

use super::super::train::{Refusal, is_of_row};
use super::outputs::LaplaceParts;
use super::prior;
use crate::batch::batch;
use crate::differentiate::pull_back;
use crate::nodes;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Function;
use std::sync::Arc;

/// `(states.., shared.., inputs.., outputs.., cotangents [outputs]) -> STATE/jacobian` for each weight: of one row and one cotangent.
pub fn pulled(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let mut builder = Builder::new("jacobian");
    let params = nodes::params_of(&mut builder, &parts.outputs);
    let f = builder.inline(&parts.outputs, &params)[0];
    let ty = builder.ty(f).clone();
    let cotangent = builder.param("cotangents", ty);
    let wrt = prior::weights(&mut builder, parts, &parts.outputs, &params);
    let flows = pull_back(&mut builder, &[(f, cotangent)], &wrt)?;
    let named = parts.weights.iter().zip(flows);
    let results = named.map(|(weight, flow)| {
        let name: Arc<str> = format!("{}/jacobian", super::state(weight)).into();
        (name, flow)
    });
    Ok(builder.finish(results.collect()))
}

/// `(.., cotangents [batch, columns, outputs]) -> STATE/jacobian [batch, columns, ..]`.
pub fn jacobian(parts: &LaplaceParts<'_>) -> Result<Function, Refusal> {
    Ok(over_rows(parts, &over_columns(&pulled(parts)?)))
}

/// A function of one cotangent as one of many.
pub fn over_columns(function: &Function) -> Function {
    over(function, Symbol::Columns, |name| name == "cotangents")
}

/// A function of one row as one of many.
pub fn over_rows(parts: &LaplaceParts<'_>, function: &Function) -> Function {
    over(function, Symbol::Batch, |name| {
        name == "cotangents" || is_of_row(parts.model, name)
    })
}

/// A function along a new axis, which parameters of such names have.
pub fn over(function: &Function, symbol: Symbol, has_axis: impl Fn(&str) -> bool) -> Function {
    let params = function.params.iter();
    let mapped: Vec<bool> = params
        .map(|param| has_axis(nodes::param_name(function, *param)))
        .collect();
    batch(function, &mapped, Dim::Symbol(symbol))
}
