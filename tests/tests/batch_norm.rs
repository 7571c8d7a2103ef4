//! Batch normalisation against a training that the test computes by itself: the normalisation of rows together, the slopes of the loss through it by
//! finite differences, and the running averages. For each method that predicts with other weights than those of the last step, the tests compute the
//! statistics and the predictions of these weights from the data.

#![allow(clippy::unwrap_used)]

use bnnc_abi::manifest::Work;
use bnnc_abi::method::Finds;
use bnnc_base::dtype::Precision;
use bnnc_core::context::Stop;
use bnnc_core::rows;
use bnnc_core::states::{self, StateValues};
use bnnc_methods::iterates::seed_of;
use bnnc_run::RunResult;
use bnnc_tests::compile::{self, Compiled};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

const ROWS: usize = 8;
const WIDTH: usize = 6;
const CHANNELS: usize = 2;
const PIXELS: usize = WIDTH / CHANNELS;
const MOMENTUM: f64 = 0.3;
const EPSILON: f64 = 0.01;
const RATE: f64 = 1e-3;
const SD: f64 = 0.5;

/// The rows of the data: six inputs and a target.
fn rows() -> Vec<([f64; WIDTH], f64)> {
    let input = |row: usize, at: usize| ((row * 7 + at * 5 + row * at) % 13) as f64 / 4.0 - 1.5;
    let target = |row: usize| ((row * 5) % 8) as f64 / 3.0 - 1.0;
    (0..ROWS)
        .map(|row| (std::array::from_fn(|at| input(row, at)), target(row)))
        .collect()
}

/// Returns a program over these rows, with this inference block.
fn program(name: &str, body: &str, infer: &str) -> (PathBuf, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("batch-norm")
        .join(name);
    fs::create_dir_all(&folder).unwrap();
    let mut table = "a,b,c,d,e,f,y\n".to_owned();
    for (inputs, target) in rows() {
        inputs
            .iter()
            .for_each(|input| table.push_str(&format!("{input},")));
        table.push_str(&format!("{target}\n"));
    }
    fs::write(folder.join("d.csv"), table).unwrap();
    let posterior = match infer.contains("vi(") {
        true => "posterior Q of M {\n  w, norm.*, out ~ Normal(scale = 0.1)\n}\n",
        false => "",
    };
    let text = format!(
        "data d = csv(\"d.csv\") {{ target = y }}\nmodel M(x: real[6]) -> y: real {{\n{body}\n}}\n{posterior}{infer}\n"
    );
    (folder.join("m.bnn"), text)
}

/// The weights are matrices with one column, because the starts of matrices are random and those of vectors are zero.
const BODY: &str = "  w: real[6, 1] ~ Normal(0, 1)\n  norm = BatchNorm(momentum = 0.3, epsilon = 0.01)\n  out: real[6, 1] ~ Normal(0, 1)\n  \
                    y ~ Normal(dot(reshape(out, 6), flatten(norm(reshape(tanh(reshape(w, 6) * x), 2, 1, 3)))), 0.5)";

fn compiled(name: &str, body: &str, infer: &str, backend: &str) -> Compiled {
    let (path, text) = program(name, body, infer);
    compile::text(&path, &text, &compile::options(backend, Some(Precision::F64)))
}

/// Returns the states after a run.
fn values(compiled: &Compiled, threads: usize) -> StateValues {
    let result = compile::run(&compiled.manifest, threads);
    StateValues::clone(result.outcomes[0].splits[0].found.values())
}

/// Returns the part of `result.json` that belongs to an inference block.
fn json(compiled: &Compiled, result: &RunResult, infer: &str) -> Value {
    bnnc_report::result::json(&compiled.manifest, result)["infer"][infer].clone()
}

/// The weights of the model: `w`, `norm.gain`, `norm.shift`, `out`.
const WEIGHTS: [(&str, usize); 4] = [
    ("w/loc", WIDTH),
    ("norm.gain/loc", CHANNELS),
    ("norm.shift/loc", CHANNELS),
    ("out/loc", WIDTH),
];

