//! Outputs whose variance is infinite.

use super::Densities;
use crate::nodes;
use bnnc_base::shape::Sizes;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;

/// Values of the arguments that the program does not give: a variance that is infinite at both is so by those that it gives.
const OTHERS: [f64; 2] = [0.7, 1000.0];

/// Elements of an argument above which nothing is computed.
const ELEMENTS: usize = 64;

impl Densities {
    /// Whether an output has an infinite variance by the arguments that the program gives as numbers, as `StudentT(1.5, ..)` has.
    pub fn has_infinite_variance(&self, output: &str) -> bool {
        let own = format!("{output}.variance");
        let mut found = ["variance", &*own].into_iter();
        let variance = found.find_map(|name| self.predictive.result(name));
        variance.is_some_and(|variance| self.is_infinite(variance))
    }

    fn is_infinite(&self, variance: Value) -> bool {
        let function = only(&self.predictive, variance);
        let mut is_decided = false;
        let mut inputs: [Vec<Tensor>; 2] = [Vec::new(), Vec::new()];
        for param in &function.params {
            let shape = function.ty(*param).shape.static_sizes();
            let Some(shape) = shape.filter(|shape| shape.iter().product::<usize>() <= ELEMENTS) else {
                return false;
            };
            let given = self.given(nodes::param_name(&function, *param));
            is_decided |= given.is_some();
            for (inputs, other) in inputs.iter_mut().zip(OTHERS) {
                let unknown = || Tensor::from_fn(shape.clone(), |_| other);
                inputs.push(given.clone().unwrap_or_else(unknown));
            }
        }
        let is_infinite = |inputs: &Vec<Tensor>| {
            let found = evaluate(&function, inputs, &Sizes::default());
            let mut values = found.iter().flat_map(|tensor| &tensor.data);
            values.all(|variance| *variance == f64::INFINITY)
        };
        is_decided && inputs.iter().all(is_infinite)
    }

    /// The value of an argument of the likelihood that depends on nothing.
    fn given(&self, name: &str) -> Option<Tensor> {
        let value = self.likelihood_arguments.result(name)?;
        let function = only(&self.likelihood_arguments, value);
        if !function.params.is_empty() {
            return None;
        }
        evaluate(&function, &[], &Sizes::default()).into_iter().next()
    }
}

/// The function of one value.
fn only(function: &Function, value: Value) -> Function {
    nodes::slice(function, &[("value".into(), value)])
}
