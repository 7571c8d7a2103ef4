//! Programs that do not need a whole Jacobian `J`. They need some of its columns, the sums of
//! squares of its columns, or the product `J V J'` with a diagonal matrix `V`.
//!
//! Each program is written in its plain form, with whole gradients. The gradient of a weight matrix
//! is an outer product. If a program needs only some elements of this gradient, or only a sum,
//! rewrite rules remove the step that would store all of it.

use super::super::task::RewriteError;
use super::outputs::LaplaceParts;
use super::{COLUMNS, ROWS};
use crate::methods::laplace::jacobian::jacobian;
use crate::nodes;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;

const SELECTED: Dim = Dim::Symbol(Symbol::Selected);

/// Returns
/// `(.., cotangents, STATE/index [selected].., STATE/chosen [selected]..) -> jacobian [batch, columns, selected]`.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn selected(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let mut builder = Builder::new("selected");
    let gradients = gradients(parts, &mut builder)?;
    let chosen_shape = Shape(vec![SELECTED]);
    let shape = Shape(vec![ROWS, COLUMNS, SELECTED]);
    let mut terms = Vec::new();
    for (weight, gradient) in parts.weights.iter().zip(gradients) {
        let state = weight.state();
        let index = builder.param(&PortName::Index.of(&state), Type::int(chosen_shape.clone()));
        let chosen = builder.param(&PortName::Chosen.of(&state), Type::real(chosen_shape.clone()));
        let flat = Shape(vec![ROWS, COLUMNS, Dim::Fixed(weight.elements())]);
        let flat = builder.reshape(gradient, &flat);
        let picked = builder.gather(flat, index, 2);
        let chosen = builder.broadcast(chosen, &shape, &[2]);
        terms.push(builder.mul(picked, chosen));
    }
    let sum = sum_of(&mut builder, &terms, &shape);
    Ok(builder.finish(vec![(PortName::Jacobian.into(), sum)]))
}

/// Returns `(.., cotangents) -> STATE/squares [elements]`: sums of squares over rows and columns.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn squares(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let mut builder = Builder::new("squares");
    let gradients = gradients(parts, &mut builder)?;
    let mut results = Vec::new();
    for (weight, gradient) in parts.weights.iter().zip(gradients) {
        let squares = builder.square(gradient);
        let sum = builder.reduce_sum(squares, &[0, 1]);
        let flat = builder.reshape(sum, &Shape::fixed(&[weight.elements()]));
        results.push((PortName::Squares.of(&weight.state()).into(), flat));
    }
    Ok(builder.finish(results))
}

/// Returns `(.., cotangents, STATE/variance [elements]..) -> spread [batch, columns, columns]`: for
/// each row, the product `J V J'` with the diagonal matrix `V` of the variances.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn spread(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let mut builder = Builder::new("spread");
    let gradients = gradients(parts, &mut builder)?;
    let mut terms = Vec::new();
    for (weight, gradient) in parts.weights.iter().zip(gradients) {
        let flat = Shape::fixed(&[weight.elements()]);
        let variance = builder.param(&PortName::Variance.of(&weight.state()), Type::real(flat));
        let own = Shape(builder.ty(gradient).dims()[2..].to_vec());
        let variance = builder.reshape(variance, &own);
        let axes: String = ('a'..='z').take(own.rank()).collect();
        let scaled = builder.contract(gradient, variance, &format!("NK{axes},{axes}->NK{axes}"));
        terms.push(builder.contract(scaled, gradient, &format!("NK{axes},NL{axes}->NKL")));
    }
    let sum = sum_of(&mut builder, &terms, &Shape(vec![ROWS, COLUMNS, COLUMNS]));
    Ok(builder.finish(vec![(PortName::Spread.into(), sum)]))
}

/// Adds the parameters that are needed to compute the gradients for all rows and columns. Returns
/// one gradient for each of the weights, `[batch, columns, ..]`.
pub fn gradients(parts: &LaplaceParts<'_>, builder: &mut Builder) -> Result<Vec<Value>, RewriteError> {
    let function = jacobian(parts)?;
    let params = nodes::params_of(builder, &function);
    Ok(builder.inline(&function, &params))
}

/// Returns the sum of terms of this shape. The sum of an empty list is zero.
pub fn sum_of(builder: &mut Builder, terms: &[Value], shape: &Shape) -> Value {
    let sum = terms.iter().copied().reduce(|sum, term| builder.add(sum, term));
    sum.unwrap_or_else(|| builder.splat(0.0, shape))
}