/// Means and variances of each channel over some rows and the positions.
fn moments(w: &[f64], rows: &[([f64; WIDTH], f64)]) -> [Vec<f64>; 2] {
    let count = (rows.len() * PIXELS) as f64;
    let value = |inputs: &[f64; WIDTH], at: usize| (w[at] * inputs[at]).tanh();
    let over = |channel: usize, of: &dyn Fn(f64) -> f64| {
        let own = channel * PIXELS..(channel + 1) * PIXELS;
        let sum = rows
            .iter()
            .flat_map(|(inputs, _)| own.clone().map(|at| of(value(inputs, at))));
        sum.sum::<f64>() / count
    };
    let means: Vec<f64> = (0..CHANNELS).map(|channel| over(channel, &|x| x)).collect();
    let variance = |channel: usize| over(channel, &|x| (x - means[channel]).powi(2));
    let variances = (0..CHANNELS).map(variance).collect();
    [means, variances]
}

/// The output of one row, normalised by these moments.
fn output(weights: &[Vec<f64>], inputs: &[f64; WIDTH], [means, variances]: &[Vec<f64>; 2]) -> f64 {
    let [w, gain, shift, out] = weights else {
        unreachable!()
    };
    let element = |at: usize| {
        let channel = at / PIXELS;
        let centred = (w[at] * inputs[at]).tanh() - means[channel];
        let scaled = (1.0 + gain[channel]) * centred / (variances[channel] + EPSILON).sqrt();
        out[at] * (scaled + shift[channel])
    };
    (0..WIDTH).map(element).sum()
}

/// The negative log posterior of all rows, without constants.
fn loss(weights: &[Vec<f64>], rows: &[([f64; WIDTH], f64)]) -> f64 {
    let moments = moments(&weights[0], rows);
    let row = |(inputs, target): &([f64; WIDTH], f64)| {
        0.5 * ((target - output(weights, inputs, &moments)) / SD).powi(2)
    };
    let prior = weights.iter().flatten().map(|weight| 0.5 * weight * weight);
    rows.iter().map(row).sum::<f64>() + prior.sum::<f64>()
}

/// Returns the slope of the loss in one weight, from differences of order four.
fn slope(weights: &[Vec<f64>], (tensor, at): (usize, usize), rows: &[([f64; WIDTH], f64)]) -> f64 {
    let central = |step: f64| {
        let moved = |offset: f64| {
            let mut weights = weights.to_vec();
            weights[tensor][at] += offset;
            loss(&weights, rows)
        };
        (moved(step) - moved(-step)) / (2.0 * step)
    };
    (4.0 * central(1e-4) - central(2e-4)) / 3.0
}

#[track_caller]
fn close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!(
            (got - want).abs() < 1e-8 * (1.0 + want.abs()),
            "{what}: {got} is not {want}"
        );
    }
}

/// Trains by gradient descent from the starts of the compiled program. Returns the weights and the stored moments.
fn trained(compiled: &Compiled, steps: usize) -> (Vec<Vec<f64>>, [Vec<f64>; 2]) {
    trained_from(compiled, 1, steps)
}

/// Trains as [`trained`] does, from the starts of a seed.
fn trained_from(compiled: &Compiled, seed: u64, steps: usize) -> (Vec<Vec<f64>>, [Vec<f64>; 2]) {
    let rows = rows();
    let start = states::start(&compiled.manifest.infers[0].states, seed, &HashMap::new());
    let mut weights: Vec<Vec<f64>> = WEIGHTS.iter().map(|(name, _)| start[*name].clone()).collect();
    assert!(
        WEIGHTS
            .iter()
            .zip(&weights)
            .all(|((_, size), values)| values.len() == *size)
    );
    let mut stored = [vec![0.0; CHANNELS], vec![1.0; CHANNELS]];
    for _ in 0..steps {
        for (old, new) in stored
            .iter_mut()
            .flatten()
            .zip(moments(&weights[0], &rows).iter().flatten())
        {
            *old = (1.0 - MOMENTUM) * *old + MOMENTUM * new;
        }
        let mut next = weights.clone();
        for (tensor, values) in next.iter_mut().enumerate() {
            for (at, value) in values.iter_mut().enumerate() {
                *value -= RATE * slope(&weights, (tensor, at), &rows);
            }
        }
        weights = next;
    }
    assert!(
        output(&weights, &rows[0].0, &stored).abs() > 1e-3,
        "the weights are not zero"
    );
    (weights, stored)
}

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

