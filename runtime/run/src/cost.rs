//! What a run takes, before it: a step, and the memory of reading, cutting, training, predicting and summing up.

pub mod advice;
pub mod fitting;
pub mod peaks;

use crate::cost::peaks::peaks;
use bnnc_abi::data::{DataSpec, Field, FieldKind, Format, Outliers, Schema, Test};
use bnnc_abi::manifest::{Infer, Manifest, OutputKind, Pruning};
use bnnc_abi::plan::Step;
use bnnc_abi::primitive;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::memory::{NUMBER, elements, machine, parameters, predicting, sum};
use bnnc_inference::method::{Extent, Summing, scored};
use bnnc_inference::{comparison, summary};
use bnnc_methods::laplace::memory;
use std::collections::HashMap;

/// Fills in what a step of every infer takes with these data and the options that it has now, and its predicted peak: the most that
/// the run holds while it is at that infer, on one thread, with what it keeps of those before. `schemas` are by data item, and stay
/// with the manifest: other peaks can be asked for.
pub fn predict(manifest: &mut Manifest, schemas: &HashMap<String, Schema>) {
    manifest.schemas.clone_from(schemas);
    let peaks = peaks(manifest, manifest.infers.iter());
    for (infer, peak) in manifest.infers.iter_mut().zip(peaks) {
        let Some((schema, peak)) = schemas.get(&infer.data).zip(peak) else {
            continue;
        };
        let sizes = bnnc_methods::of(infer).step_sizes(infer.examples(schema.train));
        infer.cost.effort = infer.cost.step.at(&sizes);
        infer.cost.peak_bytes = peak.bytes;
    }
}

/// The bytes of the matrices that the precision of an approximation takes; none where nothing is known of its data, and for other methods.
pub fn precision(manifest: &Manifest, infer: &Infer) -> Option<u64> {
    let laplace = infer.laplace()?;
    Some(memory::precision(laplace, trained(manifest, infer)?))
}

/// The number of examples that an infer is fitted to.
fn trained(manifest: &Manifest, infer: &Infer) -> Option<usize> {
    let schema = manifest.schemas.get(&infer.data)?;
    Some(infer.examples(schema.train))
}

/// The bytes that a finished inference holds, of a number of rows and iterates.
fn kept_of(infer: &Infer, (rows, planned): (usize, usize)) -> u64 {
    sum(&[parameters(infer), bnnc_methods::of(infer).held(rows, planned)])
}

/// The bytes of a data item in its three forms.
struct Data {
    file: u64,
    table: u64,
    rows: u64,
    /// The numbers of the rows of each part, while rows are cut.
    parts: u64,
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
    // The inputs of `idx` files stay bytes, and only become reals as inputs.
    let is_bytes = |field: &Field| spec.format == Format::Idx && field.shape.len() == 1;
    let width = |field: &Field| {
        let element = match field.kind {
            FieldKind::Levels(_) => 4,
            FieldKind::Real | FieldKind::Int(..) if is_bytes(field) => 1,
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
    let files = spec.files.iter().filter_map(|path| std::fs::metadata(path).ok());
    Data {
        file: files
            .map(|file| file.len())
            .max()
            .unwrap_or(0)
            .max(if spec.format == Format::Idx {
                per_row * schema.rows as u64
            } else {
                0
            }),
        table: per_row * all + shared,
        // With the number of each row.
        rows: used * (schema.inputs as u64 * NUMBER + copied + NUMBER) + shared,
        parts: all * (NUMBER + 1),
    }
}

fn per_row(schema: &Schema) -> impl Iterator<Item = &Field> {
    schema.fields.iter().filter(|field| field.per_example)
}

/// The fields that rows hold besides their inputs.
fn per_row_copied<'a>(spec: &DataSpec, schema: &'a Schema) -> impl Iterator<Item = &'a Field> {
    let is_pair = matches!(spec.format, Format::Idx | Format::Npy);
    let target = schema.target.as_ref();
    per_row(schema).filter(move |field| !is_pair || Some(&field.name) == target)
}

/// The largest of training, predicting, leaving rows out where a comparison does, and summing up, with `planned` iterates.
fn computing(manifest: &Manifest, infer: &Infer, schema: &Schema, planned: usize) -> u64 {
    let method = bnnc_methods::of(infer);
    let extent = Extent {
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

/// Whether a thread that runs the infer keeps the workspace of matrix products.
fn multiplies(infer: &Infer) -> bool {
    fn calls(steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            Step::Call(call) => std::ptr::eq(call.primitive.0, &primitive::MATMUL),
            Step::Launch(_) => false,
            Step::Repeat { body, .. } => calls(body),
        })
    }
    [bnnc_methods::of(infer).program(), &infer.predict, &infer.sites]
        .iter()
        .any(|artifact| calls(&artifact.plan.steps))
}

/// The ranking of the weights, then predictions with their masks.
fn pruning(infer: &Infer, table: &Pruning, schema: &Schema) -> u64 {
    let weights = infer
        .reports
        .iter()
        .filter(|site| table.sites.contains(&site.name));
    let sizes: Vec<u64> = weights.map(|site| elements(&site.shape)).collect();
    let (all, largest) = (
        sizes.iter().sum::<u64>(),
        sizes.iter().max().copied().unwrap_or(0),
    );
    let ranking = machine(&table.moments, &Sizes::default()) + NUMBER * (all + 3 * largest);
    let draws = infer.predictive_draws();
    let scoring = predicting(infer, &table.predict, scored(infer, schema), draws);
    // Ratios, order and masks.
    ranking.max(scoring + 3 * NUMBER * all)
}

/// The draws behind the summaries of small sites, of an approximation with so many members.
fn summaries(infer: &Infer, members: usize) -> u64 {
    let sizes = infer.reports.iter().map(|site| elements(&site.shape));
    let small: Vec<u64> = sizes.filter(|size| *size <= summary::SMALL as u64).collect();
    let largest = small.iter().max().copied().unwrap_or(0);
    let Summing {
        draws,
        weights,
        noise,
    } = bnnc_methods::of(infer).summing(members);
    // All draws of each site, and one call's of the site that is read and of the weights.
    let read = (largest + weights) * summary::draws_per_call(infer).min(draws) as u64;
    NUMBER * (small.iter().sum::<u64>() * draws as u64 + read + noise)
}

/// The columns of predictions.
fn predictions(infer: &Infer, schema: &Schema) -> u64 {
    let columns = infer.outputs.iter().map(|output| match output.kind {
        OutputKind::Classes(classes) => classes as u64,
        OutputKind::Bool => 2,
        OutputKind::Real | OutputKind::Count => 5,
    });
    let columns: u64 = columns.sum();
    // With the number of each row.
    scored(infer, schema) as u64 * (columns + 1) * NUMBER
}
