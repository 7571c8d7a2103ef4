//! A check for inputs that determine a target jointly, or up to rounding.

use super::orthogonal::{Basis, dot};
use super::{Column, relation};
use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::codes::audit as codes;

/// The number of rows in which a relation is searched. It must hold in all rows.
const SOUGHT: usize = 1000;

/// The number of columns above which no relation is searched, since each column is left out in turn.
const MOST: usize = 30;

/// The smallest number of rows per column: fewer rows may be fitted by chance.
const ROWS_PER_COLUMN: usize = 10;

/// The unexplained share of a target's variance below which the target counts as computed: a residual of 0.1 % of its standard deviation, as left by
/// rounding. The most precise calibration among the NIST reference data for linear regression (Norris) leaves 0.25 %.
const COMPUTED: f64 = 1e-6;

/// Returns the warnings about inputs that determine a target: a single input exactly, or several inputs of which a real target is nearly a linear
/// function.
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
            1 => "the target is a linear function of it up to 0.1 % of its standard deviation",
            _ => "the target is a linear function of them up to 0.1 % of its standard deviation",
        };
        codes::leak(&names, &output.name, relation)
    });
    found.into_iter().collect()
}

/// Returns the names of the fewest columns of which a target is nearly a linear function.
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

/// Returns the share of the variance of a target, in every `step`-th row, that no linear function of the columns explains; 1 if the target does not
/// vary.
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

    fn noise(row: f64) -> f64 {
        (row * 12.9898).sin() * 43758.5453 % 1.0
    }

    #[test]
    fn parts_that_add_up_to_a_target_are_named() {
        let [u, v, w] = [1.0, 2.0, 3.0].map(|k| move |row: f64| noise(row * k));
        let columns = [column("u", u), column("v", v), column("w", w)];
        let sum = column("y", |row| 3.0 + u(row) + 2.0 * v(row));
        assert_eq!(together(&columns, &sum.train), Some(vec!["u", "v"]));
        // Rounding to three digits leaves 3e-4 of a standard deviation of about 0.8. A precise measurement would leave 3e-3.
        let rounded = column("y", |row| (1000.0 * (u(row) + v(row))).round() / 1000.0);
        assert_eq!(together(&columns, &rounded.train), Some(vec!["u", "v"]));
        let measured = column("y", |row| u(row) + v(row) + 0.004 * noise(row * 7.0));
        assert_eq!(together(&columns, &measured.train), None);
    }
}
