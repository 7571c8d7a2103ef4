//! Variance inflation: the factor by which the correlations of coefficients increase their posterior variances.
//!
//! Let the likelihood be Normal with variance `v`, and the priors Normal with precisions `P`. The posterior precision of the coefficients of a
//! linear predictor is then `A = X' X / v + P`. A variational family with independent elements gives coefficient `i` the variance `1 / A_ii`, while
//! the posterior variance is the `i`-th diagonal element of the inverse of `A`. The ratio of the two variances is the variance inflation factor. If
//! the priors are flat, it is the variance inflation factor of the columns `X` (Belsley, Kuh and Welsch 1980). Narrow priors reduce it.

use super::orthogonal::{Basis, dot};

/// A coefficient is reported only if its standard deviation is too small by more than this factor. The check for inputs whose mean is far from zero
/// starts at the same factor.
pub(super) const LEAST: f64 = 3.0;

/// A column with a larger factor is treated as an exact linear combination of other columns, because its remainder
/// consists only of rounding errors.
pub(super) const MOST: f64 = 1e5;

/// Two factors count as the same if their ratio is above this number.
pub(super) const SAME: f64 = 1.0 - 1e-6;

/// A matrix has diagonal elements of 1. This number is added to them, so that the factor of an exact linear combination is finite and above
/// [`MOST`].
const RIDGE: f64 = 1e-12;

/// A coefficient whose variance is increased by its correlations with other coefficients.
pub(super) struct InflatedColumn {
    /// The index of the column of the coefficient.
    pub column: usize,
    /// The index of the column that has the strongest correlation with this column.
    pub partner: usize,
    /// The square root of the variance inflation factor.
    pub factor: f64,
}

/// A symmetric matrix, with all of its rows.
pub(super) type Matrix = Vec<Vec<f64>>;

/// The coefficients of a linear predictor, without an intercept.
pub(super) struct Predictor<'a> {
    /// The column of each coefficient.
    pub columns: &'a [Vec<f64>],
    /// The column of the intercept, whose prior is treated as flat.
    pub intercept: Option<&'a [f64]>,
    /// The prior precision of each coefficient. The unit is the precision that a row gives to a coefficient whose column is 1.
    pub priors: &'a [f64],
}

impl Predictor<'_> {
    /// Returns the candidate with the largest variance inflation. The candidate is returned only if its factor is above [`LEAST`] even without the
    /// correlation with the intercept, because another warning covers the means of inputs. The returned factor includes this correlation. A
    /// coefficient that the other coefficients determine up to rounding is left out.
    pub(super) fn largest(&self, is_candidate: &dyn Fn(usize) -> bool) -> Option<InflatedColumn> {
        let precision = self.precision();
        let variances = inverse_diagonal(&precision)?;
        let factor = |own: f64, at: usize| (own * variances[at]).sqrt();
        let candidates = (0..precision.len()).filter(|at| is_candidate(*at));
        let factors = candidates.map(|at| (at, factor(precision[at][at], at)));
        let factors: Vec<(usize, f64)> = factors
            .filter(|(_, factor)| *factor > LEAST && *factor < MOST)
            .collect();
        let largest = factors.iter().map(|(_, factor)| *factor).reduce(f64::max)?;
        // Two coefficients that are correlated only with each other have the same factor, up to rounding errors. The first of them is reported.
        let (column, _) = *factors.iter().find(|(_, factor)| *factor > SAME * largest)?;
        let correlation = |other: usize| precision[column][other].abs() / precision[other][other].sqrt();
        let others = (0..precision.len()).filter(|other| *other != column && precision[*other][*other] > 0.0);
        let partner = others.max_by(|a, b| correlation(*a).total_cmp(&correlation(*b)))?;
        let own = &self.columns[column];
        Some(InflatedColumn {
            column,
            partner,
            factor: factor(dot(own, own) + self.priors[column], column),
        })
    }

    /// Returns the posterior precision of the coefficients after integration over the intercept.
    fn precision(&self) -> Matrix {
        let mut basis = Basis::default();
        self.intercept
            .iter()
            .for_each(|column| basis.add(column.to_vec()));
        let columns = self.columns.iter().map(|column| basis.rest(column.clone()));
        let columns: Vec<Vec<f64>> = columns.collect();
        let mut precision = vec![vec![0.0; columns.len()]; columns.len()];
        for (at, column) in columns.iter().enumerate() {
            for (other, values) in columns.iter().enumerate().take(at + 1) {
                let product = dot(column, values);
                precision[at][other] = product;
                precision[other][at] = product;
            }
            precision[at][at] += self.priors[at];
        }
        precision
    }
}

/// Returns the diagonal elements of the inverse of a matrix. Returns `None` if the matrix is not positive definite.
fn inverse_diagonal(matrix: &Matrix) -> Option<Vec<f64>> {
    let columns = inverse_factor(matrix)?;
    Some(columns.iter().map(|column| dot(column, column)).collect())
}

/// Returns the inverse of a matrix. Returns `None` if the matrix is not positive definite.
pub(super) fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let columns = inverse_factor(matrix)?;
    let row = |one: &Vec<f64>| columns.iter().map(|other| dot(one, other)).collect();
    Some(columns.iter().map(row).collect())
}

