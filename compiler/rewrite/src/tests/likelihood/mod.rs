//! Compares the gradient estimators of layers with closed forms for linear regression.

mod choice;
mod estimators;
mod integrals;

use crate::density::density;
use crate::methods::likelihood::choice::Layers;
use crate::methods::plan::InferenceProblem;
use crate::methods::task::{RewriteError, TrainingSettings};
use crate::methods::train::{Objective, objective};
use crate::pass::PassContext;
use crate::tests::library::{approximation, declared, normal, posterior, regression, settings, sgd};
use bnnc_abi::manifest::Init;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::{ApproximatePosterior, Model};
use bnnc_graph::spec::LOWERED;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_graph::verify::verify;
use std::collections::HashMap;
use std::sync::Arc;

const SD: f64 = 0.5;

const X: [[f64; 3]; 6] = [
    [1.0, 0.3, -0.5],
    [0.9, -0.2, 0.4],
    [1.2, 0.8, 0.1],
    [0.7, 0.5, -0.9],
    [1.1, -0.6, 0.2],
    [0.8, 0.1, 0.6],
];
const Y: [f64; 6] = [0.4, 1.1, 0.2, -0.3, 0.9, 0.5];
const W: ([f64; 3], [f64; 3]) = ([0.4, -0.3, 0.2], [0.3, 0.2, 0.4]);
const B: (f64, f64) = (0.1, 0.25);

fn names(list: &[&str]) -> Vec<Arc<str>> {
    list.iter().map(|name| (*name).into()).collect()
}

fn local(names: &[Arc<str>]) -> Layers<'_> {
    Layers {
        local: names,
        ..Layers::default()
    }
}

fn flipout(names: &[Arc<str>]) -> Layers<'_> {
    Layers {
        flipout: names,
        ..Layers::default()
    }
}

/// The model `y ~ Normal(w x + b, SD)`.
fn linear() -> Model {
    let sites = vec![
        declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0]),
        declared("out.b", normal(&Shape::fixed(&[1])), &[0.0, 1.0]),
    ];
    regression(Type::real(Shape::fixed(&[3])), sites, SD, |b, sites, x| {
        let product = b.contract(sites[0], x, "ij,j->i");
        let sum = b.add(product, sites[1]);
        b.reshape(sum, &Shape::scalar())
    })
}

fn linear_posterior() -> ApproximatePosterior {
    let of = |sizes: &[usize]| normal(&Shape::fixed(sizes));
    posterior(vec![
        approximation("out.w", of(&[1, 3]), &[0.0, 1.0]),
        approximation("out.b", of(&[1]), &[0.0, 1.0]),
    ])
}

fn compile(
    model: &Model,
    posterior: &ApproximatePosterior,
    samples: usize,
    layers: Layers<'_>,
) -> Result<Objective, RewriteError> {
    let optimiser = sgd(1.0);
    let settings = TrainingSettings {
        layers,
        ..settings(&optimiser, samples)
    };
    let problem = InferenceProblem {
        densities: &density(model)?,
        model,
        posterior,
    };
    objective(problem, settings, &mut PassContext::default())
}

fn inverse_softplus(x: f64) -> f64 {
    x.exp_m1().ln()
}

/// A training function without a KL divergence. Its states are those of [`linear_posterior`] at `W`
/// and `B`, and its rows are `X` and `Y`.
struct Run {
    train: Function,
    sizes: Sizes,
    values: HashMap<String, Tensor>,
}

fn run(model: &Model, posterior: &ApproximatePosterior, samples: usize, layers: Layers<'_>) -> Run {
    let objective = compile(model, posterior, samples, layers).unwrap();
    verify(&objective.train, LOWERED).unwrap();
    let sizes = Sizes::default()
        .with(Symbol::Batch, Y.len())
        .with(Symbol::Draws, samples);
    let mut values = HashMap::new();
    for state in &objective.states {
        let Init::Constant(start) = state.init else {
            panic!("a test starts from constants")
        };
        let tensor = Tensor::from_fn(state.shape.resolve(&sizes), |_| start);
        values.insert(state.name.clone(), tensor);
    }
    values.insert("x".into(), Tensor::new(vec![Y.len(), 3], X.concat()));
    values.insert("y".into(), Tensor::new(vec![Y.len()], Y.to_vec()));
    let numbers = [
        ("$iteration", 1.0),
        ("$step", 0.0),
        ("$rate", 1.0),
        ("$scale", 1.0),
        ("$kl_weight", 0.0),
    ];
    values.extend(numbers.map(|(name, number)| (name.to_owned(), Tensor::scalar(number))));
    let mut run = Run {
        train: objective.train,
        sizes,
        values,
    };
    let positive = |values: &[f64]| values.iter().copied().map(inverse_softplus).collect::<Vec<f64>>();
    run.fill("out.w/loc", &W.0);
    run.fill("out.w/scale", &positive(&W.1));
    run.fill("out.b/loc", &[B.0]);
    run.fill("out.b/scale", &positive(&[B.1]));
    run
}

