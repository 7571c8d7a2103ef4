//! Compares batch normalisation with a training run that the test computes by itself. The comparison covers the normalisation of rows together, the
//! slopes of the loss through it by finite differences, and the running averages. Some methods do not predict with the weights of the last step. For
//! these methods, the tests compute the statistics and the predictions from the data and the weights that the method predicts with.

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

/// Checks that the reported error equals the error of these predictions.
#[track_caller]
fn assert_rmse(json: &Value, predicted: impl Fn(&[f64; WIDTH]) -> f64) {
    let square = |(inputs, target): &([f64; WIDTH], f64)| (target - predicted(inputs)).powi(2);
    let rmse = (rows().iter().map(square).sum::<f64>() / ROWS as f64).sqrt();
    let found = json["metrics"]["rmse"].as_f64();
    let found = found.unwrap_or_else(|| panic!("{json:#}"));
    assert!((found - rmse).abs() < 1e-8, "{found} is not {rmse}");
}

/// Returns the values of some states at one of several draws.
fn of_draw(values: &StateValues, names: &[&str], draw: usize, draws: usize) -> Vec<Vec<f64>> {
    let own = |name: &&str| {
        let all = &values[*name];
        let width = all.len() / draws;
        all[draw * width..(draw + 1) * width].to_vec()
    };
    names.iter().map(own).collect()
}

/// Gradient descent on all rows.
const DESCENT: &str = "batch = 0, optimiser = SGD(1e-3), schedule = constant";

/// Each member has the weights and the moments of its own training, and predictions average the outputs of the members.
#[test]
fn each_member_of_an_ensemble_predicts_with_its_own_moments() {
    let infer = format!("infer f = ensemble(M, d) {{ members = 3, epochs = 5, {DESCENT} }}");
    let compiled = compiled("ensemble", BODY, &infer, "cranelift");
    let result = compile::run(&compiled.manifest, 2);
    let found = result.outcomes[0].splits[0].found.values();
    let members: Vec<_> = (0..3)
        .map(|member| trained_from(&compiled, seed_of(1, member), 5))
        .collect();
    for (at, (weights, stored)) in members.iter().enumerate() {
        let names: Vec<&str> = WEIGHTS.iter().map(|(name, _)| *name).collect();
        let moments = of_draw(found, &["norm.centre", "norm.variance"], at, 3);
        close(
            &of_draw(found, &names, at, 3).concat(),
            &weights.concat(),
            "weights",
        );
        close(&moments.concat(), &stored.concat(), "moments");
    }
    assert!(
        (members[0].1[1][0] - members[1].1[1][0]).abs() > 1e-3,
        "the members differ"
    );
    assert_rmse(&json(&compiled, &result, "f"), |inputs| {
        let outputs = members
            .iter()
            .map(|(weights, stored)| output(weights, inputs, stored));
        outputs.sum::<f64>() / 3.0
    });
}

/// A network with two normalisations: the moments of the second depend on those of the first in the same block of rows.
const DEEP: &str = "  w: real[6, 1] ~ Normal(0, 1)\n  first = BatchNorm(epsilon = 0.01)\n  v: real[6, 1] ~ Normal(0, 1)\n  \
                    second = BatchNorm(epsilon = 0.01)\n  out: real[6, 1] ~ Normal(0, 1)\n  \
                    h = tanh(reshape(v, 6) * flatten(first(reshape(tanh(reshape(w, 6) * x), 2, 1, 3))))\n  \
                    y ~ Normal(dot(reshape(out, 6), flatten(second(reshape(h, 2, 1, 3)))), 0.5)";

/// The states of [`DEEP`] without the running means, and the running means.
const DEEP_WEIGHTS: [&str; 7] = [
    "w/loc",
    "first.gain/loc",
    "first.shift/loc",
    "v/loc",
    "second.gain/loc",
    "second.shift/loc",
    "out/loc",
];
const DEEP_MEANS: [&str; 4] = [
    "first.centre",
    "first.variance",
    "second.centre",
    "second.variance",
];

/// Means and variances of each channel over the hidden values of some rows.
fn moments_of(hidden: &[[f64; WIDTH]]) -> [Vec<f64>; 2] {
    let count = (hidden.len() * PIXELS) as f64;
    let channel = |at: usize| {
        hidden
            .iter()
            .flat_map(move |row| row[at * PIXELS..(at + 1) * PIXELS].iter())
    };
    let means: Vec<f64> = (0..CHANNELS).map(|at| channel(at).sum::<f64>() / count).collect();
    let variance = |at: usize| channel(at).map(|x| (x - means[at]).powi(2)).sum::<f64>() / count;
    let variances = (0..CHANNELS).map(variance).collect();
    [means, variances]
}

