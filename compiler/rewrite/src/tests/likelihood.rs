//! Compares the gradient estimators of layers with closed forms for linear regression.

use super::library::{approximation, declared, laplace, normal, posterior, radial, regression, sgd};
use crate::density::density;
use crate::diagnostics;
use crate::methods::likelihood::choice::{Expectation, Layers};
use crate::methods::likelihood::{per_example, symmetry};
use crate::methods::task::{RewriteError, TrainingSettings};
use crate::methods::train::{Objective, objective};
use crate::pass::PassContext;
use bnnc_abi::manifest::Init;
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Code;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
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
        optimiser: &optimiser,
        samples,
        kl_draws: 0,
        kl: crate::kl::KlOptions::default(),
        layers,
        jacobians: false,
        online: false,
        clips: false,
        means: false,
        scaled: None,
        mixes: false,
        gradient: None,
    };
    objective(
        &density(model)?,
        model,
        posterior,
        settings,
        &mut PassContext::default(),
    )
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

/// Fails if a mean differs from the known value by more than five standard errors.
fn agree(moments: &[(f64, f64)], steps: usize, known: &[f64]) {
    assert_eq!(moments.len(), known.len());
    for ((mean, variance), known) in moments.iter().zip(known) {
        let error = (variance / steps as f64).sqrt();
        assert!(
            (mean - known).abs() <= 5.0 * error + 1e-12,
            "{mean} is not {known} within {error}"
        );
    }
}

#[test]
fn estimators_keep_the_expectation_and_reduce_the_variance() {
    const STEPS: usize = 1500;
    let all = names(&["out"]);
    let of = |layers: Layers<'_>| run(&linear(), &linear_posterior(), 1, layers).moments(STEPS, &STATES);
    let (shared, local, flipout) = (of(Layers::default()), of(local(&all)), of(flipout(&all)));
    for moments in [&shared, &local, &flipout] {
        agree(moments, STEPS, &known());
    }
    // The variance of the loss under local reparameterisation. The rows are independent,
    // and each row contributes a quadratic function of one normal variate.
    let row = |(x, y): (&[f64; 3], &f64)| {
        let mean = B.0 + x.iter().zip(&W.0).map(|(x, m)| x * m).sum::<f64>();
        let variance = B.1 * B.1 + x.iter().zip(&W.1).map(|(x, s)| (x * s).powi(2)).sum::<f64>();
        (2.0 * variance * variance + 4.0 * variance * (y - mean).powi(2)) / (4.0 * SD.powi(4))
    };
    let variance: f64 = X.iter().zip(&Y).map(row).sum();
    assert!(
        (local[0].1 / variance - 1.0).abs() < 0.25,
        "{} is not {variance}",
        local[0].1
    );
    // The slopes with respect to the locations are sums over six rows that have nearly the same
    // first input. With shared noise, the standard deviations of the rows add up. With independent
    // noise, the variances add up, so the variance of the sum is only a sixth as large. The bound
    // of the test leaves a margin.
    for at in [1, 7] {
        assert!(
            local[at].1 < 0.25 * shared[at].1,
            "{at}: {} and {}",
            local[at].1,
            shared[at].1
        );
        assert!(
            flipout[at].1 < 0.25 * shared[at].1,
            "{at}: {} and {}",
            flipout[at].1,
            shared[at].1
        );
    }
}

