//! Derivatives, with respect to the inputs of a row, of the outputs and of their covariance.

use super::super::task::{RewriteError, is_of_row};
use super::jacobian;
use super::outputs::LaplaceParts;
use crate::differentiate::{differentiate, pull_back};
use crate::methods::laplace::products;
use crate::nodes::{self, Scope};
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Symbol;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

/// Returns
/// `(.., cotangents [batch, columns, outputs], STATE/vector.. [batch, columns, ..]) -> INPUT/slope, INPUT/bend [batch, columns, ..]`
/// for each real input of a row. The slope is the derivative of `cotangent . f` with respect to the
/// input, and the bend is the derivative of `cotangent . df/dw . vector`. Let `P` be the precision
/// matrix. For the vector `P^-1 J' c'`, twice the bend is the derivative of the variance
/// `c J P^-1 J' c'`.
pub fn inputs(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let of_one = of_one(parts)?;
    let vectors = products::vectors(parts);
    let has_columns =
        |name: &str| name == PortName::Cotangents.text() || vectors.iter().any(|vector| vector == name);
    let columns = jacobian::over(&of_one, Symbol::Columns, has_columns);
    let of_row = |name: &str| has_columns(name) || is_of_row(parts.problem.model, name);
    Ok(jacobian::over(&columns, Symbol::Batch, of_row))
}

/// Returns the function of [`inputs`] for one row and one cotangent.
fn of_one(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let pulled = jacobian::pulled(parts)?;
    let (mut builder, params, flows) = nodes::extended("inputs", &pulled);
    let mut scope = Scope::default();
    for (param, value) in pulled.params.iter().zip(&params) {
        scope.set(nodes::param_name(&pulled, *param), *value);
    }
    let mut along = builder.real(0.0);
    for (weight, flow) in parts.weights.iter().zip(flows) {
        let name = PortName::Vector.of(&weight.state());
        let vector = builder.param(&name, weight.position_type());
        let product = builder.mul(flow, vector);
        let sum = builder.reduce_sum_all(product);
        along = builder.add(along, sum);
    }
    let f = scope.call(&mut builder, &parts.outputs)[0].1;
    let names = reals(parts);
    let wrt: Vec<Value> = names.iter().map(|name| scope.get(name)).collect();
    let slopes = pull_back(&mut builder, &[(f, scope.get(PortName::Cotangents.text()))], &wrt)?;
    let bends = differentiate(&mut builder, along, &wrt)?;
    let mut results = Vec::new();
    for ((name, slope), bend) in names.iter().zip(slopes).zip(bends) {
        results.push((PortName::Slope.of(name).into(), slope));
        results.push((PortName::Bend.of(name).into(), bend));
    }
    Ok(builder.finish(results))
}

/// Returns the real inputs of a row that affect the outputs.
fn reals(parts: &LaplaceParts<'_>) -> Vec<Arc<str>> {
    let inputs = parts.problem.model.inputs.iter();
    let is_used = |name: &Arc<str>| parts.outputs.param(name).is_some();
    inputs
        .filter(|input| input.ty.dtype == DType::Real)
        .map(|input| input.name.clone())
        .filter(is_used)
        .collect()
}