/// Returns the columns of a matrix whose product with its transpose, from the left, is the inverse of a matrix. Computes a Cholesky decomposition.
/// Returns `None` if the matrix is not positive definite.
fn inverse_factor(matrix: &Matrix) -> Option<Matrix> {
    let count = matrix.len();
    let scales: Vec<f64> = (0..count)
        .map(|at| match matrix[at][at] > 0.0 {
            true => matrix[at][at].sqrt(),
            false => 1.0,
        })
        .collect();
    let mut lower = vec![vec![0.0; count]; count];
    for row in 0..count {
        for column in 0..=row {
            let own = matrix[row][column] / (scales[row] * scales[column]);
            let rest = own - dot(&lower[row][..column], &lower[column][..column]);
            lower[row][column] = match row == column {
                true => Some((rest + RIDGE).sqrt()).filter(|pivot| *pivot > 0.0)?,
                false => rest / lower[column][column],
            };
        }
    }
    // Forward substitution gives column `at` of the inverse of the lower triangle. The squares of its elements add up to the diagonal
    // element.
    let of = |at: usize| {
        let mut solved = vec![0.0; count];
        for row in at..count {
            let known = f64::from(u8::from(row == at)) - dot(&lower[row][at..row], &solved[at..row]);
            solved[row] = known / lower[row][row];
        }
        solved.iter_mut().for_each(|value| *value /= scales[at]);
        solved
    };
    Some((0..count).map(of).collect())
}

/// Returns the variance of a target that remains after a least-squares fit of these columns, or NaN if there are not more values than columns.
pub(super) fn left_over(columns: &[Vec<f64>], target: Vec<f64>) -> f64 {
    let mut basis = Basis::default();
    columns.iter().for_each(|column| basis.add(column.clone()));
    let freedom = target.len().checked_sub(basis.len()).filter(|left| *left > 0);
    let rest = basis.rest(target);
    freedom.map_or(f64::NAN, |freedom| dot(&rest, &rest) / freedom as f64)
}

#[cfg(test)]
mod tests {
    use super::{InflatedColumn, Predictor};

    fn columns() -> [Vec<f64>; 2] {
        let x: Vec<f64> = (0..40).map(|at| f64::from(at) - 19.5).collect();
        let wave = |at: usize| if at % 4 < 2 { 1.0 } else { -1.0 };
        let y = x.iter().enumerate().map(|(at, x)| x + wave(at)).collect();
        [x, y]
    }

    fn product(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn largest(columns: &[Vec<f64>], priors: &[f64]) -> Option<InflatedColumn> {
        let predictor = Predictor {
            columns,
            intercept: None,
            priors,
        };
        predictor.largest(&|_| true)
    }

    /// The posterior precision `[[a, b], [b, c]]` gives the variance inflation factor `1 / (1 - b^2 / (a c))`.
    #[test]
    fn two_coefficients_inflate_each_other_by_their_correlation() {
        let [x, y] = columns();
        let [a, b, c] = [product(&x, &x), product(&x, &y), product(&y, &y)];
        for prior in [0.0, 10.0, 100.0] {
            let expected = (1.0 - b * b / ((a + prior) * (c + prior))).powf(-0.5);
            let found = largest(&[x.clone(), y.clone()], &[prior; 2]).unwrap();
            assert!((found.factor / expected - 1.0).abs() < 1e-9, "{prior}");
            assert!(found.factor > 3.0);
        }
        // If the priors are as narrow as the likelihood, they halve the correlation. The factor is then at most `1 / sqrt(1 - 1 / 4)`.
        assert!(largest(&[x, y], &[a, c]).is_none());
    }

    /// The variances are ratios of determinants of the three by three matrix of the intercept and two coefficients. The factor includes the
    /// correlation with the intercept.
    #[test]
    fn the_intercept_takes_part_in_the_factor_of_the_posterior() {
        let [x, y] = columns();
        let x: Vec<f64> = x.iter().map(|x| x + 5.0).collect();
        let (ones, priors) = (vec![1.0; 40], [3.0, 4.0]);
        let all = [&ones, &x, &y];
        let m = |a: usize, b: usize| {
            let prior = if a == b && a > 0 { priors[a - 1] } else { 0.0 };
            product(all[a], all[b]) + prior
        };
        let minor = |a: usize, b: usize| m(a, a) * m(b, b) - m(a, b) * m(a, b);
        let determinant = m(0, 0) * minor(1, 2) - m(0, 1) * (m(0, 1) * m(2, 2) - m(1, 2) * m(0, 2))
            + m(0, 2) * (m(0, 1) * m(1, 2) - m(1, 1) * m(0, 2));
        let expected = (m(1, 1) * minor(0, 2) / determinant).sqrt();
        let columns = [x.clone(), y.clone()];
        let predictor = Predictor {
            columns: &columns,
            intercept: Some(&ones),
            priors: &priors,
        };
        let found = predictor.largest(&|at| at == 0).unwrap();
        assert_eq!([found.column, found.partner], [0, 1]);
        assert!((found.factor / expected - 1.0).abs() < 1e-9);
    }

    /// Another warning covers large means.
    #[test]
    fn the_mean_of_a_column_alone_is_not_reported() {
        let [x, _] = columns();
        let wave: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 101.0 } else { 99.0 }).collect();
        let predictor = Predictor {
            columns: &[x, wave],
            intercept: Some(&[1.0; 40]),
            priors: &[0.0; 2],
        };
        assert!(predictor.largest(&|_| true).is_none());
    }

    /// The third column is the sum of the other columns. The check of linear combinations reports it.
    #[test]
    fn an_exact_combination_is_not_reported() {
        let x = vec![1.0, 2.0, -1.0, 3.0, 0.5, -2.0];
        let y = vec![0.5, -1.0, 2.0, 1.5, -0.5, 1.0];
        let sum = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        assert!(largest(&[x, y, sum], &[0.0; 3]).is_none());
    }

    #[test]
    fn orthogonal_columns_are_not_reported() {
        let a = vec![1.0, -1.0, 1.0, -1.0];
        let b = vec![1.0, 1.0, -1.0, -1.0];
        assert!(largest(&[a, b], &[0.0; 2]).is_none());
    }
}
