//! Predictions of a finished run for new rows. These predictions are computed from the contents of the run's folder.

use crate::out;
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{DataSource, InferenceBlock};
use bnnc_abi::methods::laplace::{Laplace, Likelihood};
use bnnc_audit::Ranges;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::columns::{Columns, places};
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics::{self, Unpredicted};
use bnnc_core::feed::examples;
use bnnc_core::forecast::Take;
use bnnc_core::predict::held;
use bnnc_core::states::StateValues;
use bnnc_data::write::ResultColumn;
use bnnc_data::{Dataset, Preparation, Rows};
use bnnc_inference::method::Saved;
use bnnc_inference::posterior::{Posterior, SharedPosterior};
use bnnc_inference::{outcome, positions};
use bnnc_laplace::matrix::Matrix;
use bnnc_methods::laplace::gaussian::part;
use bnnc_methods::laplace::{Approximated, Gaussian, joint, memory, slopes};
use std::path::Path;

/// Returns the predictions of an inference block for new rows, as the columns of a table. `values` contains the states of the block, as they are
/// stored in the folder of its run.
///
/// # Errors
/// Fails if some columns do not fit the program, or if the values belong to another program.
pub fn predict(
    infer: &InferenceBlock,
    preparation: &Preparation,
    (values, folder): (&StateValues, &Path),
    rows: Rows,
    context: &Context,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let dataset = usable((infer, values), preparation, rows, context)?;
    let found = restored(infer, (values, folder))?;
    forecast((infer, &*found), preparation, &dataset, context)
}

/// Returns the predictions of a posterior that a run has just found. Otherwise this function is the same as [`predict`].
///
/// # Errors
/// Fails in the same cases as [`predict`].
pub fn predict_found(
    (infer, found): (&InferenceBlock, &dyn Posterior),
    preparation: &Preparation,
    rows: Rows,
    context: &Context,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let dataset = usable((infer, found.values()), preparation, rows, context)?;
    forecast((infer, found), preparation, &dataset, context)
}

/// Returns the dataset of the new rows. First checks that all positions along axes are inside the axes, at all draws of `values`.
fn usable(
    (infer, values): (&InferenceBlock, &StateValues),
    preparation: &Preparation,
    rows: Rows,
    context: &Context,
) -> Result<Dataset, Stop> {
    let dataset = checked(infer, preparation, rows)?;
    positions::check(infer, (&dataset.test, false), &dataset, &context.pool)?;
    positions::check_values(
        infer,
        (values, draws_in(infer, values)),
        (&dataset.test, false),
        (&dataset, context),
    )?;
    Ok(dataset)
}

fn forecast(
    (infer, found): (&InferenceBlock, &dyn Posterior),
    preparation: &Preparation,
    dataset: &Dataset,
    context: &Context,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let draws = (found.predictive_draws(infer), context);
    let mut forecaster = found.forecaster(infer, (&dataset.test, false), dataset, draws)?;
    let mut columns = table(infer, preparation, dataset, |take| forecaster.run(take))?;
    drop(forecaster);
    if infer.outputs.iter().any(|output| output.infinite_below.is_some()) {
        let sites = found.summaries(infer, context)?;
        for name in outcome::infinite(infer, |parameter| outcome::lowest(&sites, parameter)) {
            outcome::fill_infinite(&mut columns, &name);
        }
    }
    Ok(columns)
}

/// Returns the number of draws that predictions with these values are averaged over. If `values` contains draws, the result depends on their
/// number.
pub(super) fn draws_in(infer: &InferenceBlock, values: &StateValues) -> usize {
    match held(infer, values) {
        0 => infer.predictive_draws(),
        held => bnnc_methods::of(infer).predictive_draws(held),
    }
}

