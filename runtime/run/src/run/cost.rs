//! What a run takes, before it: a step, and the memory of reading, cutting, training, predicting and summing up.

pub mod advice;
pub mod fitting;
pub mod peaks;

use crate::core::memory::{
    NUMBER, elements, feed, machine, parameters, predicting, predicting_some, states, sum,
};
use crate::core::predict;
use crate::inference::chains::Layout;
use crate::inference::comparison;
use crate::inference::leave_one_out;
use crate::inference::summary;
use crate::methods::collapsed;
use crate::methods::iterates;
use crate::methods::laplace::{self, memory};
use crate::methods::sample;
use crate::methods::sample::target;
use crate::run::cost::peaks::peaks;
use crate::training::maximum;
use bnnc_abi::code::Artifact;
use bnnc_abi::data::{DataSpec, Field, FieldKind, Format, Outliers, Schema, Test};
use bnnc_abi::laplace::{Laplace, Link, Weights};
use bnnc_abi::manifest::{Infer, Manifest, OutputKind, Pruning, Train, Work};
use bnnc_abi::plan::Step;
use bnnc_abi::primitive;
use bnnc_abi::sampling::Sampling;
use bnnc_base::shape::{Sizes, Symbol};
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
        let sizes = step_sizes(infer, infer.examples(schema.train));
        infer.cost.effort = infer.cost.step.at(&sizes);
        infer.cost.peak_bytes = peak.bytes;
    }
}