#[test]
fn the_loss_is_averaged_over_several_samples() {
    const STEPS: usize = 300;
    let all = names(&["out"]);
    for layers in [local(&all), flipout(&all)] {
        let one = run(&linear(), &linear_posterior(), 1, layers).moments(STEPS, &STATES);
        let four = run(&linear(), &linear_posterior(), 4, layers).moments(STEPS, &STATES);
        agree(&four, STEPS, &known());
        assert!(four[0].1 < 0.5 * one[0].1);
    }
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

/// A network has two layers and a nonlinearity. The estimators agree with the results of shared
/// draws, up to the small error of a mean over several draws.
#[test]
fn deep_networks_keep_the_expectation() {
    const STEPS: usize = 60;
    let states = ["out.w/loc", "out.w/scale", "out.b/loc", "last/loc", "last/scale"];
    let of = |layers: Layers<'_>| run(&network(), &network_posterior(), 50, layers).moments(STEPS, &states);
    let shared = of(Layers::default());
    let (all, first, last) = (names(&["out", "last"]), names(&["out.w"]), names(&["last"]));
    let mixed = Layers {
        local: &last,
        flipout: &first,
        ..Layers::default()
    };
    for layers in [local(&all), flipout(&all), mixed] {
        for (ours, theirs) in of(layers).iter().zip(&shared) {
            let error = ((ours.1 + theirs.1) / STEPS as f64).sqrt();
            assert!(
                (ours.0 - theirs.0).abs() <= 5.0 * error,
                "{ours:?} is not {theirs:?}"
            );
        }
    }
}

/// If all inputs of a layer are zero, the variance of its outputs is zero too.
#[test]
fn gradients_at_zero_variance_are_finite() {
    let sites = vec![declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0])];
    let model = regression(Type::real(Shape::fixed(&[3])), sites, SD, |b, sites, x| {
        let zero = b.zeros_like(x);
        let least = b.min(x, zero);
        let nothing = b.max(least, zero);
        let product = b.contract(sites[0], nothing, "ij,j->i");
        b.reshape(product, &Shape::scalar())
    });
    let all = names(&["out"]);
    let approximation = approximation("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0]);
    let mut run = run(&model, &posterior(vec![approximation]), 1, local(&all));
    let numbers = run.step(0, &["out.w/loc", "out.w/scale"]);
    assert!(numbers.iter().all(|number| number.is_finite()), "{numbers:?}");
}

/// The perturbations of different examples come from one draw, but they are not correlated.
#[test]
fn flipout_decorrelates_examples() {
    let row = density(&linear()).unwrap().row_log_likelihood;
    let treated = [("out.w".into(), Expectation::Flipout)];
    let row = per_example::rewrite(&row, &treated).unwrap().row;
    // Far from the observation, the log-likelihood is nearly linear in the output: it deviates from
    // a linear function by about one part in a hundred.
    let output = |draw: f64, example: f64| {
        let value = |param: &Value| match crate::nodes::param_name(&row, *param) {
            "$draw" => Tensor::scalar(draw),
            "$example" => Tensor::scalar(example),
            "x" => Tensor::new(vec![3], vec![1.0, 1.0, 1.0]),
            "y" => Tensor::scalar(100.0),
            "out.w:centre" => Tensor::zeros(vec![1, 3]),
            "out.w:spread" => Tensor::new(vec![1, 3], vec![1.0, 0.2, 0.1]),
            _ => Tensor::zeros(row.ty(*param).shape.resolve(&Sizes::default())),
        };
        let inputs: Vec<Tensor> = row.params.iter().map(value).collect();
        evaluate(&row, &inputs, &Sizes::default())[0].data[0]
    };
    const DRAWS: usize = 2000;
    let pairs: Vec<(f64, f64)> = (0..DRAWS)
        .map(|draw| (output(draw as f64, 0.0), output(draw as f64, 1.0)))
        .collect();
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / DRAWS as f64;
    let (first, second) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let variance = mean(&|pair| (pair.0 - first).powi(2));
    let covariance = mean(&|pair| (pair.0 - first) * (pair.1 - second));
    assert!(variance > 0.0);
    assert!(
        (covariance / variance).abs() < 5.0 / (DRAWS as f64).sqrt(),
        "{covariance} of {variance}"
    );
}

