//! Predicts the cost of a run before it starts. The cost has two parts: the cost of one step, and the memory for reading, splitting,
//! training, predicting and summarising.

pub mod advice;
pub mod fitting;
pub mod peaks;

use crate::cost::peaks::peaks;
use bnnc_abi::data::{Contents, DataSpec, Outliers, Test};
use bnnc_abi::manifest::{InferenceBlock, Manifest, Pruning};
use bnnc_abi::plan::PlanStep;
use bnnc_abi::schema::{Field, FieldKind, Schema};
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::memory::{NUMBER, elements, machine, parameters, predicting, sum};
use bnnc_data::file::matching;
use bnnc_inference::method::{MemoryExtent, Summing, scored};
use bnnc_inference::{comparison, summary};
use bnnc_methods::laplace::memory;
use std::collections::HashMap;

/// Sets two numbers of every inference block, given these data and the current options: the cost of a step, and the predicted peak memory. Also
/// records which inputs the rows keep as bytes, because these need less memory. The peak is the largest number of bytes that are in use at any time
/// while the block runs on one thread. The peak includes the results of earlier inference blocks. `schemas` holds the schema of each data item. The
/// schemas are stored in the manifest, so that the peaks for other options can be computed later.
pub fn predict(manifest: &mut Manifest, schemas: &HashMap<String, Schema>) {
    manifest.schemas.clone_from(schemas);
    for infer in &mut manifest.infers {
        let mut specs = manifest.data.iter();
        let transforms = specs.any(|spec| spec.name == infer.data && transforms_images(spec));
        let schema = schemas.get(&infer.data).filter(|_| !transforms);
        for binding in &mut infer.bindings {
            binding.bytes = schema.is_some_and(|schema| binding.has_bytes(schema));
        }
    }
    let peaks = peaks(manifest, manifest.infers.iter());
    for (infer, peak) in manifest.infers.iter_mut().zip(peaks) {
        let Some((schema, peak)) = schemas.get(&infer.data).zip(peak) else {
            continue;
        };
        let sizes = infer.step_sizes(infer.examples(schema.train));
        infer.cost.effort = infer.cost.step.at(&sizes);
        infer.cost.peak_bytes = peak.bytes;
    }
}

/// Returns the number of bytes of the matrices that represent the precision of a Laplace approximation. Returns `None` if the data are not known,
/// and for all other methods.
pub fn precision(manifest: &Manifest, infer: &InferenceBlock) -> Option<u64> {
    let laplace = infer.laplace()?;
    Some(memory::precision(laplace, trained(manifest, infer)?))
}

/// Returns the number of training examples of an inference block. Returns `None` if the data are not known.
fn trained(manifest: &Manifest, infer: &InferenceBlock) -> Option<usize> {
    let schema = manifest.schemas.get(&infer.data)?;
    Some(infer.examples(schema.train))
}

/// Returns the number of bytes that the results of a finished inference block take. The arguments are the number of rows and the planned number of
/// iterates.
fn kept_of(infer: &InferenceBlock, (rows, planned): (usize, usize)) -> u64 {
    sum(&[parameters(infer), bnnc_methods::of(infer).held(rows, planned)])
}

/// The numbers of bytes that a data item takes as a file, as a table, and as rows.
struct Data {
    file: u64,
    table: u64,
    rows: u64,
    /// While the rows are split, the row numbers of all parts of the data take this number of
    /// bytes.
    parts: u64,
}

/// Returns whether images of test rows are rotated or corrupted, or shuffled to make outliers. The rows with the new images hold reals.
fn transforms_images(spec: &DataSpec) -> bool {
    !spec.rotate.is_empty() || !spec.shifts.is_empty() || matches!(spec.outliers, Some(Outliers::Shuffled(_)))
}

fn data(spec: &DataSpec, schema: &Schema) -> Data {
    let of_files = matches!(spec.test, Test::Files(_));
    let used = (schema.train + schema.validation + schema.test + schema.outliers) as u64;
    let has_file = matches!(spec.outliers, Some(Outliers::File(_)));
    let others = [(of_files, schema.test), (has_file, schema.outliers)];
    let others: usize = others
        .iter()
        .filter(|(held, _)| *held)
        .map(|(_, rows)| rows)
        .sum();
    let all = (schema.rows + others) as u64;
    let width = |field: &Field| {
        let element = match field.kind {
            FieldKind::Levels(_) => 4,
            // Images take one byte per number. A batch is converted to reals when it is gathered.
            FieldKind::Real | FieldKind::Int(..) if field.bytes => 1,
            FieldKind::Real | FieldKind::Int(..) => NUMBER,
        };
        element * field.shape.iter().product::<usize>() as u64
    };
    let per_row: u64 = per_row(schema).map(width).sum();
    let copied: u64 = per_row_copied(spec, schema).map(width).sum();
    let shared: u64 = schema
        .fields
        .iter()
        .filter(|field| !field.per_example)
        .chain(&schema.shared)
        .map(width)
        .sum();
    let files = spec.files.iter().flat_map(|path| matching(path));
    let files = files.filter_map(|path| std::fs::metadata(path).ok());
    let inputs = match (schema.byte_inputs, spec.format.contents()) {
        (false, _) => schema.inputs as u64 * NUMBER,
        (true, Contents::Pair) => schema.inputs as u64,
        // The inputs share the bytes of the column, which is one of the copied fields.
        (true, Contents::Arrays | Contents::Columns) => 0,
    };
    // One copy of the test rows is rotated or corrupted at a time.
    let changed = !spec.rotate.is_empty() || !spec.shifts.is_empty();
    let changed = if changed { schema.test } else { 0 };
    let shuffled = match spec.outliers {
        Some(Outliers::Shuffled(_)) => schema.outliers,
        Some(Outliers::File(_)) | None => 0,
    };
    let transformed = if schema.byte_inputs { changed + shuffled } else { 0 };
    let transformed = (transformed * schema.inputs) as u64 * NUMBER;
    Data {
        file: files
            .map(|file| file.len())
            .max()
            .unwrap_or(0)
            .max(if spec.format.keeps_bytes() {
                per_row * schema.rows as u64
            } else {
                0
            }),
        table: per_row * all + shared,
        // The number of bytes includes the row numbers.
        rows: used * (inputs + copied + NUMBER) + shared + transformed,
        parts: all * (NUMBER + 1),
    }
}

