//! Checks that the steps of an optimiser are numbers, and that they change once the gradient is zero.

use crate::compilation::Compilation;
use crate::diagnostics::endless::{endless_steps, undefined_steps};
use crate::failure::CompileFailure;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Sizes;
use bnnc_graph::eval::evaluate;
use bnnc_graph::model::ElaboratedOptimiser;
use bnnc_graph::tensor::Tensor;

/// The iterations of the test: the ordinal of each, and the gradient in it.
const GRADIENTS: [(&str, f64); 3] = [("first", 1.0), ("second", 0.0), ("third", 0.0)];

/// The result of one iteration: the step of a scalar parameter, and the next states.
#[derive(Clone, Debug, PartialEq)]
struct Iteration {
    step: f64,
    states: Vec<f64>,
}

impl Compilation<'_> {
    /// Rejects an optimiser whose steps are not numbers or never end.
    pub(crate) fn steps_end(&self, optimiser: &ElaboratedOptimiser) -> Result<(), CompileFailure> {
        let mut states: Vec<f64> = optimiser.states.iter().map(|(_, start)| *start).collect();
        let mut iterations = Vec::new();
        for (at, (ordinal, gradient)) in GRADIENTS.into_iter().enumerate() {
            let next = iterate(optimiser, (at + 1) as f64, gradient, &states);
            if !next.step.is_finite() {
                let diagnostic = undefined_steps(self.item, ordinal, gradient, next.step);
                return Err(diagnostic.into());
            }
            states.clone_from(&next.states);
            iterations.push(next);
        }
        // For a zero gradient, an optimiser may keep its states unchanged, as AdaGrad does, or its steps, as optimisers
        // that only use signs do. It must not keep both.
        let is_endless =
            matches!(&iterations[..], [.., second, third] if third == second && third.step != 0.0);
        match is_endless {
            true => Err(endless_steps(self.item).into()),
            false => Ok(()),
        }
    }
}

/// Computes the iteration with this number (the first is 1) and this gradient. The parameter is 0.
fn iterate(optimiser: &ElaboratedOptimiser, iteration: f64, gradient: f64, states: &[f64]) -> Iteration {
    let update = &optimiser.update;
    let input = |name: &str| match name {
        name if name == PortName::Gradient.text() => gradient,
        name if name == PortName::Parameter.text() => 0.0,
        name if name == PortName::Iteration.text() => iteration,
        name if name == PortName::Rate.text() => optimiser.rate,
        name => {
            let place = optimiser.states.iter().position(|(state, _)| **state == *name);
            place.map_or(0.0, |place| states[place])
        }
    };
    let names = update.params.iter().map(|param| update.param_name(*param));
    let inputs: Vec<Tensor> = names
        .map(|name| Tensor::scalar(name.map_or(0.0, |name| input(name))))
        .collect();
    let results = evaluate(update, &inputs, &Sizes::default());
    let mut values = results.iter().map(|result| result.data[0]);
    Iteration {
        step: values.next().unwrap_or_default(),
        states: values.collect(),
    }
}
