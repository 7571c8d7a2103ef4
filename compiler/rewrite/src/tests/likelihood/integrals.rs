//! Tests likelihoods that are integrated over the weights of a last layer.

use super::{SD, STATES, compile, known, linear, linear_posterior, local, names, network_posterior, run};
use crate::diagnostics;
use crate::methods::likelihood::choice::Layers;
use crate::tests::library::{declared, normal, regression};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

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
