//! Checks whether the rows of a series are in the order of time.

use crate::diagnostics::data as codes;
use bnnc_abi::manifest::{DataSource, InferenceBlock};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::table::ArrayValues;
use bnnc_data::{Dataset, Rows};

/// With fewer rows than this, a regular grid may be due to chance.
const LEAST: usize = 10;

/// Returns a warning if an output is a series, and the data have a time column that is not in order. An output is a series if its
/// elements depend on each other.
pub(super) fn of_series(infer: &InferenceBlock, dataset: &Dataset) -> Option<Diagnostic> {
    let whole = |name: &str| {
        let binding = infer.binding(name)?;
        match &binding.from {
            DataSource::Whole(column) => Some(column.as_str()),
            _ => None,
        }
    };
    let mut series = infer.outputs.iter().filter(|output| output.series);
    let output = series.find_map(|output| whole(&output.name))?;
    let is_read = |name: &str| {
        infer
            .bindings
            .iter()
            .any(|binding| binding.from.column() == Some(name))
    };
    let times = dataset.train.fields.iter().filter(|field| !is_read(&field.name));
    times
        .filter(|field| is_shuffled(&dataset.train, &field.values, field.width()))
        .map(|field| codes::unordered_series(output, &field.name))
        .next()
}

/// Returns whether the values of a time column are not sorted. The values must be dates, or must form a regular grid.
fn is_shuffled(rows: &Rows, values: &ArrayValues, width: usize) -> bool {
    if width != 1 || rows.count < LEAST {
        return false;
    }
    match values {
        ArrayValues::Level { codes, levels } => {
            let dates: Vec<&str> = codes.iter().map(|code| levels[*code as usize].as_str()).collect();
            dates.iter().all(|date| is_date(date)) && !is_monotone(&dates)
        }
        ArrayValues::Byte(_) | ArrayValues::Int(_) | ArrayValues::Real(_) => {
            let values: Vec<f64> = (0..rows.count).map(|row| values.real(row)).collect();
            is_grid(&values) && !is_monotone(&values)
        }
    }
}

fn is_monotone<T: PartialOrd>(values: &[T]) -> bool {
    values.windows(2).all(|pair| pair[0] <= pair[1]) || values.windows(2).all(|pair| pair[0] >= pair[1])
}

fn is_grid(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let step = (sorted[sorted.len() - 1] - sorted[0]) / (sorted.len() - 1) as f64;
    let is_step = |pair: &[f64]| (pair[1] - pair[0] - step).abs() <= 1e-9 * step;
    step > 0.0 && sorted.windows(2).all(is_step)
}

/// Returns whether a text begins like an ISO 8601 date, `2024-01-31` or `2024-01`. The alphabetical order of such dates is their order
/// in time.
fn is_date(text: &str) -> bool {
    let mut parts = text.split(['-', 'T', ' ']);
    let mut number = |length: usize| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    number(4) && number(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_and_dates_are_found() {
        assert!(is_grid(&[3.0, 1.0, 2.0, 4.0]));
        assert!(!is_grid(&[3.0, 1.0, 2.5, 4.0]));
        assert!(!is_grid(&[1.0, 1.0, 1.0]));
        assert!(is_date("2024-01-31") && is_date("2024-01") && is_date("2024-01-31T12:00"));
        assert!(!is_date("31.01.2024") && !is_date("Oslo") && !is_date("2024"));
    }
}
