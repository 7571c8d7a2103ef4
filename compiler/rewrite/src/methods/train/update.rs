//! The update of parameters: limits on gradients, and one step of the optimiser.

use super::elements::map_elements;
use crate::nodes::{self, Scope};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::model::ElaboratedOptimiser;
use std::sync::Arc;

/// Multiplies gradients by one factor, so that their common norm is at most `most` (Pascanu et al. 2013).
pub(super) fn clip(builder: &mut Builder, gradients: &mut [Value], most: Value) {
    // The gradients are divided by `most` before they are squared, because the square of a large gradient could
    // overflow.
    let mut squares = builder.zeros_like(most);
    for gradient in &*gradients {
        let shape = builder.shape(*gradient);
        let unit = builder.broadcast_to(most, &shape);
        let share = builder.div(*gradient, unit);
        let square = builder.mul(share, share);
        let sum = builder.reduce_sum_all(square);
        squares = builder.add(squares, sum);
    }
    let ratio = builder.sqrt(squares);
    let one = builder.like(1.0, ratio);
    let divisor = builder.max(ratio, one);
    for gradient in gradients {
        let shape = builder.shape(*gradient);
        let divisor = builder.broadcast_to(divisor, &shape);
        *gradient = builder.div(*gradient, divisor);
    }
}

/// Returns the names and the next values of one parameter and of the states that the optimiser keeps for it.
pub(super) fn update(
    builder: &mut Builder,
    optimiser: &ElaboratedOptimiser,
    scope: &Scope,
    (name, shape): (&str, &Shape),
    gradient: Value,
) -> Vec<(Arc<str>, Value)> {
    let is_state = |param: &str| optimiser.states.iter().any(|(state, _)| &**state == param);
    let function = &optimiser.update;
    let mapped = nodes::named_params(function, |param| {
        let port = PortName::named(param);
        matches!(port, Some(PortName::Gradient | PortName::Parameter)) || is_state(param)
    });
    let for_shape = map_elements(function, &mapped, shape);
    let mut arguments = Scope::default();
    arguments.set(PortName::Gradient.text(), gradient);
    arguments.set(PortName::Parameter.text(), scope.get(name));
    arguments.set(PortName::Rate.text(), scope.get(PortName::Rate.text()));
    let iteration = builder.to_real(scope.get(PortName::Iteration.text()));
    arguments.set(PortName::Iteration.text(), iteration);
    for (state, _) in &optimiser.states {
        arguments.set(state, scope.get(&format!("{name}/{state}")));
    }
    let parameter = scope.get(name);
    let mut next = Vec::new();
    for (result, value) in arguments.call(builder, &for_shape) {
        next.push(match PortName::named(&result) {
            Some(PortName::Step) => (name.into(), builder.add(parameter, value)),
            _ => (format!("{name}/{result}").into(), value),
        });
    }
    next
}
