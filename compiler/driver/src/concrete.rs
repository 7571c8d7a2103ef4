//! Evaluates distributions whose parameters are numbers: draws and densities.

use bnnc_base::reasons;
use bnnc_base::shape::{Dim, Sizes};
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::{evaluate, evaluate_all};
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_math::philox;
use bnnc_rewrite::batch::batch;
use bnnc_rewrite::density::prefix_noise;
use std::sync::Arc;

/// The largest number of values in the table of probabilities of a discrete distribution that has
/// no largest value.
const LONGEST_TABLE: usize = 1 << 20;

/// The largest total probability of the values that a table may omit.
const LEFT_OUT: f64 = 1e-13;

reasons! {
    /// Why a distribution cannot be sampled. The field is the name of the distribution.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum NoDraws {
        /// The distribution does not define a sampler.
        NoSampler(name: String)
            = "`{name}` cannot be drawn from here, because it has no sampler for such values yet";
        /// The distribution is discrete and has too many values for a table of probabilities.
        TooWide(name: String) = "`{name}` is too wide to tabulate";
    }
}

/// A distribution and the values of its parameters.
#[derive(Clone, Debug)]
pub struct Concrete {
    /// The distribution, instantiated for the shapes of the parameters.
    pub instance: Instance,
    /// The values of the parameters, in the order of the instance's parameters.
    pub params: Vec<Tensor>,
}

impl Concrete {
    /// Returns the sizes of the axes of one value.
    pub fn sizes(&self) -> Vec<usize> {
        self.instance.value.shape.resolve(&Sizes::default())
    }

    /// Returns one draw from the stream. Its first noise coordinate is `number`.
    pub fn draw(&self, stream: &str, number: u32) -> Result<Tensor, NoDraws> {
        self.draws(stream, number, 1).map(|draws| draws.leading(0))
    }

    /// Returns `count` draws from the stream, `[count, ..]`. The first noise coordinate of every
    /// draw is `number`.
    pub fn draws(&self, stream: &str, number: u32, count: usize) -> Result<Tensor, NoDraws> {
        if let Some(draw) = &self.instance.draw {
            if count == 1 {
                return Ok(self.one(&prefix_noise(draw, stream), number));
            }
            let coordinate =
                |at: &dyn Fn(usize) -> f64| Tensor::new(vec![count], (0..count).map(at).collect());
            let zero = coordinate(&|_| 0.0);
            let coordinates = [
                coordinate(&|_| f64::from(number)),
                coordinate(&|at| at as f64),
                zero,
            ];
            return Ok(self.many(&prefix_noise(draw, stream), coordinates.to_vec(), count));
        }
        match self.instance.support {
            Support::Integers(_) => self.inverted(stream, number, count),
            _ => Err(NoDraws::NoSampler(self.instance.name.to_string())),
        }
    }

    /// Returns one draw, `[1, ..]`. The function is not batched, because batching it takes longer
    /// than computing it once.
    fn one(&self, draw: &Function, number: u32) -> Tensor {
        let coordinates = [f64::from(number), 0.0, 0.0].map(Tensor::scalar);
        let inputs: Vec<&Tensor> = self.params.iter().chain(&coordinates).collect();
        let values = evaluate_all(draw, &inputs);
        let drawn = draw
            .results
            .iter()
            .map(|(_, value)| values[value.0 as usize].clone());
        let drawn = first(drawn.collect());
        Tensor::stack(&drawn.shape.clone(), &[drawn])
    }

    /// Returns the log density of each of `count` values, `[count, ..]`.
    pub fn log_densities(&self, values: &Tensor) -> Vec<f64> {
        self.many(&self.instance.log_density, vec![values.clone()], values.shape[0])
            .data
    }

    /// Returns the log density at a value. At an end of the support, a formula such as `(shape - 1) * log(x)` may be `0 * inf`. In this case, the
    /// function returns the log density at the nearest number inside the support. If the density there is zero, the result is minus infinity.
    pub fn log_density(&self, value: &Tensor) -> f64 {
        let density = |value: &Tensor| self.call(&self.instance.log_density, Some(value)).data[0];
        let found = density(value);
        if !found.is_nan() {
            return found;
        }
        let near = density(&self.inside(value));
        match near.exp() == 0.0 {
            true => f64::NEG_INFINITY,
            false => near,
        }
    }

    /// Replaces the elements at an end of the support by their neighbours inside.
    fn inside(&self, value: &Tensor) -> Tensor {
        let mut moved = value.clone();
        if let Support::Interval(low, high) = self.instance.support {
            for element in &mut moved.data {
                if *element == low {
                    *element = low.next_up();
                } else if *element == high {
                    *element = high.next_down();
                }
            }
        }
        moved
    }

    /// Evaluates a function of the parameters alone, such as the mean or the variance.
    pub fn moment(&self, function: Option<&Arc<Function>>) -> Option<Tensor> {
        function.map(|function| self.call(function, None))
    }