impl Run {
    fn fill(&mut self, name: &str, data: &[f64]) {
        if let Some(tensor) = self.values.get_mut(name) {
            tensor.data = data.to_vec();
        }
    }

    /// Returns the loss of one step, followed by its gradient with respect to `states`.
    fn step(&mut self, step: usize, states: &[&str]) -> Vec<f64> {
        self.values
            .insert(PortName::Step.text().to_owned(), Tensor::scalar(step as f64));
        let inputs: Vec<Tensor> = self
            .train
            .params
            .iter()
            .map(|param| self.values[crate::nodes::param_name(&self.train, *param)].clone())
            .collect();
        let results = evaluate(&self.train, &inputs, &self.sizes);
        let after: HashMap<&str, &Tensor> = self
            .train
            .results
            .iter()
            .map(|(name, _)| &**name)
            .zip(&results)
            .collect();
        let mut numbers = after["$loss"].data.clone();
        for state in states {
            let pairs = self.values[*state].data.iter().zip(&after[state].data);
            numbers.extend(pairs.map(|(before, after)| before - after));
        }
        numbers
    }

    /// Returns the mean and the variance of each number over `steps` steps.
    fn moments(&mut self, steps: usize, states: &[&str]) -> Vec<(f64, f64)> {
        let all: Vec<Vec<f64>> = (0..steps).map(|step| self.step(step, states)).collect();
        let of = |at: usize| {
            let mean = all.iter().map(|numbers| numbers[at]).sum::<f64>() / steps as f64;
            let squares = all
                .iter()
                .map(|numbers| (numbers[at] - mean).powi(2))
                .sum::<f64>();
            (mean, squares / steps as f64)
        };
        (0..all[0].len()).map(of).collect()
    }
}

const STATES: [&str; 4] = ["out.w/loc", "out.w/scale", "out.b/loc", "out.b/scale"];

/// Returns the negative expected log-likelihood of [`linear`] in closed form, followed by its
/// gradient with respect to [`STATES`].
fn known() -> Vec<f64> {
    let slope = |deviation: f64| 1.0 - (-deviation).exp();
    let mut numbers = vec![0.0; 9];
    for (x, y) in X.iter().zip(&Y) {
        let mean = B.0 + x.iter().zip(&W.0).map(|(x, m)| x * m).sum::<f64>();
        let variance = B.1 * B.1 + x.iter().zip(&W.1).map(|(x, s)| (x * s).powi(2)).sum::<f64>();
        let residual = y - mean;
        numbers[0] += (residual * residual + variance) / (2.0 * SD * SD)
            + SD.ln()
            + 0.5 * (2.0 * std::f64::consts::PI).ln();
        for at in 0..3 {
            numbers[1 + at] -= residual * x[at] / (SD * SD);
            numbers[4 + at] += x[at] * x[at] * W.1[at] * slope(W.1[at]) / (SD * SD);
        }
        numbers[7] -= residual / (SD * SD);
        numbers[8] += B.1 * slope(B.1) / (SD * SD);
    }
    numbers
}

/// The model `v tanh(w x)`. Each estimator is applied to its own weights.
fn network() -> Model {
    let sites = vec![
        declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0]),
        declared("out.b", normal(&Shape::fixed(&[1])), &[0.0, 1.0]),
        declared("last", normal(&Shape::fixed(&[2, 1])), &[0.0, 1.0]),
    ];
    regression(Type::real(Shape::fixed(&[3])), sites, SD, |b, sites, x| {
        let transposed = b.transpose(sites[0], &[1, 0]);
        let product = b.contract(x, transposed, "j,ji->i");
        let sum = b.add(sites[1], product);
        let hidden = b.tanh(sum);
        let last = b.contract(sites[2], hidden, "ij,j->i");
        let last = b.tanh(last);
        b.reduce_sum_all(last)
    })
}

fn network_posterior() -> ApproximatePosterior {
    let mut posterior = linear_posterior();
    let last = approximation("last", normal(&Shape::fixed(&[2, 1])), &[0.6, 0.5]);
    posterior.sites.push(last);
    posterior
}
