//! The gradient of the log-likelihood of several rows with respect to the weights.

use super::super::plan;
use super::super::task::{Refusal, bind_data, is_of_row};
use super::jacobian::over;
use super::outputs::{LaplaceParts, bind_sites};
use super::prior;
use crate::differentiate::differentiate;
use crate::nodes::{self, Scope};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Symbol;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

/// Returns `(states.., data..) -> log_likelihood`: the sum of the log-likelihoods of the rows.
pub fn total(parts: &LaplaceParts<'_>) -> Function {
    let mut builder = Builder::new("log_likelihood");
    let mut scope = Scope::default();
    plan::bind_states(&mut builder, parts.plans, &mut scope);
    bind_data(&mut builder, parts.model, &mut scope);
    bind_sites(&mut builder, parts.plans, &mut scope);
    let row = &parts.densities.row_log_likelihood;
    let rows = over(row, Symbol::Batch, |name| is_of_row(parts.model, name));
    let terms = scope.call(&mut builder, &rows)[0].1;
    let sum = builder.reduce_sum(terms, &[0]);
    builder.finish(vec![(PortName::LogLikelihood.into(), sum)])
}

/// Returns `(states.., data..) -> log_likelihood, STATE/gradient..`. The gradients of the weights come first,
/// then the gradients of the other moving states.
pub fn gradient(parts: &LaplaceParts<'_>) -> Result<Function, Refusal> {
    let total = total(parts);
    let mut builder = Builder::new("gradient");
    let params = nodes::params_of(&mut builder, &total);
    let value = builder.inline(&total, &params)[0];
    let moved: Vec<_> = parts.weights.iter().copied().chain(parts.others()).collect();
    let wrt = prior::states(&mut builder, &moved, &total, &params);
    let gradients = differentiate(&mut builder, value, &wrt)?;
    let mut results: Vec<(Arc<str>, Value)> = vec![(PortName::LogLikelihood.into(), value)];
    for (plan, gradient) in moved.iter().zip(gradients) {
        results.push((PortName::Gradient.of(&super::state(plan)).into(), gradient));
    }
    Ok(builder.finish(results))
}
