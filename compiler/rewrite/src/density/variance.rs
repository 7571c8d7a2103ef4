//! Finds outputs with an infinite variance, and outputs whose variance does not depend on the
//! parameters.

use super::Densities;
use crate::nodes;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Sizes;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;

/// Every argument that is not a constant in the program is set to these two values in turn. If the
/// variance is infinite for both, the constant arguments are assumed to be the reason.
const OTHERS: [f64; 2] = [0.7, 1000.0];

/// The argument values between which the variance may change from infinite to finite.
const TRIED: [f64; 2] = [1e-3, 1e3];

/// A variance is evaluated only if each argument of the distribution has at most this number of elements.
const ELEMENTS: usize = 64;

impl Densities {
    /// Returns whether the variance of an output is infinite because of constant arguments, as in
    /// `StudentT(1.5, ..)`.
    pub fn has_infinite_variance(&self, output: &str) -> bool {
        let variance = self.of_output(output, PortName::Variance);
        variance.is_some_and(|variance| self.is_infinite(variance))
    }

    fn is_infinite(&self, variance: Value) -> bool {
        let function = only(&self.predictive, variance);
        let mut params = function.params.iter();
        let is_decided = params.any(|param| self.given(nodes::param_name(&function, *param)).is_some());
        let is_infinite = |other: f64| self.is_infinite_at(&function, |_| other) == Some(true);
        is_decided && OTHERS.into_iter().all(is_infinite)
    }

    /// Returns whether `function` is infinite at all elements. `other` gives the value of each
    /// argument that is not a constant in the program. Returns `None` if an argument has more than
    /// [`ELEMENTS`] elements.
    fn is_infinite_at(&self, function: &Function, other: impl Fn(Value) -> f64) -> Option<bool> {
        let mut inputs = Vec::new();
        for param in &function.params {
            let shape = function.ty(*param).shape.static_sizes();
            let shape = shape.filter(|shape| shape.iter().product::<usize>() <= ELEMENTS)?;
            let given = self.given(nodes::param_name(function, *param));
            inputs.push(given.unwrap_or_else(|| Tensor::from_fn(shape, |_| other(*param))));
        }
        let found = evaluate(function, &inputs, &Sizes::default());
        let mut values = found.iter().flat_map(|tensor| &tensor.data);
        Some(values.all(|variance| *variance == f64::INFINITY))
    }

    /// Returns whether the variance of an output does not depend on the parameters, as in
    /// `Normal(f, 0.1)`.
    pub fn has_fixed_variance(&self, output: &str) -> bool {
        let Some(variance) = self.of_output(output, PortName::Variance) else {
            return false;
        };
        let is_site = |name: &str| self.priors.iter().any(|prior| *prior.site == *name);
        let is_fixed = |argument: &str| {
            let value = self.likelihood_arguments.result(argument);
            value.is_some_and(|value| {
                let function = only(&self.likelihood_arguments, value);
                let mut params = function.params.iter();
                !params.any(|param| is_site(nodes::param_name(&function, *param)))
            })
        };
        let function = only(&self.predictive, variance);
        let mut params = function.params.iter();
        params.all(|param| is_fixed(nodes::param_name(&function, *param)))
    }

    /// Returns the name of the distribution of an output. Returns `None` if the output does not
    /// belong to a single observation, or if its distribution defines neither a mean nor a sampler.
    pub fn family(&self, output: &str) -> Option<String> {
        let known = [PortName::Mean, PortName::Draw].into_iter();
        let value = known.filter_map(|part| self.of_output(output, part)).next()?;
        let function = only(&self.predictive, value);
        let mut params = function.params.iter();
        params.find_map(|param| {
            let (number, _) = nodes::param_name(&function, *param).split_once('/')?;
            let observation = self.observations.get(number.parse::<usize>().ok()?)?;
            Some(observation.name.to_string())
        })
    }

    /// Returns the mean, variance or draw of an output. These are results of the function
    /// `predictive`.
    fn of_output(&self, output: &str, port: PortName) -> Option<Value> {
        let own = port.of(output);
        [port.text(), &*own]
            .into_iter()
            .find_map(|name| self.predictive.result(name))
    }

    /// Finds a scalar parameter that is passed unchanged as an argument of an output's
    /// distribution. Returns its name and the largest value at which the variance is infinite. For
    /// the degrees of freedom of `StudentT(nu, ..)`, this value is 2.
    pub fn infinite_below(&self, output: &str) -> Option<(String, f64)> {
        let function = only(&self.predictive, self.of_output(output, PortName::Variance)?);
        let parameters = function.params.iter();
        parameters
            .filter_map(|param| {
                let parameter = self.parameter(nodes::param_name(&function, *param))?;
                Some((parameter, self.threshold(&function, *param)?))
            })
            .next()
    }

    /// Returns the scalar parameter that the program passes unchanged as the argument `name` of the
    /// likelihood.
    fn parameter(&self, name: &str) -> Option<String> {
        let value = self.likelihood_arguments.result(name)?;
        let function = only(&self.likelihood_arguments, value);
        let [param] = function.params[..] else {
            return None;
        };
        let is_same = |tried: f64| {
            let found = evaluate(&function, &[Tensor::scalar(tried)], &Sizes::default());
            found.first().is_some_and(|tensor| tensor.data == [tried])
        };
        let is_parameter = function.ty(param).rank() == 0 && OTHERS.into_iter().all(is_same);
        is_parameter.then(|| nodes::param_name(&function, param).to_owned())
    }

    /// Returns the largest argument value at which the variance is infinite. A bisection finds this
    /// value to a relative error of 1e-12. Returns `None` if the variance is finite at the lower
    /// end of [`TRIED`] or infinite at the upper end.
    fn threshold(&self, function: &Function, argument: Value) -> Option<f64> {
        let is_infinite = |tried: f64| {
            self.is_infinite_at(
                function,
                |param| if param == argument { tried } else { OTHERS[0] },
            )
        };
        let [mut low, mut high] = TRIED;
        if !is_infinite(low)? || is_infinite(high)? {
            return None;
        }
        while high - low > 1e-12 * high {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            match is_infinite(middle)? {
                true => low = middle,
                false => high = middle,
            }
        }
        Some(low)
    }

    /// Returns the value of an argument of the likelihood, if the argument does not depend on
    /// parameters or data.
    fn given(&self, name: &str) -> Option<Tensor> {
        let value = self.likelihood_arguments.result(name)?;
        let function = only(&self.likelihood_arguments, value);
        if !function.params.is_empty() {
            return None;
        }
        evaluate(&function, &[], &Sizes::default()).into_iter().next()
    }
}

/// Returns the part of a function that is needed to compute one value.
fn only(function: &Function, value: Value) -> Function {
    nodes::slice(function, &[("value".into(), value)])
}
