//! Predicts the memory of a training run before it runs.

use crate::{augment, gap, maximum, restarts, surface};
use bnnc_abi::manifest::{InferenceBlock, Train};
use bnnc_abi::schema::Schema;
use bnnc_core::memory::{NUMBER, feed, machine, parameters, predicting, states, sum};

/// Returns the number of bytes that a task needs. The result is the sum of two terms. The first
/// term is the larger of two amounts of memory: that of the training runs that run at the same
/// time, and that of the descent after them. The second term is the memory that holds the results
/// of the training runs that have ended. The arguments mean the same as in [`one`].
pub fn training(
    (infer, train): (&InferenceBlock, &Train),
    schema: &Schema,
    rows: usize,
    is_observed: bool,
) -> u64 {
    let runs = restarts::at_once(&train.options) as u64;
    let results = (restarts::kept(&train.options) as u64).saturating_mul(parameters(infer));
    let steps = steps((infer, train), schema, rows, is_observed);
    let running = steps.saturating_mul(runs);
    running
        .max(descending(infer, train, rows))
        .saturating_add(results)
}

/// Returns the number of bytes of `count` training runs that run at the same time. Each training
/// runs its restarts one after the other. The arguments mean the same as in [`one`].
pub fn at_a_time(
    (infer, train): (&InferenceBlock, &Train),
    schema: &Schema,
    rows: usize,
    count: usize,
) -> u64 {
    let results = (restarts::kept(&train.options) as u64).saturating_mul(parameters(infer));
    let one = one((infer, train), schema, rows, false);
    one.saturating_add(results).saturating_mul(count as u64)
}

/// Returns the number of bytes that one training run and the descent after it need. The descent
/// starts after the training has freed its memory, so the larger of the two counts.
pub fn one(
    (infer, train): (&InferenceBlock, &Train),
    schema: &Schema,
    rows: usize,
    is_observed: bool,
) -> u64 {
    let steps = steps((infer, train), schema, rows, is_observed);
    steps.max(descending(infer, train, rows))
}

/// Returns the number of bytes that the steps of one training run need. These bytes are for the machine, the
/// rows and the results. If the iterates are collected (`is_observed`), the best parameters are not stored.
fn steps((infer, train): (&InferenceBlock, &Train), schema: &Schema, rows: usize, is_observed: bool) -> u64 {
    let options = &train.options;
    let order = rows as u64 * 4;
    let validating = match schema.validation {
        0 => 0,
        rows => predicting(infer, &infer.predict, rows, validation_draws(infer)),
    };
    let chooses = options.patience > 0 && schema.validation > 0;
    let kept = match is_observed && !chooses {
        true => 0,
        // The parameters of the best epoch, or of the best window.
        false => parameters(infer),
    };
    let watching = validating + kept + augment::bytes(infer, train, rows);
    // The start is freed once it has been written to the machine. The rows and the results are
    // allocated later, so they are not in memory at the same time as the start.
    let around = states(infer).max(feed(infer, &train.step, rows) + order + watching + parameters(infer));
    machine(&train.step, &train.sizes(rows)) + around
}

/// Returns the number of draws for scoring validation rows.
pub fn validation_draws(infer: &InferenceBlock) -> usize {
    match infer.is_point() {
        true => 1,
        false => infer.predictive_draws().min(20),
    }
}

/// Returns the number of bytes of a descent and of its start parameters. Returns 0 if the training is not followed by a descent.
fn descending(infer: &InferenceBlock, train: &Train, rows: usize) -> u64 {
    let Some(gradient) = &train.gradient else {
        return 0;
    };
    let numbers = match train.has_noise {
        true => gap::numbers(infer, rows),
        false => maximum::numbers(infer),
    };
    let numbers = (numbers as u64).saturating_mul(NUMBER);
    let machine = machine(gradient, &surface::sizes(train, rows));
    sum(&[machine, feed(infer, gradient, rows), numbers, parameters(infer)])
}
