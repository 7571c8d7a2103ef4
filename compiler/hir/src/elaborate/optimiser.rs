//! Elaborates optimisers. The result is the update of one scalar parameter. The rewriter later
//! applies this update to each element of a tensor.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, Frame};
use crate::diagnostics::elaborate::limit;
use crate::tree::{Module, OptimiserId, TypedExpr};
use bnnc_abi::ports::PortName;
use bnnc_base::source::Span;
use bnnc_graph::model::ElaboratedOptimiser;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Elaborates an optimiser. The arguments of the optimiser are constants in declared order. The
/// first argument is the learning rate.
///
/// # Errors
/// Fails if an argument or an initial state is not a constant.
pub fn elaborate(
    module: &Module,
    id: OptimiserId,
    args: &[TypedExpr],
    span: Span,
) -> Elaborated<ElaboratedOptimiser> {
    let item = &module.optimisers[id];
    let constant = |expr: &TypedExpr| {
        crate::constant::constant(module, expr).ok_or_else(|| limit(expr.span, "a constant is needed here"))
    };
    let mut elaborator = Elaborator::new(module, "update");
    let mut frame = Frame::new(&item.locals, "");
    let gradient = elaborator
        .builder
        .param(PortName::Gradient.text(), Type::scalar());
    frame.values.insert(item.gradient, Datum::Tensor(gradient));
    let parameter = elaborator
        .builder
        .param(PortName::Parameter.text(), Type::scalar());
    frame.values.insert(item.parameter, Datum::Tensor(parameter));
    let mut states = Vec::new();
    for (local, start, _) in &item.states {
        let name = item.locals[*local].name.clone();
        let value = elaborator.builder.param(&name, Type::scalar());
        frame.values.insert(*local, Datum::Tensor(value));
        states.push((name, constant(start)?));
    }
    let iteration = elaborator
        .builder
        .param(PortName::Iteration.text(), Type::scalar());
    frame.values.insert(item.iteration, Datum::Tensor(iteration));
    let rate = elaborator.builder.param(PortName::Rate.text(), Type::scalar());
    let mut start_rate = 0.0;
    for (at, (binding, arg)) in item.params.iter().zip(args).enumerate() {
        let number = constant(arg)?;
        let value = if at == 0 {
            rate
        } else {
            elaborator.constant(number, bnnc_base::dtype::DType::Real)
        };
        if at == 0 {
            start_rate = number;
        }
        frame.values.insert(binding.local, Datum::Tensor(value));
    }
    let mut results: Vec<(Arc<str>, bnnc_graph::function::Value)> = Vec::new();
    let mut next_frame = frame.clone();
    for (local, _, next) in &item.states {
        let datum = elaborator.expr(next, &mut frame)?;
        let value = elaborator.real(&datum, span)?;
        next_frame.values.insert(*local, Datum::Tensor(value));
        results.push((item.locals[*local].name.clone(), value));
    }
    let Some(step) = &item.step else {
        return Err(limit(
            span,
            format!("the optimiser `{}` has no `step`", item.name),
        ));
    };
    let datum = elaborator.expr(step, &mut next_frame)?;
    let value = elaborator.real(&datum, span)?;
    results.insert(0, (PortName::Step.into(), value));
    let update = Arc::new(elaborator.builder.finish(results));
    Ok(ElaboratedOptimiser {
        states,
        rate: start_rate,
        update,
    })
}
