//! Finds columns of which one is a linear combination of the others.

use super::orthogonal::dot;

/// A column counts as an exact linear combination of other columns if the part that they do not explain has
/// at most this fraction of the column's norm. The
/// fraction allows for rounding errors.
pub(super) const ROUNDING: f64 = 1e-9;

/// A column, or the part of a column that is orthogonal to other columns.
struct Rest {
    /// The values of the column in the rows that are searched for dependences.
    values: Vec<f64>,
    /// The weights with which the original columns are summed to give `values`.
    factors: Vec<f64>,
}

impl Rest {
    fn subtract(&mut self, other: &Rest, factor: f64) {
        let values = self.values.iter_mut().zip(&other.values);
        values.for_each(|(value, other)| *value -= factor * other);
        let factors = self.factors.iter_mut().zip(&other.factors);
        factors.for_each(|(own, other)| *own -= factor * other);
    }
}

/// Finds columns of which one is a linear combination of the others. Returns their indices in ascending order.
/// Pairs of dependent columns are ignored, because they are reported separately. `columns` holds the values in some rows. `all` returns the
/// values of a column in all rows.
pub(super) fn combination(columns: &[Vec<f64>], all: &dyn Fn(usize) -> Vec<f64>) -> Option<Vec<usize>> {
    // If there were too few values, any column would be a linear combination of the others.
    if columns.first()?.len() < 2 * columns.len() {
        return None;
    }
    let unit = |at: usize| {
        (0..columns.len())
            .map(|other| f64::from(u8::from(other == at)))
            .collect()
    };
    let mut basis: Vec<Rest> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let mut rest = Rest {
            values: column.clone(),
            factors: unit(at),
        };
        let size = norm(&rest.values);
        // The projections are subtracted twice. After one pass, the remainder of a nearly dependent column is not orthogonal to the basis.
        for other in basis.iter().chain(&basis) {
            let factor = dot(&rest.values, &other.values) / dot(&other.values, &other.values);
            rest.subtract(other, factor);
        }
        if norm(&rest.values) > ROUNDING * size {
            basis.push(rest);
        } else if let Some(parts) = exact((columns, all), at, &rest.factors) {
            return Some(parts);
        }
    }
    None
}

/// If a linear combination is zero in all rows, returns its columns.
fn exact(
    (columns, all): (&[Vec<f64>], &dyn Fn(usize) -> Vec<f64>),
    last: usize,
    factors: &[f64],
) -> Option<Vec<usize>> {
    let largest = |column: &Vec<f64>| column.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let sizes: Vec<f64> = columns.iter().map(largest).collect();
    let own = sizes[last];
    let takes_part = |at: &usize| (factors[*at] * sizes[*at]).abs() > 1e-6 * own;
    let parts: Vec<usize> = (0..columns.len()).filter(takes_part).collect();
    if own <= 0.0 || parts.len() < 3 {
        return None;
    }
    let mut sums = vec![0.0; all(last).len()];
    let mut largest: f64 = 0.0;
    for at in &parts {
        for (sum, value) in sums.iter_mut().zip(all(*at)) {
            let term = factors[*at] * value;
            *sum += term;
            largest = largest.max(term.abs());
        }
    }
    let is_zero = |sum: &f64| sum.abs() <= 1e3 * ROUNDING * largest;
    sums.iter().all(is_zero).then_some(parts)
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(of: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..60).map(of).collect()
    }

    fn level(level: usize) -> Vec<f64> {
        column(move |row| f64::from(u8::from(row * row % 7 % 3 == level)))
    }

    fn wave(at: f64) -> Vec<f64> {
        column(move |row| (at * row as f64).sin())
    }

    fn parts(columns: &[Vec<f64>]) -> Option<Vec<usize>> {
        combination(columns, &|at| columns[at].clone())
    }

    #[test]
    fn indicators_of_all_levels_add_up_to_a_constant() {
        let columns = [column(|_| 1.0), wave(1.0), level(0), level(1), level(2)];
        assert_eq!(parts(&columns), Some(vec![0, 2, 3, 4]));
        assert_eq!(parts(&columns[..4]), None);
        assert_eq!(parts(&columns[1..]), None);
    }

    #[test]
    fn a_total_beside_its_parts_is_found_and_nearly_one_is_not() {
        let (a, b) = (wave(1.0), wave(2.0));
        let total = |error: f64| column(|row| 3.0 * a[row] + b[row] + error * (row as f64 * 3.0).cos());
        let with = |total| parts(&[a.clone(), b.clone(), total]).map(|parts| parts.len());
        assert_eq!(with(total(0.0)), Some(3));
        assert_eq!(with(total(1e-3)), None);
    }

    #[test]
    fn columns_per_level_depend_on_the_column_that_they_split() {
        // The columns are `x`, and the products of `x` with the indicators of two levels.
        let x = wave(1.0);
        let of = |level: usize| column(|row| x[row] * f64::from(u8::from(row % 2 == level)));
        assert_eq!(parts(&[x.clone(), of(0), of(1)]), Some(vec![0, 1, 2]));
        assert_eq!(parts(&[column(|_| 1.0), of(0), of(1)]), None);
    }
}
