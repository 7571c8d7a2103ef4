//! Compares training steps with independently computed numbers and with closed forms.

use super::inputs::differences;
use super::library::{
    approximation, declared, laplace, logistic, momentum, normal, point, posterior, radial, regression, sgd,
    spike_and_slab,
};
use crate::density::density;
use crate::methods::task::TrainingSettings;
use crate::methods::train::{Objective, objective};
use crate::pass::PassContext;
use bnnc_abi::manifest::Init;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Node, NodeKind, Value};
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
        optimiser,
        samples,
        kl_draws,
        kl: crate::kl::KlOptions::default(),
        layers: crate::methods::likelihood::choice::Layers::default(),
        jacobians: false,
        online: false,
        clips: false,
        means: false,
        scaled: None,
        mixes: false,
        gradient: None,
    };
    let objective = objective(
        &densities,
        model,
        posterior,
        settings,
        &mut PassContext::default(),
    )
    .unwrap();
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

/// Returns a model of one site and one row. With scale 0 for the likelihood, the loss is the KL
/// divergence.
fn divergence(family: Instance, starts: &[f64], prior: Instance, params: &[f64], draws: usize) -> Run {
    let shape = prior.value.shape.clone();
    let first = move |b: &mut Builder, sites: &[Value], x: Value| {
        let sum = b.reduce_sum_all(sites[0]);
        b.mul(sum, x)
    };
    assert_eq!(shape, family.value.shape);
    let model = regression(Type::scalar(), vec![declared("w", prior, params)], 1.0, first);
    let posterior = posterior(vec![approximation("w", family, starts)]);
    let mut run = run(&model, &posterior, &sgd(0.0), draws, 0, (&[0.0], &[0.0]));
    run.set(PortName::Scale.text(), 0.0);
    run
}

#[test]
fn exact_divergences_equal_known_values() {
    let exact = |run: &Run| {
        assert!(
            run.objective.reports[0].kl.starts_with("exact: "),
            "{}",
            run.objective.reports[0].kl
        )
    };
    let run = divergence(normal(&scalar()), &[0.3, 0.5], normal(&scalar()), &[0.0, 1.0], 1);
    exact(&run);
    close(run.loss(), 0.363_147_18, 1e-8);
    let run = divergence(
        logistic(&scalar()),
        &[0.3, 0.5],
        normal(&scalar()),
        &[0.0, 1.0],
        1,
    );
    exact(&run);
    close(run.loss(), 0.068_319_23, 1e-8);
    let pair = Shape::fixed(&[2]);
    let mut run = divergence(radial(2), &[0.3, 0.5], normal(&pair), &[0.0, 1.0], 1);
    exact(&run);
    run.values
        .insert("w/loc".into(), Tensor::new(vec![2], vec![0.3, -0.2]));
    let rho = crate::constrain::inverse_parameter(
        bnnc_graph::dist::Support::Interval(0.0, f64::INFINITY),
        1,
        &[0.5, 0.8],
    );
    run.values.insert("w/scale".into(), Tensor::new(vec![2], rho));
    close(run.loss(), 1.113_180_80, 1e-8);
}

/// Fails if the estimate differs from the known value by more than four standard errors. The standard error is estimated from the
/// draws.
fn check_sampled(
    way: &str,
    family: Instance,
    (prior, params): (Instance, &[f64]),
    known: f64,
    log_p: fn(f64) -> f64,
) {
    const DRAWS: usize = 20_000;
    let run = divergence(family, &[0.3, 0.5], prior, params, DRAWS);
    let sentence = &run.objective.reports[0].kl;
    assert!(sentence.starts_with(way), "{sentence}");
    let draws = &run.call(&run.objective.sites)["w"];
    assert_eq!(draws.shape, [DRAWS]);
    let terms: Vec<f64> = draws.data.iter().map(|w| -log_p(*w)).collect();
    let mean = terms.iter().sum::<f64>() / DRAWS as f64;
    let variance = terms.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / DRAWS as f64;
    let error = (variance / DRAWS as f64).sqrt();
    assert!(error < 0.02);
    close(run.loss(), known, 4.0 * error);
}

