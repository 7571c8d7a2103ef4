//! Tests inferences with fixed weights, which keep the moments of an earlier training.

use crate::{BODY, MOMENTUM, ROWS, WIDTH, close, compiled, moments, rows};
use bnnc_tests::compile;

/// Weights that a posterior takes from an earlier training were trained with the stored moments of that training. The second training starts from
/// these moments. The weights before the layer are fixed, so its only step moves the stored moments by the fraction `m` towards the moments of the
/// rows.
#[test]
fn fixed_weights_keep_the_moments_of_their_training() {
    let options = "batch = 0, optimiser = SGD(1e-3), schedule = constant";
    for lines in [
        "w = f.w\n  norm.* = f.norm.*\n  out ~ Normal()",
        "w = f.w\n  norm.*, out ~ Normal()",
    ] {
        let infer = format!(
            "infer f = map(M, d) {{ epochs = 5, {options} }}\nposterior Last of M {{\n  {lines}\n}}\n\
             infer g = map(Last, d) {{ epochs = 1, {options} }}"
        );
        let compiled = compiled("fixed", BODY, &infer, "cranelift");
        let result = compile::run(&compiled.manifest, 1);
        let [first, second] = [0, 1].map(|at| result.outcomes[at].splits[0].found.values().clone());
        let of_rows = moments(&second["w/loc"], &rows());
        assert_eq!(first["w/loc"], second["w/loc"]);
        for (name, of_rows) in ["norm.centre", "norm.variance"].into_iter().zip(of_rows) {
            let moved = first[name].iter().zip(of_rows);
            let want: Vec<f64> = moved
                .map(|(stored, of_rows)| (1.0 - MOMENTUM) * stored + MOMENTUM * of_rows)
                .collect();
            close(&second[name], &want, name);
        }
    }
}

/// Checks that a running mean of the inputs goes on where an earlier training has left it: `first` trains for five steps, and `second`, whose weights are
/// fixed to those of `first`, for one. After `n` steps, the mean is `1 - (1 - m)^n` of the way from 0 to the mean of the inputs.
fn assert_continued(name: &str, body: &str, infer: &str, means: [&str; 2]) {
    let compiled = compiled(name, body, infer, "cranelift");
    let result = compile::run(&compiled.manifest, 1);
    for (at, steps) in [5, 6].into_iter().enumerate() {
        let found = result.outcomes[at].splits[0].found.values().clone();
        let of_input = |input: usize| {
            let sum = rows().iter().map(|(inputs, _)| inputs[input]).sum::<f64>();
            (1.0 - (1.0 - MOMENTUM).powi(steps)) * sum / ROWS as f64
        };
        let want: Vec<f64> = (0..WIDTH).map(of_input).collect();
        close(&found[means[at]], &want, means[at]);
    }
}

const SGD: &str = "batch = 0, optimiser = SGD(1e-3), schedule = constant";

#[test]
fn a_mean_of_the_model_is_taken_with_its_fixed_weights() {
    let body = "  centre = running_mean(x, 0.3, 0)\n  w: real[6] ~ Normal(0, 1)\n  y ~ Normal(dot(w, x - centre), 0.5)";
    let infer = format!(
        "infer f = map(M, d) {{ epochs = 5, {SGD} }}\nposterior Last of M {{ w = f.w }}\n\
         infer g = map(Last, d) {{ epochs = 1, {SGD} }}"
    );
    assert_continued("of-model", body, &infer, ["centre", "centre"]);
}

/// The layer of the mean does not have parameters. The layer around it has, and has another name in the earlier model.
#[test]
fn a_mean_of_a_layer_without_parameters_is_taken_with_the_renamed_layer_around_it() {
    let body = "  body = Net()\n  y ~ Normal(body(x), 0.5)";
    let infer = format!(
        "layer Centred()(x: real[n]) -> real[n] {{\n  centre = running_mean(x, 0.3, 0)\n  return x - centre\n}}\n\
         layer Linear()(x: real[n]) -> real {{\n  w: real[n] ~ Normal(0, 1)\n  return dot(w, x)\n}}\n\
         layer Net()(x: real[n]) -> real {{\n  norm = Centred()\n  linear = Linear()\n  return linear(norm(x))\n}}\n\
         model N(x: real[6]) -> y: real {{\n  net = Net()\n  y ~ Normal(net(x), 0.5)\n}}\n\
         infer f = map(M, d) {{ epochs = 5, {SGD} }}\nposterior Last of N {{ net.* = f.body.* }}\n\
         infer g = map(Last, d) {{ epochs = 1, {SGD} }}"
    );
    assert_continued("of-layer", body, &infer, ["body.norm.centre", "net.norm.centre"]);
}