/// Builds the draw `loc + scale * noise + direction * shared` of three elements, where one number `shared` moves all elements.
#[test]
fn a_shared_number_correlates_the_elements_of_a_draw() {
    let mut b = Builder::new("draw");
    let ty = Type::real(Shape::fixed(&[3]));
    let [loc, scale, direction] = ["loc", "scale", "direction"].map(|name| b.param(name, ty.clone()));
    let coordinates = crate::density::coordinates(&mut b);
    let kind = bnnc_abi::symbols::NoiseKind::Normal;
    let noise = b.noise(kind, "z", coordinates, &Shape::fixed(&[3]));
    let shared = b.noise(kind, "r", coordinates, &Shape::scalar());
    let shared = b.broadcast_to(shared, &Shape::fixed(&[3]));
    let (own, together) = (b.mul(scale, noise), b.mul(direction, shared));
    let centre = b.add(loc, own);
    let value = b.add(centre, together);
    let draw = b.finish(vec![("value".into(), value)]);
    assert!(!symmetry::is_uncorrelated(&draw).unwrap());
    assert_eq!(symmetry::kind(&draw).unwrap(), (true, false));
}

#[test]
fn symmetry_and_normality_are_read_from_samplers() {
    let kind = |family: &Instance| symmetry::kind(family.draw.as_ref().unwrap()).unwrap();
    assert_eq!(kind(&normal(&Shape::fixed(&[2, 3]))), (true, true));
    assert_eq!(
        kind(&laplace(&Shape::scalar())),
        (true, true),
        "the test's sampler is normal"
    );
    // A draw of the family is `loc + scale * noise * |radius| / norm(noise)`.
    let mut family = radial(3);
    let mut b = Builder::new("draw");
    let ty = Type::real(Shape::fixed(&[3]));
    let [loc, scale] = ["loc", "scale"].map(|name| b.param(name, ty.clone()));
    let coordinates = crate::density::coordinates(&mut b);
    let kind_of = bnnc_abi::symbols::NoiseKind::Normal;
    let noise = b.noise(kind_of, "z", coordinates, &Shape::fixed(&[3]));
    let radius = b.noise(kind_of, "r", coordinates, &Shape::scalar());
    let squares = b.contract(noise, noise, "i,i->");
    let norm = b.sqrt(squares);
    let size = b.abs(radius);
    let factor = b.div(size, norm);
    let factor = b.broadcast_to(factor, &Shape::fixed(&[3]));
    let direction = b.mul(noise, factor);
    let scaled = b.mul(scale, direction);
    let value = b.add(loc, scaled);
    family.draw = Some(Arc::new(b.finish(vec![("value".into(), value)])));
    assert_eq!(kind(&family), (true, false));
    assert!(symmetry::is_uncorrelated(family.draw.as_ref().unwrap()).unwrap());
    assert_eq!(
        kind(&super::library::exponential(&Shape::scalar())),
        (false, false)
    );
}

fn sentences(layers: Layers<'_>) -> Vec<String> {
    let objective = compile(&network(), &network_posterior(), 1, layers).unwrap();
    objective
        .reports
        .into_iter()
        .map(|report| report.likelihood)
        .collect()
}

#[test]
fn reports_name_the_estimator_of_each_site() {
    assert_eq!(sentences(Layers::default()), ["shared draw"; 3]);
    let some = names(&["out"]);
    assert_eq!(
        sentences(local(&some)),
        [
            "local reparameterisation",
            "local reparameterisation, in one draw with `out.w`",
            "shared draw"
        ]
    );
    assert_eq!(
        sentences(flipout(&some)),
        [
            "flipout",
            "flipout: one draw for all examples, with a random sign for every example and element",
            "shared draw"
        ]
    );
    let bias = names(&["out.b"]);
    assert_eq!(
        sentences(local(&bias))[1],
        "local reparameterisation: every example has its own draw"
    );
}

fn rejected(model: &Model, posterior: &ApproximatePosterior, layers: Layers<'_>) -> (&'static Code, String) {
    match compile(model, posterior, 1, layers) {
        Err(RewriteError::Program(diagnostics)) => (diagnostics[0].code, diagnostics[0].message.clone()),
        other => panic!("expected a diagnostic, found {other:?}"),
    }
}