#[test]
fn sampled_divergences_agree_with_known_values() {
    check_sampled(
        "signs: ",
        normal(&scalar()),
        (laplace(&scalar()), &[0.0, 1.0]),
        0.436_028_56,
        |w| -w.abs() - 2f64.ln(),
    );
    check_sampled(
        "direct: ",
        normal(&scalar()),
        (logistic(&scalar()), &[0.0, 1.0]),
        0.742_370_96,
        |w| -softplus(w) - softplus(-w),
    );
    check_sampled(
        "direct: ",
        normal(&scalar()),
        (spike_and_slab(&scalar()), &[]),
        1.008_896_51,
        |w| {
            let slab = (-0.5 * w * w).exp();
            let spike = (-0.5 * w * w * 12f64.exp() + 6.0).exp();
            (0.5 * (slab + spike) / (2.0 * std::f64::consts::PI).sqrt()).ln()
        },
    );
    check_sampled(
        "direct: ",
        logistic(&scalar()),
        (logistic(&scalar()), &[0.0, 1.0]),
        0.283_208_57,
        |w| -softplus(w) - softplus(-w),
    );
}

/// Separate draws give another estimate of the same KL divergence, and do not change the draws of the likelihood.
#[test]
fn divergences_may_use_separate_draws() {
    let model = regression(
        Type::scalar(),
        vec![declared("w", laplace(&scalar()), &[0.0, 1.0])],
        1.0,
        product,
    );
    let posterior = posterior(vec![approximation("w", normal(&scalar()), &[0.3, 0.5])]);
    let (optimiser, rows) = (sgd(0.0), (&[1.0][..], &[0.4][..]));
    let own = run(&model, &posterior, &optimiser, 1, 20_000, rows);
    let mut without = run(&model, &posterior, &optimiser, 1, 0, rows);
    without.set(PortName::KlWeight.text(), 0.0);
    let streams: std::collections::BTreeSet<&str> =
        own.objective.train.nodes.iter().filter_map(noise_site).collect();
    assert_eq!(streams.into_iter().collect::<Vec<_>>(), ["kl/w/z", "w/z"]);
    // Under the approximation, the standard deviation of |w| is smaller than the standard deviation of w.
    close(
        own.loss() - without.loss(),
        0.436_028_56,
        4.0 * 0.5 / 20_000f64.sqrt(),
    );
}

fn noise_site(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Apply { op, attrs, .. } if op.name == "noise" => Some(bnnc_graph::ops::noise::site(attrs)),
        NodeKind::Apply { .. } | NodeKind::Param(_) => None,
    }
}

/// The graph does not grow with the number of draws.
#[test]
fn graph_size_does_not_depend_on_the_number_of_draws() {
    let sizes = |kl_draws: usize| {
        let rows = (&ROWS.0[..], &ROWS.1[..]);
        let objective = run(&network(), &network_posterior(), &sgd(0.0), 1, kl_draws, rows).objective;
        (objective.gradient_nodes, objective.train.nodes.len())
    };
    let few = sizes(2);
    assert!(few.0 > 0 && few.0 < few.1);
    assert_eq!(few, sizes(10));
    assert_eq!(few, sizes(1000));
}

/// One step of Bayes by Backprop, with the noise fixed at 0.7.
#[test]
fn one_step_of_bayes_by_backprop_equals_the_known_numbers() {
    let mut family = normal(&scalar());
    let mut b = Builder::new("draw");
    let [loc, scale] = ["loc", "scale"].map(|name| b.param(name, Type::scalar()));
    for name in ["$draw", "$example", "$step"] {
        b.param(name, Type::int(scalar()));
    }
    let scaled = b.scale(scale, 0.7);
    let value = b.add(loc, scaled);
    family.draw = Some(std::sync::Arc::new(b.finish(vec![("value".into(), value)])));
    // Without an entropy, the loss uses log q at the draw, as in the paper.
    family.entropy = None;
    let model = regression(
        Type::scalar(),
        vec![declared("w", spike_and_slab(&scalar()), &[])],
        0.5,
        product,
    );
    let posterior = posterior(vec![approximation("w", family, &[0.4, softplus(-1.0)])]);
    let run = run(&model, &posterior, &sgd(0.01), 1, 0, (&[1.0, 2.0], &[1.2, 1.9]));
    close(run.values["w/scale"].data[0], -1.0, 1e-12);
    let after = run.train();
    close(after["$loss"].data[0], 3.801_655_05, 1e-8);
    close(after["w/loc"].data[0], 0.469_950_53, 1e-8);
    close(after["w/scale"].data[0], -0.978_245_98, 1e-8);
    close(run.call(&run.objective.sites)["w"].data[0], 0.619_283_18, 1e-8);
}

