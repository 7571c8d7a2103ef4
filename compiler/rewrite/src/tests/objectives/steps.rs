//! Compares the losses, gradients and updates of training steps with known values.

use super::{ROWS, Run, close, network, network_posterior, product, run, scalar, softplus};
use crate::tests::inputs::differences;
use crate::tests::library::{
    approximation, declared, momentum, normal, point, posterior, regression, sgd, spike_and_slab,
};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Symbol;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Function;
use bnnc_graph::model::Model;
use bnnc_graph::types::Type;

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