    fn call(&self, function: &Function, value: Option<&Tensor>) -> Tensor {
        let inputs: Vec<Tensor> = self.params.iter().chain(value).cloned().collect();
        first(evaluate(function, &inputs, &Sizes::default()))
    }

    /// Evaluates a function at once for `count` values of each argument, `[count, ..]`.
    fn many(&self, function: &Function, arguments: Vec<Tensor>, count: usize) -> Tensor {
        let mut mapped = vec![false; self.params.len()];
        mapped.extend(arguments.iter().map(|_| true));
        let inputs: Vec<Tensor> = self.params.iter().cloned().chain(arguments).collect();
        first(evaluate(
            &batch(function, &mapped, Dim::Fixed(count)),
            &inputs,
            &Sizes::default(),
        ))
    }

    /// Returns whether a value lies in the support.
    pub fn admits(&self, value: &Tensor) -> bool {
        let within = |x: &f64| match self.instance.support {
            Support::Real => x.is_finite(),
            Support::Interval(low, high) => low <= *x && *x <= high,
            Support::Integers(0) => *x >= 0.0 && x.fract() == 0.0,
            Support::Integers(size) => *x >= 0.0 && *x < size as f64 && x.fract() == 0.0,
            Support::Simplex => *x >= 0.0,
            Support::Ordered => true,
        };
        let ordered = || value.data.windows(2).all(|pair| pair[0] < pair[1]);
        let whole = match self.instance.support {
            Support::Simplex => (value.data.iter().sum::<f64>() - 1.0).abs() < 1e-9,
            Support::Ordered => ordered(),
            _ => true,
        };
        whole && value.data.iter().all(within)
    }

    /// Returns the probabilities of 0, 1, 2, .. for each element. The table ends as soon as all
    /// larger values together have a probability of at most `LEFT_OUT`.
    ///
    /// # Errors
    /// Fails if the values after the first `LONGEST_TABLE` have a total probability of 1e-6 or
    /// more.
    pub fn table(&self) -> Result<Vec<Tensor>, NoDraws> {
        if let Some(probabilities) = &self.instance.probabilities {
            let all = self.call(probabilities, None);
            return Ok(all.data.iter().map(|mass| Tensor::scalar(*mass)).collect());
        }
        let function = self
            .instance
            .log_density_elements
            .as_ref()
            .unwrap_or(&self.instance.log_density);
        let most = match self.instance.support {
            Support::Integers(size @ 1..) => size,
            _ => LONGEST_TABLE,
        };
        let sizes = self.sizes();
        let mut table = Vec::new();
        let mut left = Tensor::from_fn(sizes.clone(), |_| 1.0);
        while table.len() < most && left.data.iter().any(|left| *left > LEFT_OUT) {
            let at = Tensor::from_fn(sizes.clone(), |_| table.len() as f64);
            let mut masses = self.call(function, Some(&at));
            masses.data.iter_mut().for_each(|mass| *mass = mass.exp());
            left.data
                .iter_mut()
                .zip(&masses.data)
                .for_each(|(left, mass)| *left -= mass);
            table.push(masses);
        }
        let complete = left.data.iter().all(|left| left.abs() < 1e-6);
        if complete {
            Ok(table)
        } else {
            Err(NoDraws::TooWide(self.instance.name.to_string()))
        }
    }

    /// Draws from a discrete distribution: a draw is the first value whose cumulative probability exceeds a uniform number.
    fn inverted(&self, stream: &str, number: u32, count: usize) -> Result<Tensor, NoDraws> {
        let table = self.table()?;
        let elements: usize = self.sizes().iter().product();
        let key = philox::key(0, stream);
        let one = |example: usize, element: usize| {
            let mut uniform = philox::uniform(key, [number, example as u32, 0], element as u64);
            let passed = table.iter().position(|masses| {
                uniform -= masses.data[element];
                uniform < 0.0
            });
            passed.unwrap_or(table.len().saturating_sub(1)) as f64
        };
        let all = (0..count).flat_map(|example| (0..elements).map(move |element| (example, element)));
        let data = all.map(|(example, element)| one(example, element)).collect();
        let mut shape = vec![count];
        shape.extend(self.sizes());
        Ok(Tensor::new(shape, data))
    }
}

fn first(results: Vec<Tensor>) -> Tensor {
    results
        .into_iter()
        .next()
        .unwrap_or_else(|| unreachable!("a function of a distribution has one result"))
}

/// A summary of a sample: the mean, its standard error, and the standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSummary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the numbers.
    pub deviation: f64,
    /// The standard error of the mean.
    pub error: f64,
}

impl SampleSummary {
    /// Computes the summary of a sample.
    pub fn of(numbers: &[f64]) -> SampleSummary {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        SampleSummary {
            mean,
            deviation,
            error: deviation / count.sqrt(),
        }
    }
}