const X: [f64; 8] = [-1.5, -1.0, -0.4, 0.0, 0.3, 0.8, 1.2, 1.9];
const Y: [f64; 8] = [-0.9, -0.8, 0.1, 0.25, 0.35, 1.0, 1.05, 1.7];

fn line() -> Model {
    let sites = vec![
        declared("a", normal(&scalar()), &[0.0, 1.0]),
        declared("b", normal(&scalar()), &[0.0, 1.0]),
    ];
    regression(Type::scalar(), sites, 0.3, |b, sites, x| {
        let slope = b.mul(sites[1], x);
        b.add(sites[0], slope)
    })
}

/// For the conjugate model, the evidence lower bounds agree with the closed form.
#[test]
fn evidence_lower_bounds_agree_with_the_conjugate_model() {
    const DRAWS: usize = 20_000;
    let cases = [
        ([0.2, 0.8], [0.1, 0.1], -3.447_118_24),
        (
            [0.214_804_89, 0.778_637_25],
            [0.105_474_38, 0.098_479_82],
            -3.415_327_78,
        ),
        ([0.0, 0.0], [1.0, 1.0], -130.094_725_83),
    ];
    for (mean, sd, known) in cases {
        let family = || normal(&scalar());
        let approximations = vec![
            approximation("a", family(), &[mean[0], sd[0]]),
            approximation("b", family(), &[mean[1], sd[1]]),
        ];
        let run = run(&line(), &posterior(approximations), &sgd(0.0), DRAWS, 0, (&X, &Y));
        let rows = run.call(&run.objective.predict);
        assert_eq!(rows["$log_likelihood"].shape, [DRAWS, 8]);
        let sums: Vec<f64> = rows["$log_likelihood"]
            .data
            .chunks(8)
            .map(|row| row.iter().sum())
            .collect();
        let average = sums.iter().sum::<f64>() / DRAWS as f64;
        let variance = sums.iter().map(|s| (s - average) * (s - average)).sum::<f64>() / DRAWS as f64;
        close(-run.loss(), known, 4.0 * (variance / DRAWS as f64).sqrt());
    }
}

