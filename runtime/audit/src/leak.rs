//! Checks whether inputs determine a target. A single input may determine it up to rounding, or several
//! inputs may determine it together.

use super::orthogonal::{Basis, dot};
use super::{Column, relation};
use crate::diagnostics::data as codes;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Rows;
use std::collections::BTreeMap;

/// A relation is first searched in this number of rows. A relation that is found must hold in all rows.
const SOUGHT: usize = 1000;

/// If there are more columns than this, relations are not searched. The search leaves out one column at a time, and fits the
/// target again each time.
const MOST: usize = 30;

/// Relations are searched only if there are at least this number of rows per column. Fewer rows may be fitted by chance.
const ROWS_PER_COLUMN: usize = 10;

/// A target counts as computed from the inputs if the unexplained fraction of its variance is below this value. The residual is then below 0.1 % of
/// the standard deviation of the target, so the cause may be rounding. For comparison, the most precise calibration among the NIST reference data
/// for linear regression (Norris) has a residual of 0.25 %.
const COMPUTED: f64 = 1e-6;

/// Returns the warnings about inputs that determine a target. Either a single input determines the target exactly, or a real target is nearly a
/// linear function of several inputs.
pub(super) fn warnings(columns: &[Column], output: &Output, target: &Column) -> Vec<Diagnostic> {
    let exact = columns.iter().filter_map(|column| {
        let relation = relation::between(&column.train, &target.train)?;
        Some(codes::leak(&[&column.name], &output.name, relation))
    });
    let exact: Vec<Diagnostic> = exact.collect();
    if !exact.is_empty() || output.kind != OutputKind::Real {
        return exact;
    }
    let found = together(columns, &target.train).map(|names| {
        let relation = match names.len() {
            1 => "the target is a linear function of the input, up to 0.1 % of its standard deviation",
            _ => "the target is a linear function of these inputs, up to 0.1 % of its standard deviation",
        };
        codes::leak(&names, &output.name, relation)
    });
    found.into_iter().collect()
}

/// The check for levels that occur in only one class runs only if there are at least this number of rows per
/// class. With fewer rows, such levels may be due to
/// chance. With ten rows in each of two classes, uninformative levels separate the classes in only one of 92,378 data sets.
const ROWS_PER_CLASS: usize = 10;

/// Returns the warnings about columns of levels or integers that encode a class. In such a column, each
/// level occurs with only one class, and each class occurs with only one level.
/// Columns in `known` are skipped, because they already have a warning.
pub(super) fn codes_of_classes(
    infer: &InferenceBlock,
    output: &Output,
    rows: &Rows,
    known: &[Column],
) -> Vec<Diagnostic> {
    if !matches!(output.kind, OutputKind::Classes(_) | OutputKind::Bool) || output.elements() != 1 {
        return Vec::new();
    }
    let target = infer.column(output);
    let Some(classes) = discrete(rows, target) else {
        return Vec::new();
    };
    let is_output = |column: &str| infer.outputs.iter().any(|output| infer.column(output) == column);
    let has_warning = |column: &str| {
        let mut known = known.iter().filter(|known| known.name == column);
        known.any(|known| {
            let classes: Vec<f64> = classes.iter().map(|class| *class as f64).collect();
            relation::between(&known.train, &classes).is_some()
        })
    };
    let read = infer.bindings.iter().filter_map(|binding| binding.from.column());
    let mut names: Vec<&str> = read.filter(|name| !is_output(name)).collect();
    names.dedup();
    let codes = names.into_iter().filter(|name| {
        let is_code = discrete(rows, name).is_some_and(|levels| is_code(&levels, &classes));
        is_code && !has_warning(name)
    });
    let relation = "its levels correspond one to one to the classes";
    codes
        .map(|name| codes::leak(&[name], &output.name, relation))
        .collect()
}

/// Returns the integers or levels of a column that has one element per row.
fn discrete(rows: &Rows, name: &str) -> Option<Vec<i64>> {
    let field = rows.field(name).filter(|field| field.width() == 1)?;
    (0..field.values.len()).map(|row| field.values.int(row)).collect()
}