/// Checks that the reported error is that of these predictions.
#[track_caller]
fn assert_rmse(json: &Value, predicted: impl Fn(&[f64; WIDTH]) -> f64) {
    let square = |(inputs, target): &([f64; WIDTH], f64)| (target - predicted(inputs)).powi(2);
    let rmse = (rows().iter().map(square).sum::<f64>() / ROWS as f64).sqrt();
    let found = json["metrics"]["rmse"].as_f64();
    let found = found.unwrap_or_else(|| panic!("{json:#}"));
    assert!((found - rmse).abs() < 1e-8, "{found} is not {rmse}");
}

/// Weights that a posterior takes from an earlier training were trained with the stored moments of that training. The second training starts from
/// these moments; with the weights fixed before the layer, its only step moves them by `m` towards the moments of the rows.
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

/// The moments of the data do not depend on the weights: after `n` steps, the stored ones are `1 - (1 - m)^n` of the way from their starts.
#[test]
fn variational_inference_averages_the_moments_of_its_draws() {
    let body = "  w: real[6] ~ Normal(0, 1)\n  norm = BatchNorm(momentum = 0.3)\n  out: real[6] ~ Normal(0, 1)\n  \
                y ~ Normal(dot(out, w * flatten(norm(reshape(x, 2, 1, 3)))), 0.5)";
    let infer = "infer f = vi(Q, d) { epochs = 4, batch = 0, samples = 3, optimiser = Adam(1e-3) }";
    let found = values(&compiled("draws", body, infer, "cranelift"), 2);
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

/// With a momentum of zero, the stored means would never leave their start.
#[test]
fn a_momentum_of_zero_is_refused() {
    let body = BODY.replace("momentum = 0.3", "momentum = 0");
    let (path, text) = program("momentum", &body, "infer f = map(M, d)");
    assert!(compile::refused(&path, &text).message.contains("momentum"));
}

#[test]
fn gradient_estimators_of_single_rows_are_refused() {
    for infer in ["vi(Q, d) { flipout = [w] }", "vi(Q, d) { local = [w] }"] {
        let (path, text) = program("refused", BODY, &format!("infer f = {infer}"));
        assert_eq!(compile::refused(&path, &text).code.id, "E0324", "{infer}");
    }
}

/// Markov chains reject running means, and the message lists exactly the methods that compile.
#[test]
fn chains_are_refused_and_all_other_methods_are_listed() {
    for method in bnnc_abi::method::ALL {
        let target = if method.name == "vi" { "Q" } else { "M" };
        let over = if method.name == "collapsed" {
            " { over = [out] }"
        } else {
            ""
        };
        let (path, text) = program(
            "method",
            BODY,
            &format!("infer f = {}({target}, d){over}", method.name),
        );
        let Finds::Chains(_) = method.finds else {
            compile::text(&path, &text, &compile::options("reference", Some(Precision::F64)));
            continue;
        };
        let found = compile::refused(&path, &text);
        assert_eq!(found.code.id, "E0324", "{}", method.name);
        let others = bnnc_abi::method::ALL
            .iter()
            .filter(|other| !matches!(other.finds, Finds::Chains(_)));
        let others: Vec<String> = others.map(|other| format!("`{}`", other.name)).collect();
        assert!(
            compile::rendered(&found).contains(&others.join(", ")),
            "{found:?}"
        );
    }
}