/// The weights of the hidden layer have rank two. A step of gradient descent with rate 1 gives the
/// gradient.
#[test]
fn gradients_of_a_network_agree_with_finite_differences() {
    let model = network();
    for (samples, kl_draws) in [(1, 0), (3, 0), (1, 2), (2, 3)] {
        let mut run = run(
            &model,
            &network_posterior(),
            &sgd(1.0),
            samples,
            kl_draws,
            (&ROWS.0, &ROWS.1),
        );
        run.set(PortName::Scale.text(), 2.5);
        run.set(PortName::KlWeight.text(), 0.3);
        let after = run.train();
        for state in ["w/loc", "w/scale", "v/loc", "v/scale"] {
            let before = run.values[state].clone();
            let numeric = differences(
                |moved| {
                    let mut values = run.values.clone();
                    values.insert(state.to_owned(), moved[0].clone());
                    Run {
                        objective: run.objective.clone(),
                        sizes: run.sizes,
                        values,
                    }
                    .loss()
                },
                std::slice::from_ref(&before),
                0,
            );
            for (at, slope) in numeric.data.iter().enumerate() {
                close(
                    before.data[at] - after[state].data[at],
                    *slope,
                    1e-6 * (1.0 + slope.abs()),
                );
            }
        }
    }
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

/// The mean over draws of the log-likelihood in `predict` equals the expected log-likelihood in the
/// loss of `train`.
#[test]
fn predictions_and_training_use_the_same_draws() {
    let mut run = run(
        &network(),
        &network_posterior(),
        &sgd(1.0),
        5,
        0,
        (&ROWS.0, &ROWS.1),
    );
    run.set(PortName::KlWeight.text(), 0.0);
    let predicted = run.call(&run.objective.predict);
    assert_eq!(predicted["$mean"].shape, [5, 4]);
    assert_eq!(predicted["$draw"].shape, [5, 4]);
    assert!(!predicted.contains_key("$probabilities"));
    let mean = predicted["$log_likelihood"].data.iter().sum::<f64>() / 5.0;
    close(run.loss(), -mean, 1e-12);
}

/// A single draw does not add an axis. The products of a step have the rank that one example needs,
/// plus the axis of rows.
#[test]
fn one_draw_adds_no_axis() {
    let run = run(
        &network(),
        &network_posterior(),
        &sgd(1.0),
        1,
        0,
        (&ROWS.0, &ROWS.1),
    );
    let draws = |function: &Function| {
        function.nodes.iter().any(|node| {
            node.ty
                .dims()
                .contains(&bnnc_base::shape::Dim::Symbol(Symbol::Draws))
        })
    };
    assert!(!draws(&run.objective.train));
    assert!(draws(&run.objective.predict));
}

/// At the mode of a conjugate model, the gradient of `map` is zero and the loss is the negative log joint density.
#[test]
fn the_gradient_of_map_is_zero_at_the_mode() {
    let approximations = vec![
        approximation("a", point(&scalar()), &[0.0]),
        approximation("b", point(&scalar()), &[0.0]),
    ];
    let mut run = run(&line(), &posterior(approximations), &sgd(1.0), 4, 0, (&X, &Y));
    run.set("a/loc", 0.214_804_89);
    run.set("b/loc", 0.778_637_25);
    let after = run.train();
    close(after["a/loc"].data[0], 0.214_804_89, 1e-5);
    close(after["b/loc"].data[0], 0.778_637_25, 1e-5);
    let log_normal = |z: f64, sd: f64| -0.5 * (z / sd) * (z / sd) - sd.ln() - 0.918_938_533_204_672_7;
    let rows = X
        .iter()
        .zip(&Y)
        .map(|(x, y)| log_normal(y - 0.214_804_89 - 0.778_637_25 * x, 0.3));
    let joint = rows.sum::<f64>() + log_normal(0.214_804_89, 1.0) + log_normal(0.778_637_25, 1.0);
    close(after["$loss"].data[0], -joint, 1e-9);
}

/// The states of the optimiser are states of the program. The expected numbers are two steps of
/// heavy-ball momentum, computed by hand.
#[test]
fn optimiser_states_follow_momentum_by_hand() {
    let approximations = vec![
        approximation("a", point(&scalar()), &[0.5]),
        approximation("b", point(&scalar()), &[0.0]),
    ];
    let mut run = run(&line(), &posterior(approximations), &momentum(), 1, 0, (&X, &Y));
    let names: Vec<&str> = run.objective.states.iter().map(|state| &*state.name).collect();
    assert_eq!(names, ["a/loc", "b/loc", "a/loc/m", "b/loc/m"]);
    let residuals = |a: f64, b: f64| X.iter().zip(&Y).map(move |(x, y)| (y - a - b * x) / 0.09);
    let gradient = |a: f64, b: f64| a - residuals(a, b).sum::<f64>();
    let first = run.train();
    let g = gradient(0.5, 0.0);
    close(first["a/loc/m"].data[0], g, 1e-9);
    close(first["a/loc"].data[0], 0.5 - 0.1 * g, 1e-9);
    let (a, b) = (first["a/loc"].data[0], first["b/loc"].data[0]);
    for (name, value) in &first {
        run.values.insert(name.clone(), value.clone());
    }
    run.set(PortName::Iteration.text(), 2.0);
    let second = run.train();
    let m = 0.9 * g + gradient(a, b);
    close(second["a/loc/m"].data[0], m, 1e-9);
    close(second["a/loc"].data[0], a - 0.1 * m / 2.0, 1e-9);
}