/// The sizes of a full step on so many rows: of a gradient, where chains ask for them.
fn step_sizes(infer: &Infer, rows: usize) -> Sizes {
    match (infer.training(), infer.sampling()) {
        (Some(train), _) => train.options.sizes(rows),
        (None, Some(sampling)) => target::gradient_sizes(sampling, rows),
        (None, None) => Sizes::default(),
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

/// The bytes that a finished infer holds: parameters, draws, or a Gaussian, of so many rows and iterates.
fn kept_of(infer: &Infer, (rows, planned): (usize, usize)) -> u64 {
    let draws = infer
        .sampling()
        .map_or(0, |sampling| sample::held(infer, sampling));
    let gaussian = match &infer.work {
        // Draws of the weights, once as they are made and once as they are read.
        Work::Laplace(laplace) if laplace.options.link == Link::Weights => {
            let draws = 2 * infer.predictive_draws as u64 * parameters(infer);
            sum(&[gaussians(infer, laplace, (rows, planned)), draws])
        }
        Work::Laplace(laplace) => gaussians(infer, laplace, (rows, planned)),
        Work::Train(_) | Work::Sample(_) | Work::Swag(_) | Work::Ensemble(_) | Work::Collapsed(_) => 0,
    };
    sum(&[
        parameters(infer),
        draws,
        iterates::memory::held(infer, planned),
        gaussian,
    ])
}

/// The bytes of so many Gaussians, each with its maximum.
fn gaussians(infer: &Infer, laplace: &Laplace, (rows, members): (usize, usize)) -> u64 {
    let one = memory::held(laplace, rows).saturating_add(parameters(infer));
    one.saturating_mul(members as u64)
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
    let rows = infer.examples(schema.train);
    let finding = match &infer.work {
        Work::Train(train) => training(infer, train, schema, rows),
        Work::Sample(sampling) => sample::bytes(infer, sampling, rows),
        Work::Laplace(laplace) => {
            let searching = match laplace.search {
                true => training(infer, &laplace.train, schema, rows),
                false => states(infer),
            };
            // The maximum, and the rows as programs read them.
            let around = feed(infer, &laplace.programs.rows, rows) + parameters(infer);
            let finding = sum(&[memory::finding(infer, laplace, rows), around]);
            let one = match laplace.options.online {
                // Curvatures are found while the search goes on, and the best parameters kept.
                true => sum(&[searching, finding, parameters(infer)]),
                false => searching.max(finding),
            };
            let before = gaussians(infer, laplace, (rows, planned.saturating_sub(1)));
            // A checkpoint has the bytes of all of them.
            let written = gaussians(infer, laplace, (rows, planned)).saturating_mul(2);
            before.saturating_add(one).max(written)
        }
        Work::Swag(swag) => {
            iterates::memory::bytes(infer, planned, training(infer, &swag.train, schema, rows))
        }
        Work::Ensemble(ensemble) => {
            iterates::memory::bytes(infer, planned, training(infer, &ensemble.train, schema, rows))
        }
        Work::Collapsed(collapsed) => {
            let training = training(infer, &collapsed.iterates.train, schema, rows);
            let choosing = collapsed::memory::choosing((infer, collapsed), rows, planned);
            iterates::memory::bytes(infer, planned, training)
                .max(iterates::memory::held(infer, planned) + choosing)
        }
    };
    let draws = iterates::memory::predicted(infer, planned).unwrap_or(infer.predictive_draws);
    let predicting = match &infer.work {
        Work::Laplace(laplace) if laplace.options.link != Link::Weights => {
            let rows = scored(infer, schema);
            sum(&[
                memory::predicting((infer, laplace), rows, (draws, planned)),
                feed(infer, &laplace.train.step, rows),
            ])
        }
        Work::Collapsed(collapsed) if collapsed::is_exact(infer, collapsed) => {
            let rows = scored(infer, schema);
            collapsed::memory::predicting((infer, collapsed), rows, (planned, infer.predictive_draws))
        }
        Work::Collapsed(collapsed) => {
            let drawn = collapsed::memory::drawn((infer, collapsed), planned);
            let draws = collapsed::draws(infer, collapsed, planned);
            predicting(infer, &infer.predict, scored(infer, schema), draws) + drawn
        }
        Work::Sample(sampling) => predicting(infer, &infer.predict, scored(infer, schema), draws)
            .max(leaving_out(infer, sampling, rows)),
        Work::Train(_) | Work::Laplace(_) | Work::Swag(_) | Work::Ensemble(_) => {
            let left_out = match comparison::leaves_out(manifest, &infer.name, schema.test > 0) {
                true => leaving_out_of_draws(infer, rows),
                false => 0,
            };
            let drawn = iterates::memory::drawn(infer, planned);
            predicting(infer, &infer.predict, scored(infer, schema), draws).max(left_out) + drawn
        }
    };
    let pruning = infer
        .training()
        .and_then(|train| train.pruning.as_ref())
        .map_or(0, |table| pruning(infer, table, schema));
    let sizes = Sizes::default().with(Symbol::Draws, summary::draws_per_call(infer));
    let summing = machine(&infer.sites, &sizes) + summaries(infer, planned);
    let results = sum(&[kept_of(infer, (rows, planned)), predictions(infer, schema)]);
    finding.max(sum(&[results, predicting.max(summing).max(pruning)]))
}

/// The training machine with what surrounds it.
fn training(infer: &Infer, train: &Train, schema: &Schema, rows: usize) -> u64 {
    let options = &train.options;
    let order = rows as u64 * 4;
    let validating = match schema.validation {
        0 => 0,
        rows => predicting(infer, &infer.predict, rows, infer.predictive_draws.min(20)),
    };
    let chooses = options.patience > 0 && schema.validation > 0;
    let kept = match is_observed(infer) && !chooses {
        true => 0,
        // The parameters of the best epoch, or of the best window.
        false => parameters(infer),
    };
    let watching = validating + kept;
    // The start is freed when it has been written into the machine; then come the rows, and at the end the result.
    let around = states(infer).max(feed(infer, &train.step, rows) + order + watching + parameters(infer));
    let training = machine(&train.step, &options.sizes(rows)) + around;
    let descending = train.gradient.as_ref().map_or(0, |gradient| {
        let machine = machine(gradient, &maximum::sizes(train, rows));
        let numbers = (maximum::numbers(infer) as u64).saturating_mul(NUMBER);
        sum(&[machine, feed(infer, gradient, rows), numbers, parameters(infer)])
    });
    training.max(descending)
}

/// Whether the iterates of a training have a use of their own, so that no best ones are kept.
fn is_observed(infer: &Infer) -> bool {
    match &infer.work {
        Work::Swag(_) | Work::Collapsed(_) => true,
        Work::Laplace(laplace) => laplace.options.online,
        Work::Train(_) | Work::Sample(_) | Work::Ensemble(_) => false,
    }
}

/// The number of examples that are predicted and scored.
fn scored(infer: &Infer, schema: &Schema) -> usize {
    let rows = if schema.test > 0 {
        schema.test
    } else {
        schema.train
    };
    infer.examples(rows)
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
    [finding(infer), &infer.predict, &infer.sites]
        .iter()
        .any(|artifact| calls(&artifact.plan.steps))
}

/// The program that reads all rows.
fn finding(infer: &Infer) -> &Artifact {
    match &infer.work {
        Work::Train(train) => &train.step,
        Work::Sample(sampling) => &sampling.density,
        Work::Laplace(laplace) => &laplace.train.step,
        Work::Swag(swag) => &swag.train.step,
        Work::Collapsed(collapsed) => &collapsed.iterates.train.step,
        Work::Ensemble(ensemble) => &ensemble.train.step,
    }
}

/// Leaving training rows out: likelihoods, and the draws as they are taken and as the program reads them.
fn leaving_out(infer: &Infer, sampling: &Sampling, rows: usize) -> u64 {
    let dimension = Layout::new(infer, sampling).dimension;
    let all = sampling.chains.saturating_mul(sampling.draws);
    let there_are = (infer.predictive_draws.min(all), all);
    let Some(draws) = leave_one_out::draws(sampling, (rows, dimension), there_are) else {
        return 0;
    };
    let likelihoods = (rows, draws, &predict::said(infer)[..1]);
    predicting_some(infer, &infer.predict, likelihoods) + 2 * NUMBER * (draws * dimension) as u64
}

/// The same with draws of an approximation.
fn leaving_out_of_draws(infer: &Infer, rows: usize) -> u64 {
    let draws = leave_one_out::draws_of_approximation(infer, rows);
    let likelihoods = (rows, draws, &predict::said(infer)[..1]);
    let drawn = match &infer.work {
        // Weights that are drawn beforehand, and their noise.
        Work::Laplace(_) => 2 * draws as u64 * parameters(infer),
        Work::Train(_) | Work::Sample(_) | Work::Swag(_) | Work::Ensemble(_) | Work::Collapsed(_) => 0,
    };
    predicting_some(infer, &infer.predict, likelihoods) + drawn
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
    let draws = infer.predictive_draws;
    let scoring = predicting(infer, &table.predict, scored(infer, schema), draws);
    // Ratios, order and masks.
    ranking.max(scoring + 3 * NUMBER * all)
}

/// The draws behind the summaries of small sites, of an approximation with so many members.
fn summaries(infer: &Infer, members: usize) -> u64 {
    let sizes = infer.reports.iter().map(|site| elements(&site.shape));
    let small: Vec<u64> = sizes.filter(|size| *size <= summary::SMALL as u64).collect();
    let largest = small.iter().max().copied().unwrap_or(0);
    let (draws, weights, noise) = match &infer.work {
        // The quantiles of weights on the reals are known, but of a mixture: a few draws show which these are.
        Work::Laplace(laplace) => {
            let is_known = |weights: &Weights| weights.real || weights.elements > summary::SMALL;
            let is_exact = members == 1 && laplace.weights.iter().all(is_known);
            let weights: usize = laplace.weights.iter().map(|weights| weights.elements).sum();
            let draws = if is_exact { 2 } else { summary::DRAWS };
            // Noise, a copy of it and what becomes of it.
            let noise = 3 * laplace::weights::at_once(weights).min(draws) * weights;
            (draws, weights as u64, noise as u64)
        }
        Work::Train(_) | Work::Sample(_) | Work::Swag(_) | Work::Ensemble(_) | Work::Collapsed(_) => {
            (summary::DRAWS, 0, 0)
        }
    };
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
