//! Products of second derivatives with vectors (Pearlmutter 1994, section 2). The product of a
//! second derivative with a vector `v` equals the gradient of `g . v`, where `g` is the first
//! derivative.

use super::super::task::RewriteError;
use super::jacobian::over;
use super::outputs::LaplaceParts;
use super::{gradient, prior};
use crate::differentiate::differentiate;
use crate::{nodes, rule};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Shape, Symbol};
use bnnc_graph::function::Function;
use bnnc_graph::types::Type;

/// Returns
/// `(states.., data.., STATE/vector.. [columns, elements]) -> STATE/product.. [columns, elements]`.
/// Each product is a vector multiplied by minus the second derivative of the log-likelihood, summed
/// over rows.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn products(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    Ok(over_vectors(parts, &product(parts, &gradient::total(parts))?))
}

/// Like [`products`], but for the log prior of the weights. The log prior includes the log
/// determinants of the Jacobians of their bijections.
///
/// # Errors
/// Fails if an op does not have a derivative.
pub fn prior_products(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    Ok(over_vectors(parts, &product(parts, &prior::log_prior(parts))?))
}

/// Returns the program that multiplies minus the second derivative of a scalar `function` by one vector,
/// `[elements]`.
fn product(parts: &LaplaceParts<'_>, function: &Function) -> Result<Function, Fault> {
    let (mut builder, params, values) = nodes::extended("products", function);
    let states = prior::weights(&mut builder, parts, function, &params);
    let gradients = differentiate(&mut builder, values[0], &states)?;
    let mut inner = builder.real(0.0);
    for (weight, gradient) in parts.weights.iter().zip(gradients) {
        let flat = Shape::fixed(&[weight.elements()]);
        let vector = builder.param(&PortName::Vector.of(&weight.state()), Type::real(flat));
        let shape = builder.shape(gradient);
        let vector = builder.reshape(vector, &shape);
        let terms = builder.mul(gradient, vector);
        let term = builder.reduce_sum_all(terms);
        inner = builder.add(inner, term);
    }
    let slopes = differentiate(&mut builder, inner, &states)?;
    let mut results = Vec::new();
    for (weight, slope) in parts.weights.iter().zip(slopes) {
        let minus = builder.neg(slope);
        let flat = builder.reshape(minus, &Shape::fixed(&[weight.elements()]));
        results.push((PortName::Product.of(&weight.state()).into(), flat));
    }
    Ok(rule::remove_dead(&builder.finish(results)))
}

/// Returns the names of the parameters that hold the vectors, one for each of the weights.
pub fn vectors(parts: &LaplaceParts<'_>) -> Vec<String> {
    let weights = parts.weights.iter();
    weights
        .map(|weight| PortName::Vector.of(&weight.state()))
        .collect()
}

fn over_vectors(parts: &LaplaceParts<'_>, function: &Function) -> Function {
    let vectors = vectors(parts);
    over(function, Symbol::Columns, |name| {
        vectors.iter().any(|vector| vector == name)
    })
}