/// Returns whether two columns divide the rows into the same groups. There must be at least two groups, and each must have several rows.
fn is_code(levels: &[i64], classes: &[i64]) -> bool {
    let (mut class_of, mut level_of) = (BTreeMap::new(), BTreeMap::new());
    let mut rows: BTreeMap<i64, usize> = BTreeMap::new();
    for (level, class) in levels.iter().zip(classes) {
        if class_of.entry(*level).or_insert(class) != &class
            || level_of.entry(*class).or_insert(level) != &level
        {
            return false;
        }
        *rows.entry(*class).or_default() += 1;
    }
    rows.len() > 1 && rows.values().all(|rows| *rows >= ROWS_PER_CLASS)
}

/// Finds the smallest set of columns that determines a target nearly as a linear function. Returns the names of these
/// columns.
fn together<'c>(columns: &'c [Column], target: &[f64]) -> Option<Vec<&'c str>> {
    let whole = |column: &&Column| column.train.len() == target.len();
    let mut parts: Vec<&Column> = columns.iter().filter(whole).collect();
    let is_enough = ROWS_PER_COLUMN * (parts.len() + 1) <= target.len();
    let step = target.len().div_ceil(SOUGHT).max(1);
    if parts.is_empty() || parts.len() > MOST || !is_enough || unexplained(&parts, target, step) > COMPUTED {
        return None;
    }
    let mut at = parts.len();
    while at > 0 {
        at -= 1;
        let mut fewer = parts.clone();
        fewer.remove(at);
        if unexplained(&fewer, target, step) <= COMPUTED {
            parts = fewer;
        }
    }
    let holds = step == 1 || unexplained(&parts, target, 1) <= COMPUTED;
    holds.then(|| parts.iter().map(|column| &*column.name).collect())
}

/// Fits a linear function of the columns to a target. Returns the fraction of the target's variance
/// that this function does not explain. The fraction is computed from every
/// `step`-th row. If the target does not vary, the result is 1.
fn unexplained(columns: &[&Column], target: &[f64], step: usize) -> f64 {
    let sampled = |values: &[f64]| -> Vec<f64> {
        let values: Vec<f64> = values.iter().step_by(step).copied().collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect()
    };
    let mut basis = Basis::default();
    columns
        .iter()
        .for_each(|column| basis.add(sampled(&column.train)));
    let target = sampled(target);
    let size = dot(&target, &target);
    let rest = basis.rest(basis.rest(target));
    match size > 0.0 {
        true => dot(&rest, &rest) / size,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, of: impl Fn(f64) -> f64) -> Column {
        Column {
            name: name.to_owned(),
            train: (0..200).map(|row| of(f64::from(row))).collect(),
            test: Vec::new(),
        }
    }

    #[test]
    fn codes_of_classes_have_one_level_for_each() {
        let classes: Vec<i64> = (0..60).map(|row| row % 3).collect();
        let other: Vec<i64> = classes.iter().map(|class| [7, 2, 5][*class as usize]).collect();
        assert!(is_code(&other, &classes));
        // Three cases do not give a warning: groups that are finer than the classes, a group that predicts all rows except one, and few rows per
        // class.
        let finer: Vec<i64> = (0..60).map(|row| row % 6).collect();
        assert!(!is_code(&finer, &classes));
        let mut near = other.clone();
        near[59] = 7;
        assert!(!is_code(&near, &classes));
        assert!(!is_code(&other[..27], &classes[..27]));
        assert!(!is_code(&[1; 60], &[2; 60]));
    }

    fn noise(row: f64) -> f64 {
        (row * 12.9898).sin() * 43758.5453 % 1.0
    }

    #[test]
    fn parts_that_add_up_to_a_target_are_named() {
        let [u, v, w] = [1.0, 2.0, 3.0].map(|k| move |row: f64| noise(row * k));
        let columns = [column("u", u), column("v", v), column("w", w)];
        let sum = column("y", |row| 3.0 + u(row) + 2.0 * v(row));
        assert_eq!(together(&columns, &sum.train), Some(vec!["u", "v"]));
        // Rounding to three digits leaves a residual of 3e-4, and the standard deviation is about 0.8. A precise measurement would leave a residual
        // of 3e-3.
        let rounded = column("y", |row| (1000.0 * (u(row) + v(row))).round() / 1000.0);
        assert_eq!(together(&columns, &rounded.train), Some(vec!["u", "v"]));
        let measured = column("y", |row| u(row) + v(row) + 0.004 * noise(row * 7.0));
        assert_eq!(together(&columns, &measured.train), None);
    }
}