/// Returns the predictions for the test rows as the columns of a table. `run` computes the predictions in blocks of rows.
pub(super) fn table(
    infer: &InferenceBlock,
    preparation: &Preparation,
    dataset: &Dataset,
    run: impl FnOnce(&mut Take<'_>) -> Result<(), Stop>,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let mut columns = Columns::new(infer, &dataset.test, dataset.test.count);
    run(&mut |_, block| {
        block.undo(infer, preparation);
        columns.add(block);
    })?;
    let without = columns.without();
    match without.len() == infer.outputs.len() && dataset.test.count > 0 {
        true => {
            // If all inputs are shared, all rows of the data form one example of the model. The outputs of such
            // an example cannot be predicted for other rows.
            let is_whole = infer.bindings.iter().all(|binding| binding.from.is_shared());
            let vector = infer.outputs.iter().find(|output| output.elements() != 1);
            let diagnostic = match vector {
                Some(output) if !is_whole => {
                    let reason = Unpredicted::Vector(output.elements());
                    diagnostics::no_predictions(&infer.name, &[&output.name], reason)
                }
                Some(_) | None if is_whole => {
                    diagnostics::no_predictions(&infer.name, &without, Unpredicted::Whole)
                }
                Some(_) | None => diagnostics::no_predictions(&infer.name, &without, Unpredicted::NoMoments),
            };
            Err(diagnostic.into())
        }
        false => Ok(columns.finish()),
    }
}

/// Returns the warnings about new rows that are far from the training rows of an inference block. Rows that cannot be used are not reported here,
/// but by [`predict`].
pub fn far(
    infer: &InferenceBlock,
    (spec, preparation): (&DataSpec, &Preparation),
    rows: Rows,
    ranges: &Ranges,
) -> Vec<Diagnostic> {
    checked(infer, preparation, rows).map_or_else(
        |_| Vec::new(),
        |dataset| bnnc_audit::far(infer, spec, &dataset, ranges),
    )
}

/// Returns the same warnings as [`far`]. The training rows come from `dataset`.
pub fn far_from(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset, rows: Rows) -> Vec<Diagnostic> {
    let ranges = bnnc_audit::ranges(infer, spec, dataset);
    far(infer, (spec, &dataset.preparation), rows, &ranges)
}

/// Returns the joint covariance `[rows * outputs, rows * outputs]` of the outputs of all rows, under the Gaussian of the
/// weights. The noise of the outputs is not included.
/// If the outputs are the means of a Normal likelihood, the covariance is in the units of the target. Otherwise, the covariance is in the units of
/// the model, so outputs may be logits or the logarithm of a rate.
///
/// # Errors
/// Fails if the inference block does not have such a covariance, or if the covariance needs more than `max_memory` bytes. Also fails in the same
/// cases as [`predict`].
pub fn joint(
    infer: &InferenceBlock,
    preparation: &Preparation,
    (values, folder): (&StateValues, &Path),
    rows: Rows,
    (max_memory, context): (Option<u64>, &Context),
) -> Result<Matrix, Stop> {
    let dataset = checked(infer, preparation, rows)?;
    positions::check(infer, (&dataset.test, false), &dataset, &context.pool)?;
    let found = gaussians(infer, (values, folder))?;
    let (members, laplace, rows) = (members(infer, &found)?, part(infer)?, &dataset.test);
    let count = examples(&infer.bindings, rows);
    let what = format!(
        "the joint covariance of {} outputs",
        count.saturating_mul(laplace.outputs)
    );
    let need = memory::together(infer, laplace, members.len(), count);
    fits(infer, &what, need, max_memory)?;
    let mut covariance = joint::covariance(members, (infer, laplace), rows, &dataset, context)?;
    let unit = unit(laplace, preparation).unwrap_or(1.0);
    covariance
        .values
        .iter_mut()
        .for_each(|value| *value *= unit * unit);
    Ok(covariance)
}

/// Returns derivatives for the new rows as the columns of a table. For each output, these are the derivatives of its mean and of its variance with
/// respect to the inputs. Inputs are in their original units, before they are standardised. If the outputs are the means of a Normal likelihood,
/// outputs are in the units of the target (`mean/..`, `variance/..`). Otherwise, outputs are in the units of the model (`model_mean/..`,
/// `model_variance/..`).
///
/// # Errors
/// Fails in the same cases as [`joint()`].
pub fn slopes(
    infer: &InferenceBlock,
    preparation: &Preparation,
    (values, folder): (&StateValues, &Path),
    rows: Rows,
    (max_memory, context): (Option<u64>, &Context),
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let dataset = checked(infer, preparation, rows)?;
    positions::check(infer, (&dataset.test, false), &dataset, &context.pool)?;
    let found = gaussians(infer, (values, folder))?;
    let (members, laplace) = (members(infer, &found)?, part(infer)?);
    let count = examples(&infer.bindings, &dataset.test);
    let what = format!("the slopes of {} outputs", count.saturating_mul(laplace.outputs));
    fits(
        infer,
        &what,
        memory::sloping(infer, laplace, members.len(), count),
        max_memory,
    )?;
    let all = slopes::slopes(members, (infer, laplace), &dataset.test, &dataset, context)?;
    let mut columns = places(&dataset.test, count);
    let (unit, units) = match unit(laplace, preparation) {
        Some(unit) => (unit, ""),
        None => (1.0, "model_"),
    };
    for slopes in &all {
        let binding = infer.binding(&slopes.input);
        let width = slopes.mean.len() / (count * laplace.outputs).max(1);
        for output in 0..laplace.outputs {
            for element in 0..width {
                let of_input = |at: usize| {
                    let sd = preparation.inputs.get(at).map_or(1.0, |map| map.sd);
                    (preparation.columns.get(at).cloned(), sd)
                };
                let (column, sd) = match binding.map(|binding| &binding.from) {
                    Some(DataSource::Inputs) => of_input(element),
                    Some(DataSource::Input(at)) => of_input(*at),
                    Some(DataSource::Field(name)) => (
                        (width == 1).then(|| name.clone()),
                        named(preparation, name, element),
                    ),
                    Some(DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_)) | None => {
                        (None, 1.0)
                    }
                };
                let of = |values: &[f64], unit: f64| {
                    let at =
                        |row: usize| values[(row * laplace.outputs + output) * width + element] * unit / sd;
                    ResultColumn::Real((0..count).map(at).collect())
                };
                let column = column.unwrap_or_else(|| format!("{}[{element}]", slopes.input));
                let name = format!("{column}/f{output}");
                columns.push((format!("{units}mean/{name}"), of(&slopes.mean, unit)));
                columns.push((
                    format!("{units}variance/{name}"),
                    of(&slopes.variance, unit * unit),
                ));
            }
        }
    }
    Ok(columns)
}

