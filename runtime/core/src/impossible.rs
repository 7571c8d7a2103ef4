//! Finds rows whose likelihood is zero at given parameters. A chain cannot begin at such
//! parameters.

use super::context::{Context, Stop};
use super::predict::Predictor;
use super::states::StateValues;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_data::Dataset;

/// Finds the first row with a likelihood of zero or NaN at the parameters `start`, and returns a
/// note that names it. Returns `None` if every row has a positive likelihood. `begin` describes
/// these parameters in the note, for example "where the attempts begin".
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn note(
    infer: &InferenceBlock,
    dataset: &Dataset,
    (start, begin): (&StateValues, &str),
    context: &Context,
) -> Result<Option<String>, Stop> {
    let mut predictor = Predictor::new(infer, &dataset.train, dataset, 1, context)?;
    predictor.set_parameters(start)?;
    let (mut count, mut first) = (0, None);
    predictor.likelihoods(|rows, block| {
        let impossible = rows
            .zip(&block.log_likelihood)
            .filter(|(_, density)| density.is_nan() || **density == f64::NEG_INFINITY);
        for (row, density) in impossible {
            count += 1;
            first = first.or(Some((row, *density)));
        }
    })?;
    let Some((row, density)) = first.filter(|(row, _)| *row < dataset.train.count) else {
        return Ok(None);
    };
    let what = match density.is_nan() {
        true => "not a number",
        false => "zero",
    };
    let (path, place) = dataset.train.place(row);
    let values: Vec<String> = infer
        .outputs
        .iter()
        .filter_map(|output| {
            Some(format!(
                "`{}` is {}",
                output.name,
                target(infer, &output.name, dataset, row)?
            ))
        })
        .collect();
    let values = match values.is_empty() {
        true => String::new(),
        false => format!(", where {}", values.join(" and ")),
    };
    let all = dataset.train.count;
    let path = path.display();
    Ok(Some(format!(
        "{begin} the likelihood of {count} of {all} rows is {what}; the first is row {place} of {path}{values}"
    )))
}

/// Returns the value of an output in one row, as it is in the data file.
fn target(infer: &InferenceBlock, output: &str, dataset: &Dataset, row: usize) -> Option<f64> {
    let binding = infer.binding(output)?;
    let column = binding.from.column()?;
    let field = dataset.train.field(column)?;
    (field.width() == 1).then_some(())?;
    dataset.train.original(column).ok()?.get(row).copied()
}