#[test]
fn layers_that_are_unknown_or_named_twice_are_rejected() {
    let unknown = names(&["oot"]);
    let (code, message) = rejected(&linear(), &linear_posterior(), local(&unknown));
    assert_eq!(code.id, diagnostics::UNKNOWN_LAYER.id);
    assert_eq!(
        message,
        "`local` names `oot`, but the model has no such layer or parameter"
    );

    let all = names(&["out"]);
    let both = Layers {
        local: &all,
        flipout: &all,
        ..Layers::default()
    };
    let (code, message) = rejected(&linear(), &linear_posterior(), both);
    assert_eq!(code.id, diagnostics::LAYER_FORM.id);
    assert_eq!(
        message,
        "`flipout` is not possible for `out.w`: `local` also names it"
    );
}

#[test]
fn unsupported_estimators_are_rejected_with_a_reason() {
    let all = names(&["out"]);
    let one = |used: fn(&mut Builder, Value, Value) -> Value| {
        let sites = vec![declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0])];
        regression(Type::real(Shape::fixed(&[3])), sites, SD, move |b, sites, x| {
            used(b, sites[0], x)
        })
    };
    let plain = || {
        posterior(vec![approximation(
            "out.w",
            normal(&Shape::fixed(&[1, 3])),
            &[0.0, 1.0],
        )])
    };
    let why = |model: &Model, layers| rejected(model, &plain(), layers).1;
    let bent = one(|b, w, x| {
        let bent = b.tanh(w);
        let product = b.contract(bent, x, "ij,j->i");
        b.reduce_sum_all(product)
    });
    assert_eq!(
        why(&bent, local(&all)),
        "`local` is not possible for `out.w`: `tanh` also uses it, so it is not only a factor of products"
    );
    let twice = one(|b, w, x| {
        let first = b.contract(w, x, "ij,j->i");
        let again = b.tanh(x);
        let second = b.contract(w, again, "ij,j->i");
        let sum = b.add(first, second);
        b.reduce_sum_all(sum)
    });
    assert_eq!(
        why(&twice, local(&all)),
        "`local` is not possible for `out.w`: one example uses it several times, so several products share its noise"
    );
    assert!(compile(&twice, &plain(), 1, flipout(&all)).is_ok());
    let several = one(|b, w, x| {
        let pairs = b.broadcast(x, &Shape::fixed(&[2, 3]), &[1]);
        let shifts = b.literal(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let pairs = b.mul(pairs, shifts);
        let product = b.contract(w, pairs, "ij,kj->ki");
        let product = b.tanh(product);
        b.reduce_sum_all(product)
    });
    assert_eq!(
        why(&several, local(&all)),
        "`local` is not possible for `out.w`: one example multiplies it by several vectors, so the products share its noise"
    );
    assert!(compile(&several, &plain(), 1, flipout(&all)).is_ok());

    let mut family = normal(&Shape::fixed(&[1, 3]));
    family.draw = super::library::logistic(&Shape::fixed(&[1, 3])).draw;
    let skewed = posterior(vec![approximation("out.w", family, &[0.0, 1.0])]);
    let model = one(|b, w, x| {
        let product = b.contract(w, x, "ij,j->i");
        b.reduce_sum_all(product)
    });
    assert_eq!(
        rejected(&model, &skewed, local(&all)).1,
        "`local` is not possible for `out.w`: the elements of a draw of `Normal` are not independent normal variates"
    );
    assert_eq!(
        rejected(&model, &skewed, flipout(&all)).1,
        "`flipout` is not possible for `out.w`: the `draw` of `Normal` does not show that draws are symmetric around a centre, \
         element by element"
    );
}

fn integrate(names: &[Arc<str>]) -> Layers<'_> {
    Layers {
        integrate: names,
        ..Layers::default()
    }
}