/// Returns the unit of an output, expressed in the units of the target. Returns `None` if the outputs are not the mean of the target.
fn unit(laplace: &Laplace, preparation: &Preparation) -> Option<f64> {
    match laplace.likelihood {
        Likelihood::Normal => Some(preparation.target.sd),
        Likelihood::Categorical | Likelihood::Bernoulli | Likelihood::Other => None,
    }
}

/// Restores the Gaussians of a Laplace approximation from the folder of its run.
fn gaussians(infer: &InferenceBlock, at: (&StateValues, &Path)) -> Result<SharedPosterior, Stop> {
    match infer.laplace() {
        Some(_) => restored(infer, at),
        None => Err(diagnostics::no_joint(&infer.name).into()),
    }
}

/// Returns the Gaussians of all members of a posterior from [`gaussians`].
fn members<'a>(infer: &InferenceBlock, found: &'a SharedPosterior) -> Result<&'a [Gaussian], Stop> {
    let found: Option<&Approximated> = found.of();
    let members = found.map(|found| &found.members[..]);
    Ok(members.ok_or_else(|| diagnostics::no_joint(&infer.name))?)
}

/// Returns an error if a computation needs more memory than the limit.
fn fits(infer: &InferenceBlock, what: &str, need: u64, max_memory: Option<u64>) -> Result<(), Stop> {
    match max_memory.filter(|limit| need > *limit) {
        Some(limit) => Err(diagnostics::too_large_together(&infer.name, what, need, limit).into()),
        None => Ok(()),
    }
}

/// Returns the standard deviation by which an element of an array was divided when the array was
/// standardised.
fn named(preparation: &Preparation, name: &str, element: usize) -> f64 {
    let known = preparation.named.iter().find(|(known, _)| known == name);
    let map = known.and_then(|(_, maps)| maps.get(element));
    map.map_or(1.0, |map| map.sd)
}

/// Restores the posterior of an inference block from the folder of its run.
fn restored(
    infer: &InferenceBlock,
    (values, folder): (&StateValues, &Path),
) -> Result<SharedPosterior, Stop> {
    bnnc_methods::of(infer).restore(&Saved {
        values,
        folder,
        arrays: &|prefix| out::arrays(folder, &infer.name, prefix),
    })
}

/// Checks whether a column of the new rows contains text, although it contained numbers in the
/// run. Without this check, the codes of the text's levels would be
/// used as numbers. Positions outside an axis and unknown levels are detected later, when the rows are prepared for the program.
///
/// # Errors
/// Fails with an error that names the column.
fn check_text(infer: &InferenceBlock, preparation: &Preparation, rows: &Rows) -> Result<(), Diagnostic> {
    for binding in &infer.bindings {
        let DataSource::Field(name) = &binding.from else {
            continue;
        };
        // A missing column is reported later, when it is read.
        let is_text = rows.field(name).is_some_and(|field| field.values.is_text());
        let is_known = preparation.levels.iter().any(|(known, _)| known == name);
        if is_text && !is_known {
            return Err(bnnc_data::diagnostics::text_column(rows.place(0).0, name, None));
        }
    }
    Ok(())
}

/// Returns a dataset that consists of the new rows.
///
/// # Errors
/// Fails if the rows have text instead of numbers, or if the model has an array that all examples share, because new rows do not contain such an
/// array.
pub(super) fn checked(
    infer: &InferenceBlock,
    preparation: &Preparation,
    rows: Rows,
) -> Result<Dataset, Diagnostic> {
    for binding in &infer.bindings {
        let is_read = infer.predict.plan.port(&binding.port).is_some();
        let mut outputs = infer.outputs.iter();
        let is_unknown = outputs.any(|output| output.name == binding.port && !output.given);
        match &binding.from {
            DataSource::Whole(name) | DataSource::Shared(name) if is_read && !is_unknown => {
                return Err(diagnostics::whole_arrays(&infer.name, name));
            }
            DataSource::Inputs
            | DataSource::Input(_)
            | DataSource::Field(_)
            | DataSource::Row
            | DataSource::Whole(_)
            | DataSource::Shared(_) => {}
        }
    }
    check_text(infer, preparation, &rows)?;
    Ok(Dataset {
        train: rows.clone(),
        validation: rows.clone(),
        outliers: rows.none(),
        images: None,
        test: rows,
        preparation: preparation.clone(),
        shared: Vec::new(),
        whole: Vec::new(),
        shards: Vec::new(),
        warnings: Vec::new(),
    })
}
