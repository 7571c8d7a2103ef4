//! Checks that the steps of an optimiser are numbers, and that they change once the gradient is zero.

use crate::diagnostics::endless::{endless_steps, undefined_steps};
use crate::infer::{Compilation, CompileFailure};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Sizes;
use bnnc_graph::eval::evaluate;
use bnnc_graph::model::ElaboratedOptimiser;
use bnnc_graph::tensor::Tensor;

/// The step of a scalar parameter and the states after an iteration.
#[derive(Clone, Debug, PartialEq)]
struct Iteration {
    step: f64,
    states: Vec<f64>,
}

impl Compilation<'_> {
    /// Rejects an optimiser whose first step is not a number, or whose steps never end.
    pub(crate) fn steps_end(&self, optimiser: &ElaboratedOptimiser) -> Result<(), CompileFailure> {
        let starts: Vec<f64> = optimiser.states.iter().map(|(_, start)| *start).collect();
        let first = iterate(optimiser, 1.0, 1.0, &starts);
        let second = iterate(optimiser, 2.0, 0.0, &first.states);
        let third = iterate(optimiser, 3.0, 0.0, &second.states);
        // An optimiser may keep its states unchanged, as AdaGrad does. Alternatively, it may keep its steps unchanged, as optimisers that use only
        // signs do. It must not do both.
        let diagnostic = match (first.step.is_finite(), third == second && third.step != 0.0) {
            (false, _) => undefined_steps(self.item, first.step),
            (true, true) => endless_steps(self.item),
            (true, false) => return Ok(()),
        };
        Err(CompileFailure::Program(vec![diagnostic]))
    }
}

/// Computes the iteration with this number, counted from 1, for this gradient. The parameter is 0.
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
