//! Variance inflation. The correlations of columns increase the variance of a coefficient by this factor.
//!
//! Let the likelihood be Normal and the priors flat. The posterior precision of the coefficients is then proportional to `X' X`. A variational
//! family with independent elements gives coefficient `i` the variance `1 / (X' X)_ii`, while the posterior variance is the `i`-th diagonal element
//! of the inverse. The ratio of the two variances is the variance inflation factor. It is the squared length of the column, divided by the squared
//! length of the part that the other columns do not explain.

use super::orthogonal::{Basis, dot};

/// A coefficient is reported only if its standard deviation is too small by more than this factor. The check for inputs whose mean is far from zero
/// starts at the same factor.
const LEAST: f64 = 3.0;

/// A column with a larger factor is treated as an exact linear combination of other columns, because its remainder
/// consists only of rounding errors.
const MOST: f64 = 1e5;

/// A column that other columns explain to a large part.
pub(super) struct InflatedColumn {
    /// The index of the column.
    pub column: usize,
    /// The index of the column that has the strongest correlation with this column.
    pub partner: usize,
    /// The square root of the variance inflation factor.
    pub factor: f64,
}

/// Returns the part of each column that is orthogonal to `others`, for example to the column of an
/// intercept.
pub(super) fn residuals(columns: &[Vec<f64>], others: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let basis = spanned(others.iter());
    columns.iter().map(|column| basis.rest(column.clone())).collect()
}

/// Returns the candidate with the largest variance inflation, if its factor is above [`LEAST`]. A column that the others determine up to rounding is
/// left out. Returns `None` if the number of values per column is less than twice the number of columns. The other columns would then explain a
/// column by chance.
pub(super) fn largest(columns: &[Vec<f64>], is_candidate: &dyn Fn(usize) -> bool) -> Option<InflatedColumn> {
    if columns.first()?.len() < 2 * columns.len() {
        return None;
    }
    let others = |at: usize| (0..columns.len()).filter(move |other| *other != at);
    let size = |column: &[f64]| dot(column, column).sqrt();
    let factor = |at: usize| {
        let basis = spanned(others(at).map(|other| &columns[other]));
        // The projections are subtracted twice, because the first pass leaves rounding errors.
        size(&columns[at]) / size(&basis.rest(basis.rest(columns[at].clone())))
    };
    let factors = (0..columns.len()).filter(|at| is_candidate(*at));
    let factors = factors.map(|at| (at, factor(at)));
    let (column, factor) = factors
        .filter(|(_, factor)| *factor > LEAST && *factor < MOST)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let correlation = |other: usize| {
        dot(&columns[column], &columns[other]).abs() / (size(&columns[column]) * size(&columns[other]))
    };
    let partner = others(column).max_by(|a, b| correlation(*a).total_cmp(&correlation(*b)))?;
    Some(InflatedColumn {
        column,
        partner,
        factor,
    })
}

fn spanned<'a>(columns: impl Iterator<Item = &'a Vec<f64>>) -> Basis {
    let mut basis = Basis::default();
    columns.for_each(|column| basis.add(column.clone()));
    basis
}

#[cfg(test)]
mod tests {
    use super::{largest, residuals};

    /// The factor of two columns with the correlation `r` is `1 / sqrt(1 - r^2)`.
    #[test]
    fn two_columns_inflate_each_other_by_their_correlation() {
        let x: Vec<f64> = (0..40).map(|at| f64::from(at) - 19.5).collect();
        let wave: Vec<f64> = (0..40).map(|at| if at % 4 < 2 { 1.0 } else { -1.0 }).collect();
        let y: Vec<f64> = x.iter().zip(&wave).map(|(x, wave)| 100.0 + x + wave).collect();
        let columns = residuals(&[x, y], &[vec![1.0; 40]]);
        let of = |a: usize, b: usize| {
            columns[a]
                .iter()
                .zip(&columns[b])
                .map(|(a, b)| a * b)
                .sum::<f64>()
        };
        let squared = of(0, 1).powi(2) / (of(0, 0) * of(1, 1));
        let found = largest(&columns, &|at| at == 1).unwrap();
        assert_eq!([found.column, found.partner], [1, 0]);
        assert!((found.factor * (1.0 - squared).sqrt() - 1.0).abs() < 1e-9);
        assert!(found.factor > 10.0);
    }

    /// Twelve columns of six values determine each other.
    #[test]
    fn more_columns_than_values_are_not_reported() {
        let column = |at: i32| (0..6).map(|row| f64::from((row * row + at * row) % 7)).collect();
        let columns: Vec<Vec<f64>> = (0..12).map(column).collect();
        assert!(largest(&columns, &|_| true).is_none());
    }

    /// The columns are orthogonal to each other.
    #[test]
    fn orthogonal_columns_are_not_reported() {
        let a = vec![1.0, -1.0, 1.0, -1.0];
        let b = vec![1.0, 1.0, -1.0, -1.0];
        assert!(largest(&[a, b], &|_| true).is_none());
    }
}
