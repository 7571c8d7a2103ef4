//! Finds exact relations between two columns.

use super::orthogonal::dot;

/// A relation must hold in at least this number of rows, because a relation with two parameters may fit fewer rows by chance.
const LEAST: usize = 8;
/// If one column explains the variance of another column except for this fraction, the coefficients of the two columns cannot be distinguished.
/// The standard error of each coefficient is then a hundred times as large as it would be without the other column.
pub const NEARLY: f64 = 1e-4;

/// A relation is first tested on this number of rows. If the relation holds there, it is tested on all rows.
const FIRST: usize = 500;

/// If values are rounded to ten digits, a squared correlation of 1 decreases by at most this amount.
const ROUNDING: f64 = 1e-10;

/// Describes how an input determines a target in every row. Returns `None` if the input does not determine the target.
pub fn between(input: &[f64], target: &[f64]) -> Option<&'static str> {
    if input.len() != target.len() || input.len() < LEAST {
        return None;
    }
    if input == target {
        return Some("both are equal in every row");
    }
    let logs = [log(input), log(target)];
    let tries = [
        (Some(input), Some(target), "one is a linear function of the other"),
        (
            logs[0].as_deref(),
            Some(target),
            "the target is a linear function of the logarithm of the input",
        ),
        (
            Some(input),
            logs[1].as_deref(),
            "the logarithm of the target is a linear function of the input",
        ),
        (
            logs[0].as_deref(),
            logs[1].as_deref(),
            "the target is a power of the input, up to a factor",
        ),
    ];
    tries
        .into_iter()
        .find_map(|(x, y, words)| is_linear(x?, y?).then_some(words))
}

/// Fits a linear function of one column to another column. Returns the fraction of the variance that this function does
/// not explain. Returns `None` if a column hardly
/// varies, or if the fraction is large.
pub fn unexplained(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < LEAST {
        return None;
    }
    let first = x.len().min(FIRST);
    let is_near = rest(&x[..first], &y[..first]).is_none_or(|rest| rest < 100.0 * NEARLY);
    is_near.then(|| rest(x, y))?
}

/// Fits a multiple of one column to another column. Returns the fraction of the squared length that this multiple does
/// not explain. Returns `None` if a column is zero.
/// In a model without an intercept, the coefficients of two columns are indistinguishable only if one column is a multiple of the other.
pub fn not_multiple(x: &[f64], y: &[f64]) -> Option<f64> {
    let (xx, yy, xy) = (dot(x, x), dot(y, y), dot(x, y));
    let is_known = x.len() == y.len() && x.len() >= LEAST && xx > 0.0 && yy > 0.0;
    is_known.then(|| 1.0 - xy * xy / (xx * yy))
}

/// Returns the logarithms of the values if all values are positive.
fn log(values: &[f64]) -> Option<Vec<f64>> {
    let positive = values.iter().all(|value| *value > 0.0);
    positive.then(|| values.iter().map(|value| value.ln()).collect())
}

fn is_linear(x: &[f64], y: &[f64]) -> bool {
    rest(x, y).is_some_and(|rest| rest.abs() < ROUNDING)
}

/// Returns one minus the squared correlation of two columns.
fn rest(x: &[f64], y: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 { x.iter().zip(y).map(|(x, y)| of(x - a, y - b)).sum() };
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    // If the variation of a column is tiny relative to its values, the significant digits of the variation are lost.
    let varies = |spread: f64, mean: f64| spread / x.len() as f64 > 1e-12 * mean * mean;
    (varies(xx, a) && varies(yy, b)).then(|| 1.0 - xy * xy / (xx * yy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_and_logarithmic_relations_are_found() {
        let x: Vec<f64> = (1..20).map(f64::from).collect();
        let of = |f: fn(f64) -> f64| -> Vec<f64> { x.iter().map(|x| f(*x)).collect() };
        assert!(between(&x, &x).is_some());
        assert!(between(&x, &of(|x| 1.8 * x + 32.0)).is_some());
        assert!(between(&x, &of(f64::exp)).is_some());
        assert!(between(&x, &of(f64::ln)).is_some());
        assert!(between(&x, &of(|x| 3.0 * x.powi(3))).is_some());
    }

    #[test]
    fn complements_are_not_multiples() {
        let male: Vec<f64> = (0..20).map(|row| f64::from(row % 2)).collect();
        let female: Vec<f64> = male.iter().map(|x| 1.0 - x).collect();
        let double: Vec<f64> = male.iter().map(|x| 2.0 * x).collect();
        assert!(unexplained(&male, &female).is_some_and(|rest| rest.abs() < 1e-12));
        assert_eq!(not_multiple(&male, &female), Some(1.0));
        assert!(not_multiple(&male, &double).is_some_and(|rest| rest.abs() < 1e-12));
        assert_eq!(not_multiple(&male, &[0.0; 20]), None);
    }

    #[test]
    fn noise_and_constants_have_no_relation() {
        let x: Vec<f64> = (1..20).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| x + 1e-3 * (x * x).sin()).collect();
        assert_eq!(between(&x, &y), None);
        assert_eq!(between(&x, &[2.0; 19]), None);
        assert_eq!(between(&x[..5], &x[..5]), None);
    }
}