/// Returns hidden values, normalised by these moments.
fn normalised(hidden: &[f64; WIDTH], moments: [&[f64]; 2], gain: &[f64], shift: &[f64]) -> [f64; WIDTH] {
    std::array::from_fn(|at| {
        let channel = at / PIXELS;
        let scaled = (hidden[at] - moments[0][channel]) / (moments[1][channel] + EPSILON).sqrt();
        (1.0 + gain[channel]) * scaled + shift[channel]
    })
}

/// The values of the first and of the second hidden layer of [`DEEP`] for one row, given the moments of the first layer.
fn first_hidden(weights: &[Vec<f64>], inputs: &[f64; WIDTH]) -> [f64; WIDTH] {
    std::array::from_fn(|at| (weights[0][at] * inputs[at]).tanh())
}

fn second_hidden(weights: &[Vec<f64>], hidden: &[f64; WIDTH], moments: [&[f64]; 2]) -> [f64; WIDTH] {
    let values = normalised(hidden, moments, &weights[1], &weights[2]);
    std::array::from_fn(|at| (weights[3][at] * values[at]).tanh())
}

/// Returns the moments of both layers of [`DEEP`] for some blocks of rows, averaged over the rows.
fn deep_moments(weights: &[Vec<f64>], blocks: &[Vec<usize>]) -> Vec<Vec<f64>> {
    let rows = rows();
    let mut sums = vec![vec![0.0; CHANNELS]; 4];
    for block in blocks {
        let first: Vec<_> = block
            .iter()
            .map(|row| first_hidden(weights, &rows[*row].0))
            .collect();
        let [means, variances] = moments_of(&first);
        let second: Vec<_> = first
            .iter()
            .map(|hidden| second_hidden(weights, hidden, [&means, &variances]))
            .collect();
        let [second_means, second_variances] = moments_of(&second);
        let share = block.len() as f64 / ROWS as f64;
        for (sum, own) in sums
            .iter_mut()
            .zip([means, variances, second_means, second_variances])
        {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += share * own);
        }
    }
    sums
}

/// The output of [`DEEP`] for one row, normalised by the moments of both layers.
fn deep_output(weights: &[Vec<f64>], inputs: &[f64; WIDTH], moments: &[Vec<f64>]) -> f64 {
    let first = first_hidden(weights, inputs);
    let second = second_hidden(weights, &first, [&moments[0], &moments[1]]);
    let last = normalised(&second, [&moments[2], &moments[3]], &weights[4], &weights[5]);
    last.iter().zip(&weights[6]).map(|(value, out)| value * out).sum()
}

/// The blocks of a pass over the eight rows with `batch = 3`: as few blocks as possible, of equal sizes, in the random order of the first epoch.
fn blocks() -> Vec<Vec<usize>> {
    let mut order: Vec<u32> = (0..ROWS as u32).collect();
    rows::shuffle(&mut order, rows::key(1, "f"), 0);
    let order: Vec<usize> = order.into_iter().map(|row| row as usize).collect();
    vec![order[..2].to_vec(), order[2..5].to_vec(), order[5..].to_vec()]
}

