//! The gradient, with respect to the weights, of the log-likelihood of several rows.

use super::super::task::{RewriteError, is_of_row};
use super::jacobian::over;
use super::outputs::LaplaceParts;
use super::prior;
use crate::differentiate::differentiate;
use crate::methods::sample::bind_sites;
use crate::methods::task::Program;
use crate::nodes::{self};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Symbol;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

/// Returns `(states.., data..) -> log_likelihood`: the sum of the log-likelihoods of the rows.
pub fn total(parts: &LaplaceParts<'_>) -> Function {
    let Program {
        mut builder,
        mut scope,
    } = Program::new("log_likelihood")
        .states(parts.plans)
        .data(parts.problem.model);
    bind_sites(&mut builder, parts.plans, &[], &mut scope);
    let row = &parts.problem.densities.row_log_likelihood;
    let rows = over(row, Symbol::Batch, |name| is_of_row(parts.problem.model, name));
    let terms = scope.call(&mut builder, &rows)[0].1;
    let sum = builder.reduce_sum(terms, &[0]);
    builder.finish(vec![(PortName::LogLikelihood.into(), sum)])
}

/// Returns `(states.., data..) -> log_likelihood, STATE/gradient..`. The gradients of the weights come first,
/// then the gradients of the other moving states.
pub fn gradient(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let total = total(parts);
    let (mut builder, params, values) = nodes::extended("gradient", &total);
    let value = values[0];
    let moved: Vec<_> = parts.weights.iter().copied().chain(parts.others()).collect();
    let wrt = prior::states(&mut builder, &moved, &total, &params);
    let gradients = differentiate(&mut builder, value, &wrt)?;
    let mut results: Vec<(Arc<str>, Value)> = vec![(PortName::LogLikelihood.into(), value)];
    for (plan, gradient) in moved.iter().zip(gradients) {
        results.push((PortName::Gradient.of(&plan.state()).into(), gradient));
    }
    Ok(builder.finish(results))
}