fn per_row(schema: &Schema) -> impl Iterator<Item = &Field> {
    schema.fields.iter().filter(|field| field.per_example)
}

/// Returns the fields of each row that are stored in addition to the inputs.
fn per_row_copied<'a>(spec: &DataSpec, schema: &'a Schema) -> impl Iterator<Item = &'a Field> {
    let is_pair = spec.format.contents() == Contents::Pair;
    let target = schema.target.as_ref();
    per_row(schema).filter(move |field| !is_pair || Some(&field.name) == target)
}

/// Returns the largest number of bytes that one of several tasks needs. The tasks are training, predictions and summaries. If a
/// comparison needs leave-one-out estimates, their computation is a fourth task. `planned` is the number of iterates.
fn computing(manifest: &Manifest, infer: &InferenceBlock, schema: &Schema, planned: usize) -> u64 {
    let method = bnnc_methods::of(infer);
    let extent = MemoryExtent {
        schema,
        rows: infer.examples(schema.train),
        planned,
        leaves_out: comparison::leaves_out(manifest, &infer.name, schema.test > 0),
    };
    let (finding, predicting) = (method.finding(&extent), method.predicting(&extent));
    let pruning = infer
        .training()
        .and_then(|train| train.pruning.as_ref())
        .map_or(0, |table| pruning(infer, table, schema));
    let sizes = Sizes::default().with(Symbol::Draws, summary::draws_per_call(infer));
    let summing = machine(&infer.sites, &sizes) + summaries(infer, planned);
    let results = sum(&[kept_of(infer, (extent.rows, planned)), predictions(infer, schema)]);
    finding.max(sum(&[results, predicting.max(summing).max(pruning)]))
}

/// Returns whether each thread of the inference run keeps a workspace for matrix products.
fn multiplies(infer: &InferenceBlock) -> bool {
    fn calls(steps: &[PlanStep]) -> bool {
        steps.iter().any(|step| match step {
            PlanStep::Call(call) => call.primitive.is_blocked_product,
            PlanStep::Launch(_) => false,
            PlanStep::Repeat { body, .. } => calls(body),
        })
    }
    [infer.step(), &infer.predict, &infer.sites]
        .iter()
        .any(|artifact| calls(&artifact.plan.steps))
}

/// Returns the number of bytes that pruning needs. First, the weights are ranked. Then, predictions are made with masks. The result is the number
/// of bytes of the step that needs more memory.
fn pruning(infer: &InferenceBlock, table: &Pruning, schema: &Schema) -> u64 {
    let weights = infer
        .reports
        .iter()
        .filter(|site| table.sites.contains(&site.name));
    let sizes: Vec<u64> = weights.map(|site| elements(&site.shape)).collect();
    let all = sizes.iter().sum::<u64>();
    let largest = sizes.iter().max().copied().unwrap_or(0);
    let ranking = machine(&table.moments, &Sizes::default()) + NUMBER * (all + 3 * largest);
    let draws = infer.predictive_draws();
    let scoring = predicting(infer, &table.predict, scored(infer, schema), draws);
    // While the predictions are scored, the ratios, the order and the masks are in memory too.
    ranking.max(scoring + 3 * NUMBER * all)
}

/// Small sites are summarised from draws. Returns the number of bytes of these draws, for an approximation with
/// `members` members.
fn summaries(infer: &InferenceBlock, members: usize) -> u64 {
    let sizes = infer.reports.iter().map(|site| elements(&site.shape));
    let small: Vec<u64> = sizes.filter(|size| *size <= summary::SMALL as u64).collect();
    let largest = small.iter().max().copied().unwrap_or(0);
    let Summing {
        draws,
        weights,
        noise,
    } = bnnc_methods::of(infer).summing(members);
    // All draws of each site are in memory. During one call, memory also contains the draws of one site, and the draws of the weights.
    let read = (largest + weights) * summary::draws_per_call(infer).min(draws) as u64;
    NUMBER * (small.iter().sum::<u64>() * draws as u64 + read + noise)
}

/// Returns the number of bytes that the columns of predictions take.
fn predictions(infer: &InferenceBlock, schema: &Schema) -> u64 {
    let columns = infer
        .outputs
        .iter()
        .map(|output| output.kind.classes().unwrap_or(5));
    let columns: usize = columns.sum();
    // The number of bytes includes the row numbers.
    scored(infer, schema) as u64 * (columns as u64 + 1) * NUMBER
}
