//! The posterior of a linear regression is known exactly if the priors are flat. Let there be `n`
//! cases and `p` coefficients. The coefficients have a Student's t distribution around the
//! least-squares solution, with `nu = n - p - 1` degrees of freedom. The ratio
//! `sum of squared residuals / sigma^2` has a chi-squared distribution with `nu` degrees of
//! freedom.

use super::by_hand::Cases;
use super::sampled::Reference;
use bnnc_math::special::lgamma;

/// Returns the lower Cholesky factor of a positive definite matrix.
fn cholesky(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut l = vec![vec![0.0; a.len()]; a.len()];
    for i in 0..a.len() {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = a[i][j] - done;
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    l
}

/// Returns the solution `x` of `l transpose(l) x = b`.
fn solve(l: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in 0..x.len() {
        let done: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (x[i] - done) / l[i][i];
    }
    for i in (0..x.len()).rev() {
        let done: f64 = (i + 1..x.len()).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - done) / l[i][i];
    }
    x
}

/// Returns the moments of `beta` and `sigma` under the posterior.
pub fn posterior(cases: &Cases) -> Vec<Reference> {
    let (x, y) = (&cases.inputs, &cases.outputs);
    let count = x[0].len();
    let column = |i: usize| x.iter().map(move |row| row[i]);
    let product = |i: usize, j: usize| column(i).zip(column(j)).map(|(a, b)| a * b).sum();
    let gram: Vec<Vec<f64>> = (0..count)
        .map(|i| (0..count).map(|j| product(i, j)).collect())
        .collect();
    let moments: Vec<f64> = (0..count)
        .map(|i| column(i).zip(y).map(|(a, y)| a * y).sum())
        .collect();
    let factor = cholesky(&gram);
    let beta = solve(&factor, &moments);
    let fit = |row: &Vec<f64>| row.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>();
    let squares: f64 = x.iter().zip(y).map(|(row, y)| (y - fit(row)).powi(2)).sum();
    let nu = (y.len() - count - 1) as f64;
    let exact = |name: String, mean: f64, variance: f64, kurtosis: f64| Reference {
        name,
        mean,
        sd: variance.sqrt(),
        mcse_mean: 0.0,
        spread: (kurtosis - 1.0) / 4.0,
        per_draw: 0.0,
    };
    let coefficient = |i: usize| {
        let unit: Vec<f64> = (0..count).map(|j| f64::from(u8::from(i == j))).collect();
        let variance = squares / (nu - 2.0) * solve(&factor, &unit)[i];
        exact(format!("beta[{i}]"), beta[i], variance, 3.0 + 6.0 / (nu - 4.0))
    };
    // The moments of sigma are E[sigma^k] = (squares / 2)^(k / 2) gamma((nu - k) / 2) / gamma(nu /
    // 2).
    let power = |k: f64| (0.5 * k * (0.5 * squares).ln() + lgamma(0.5 * (nu - k)) - lgamma(0.5 * nu)).exp();
    let [m1, m2, m3, m4] = [1.0, 2.0, 3.0, 4.0].map(power);
    let variance = m2 - m1 * m1;
    let fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1 * m1 * m2 - 3.0 * m1.powi(4);
    let mut references: Vec<Reference> = (0..count).map(coefficient).collect();
    references.push(exact(
        "sigma".to_owned(),
        m1,
        variance,
        fourth / (variance * variance),
    ));
    references
}
