//! Tests Laplace approximations of normalised networks.

use crate::{
    BODY, DESCENT, SD, WEIGHTS, WIDTH, assert_rmse, close, compiled, json, output, program, rows, trained,
    values,
};
use bnnc_abi::manifest::Work;
use bnnc_core::context::Stop;
use bnnc_run::RunResult;
use bnnc_tests::compile;

/// Returns the logarithm of the determinant of a positive definite matrix, by Gaussian elimination.
fn log_determinant(mut matrix: Vec<Vec<f64>>) -> f64 {
    let mut sum = 0.0;
    for at in 0..matrix.len() {
        let pivot = matrix[at].clone();
        sum += pivot[at].ln();
        for row in matrix.iter_mut().skip(at + 1) {
            let factor = row[at] / pivot[at];
            row.iter_mut()
                .zip(&pivot)
                .for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    sum
}

/// With the stored moments fixed, normalisation is affine. The log marginal likelihood of the Gaussian is then known from the Jacobian of the
/// outputs, which the test computes by finite differences: it is `log p(y | w) + log p(w) + D/2 log 2 pi - 1/2 log det(J' J / sd^2 + 1)`.
#[test]
fn laplace_linearises_around_the_stored_moments() {
    let infer =
        format!("infer m = map(M, d) {{ epochs = 5, {DESCENT} }}\ninfer f = laplace(M, d) {{ start = m }}");
    let compiled = compiled("laplace", BODY, &infer, "cranelift");
    let result = compile::run(&compiled.manifest, 2);
    let (weights, stored) = trained(&compiled, 5);
    let rows = rows();
    let slopes = |inputs: &[f64; WIDTH]| -> Vec<f64> {
        let moved = |tensor: usize, at: usize, by: f64| {
            let mut weights = weights.clone();
            weights[tensor][at] += by;
            output(&weights, inputs, &stored)
        };
        let slope = |tensor: usize, at: usize| {
            let central = |step: f64| (moved(tensor, at, step) - moved(tensor, at, -step)) / (2.0 * step);
            (4.0 * central(1e-4) - central(2e-4)) / 3.0
        };
        let elements = WEIGHTS.iter().enumerate();
        elements
            .flat_map(|(tensor, (_, size))| (0..*size).map(move |at| (tensor, at)))
            .map(|(tensor, at)| slope(tensor, at))
            .collect()
    };
    let jacobian: Vec<Vec<f64>> = rows.iter().map(|(inputs, _)| slopes(inputs)).collect();
    let count = jacobian[0].len();
    let precision = |i: usize, j: usize| {
        let sum: f64 = jacobian.iter().map(|row| row[i] * row[j]).sum();
        sum / (SD * SD) + f64::from(u8::from(i == j))
    };
    let precision = (0..count)
        .map(|i| (0..count).map(|j| precision(i, j)).collect())
        .collect();
    let log_normal = |x: f64, sd: f64| -0.5 * (x / sd).powi(2) - sd.ln() - 0.5 * std::f64::consts::TAU.ln();
    let likelihood: f64 = rows
        .iter()
        .map(|(inputs, target)| log_normal(target - output(&weights, inputs, &stored), SD))
        .sum();
    let prior: f64 = weights
        .iter()
        .flatten()
        .map(|weight| log_normal(*weight, 1.0))
        .sum();
    let volume = 0.5 * count as f64 * std::f64::consts::TAU.ln();
    let wanted = likelihood + prior + volume - 0.5 * log_determinant(precision);
    let json = json(&compiled, &result, "f");
    let found = json["diagnostics"]["log_marginal_likelihood"].as_f64();
    let found = found.unwrap_or_else(|| panic!("{json:#}"));
    assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    assert_rmse(&json, |inputs| output(&weights, inputs, &stored));
    // The moments are fixed, so the gradient at the centre is not zero even after a long training. The rise that follows from it is reported, but
    // does not cause a warning.
    assert!(json["diagnostics"]["rise"].as_f64().unwrap() > 0.1 * count as f64);
    let warnings: Vec<&str> = result.warnings.iter().map(|warning| warning.code.id).collect();
    assert!(!warnings.contains(&"E0546"), "{warnings:?}");
}

/// A search for the maximum also trains with the moments of its steps.
#[test]
fn laplace_searches_like_map() {
    let infer = format!("infer f = laplace(M, d) {{ epochs = 5, {DESCENT} }}");
    let compiled = compiled("search", BODY, &infer, "cranelift");
    let found = values(&compiled, 1);
    let (weights, stored) = trained(&compiled, 5);
    for ((name, _), want) in WEIGHTS.iter().zip(&weights) {
        close(&found[*name], want, name);
    }
    close(&found["norm.centre"], &stored[0], "norm.centre");
}

/// Without a search, the start must contain the moments. A `map` run of a model without batch normalisation does not contain them.
#[test]
fn laplace_needs_the_moments_of_its_start() {
    let infer = "model Plain(x: real[6]) -> y: real {\n  w: real[6] ~ Normal(0, 1)\n  norm = GroupNorm(2)\n  out: real[6] ~ Normal(0, 1)\n  \
                 y ~ Normal(dot(out, flatten(norm(reshape(tanh(w * x), 2, 1, 3)))), 0.5)\n}\n\
                 infer m = map(Plain, d) { epochs = 5 }\ninfer f = laplace(M, d) { start = m }";
    let compiled = compiled("start", BODY, infer, "cranelift");
    let stop = bnnc_run::run(&compiled.manifest, &bnnc_run::RunOptions::new(1)).and_then(RunResult::whole);
    let Err(Stop::Diagnostics(found)) = stop else {
        panic!("the start was accepted")
    };
    assert!(found[0].message.contains("norm.centre"), "{found:?}");
}

/// One scale affects a whole channel, so a subnetwork is chosen among the twelve other weights.
#[test]
fn subnetworks_leave_normalisation_out() {
    let infer = |size: usize| format!("infer f = laplace(M, d) {{ epochs = 5, over = subnetwork({size}) }}");
    let compiled = compiled("subnetwork", BODY, &infer(12), "cranelift");
    let Work::Laplace(laplace) = &compiled.manifest.infers[0].work else {
        panic!("not a Laplace approximation")
    };
    let sites: Vec<&str> = laplace.weights.iter().map(|weights| &*weights.site).collect();
    assert_eq!(sites, ["w", "out"]);
    let (path, text) = program("subnetwork", BODY, &infer(13));
    assert!(compile::rejected(&path, &text).message.contains("12"));
    // Without other weights, the subnetwork is chosen among those of the normalisation.
    let body = "  norm = BatchNorm()\n  y ~ Normal(sum(norm(reshape(x, 2, 1, 3))), 0.5)";
    let compiled = self::compiled("only", body, &infer(3), "cranelift");
    let Work::Laplace(laplace) = &compiled.manifest.infers[0].work else {
        panic!("not a Laplace approximation")
    };
    assert_eq!(laplace.weights.len(), 2);
}
