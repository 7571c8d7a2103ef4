//! Memory before the run: what the machines of an infer and its rows will take.

use bnnc_abi::data::Schema;
use bnnc_abi::manifest::{Infer, Training};
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;

/// The sizes of a training step.
pub fn training_sizes(options: &Training, rows: usize) -> Sizes {
    let batch = if options.batch == 0 { rows } else { options.batch.min(rows) };
    Sizes::default()
        .with(Symbol::Batch, batch.max(1))
        .with(Symbol::Draws, options.samples)
        .with(Symbol::KlDraws, options.kl_draws.max(1))
        .with(Symbol::Examples, rows)
}

/// The predicted peak of the memory that a run allocates: the larger of training and predicting, each with the rows that
/// it holds in the run's precision, and the data as read.
pub fn peak_bytes(infer: &Infer, schema: &Schema) -> u64 {
    let real = infer.precision.bytes() as u64;
    let width = schema.inputs as u64 + 1;
    let all_rows = schema.rows as u64;
    // As read, and once more as cut into training and test rows, in double precision.
    let data = 2 * all_rows * width * 8;
    let train = predict_arena_bytes(&infer.train.plan, &training_sizes(&infer.options, schema.train));
    let training = train + schema.train as u64 * width * real;
    let rows = if schema.test > 0 { schema.test } else { schema.train };
    let predict = predict_arena_bytes(&infer.predict.plan, &crate::predict::sizes(infer, rows, infer.options.predictive_draws));
    let results = 3 * rows as u64 * infer.options.predictive_draws as u64 * 8;
    let predicting = predict + rows as u64 * width * real + results;
    data + training.max(predicting)
}
