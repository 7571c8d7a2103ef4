//! Compares batch normalisation with a training run that the test computes by itself. The comparison covers the normalisation of rows together, the
//! slopes of the loss through it by finite differences, and the running averages. Some methods do not predict with the weights of the last step. For
//! these methods, the tests compute the statistics and the predictions from the data and the weights that the method predicts with.

#![allow(clippy::unwrap_used)]

mod fixed;
mod iterates;
mod laplace;
mod rejections;
mod training;

use bnnc_base::dtype::Precision;
use bnnc_core::states::{self, StateValues};
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

/// Trains as [`trained`] does, from the initial values of a seed.
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

/// Checks that the reported error equals the error of these predictions.
#[track_caller]
fn assert_rmse(json: &Value, predicted: impl Fn(&[f64; WIDTH]) -> f64) {
    let square = |(inputs, target): &([f64; WIDTH], f64)| (target - predicted(inputs)).powi(2);
    let rmse = (rows().iter().map(square).sum::<f64>() / ROWS as f64).sqrt();
    let found = json["metrics"]["rmse"].as_f64();
    let found = found.unwrap_or_else(|| panic!("{json:#}"));
    assert!((found - rmse).abs() < 1e-8, "{found} is not {rmse}");
}

/// Gradient descent on all rows.
const DESCENT: &str = "batch = 0, optimiser = SGD(1e-3), schedule = constant";