/// In Bayesian linear regression, the value and the gradient of the expected log-likelihood are
/// exact and free of noise.
#[test]
fn a_normal_likelihood_is_integrated_exactly() {
    let all = names(&["out"]);
    let mut exact = run(&linear(), &linear_posterior(), 1, integrate(&all));
    let is_noise = |node: &bnnc_graph::function::Node| matches!(&node.kind, bnnc_graph::function::NodeKind::Apply { op, .. } if op.name == "noise");
    assert!(!exact.train.nodes.iter().any(is_noise));
    for (got, want) in exact.step(0, &STATES).iter().zip(known()) {
        assert!(
            (got - want).abs() <= 1e-12 * (1.0 + want.abs()),
            "{got} is not {want}"
        );
    }
    let objective = compile(&linear(), &linear_posterior(), 1, integrate(&all)).unwrap();
    let sentences: Vec<&str> = objective
        .reports
        .iter()
        .map(|report| &*report.likelihood)
        .collect();
    assert_eq!(sentences, ["integrated exactly (polynomial of degree 2)"; 2]);
}

/// If only the last layer of a network is integrated, the expectation stays the same and the
/// variance decreases.
#[test]
fn a_last_layer_is_integrated() {
    const STEPS: usize = 200;
    let model = {
        let sites = vec![
            declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0]),
            declared("out.b", normal(&Shape::fixed(&[1])), &[0.0, 1.0]),
            declared("last", normal(&Shape::fixed(&[2, 1])), &[0.0, 1.0]),
        ];
        regression(Type::real(Shape::fixed(&[3])), sites, SD, |b, sites, x| {
            let product = b.contract(sites[0], x, "ij,j->i");
            let sum = b.add(product, sites[1]);
            let hidden = b.tanh(sum);
            let last = b.contract(sites[2], hidden, "ij,j->i");
            b.reduce_sum_all(last)
        })
    };
    let states = ["out.w/loc", "last/loc", "last/scale"];
    let (first, last) = (names(&["out"]), names(&["last"]));
    let layers = [
        local(&first),
        Layers {
            local: &first,
            integrate: &last,
            ..Layers::default()
        },
    ];
    let [drawn, integrated] =
        layers.map(|layers| run(&model, &network_posterior(), 10, layers).moments(STEPS, &states));
    for (ours, theirs) in integrated.iter().zip(&drawn) {
        let error = ((ours.1 + theirs.1) / STEPS as f64).sqrt();
        assert!(
            (ours.0 - theirs.0).abs() <= 5.0 * error,
            "{ours:?} is not {theirs:?}"
        );
        assert!(ours.1 < theirs.1);
    }
}

/// The log-likelihood of a Boolean `y`: `log sigmoid(u)` or `log sigmoid(-u)` with `u = w x + b`.
fn logistic_row() -> Function {
    let mut b = Builder::new("row");
    let w = b.param("w", Type::real(Shape::fixed(&[2])));
    let bias = b.param("b", Type::scalar());
    let x = b.param("x", Type::real(Shape::fixed(&[2])));
    let y = b.param("y", Type::scalar());
    let zero = b.real(0.0);
    let product = b.contract(w, x, "i,i->");
    let u = b.add(product, bias);
    let minus = b.neg(u);
    let (plus, minus) = (b.log_sigmoid(u), b.log_sigmoid(minus));
    let is_true = b.lt(zero, y);
    let value = b.select(is_true, plus, minus);
    b.finish(vec![(PortName::LogLikelihood.into(), value)])
}

/// Returns the mean of `f` under a normal distribution by the trapezium rule. For analytic
/// functions, this rule is exact to rounding.
fn gaussian_mean(mean: f64, sd: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1.0 / 64.0;
    let weight = |z: f64| (-0.5 * z * z).exp() * STEP / (2.0 * std::f64::consts::PI).sqrt();
    (-768..=768)
        .map(|at| f64::from(at) * STEP)
        .map(|z| weight(z) * f(mean + sd * z))
        .sum()
}

