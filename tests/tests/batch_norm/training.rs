//! Tests training runs and their predictions.

use crate::{
    BODY, CHANNELS, MOMENTUM, PIXELS, WEIGHTS, assert_rmse, close, compiled, moments, output, rows, trained,
    values,
};
use bnnc_tests::compile;

#[test]
fn steps_and_stored_moments_are_those_of_a_training_by_hand() {
    let infer = "infer f = map(M, d) { epochs = 5, batch = 0, optimiser = SGD(1e-3), schedule = constant }";
    for backend in ["cranelift", "reference"] {
        let compiled = compiled("steps", BODY, infer, backend);
        let found = values(&compiled, 2);
        let (weights, stored) = trained(&compiled, 5);
        for ((name, _), want) in WEIGHTS.iter().zip(&weights) {
            close(&found[*name], want, name);
        }
        close(&found["norm.centre"], &stored[0], "norm.centre");
        close(&found["norm.variance"], &stored[1], "norm.variance");
    }
}

/// Predictions of the rows use the stored moments, which differ from the moments of the rows.
#[test]
fn predictions_use_the_stored_moments() {
    let infer = "infer f = map(M, d) { epochs = 5, batch = 0, optimiser = SGD(1e-3), schedule = constant }";
    let compiled = compiled("predictions", BODY, infer, "cranelift");
    let result = compile::run(&compiled.manifest, 1);
    let json = bnnc_report::result::json(&compiled.manifest, &result);
    let (weights, stored) = trained(&compiled, 5);
    assert_rmse(&json["infer"]["f"], |inputs| output(&weights, inputs, &stored));
}

/// The masks apply after the normalisation, so the moments equal those of the start for all masks. The weights move, but differently than without
/// masks.
#[test]
fn dropout_trains_under_masks_and_stores_the_moments() {
    let infer = |method: &str, rate: f64| {
        let infer = format!(
            "infer f = {method}(M, d) {{ epochs = 4, batch = 0, optimiser = SGD({rate:e}), schedule = constant }}"
        );
        values(&compiled(method, BODY, &infer, "cranelift"), 2)
    };
    let still = infer("dropout", 1e-15);
    let rows = rows();
    let [means, variances] = moments(&still["w/loc"], &rows);
    let way = 1.0 - (1.0 - MOMENTUM).powi(4);
    let means: Vec<f64> = means.iter().map(|mean| way * mean).collect();
    let variances: Vec<f64> = variances
        .iter()
        .map(|variance| 1.0 + way * (variance - 1.0))
        .collect();
    close(&still["norm.centre"], &means, "centre");
    close(&still["norm.variance"], &variances, "variance");
    let [masked, whole] = ["dropout", "map"].map(|method| infer(method, 1e-3));
    let distance = |name: &str| {
        let pairs = masked[name].iter().zip(&whole[name]);
        pairs
            .map(|(masked, whole)| (masked - whole).abs())
            .fold(0.0, f64::max)
    };
    let moved = [distance("out/loc"), distance("w/loc")];
    assert!(moved[0] > 1e-4 && moved[1] > 1e-5, "{moved:?}");
}

/// The moments of the data do not depend on the weights: after `n` steps, the stored ones are `1 - (1 - m)^n` of the way from their starts.
#[test]
fn variational_inference_averages_the_moments_of_its_draws() {
    let body = "  w: real[6] ~ Normal(0, 1)\n  norm = BatchNorm(momentum = 0.3)\n  out: real[6] ~ Normal(0, 1)\n  \
                y ~ Normal(dot(out, w * flatten(norm(reshape(x, 2, 1, 3)))), 0.5)";
    let infer = "infer f = vi(Q, d) { epochs = 4, batch = 0, samples = 3, optimiser = Adam(1e-3) }";
    let found = values(&compiled("drawn_scales", body, infer, "cranelift"), 2);
    let rows = rows();
    let way = 1.0 - (1.0 - MOMENTUM).powi(4);
    for channel in 0..CHANNELS {
        let own = channel * PIXELS..(channel + 1) * PIXELS;
        let all: Vec<f64> = rows
            .iter()
            .flat_map(|(inputs, _)| inputs[own.clone()].to_vec())
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
        close(&found["norm.centre"][channel..=channel], &[way * mean], "centre");
        close(
            &found["norm.variance"][channel..=channel],
            &[1.0 + way * (variance - 1.0)],
            "variance",
        );
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let infer = "infer f = map(M, d) { epochs = 20, batch = 3, optimiser = Adam(1e-2) }";
    let compiled = compiled("threads", BODY, infer, "cranelift");
    let one = values(&compiled, 1);
    assert!(
        one["norm.variance"]
            .iter()
            .all(|variance| *variance > 0.0 && *variance != 1.0)
    );
    for threads in [2, 3] {
        assert_eq!(values(&compiled, threads), one, "{threads} threads");
    }
}
