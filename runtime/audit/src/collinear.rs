//! Inputs that add up to a constant, or to each other, exactly.

use super::Column;

/// Rows that combinations are sought in; what is found there is held against all rows.
const SOUGHT: usize = 1000;

/// The largest residual of an exact linear combination of columns, relative to the size of the column: rounding errors.
const ROUNDING: f64 = 1e-9;

/// A column, or what others leave of it.
struct Rest {
    /// The values in the rows at hand.
    values: Vec<f64>,
    /// As a combination of the constant, which is first, and of the columns.
    factors: Vec<f64>,
}

/// Returns the names of columns of which one is a combination of the others and a constant, the last one first. Columns that do not vary are left out, and
/// so are pairs, which are reported as such.
pub(super) fn combination<'c>(columns: &[&'c Column]) -> Option<Vec<&'c str>> {
    let rows = common_rows(columns)?;
    let step = rows.div_ceil(SOUGHT).max(1);
    let sampled: Vec<usize> = (0..rows).step_by(step).collect();
    // With as few rows as columns each is a combination of the others.
    if sampled.len() < 2 * (columns.len() + 1) {
        return None;
    }
    let width = columns.len() + 1;
    let unit = |at: usize| (0..width).map(|other| f64::from(u8::from(other == at))).collect();
    let mut basis = vec![Rest {
        values: vec![1.0; sampled.len()],
        factors: unit(0),
    }];
    for (at, column) in columns.iter().enumerate() {
        let mut rest = Rest {
            values: sampled.iter().map(|row| column.train[*row]).collect(),
            factors: unit(at + 1),
        };
        let size = norm(&rest.values);
        // Twice, because what is left of nearly dependent columns is not orthogonal after once.
        for other in basis.iter().chain(&basis) {
            let factor = dot(&rest.values, &other.values) / dot(&other.values, &other.values);
            rest.subtract(other, factor);
        }
        if norm(&rest.values) > ROUNDING * size {
            basis.push(rest);
        } else if let Some(names) = exact(columns, at, &rest.factors) {
            return Some(names);
        }
    }
    None
}

impl Rest {
    fn subtract(&mut self, other: &Rest, factor: f64) {
        let values = self.values.iter_mut().zip(&other.values);
        values.for_each(|(value, other)| *value -= factor * other);
        let factors = self.factors.iter_mut().zip(&other.factors);
        factors.for_each(|(own, other)| *own -= factor * other);
    }
}

/// The names of the columns of a combination that is zero in all rows.
fn exact<'c>(columns: &[&'c Column], last: usize, factors: &[f64]) -> Option<Vec<&'c str>> {
    let largest = |column: &Column| {
        column
            .train
            .iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()))
    };
    let sizes: Vec<f64> = columns.iter().map(|column| largest(column)).collect();
    let own = sizes[last];
    let takes_part = |at: &usize| (factors[at + 1] * sizes[*at]).abs() > 1e-6 * own;
    let parts: Vec<usize> = (0..columns.len()).filter(takes_part).collect();
    let is_zero = |row: usize| {
        let terms = parts.iter().map(|at| factors[at + 1] * columns[*at].train[row]);
        (factors[0] + terms.sum::<f64>()).abs() <= 1e3 * ROUNDING * own
    };
    let is_exact = own > 0.0 && parts.len() > 2 && (0..common_rows(columns)?).all(is_zero);
    is_exact.then(|| parts.iter().rev().map(|at| columns[*at].name.as_str()).collect())
}

/// The rows that all columns have.
fn common_rows(columns: &[&Column]) -> Option<usize> {
    columns.iter().map(|column| column.train.len()).min()
}

/// The sum of products of elements.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, of: impl Fn(usize) -> f64) -> Column {
        Column {
            name: name.to_owned(),
            train: (0..60).map(of).collect(),
            test: Vec::new(),
        }
    }

    fn level(name: &str, level: usize) -> Column {
        column(name, move |row| f64::from(u8::from(row * row % 7 % 3 == level)))
    }

    fn wave(name: &str, at: f64) -> Column {
        column(name, move |row| (at * row as f64).sin())
    }

    #[test]
    fn indicators_of_all_levels_add_up_to_a_constant() {
        let columns = [wave("x", 1.0), level("a", 0), level("b", 1), level("c", 2)];
        let columns: Vec<&Column> = columns.iter().collect();
        assert_eq!(combination(&columns), Some(vec!["c", "b", "a"]));
        assert_eq!(combination(&columns[..3]), None);
    }

    #[test]
    fn a_total_beside_its_parts_is_found_and_nearly_one_is_not() {
        let (a, b) = (wave("a", 1.0), wave("b", 2.0));
        let total = |error: f64| {
            let (a, b) = (a.train.clone(), b.train.clone());
            column("total", move |row| {
                3.0 * a[row] + b[row] + error * (row as f64 * 3.0).cos()
            })
        };
        let with = |total| combination(&[&a, &b, &total]).map(|names| names.len());
        assert_eq!(with(total(0.0)), Some(3));
        assert_eq!(with(total(1e-3)), None);
    }
}