#[test]
fn a_logistic_likelihood_is_integrated_by_its_series() {
    let treated = names(&["w", "b"]);
    let x = [0.6, -0.4];
    let (centre, spread) = ([0.8, 0.5, -0.2], [0.5, 0.7, 0.3]);
    let mean = centre[0] * x[0] + centre[1] * x[1] + centre[2];
    let sd = f64::hypot(f64::hypot(spread[0] * x[0], spread[1] * x[1]), spread[2]);
    let series = |u: f64, order: usize| {
        let terms = [-1.0 / 8.0 * u * u, u.powi(4) / 192.0, -u.powi(6) / 2880.0];
        -std::f64::consts::LN_2 + 0.5 * u + terms[..order / 2].iter().sum::<f64>()
    };
    for (order, bound) in [(2, 1.0 / 192.0), (4, 1.0 / 2880.0), (6, 17.0 / 645_120.0)] {
        let rewritten =
            crate::methods::likelihood::integrate::rewrite(&logistic_row(), &treated, order).unwrap();
        for (y, sign) in [(1.0, 1.0), (0.0, -1.0)] {
            let value = |param: &Value| match crate::nodes::param_name(&rewritten.row, *param) {
                "x" => Tensor::new(vec![2], x.to_vec()),
                "w:centre" => Tensor::new(vec![2], centre[..2].to_vec()),
                "w:spread" => Tensor::new(vec![2], spread[..2].to_vec()),
                "b:centre" => Tensor::scalar(centre[2]),
                "b:spread" => Tensor::scalar(spread[2]),
                _ => Tensor::scalar(y),
            };
            let inputs: Vec<Tensor> = rewritten.row.params.iter().map(value).collect();
            let got = evaluate(&rewritten.row, &inputs, &Sizes::default())[0].data[0];
            let wanted = gaussian_mean(mean, sd, |u| series(sign * u, order));
            assert!(
                (got - wanted).abs() < 1e-12,
                "order {order}: {got} is not {wanted}"
            );
            let exact = gaussian_mean(mean, sd, |u| -(-sign * u).exp().ln_1p());
            let most = bound * gaussian_mean(mean, sd, |u| u.powi(order as i32 + 2));
            assert!(
                (got - exact).abs() <= most,
                "order {order}: {got} is not {exact} within {most}"
            );
        }
        let text = format!(
            "integrated by the series of order {order} (biased by at most {bound:.3e} times the mean of"
        );
        assert!(
            rewritten.sentences[0].1.starts_with(&text),
            "{}",
            rewritten.sentences[0].1
        );
    }
}

#[test]
fn non_polynomial_likelihoods_are_not_integrated() {
    let why = |build: fn(&mut Builder, Value) -> Value| {
        let mut b = Builder::new("row");
        let w = b.param("out.w", Type::real(Shape::fixed(&[2, 3])));
        let x = b.param("x", Type::real(Shape::fixed(&[3])));
        let product = b.contract(w, x, "ij,j->i");
        let value = build(&mut b, product);
        let row = b.finish(vec![(PortName::LogLikelihood.into(), value)]);
        let faults = crate::methods::likelihood::integrate::rewrite(&row, &names(&["out.w"]), 4);
        faults.err().map(|faults| {
            assert_eq!(faults[0].code.id, diagnostics::LAYER_FORM.id);
            faults[0].message.clone()
        })
    };
    let student = why(|b, u| {
        let square = b.square(u);
        let log = b.log1p(square);
        b.reduce_sum_all(log)
    });
    assert_eq!(
        student.as_deref(),
        Some(
            "`integrate` is not possible for `out.w`: the log likelihood is not a polynomial in the outputs, because it applies \
             `log1p` to them"
        )
    );
    let categorical = why(|b, u| {
        let log = b.log_softmax(u, 0);
        b.reduce_sum_all(log)
    });
    assert!(
        categorical
            .unwrap()
            .ends_with("because it applies `log_softmax` to them")
    );
    let crossed = why(|b, u| {
        let transposed = b.contract(u, u, "i,j->ij");
        b.reduce_sum_all(transposed)
    });
    assert!(
        crossed
            .unwrap()
            .ends_with("the log likelihood multiplies outputs that share weights in different ways")
    );
    // The square of an element is not regarded as a product of two elements.
    assert_eq!(
        why(|b, u| {
            let square = b.square(u);
            b.reduce_sum_all(square)
        }),
        None
    );
}
