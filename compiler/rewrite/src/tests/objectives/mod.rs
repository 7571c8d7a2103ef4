//! Compares training steps with independently computed numbers and with closed forms.

mod divergences;
mod steps;

use crate::density::density;
use crate::methods::plan::InferenceProblem;
use crate::methods::task::TrainingSettings;
use crate::methods::train::{Objective, objective};
use crate::pass::PassContext;
use crate::tests::library::{approximation, declared, laplace, normal, posterior, regression, settings};
use bnnc_abi::manifest::Init;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{ApproximatePosterior, ElaboratedOptimiser, Model};
use bnnc_graph::spec::LOWERED;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_graph::verify::verify;
use std::collections::HashMap;

struct Run {
    objective: Objective,
    sizes: Sizes,
    values: HashMap<String, Tensor>,
}

fn run(
    model: &Model,
    posterior: &ApproximatePosterior,
    optimiser: &ElaboratedOptimiser,
    samples: usize,
    kl_draws: usize,
    rows: (&[f64], &[f64]),
) -> Run {
    let densities = density(model).unwrap();
    let settings = TrainingSettings {
        kl_draws,
        ..settings(optimiser, samples)
    };
    let problem = InferenceProblem {
        densities: &densities,
        model,
        posterior,
    };
    let objective = objective(problem, settings, &mut PassContext::default()).unwrap();
    for function in [&objective.train, &objective.predict, &objective.sites] {
        verify(function, LOWERED).unwrap();
    }
    let sizes = Sizes::default()
        .with(Symbol::Batch, rows.1.len())
        .with(Symbol::Draws, samples)
        .with(Symbol::KlDraws, kl_draws.max(1));
    let mut values = HashMap::new();
    for state in &objective.states {
        let Init::Constant(start) = state.init else {
            panic!("a test starts from constants")
        };
        values.insert(
            state.name.clone(),
            Tensor::from_fn(state.shape.resolve(&sizes), |_| start),
        );
    }
    let mut set = |name: &str, tensor: Tensor| values.insert(name.to_owned(), tensor);
    let width = rows.0.len() / rows.1.len();
    let scalar_rows = model.inputs[0].ty.rank() == 0;
    let x_shape = if scalar_rows {
        vec![rows.1.len()]
    } else {
        vec![rows.1.len(), width]
    };
    set("x", Tensor::new(x_shape, rows.0.to_vec()));
    set("y", Tensor::new(vec![rows.1.len()], rows.1.to_vec()));
    for (name, number) in [
        ("$iteration", 1.0),
        ("$step", 0.0),
        ("$rate", optimiser.rate),
        ("$scale", 1.0),
        ("$kl_weight", 1.0),
        ("$draw0", 0.0),
        ("$row0", 0.0),
    ] {
        set(name, Tensor::scalar(number));
    }
    Run {
        objective,
        sizes,
        values,
    }
}

impl Run {
    fn set(&mut self, name: &str, value: f64) {
        let shape = self.values[name].shape.clone();
        self.values
            .insert(name.to_owned(), Tensor::from_fn(shape, |_| value));
    }

    fn call(&self, function: &Function) -> HashMap<String, Tensor> {
        let inputs: Vec<Tensor> = function
            .params
            .iter()
            .map(|p| self.values[crate::nodes::param_name(function, *p)].clone())
            .collect();
        let results = evaluate(function, &inputs, &self.sizes);
        function
            .results
            .iter()
            .map(|(name, _)| name.to_string())
            .zip(results)
            .collect()
    }

    fn train(&self) -> HashMap<String, Tensor> {
        self.call(&self.objective.train)
    }

    fn loss(&self) -> f64 {
        self.train()["$loss"].data[0]
    }
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{got} is not {want} to {tolerance}"
    );
}

fn softplus(x: f64) -> f64 {
    bnnc_math::special::softplus(x)
}

fn scalar() -> Shape {
    Shape::scalar()
}

fn product(b: &mut Builder, sites: &[Value], x: Value) -> Value {
    b.mul(sites[0], x)
}

const ROWS: ([f64; 8], [f64; 4]) = ([0.3, -1.2, 0.7, 0.1, -0.4, 0.9, 1.5, -0.2], [0.2, -0.7, 1.1, 0.4]);

fn network() -> Model {
    let sites = vec![
        declared("w", normal(&Shape::fixed(&[3, 2])), &[0.0, 1.0]),
        declared("v", laplace(&Shape::fixed(&[3])), &[0.0, 1.0]),
    ];
    regression(Type::real(Shape::fixed(&[2])), sites, 0.5, |b, sites, x| {
        let inner = b.contract(sites[0], x, "ij,j->i");
        let hidden = b.tanh(inner);
        b.contract(sites[1], hidden, "i,i->")
    })
}

fn network_posterior() -> ApproximatePosterior {
    posterior(vec![
        approximation("w", normal(&Shape::fixed(&[3, 2])), &[0.1, 0.4]),
        approximation("v", normal(&Shape::fixed(&[3])), &[-0.3, 0.2]),
    ])
}
