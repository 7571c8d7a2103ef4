//! Tests the moments of ensemble members, of averages and of iterates.

use crate::{
    BODY, CHANNELS, DESCENT, EPSILON, PIXELS, ROWS, WEIGHTS, WIDTH, assert_rmse, close, compiled, json,
    output, rows, trained, trained_from, values,
};
use bnnc_core::rows;
use bnnc_core::states::StateValues;
use bnnc_methods::iterates::seed_of;
use bnnc_tests::compile;

/// Returns the values of some states at one of several draws.
fn of_draw(values: &StateValues, names: &[&str], draw: usize, draws: usize) -> Vec<Vec<f64>> {
    let own = |name: &&str| {
        let all = &values[*name];
        let width = all.len() / draws;
        all[draw * width..(draw + 1) * width].to_vec()
    };
    names.iter().map(own).collect()
}

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
