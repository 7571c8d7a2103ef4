//! Tests the expectation and the variance of the gradient estimators.

use super::{
    B, SD, STATES, W, X, Y, flipout, known, linear, linear_posterior, local, names, network,
    network_posterior, run,
};
use crate::density::density;
use crate::methods::likelihood::choice::{Expectation, Layers};
use crate::methods::likelihood::{per_example, symmetry};
use crate::tests::library::{approximation, declared, laplace, normal, posterior, radial, regression};
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Value;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

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
        kind(&crate::tests::library::exponential(&Shape::scalar())),
        (false, false)
    );
}