/// Checks that each draw of a posterior, and its mean, have the moments that a pass over these blocks computes from their own weights.
fn assert_recomputed(name: &str, options: &str, draws: usize, blocks: &[Vec<usize>]) {
    let infer = format!(
        "infer f = swag(M, d) {{ epochs = 6, warmup = 2, every = 1, optimiser = SGD(1e-2), predictive_draws = {draws}, {options} }}"
    );
    let compiled = compiled(name, DEEP, &infer, "cranelift");
    let result = compile::run(&compiled.manifest, 2);
    let found = &result.outcomes[0].splits[0].found;
    let mean = deep_moments(&of_draw(found.point(), &DEEP_WEIGHTS, 0, 1), blocks);
    close(
        &of_draw(found.point(), &DEEP_MEANS, 0, 1).concat(),
        &mean.concat(),
        "moments of the mean",
    );
    let each: Vec<_> = (0..draws)
        .map(|draw| of_draw(found.values(), &DEEP_WEIGHTS, draw, draws))
        .collect();
    let outputs = |at: usize| deep_output(&each[at], &rows()[0].0, &deep_moments(&each[at], blocks));
    assert!(outputs(0).abs() > 1e-3, "the weights are not zero");
    assert!(
        draws == 1 || (outputs(0) - outputs(1)).abs() > 1e-4,
        "the draws differ"
    );
    for (draw, weights) in each.iter().enumerate() {
        let own = of_draw(found.values(), &DEEP_MEANS, draw, draws).concat();
        close(&own, &deep_moments(weights, blocks).concat(), "moments of a draw");
    }
    assert_rmse(&json(&compiled, &result, "f"), |inputs| {
        let outputs = each
            .iter()
            .map(|weights| deep_output(weights, inputs, &deep_moments(weights, blocks)));
        outputs.sum::<f64>() / draws as f64
    });
    let threads = |threads| values(&compiled, threads);
    assert_eq!(threads(1), threads(3), "the moments do not depend on the threads");
}

#[test]
fn swag_recomputes_the_moments_of_its_average_and_of_each_draw() {
    let all = [(0..ROWS).collect::<Vec<_>>()];
    assert_recomputed("point", "batch = 0, covariance = point", 1, &all);
    assert_recomputed(
        "draws",
        "batch = 0, covariance = low_rank(3), scale = 0.3",
        4,
        &all,
    );
    assert_recomputed("blocks", "batch = 3, covariance = diagonal", 3, &blocks());
}

/// Iterates keep the moments of their training run. A `map` run of the same length predicts with the same moments.
#[test]
fn snapshots_and_collapsed_weights_have_the_moments_of_their_iterates() {
    let iterates = format!("epochs = 6, warmup = 2, every = 2, {DESCENT}");
    let infer = format!(
        "infer f = swag(M, d) {{ {iterates}, covariance = snapshots }}\ninfer c = collapsed(M, d) {{ {iterates}, over = [out] }}"
    );
    let compiled = compiled("snapshots", BODY, &infer, "cranelift");
    let result = compile::run(&compiled.manifest, 2);
    let trained = [4, 6].map(|epochs| trained(&compiled, epochs));
    for outcome in &result.outcomes {
        let found = outcome.splits[0].found.values();
        for (at, (_, stored)) in trained.iter().enumerate() {
            let moments = of_draw(found, &["norm.centre", "norm.variance"], at, 2);
            close(&moments.concat(), &stored.concat(), "moments");
        }
    }
    assert_rmse(&json(&compiled, &result, "f"), |inputs| {
        let outputs = trained
            .iter()
            .map(|(weights, stored)| output(weights, inputs, stored));
        outputs.sum::<f64>() / 2.0
    });
    // The mean of a uniform on a box is its middle, and the output is linear in the weights of the box.
    let middle: Vec<f64> = (0..WIDTH)
        .map(|at| 0.5 * (trained[0].0[3][at] + trained[1].0[3][at]))
        .collect();
    assert_rmse(&json(&compiled, &result, "c"), |inputs| {
        let of_iterate = |(weights, stored): &(Vec<Vec<f64>>, [Vec<f64>; 2])| {
            let weights = [&weights[..3], std::slice::from_ref(&middle)].concat();
            output(&weights, inputs, stored)
        };
        trained.iter().map(of_iterate).sum::<f64>() / 2.0
    });
}

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

/// With a momentum of zero, the stored means would never leave their start.
#[test]
fn a_momentum_of_zero_is_rejected() {
    let body = BODY.replace("momentum = 0.3", "momentum = 0");
    let (path, text) = program("momentum", &body, "infer f = map(M, d)");
    assert!(compile::rejected(&path, &text).message.contains("momentum"));
}

#[test]
fn gradient_estimators_of_single_rows_are_rejected() {
    for infer in ["vi(Q, d) { flipout = [w] }", "vi(Q, d) { local = [w] }"] {
        let (path, text) = program("rejected", BODY, &format!("infer f = {infer}"));
        assert_eq!(compile::rejected(&path, &text).code.id, "E0324", "{infer}");
    }
}

/// Markov chains reject running means, and the message lists exactly the methods that compile.
#[test]
fn chains_are_rejected_and_all_other_methods_are_listed() {
    for method in bnnc_abi::method::ALL.iter() {
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
        let found = compile::rejected(&path, &text);
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
