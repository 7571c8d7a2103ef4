//! Tests the draws from posteriors.

use crate::{close, forms, naive_gram, naive_inverse, naive_product, noise, pool, prior, random};
use bnnc_laplace::matrix::Matrix;

#[test]
fn draws_have_exactly_the_covariance_of_the_posterior() {
    let pool = pool();
    for (name, curvature, mut precision) in forms() {
        println!("{name}");
        precision.add_diagonal(&prior().precision);
        let posterior = curvature.posterior(&prior(), 1.0, &pool).unwrap();
        let draws = posterior.draws(&Matrix::identity(posterior.noise()), &pool);
        close(
            &naive_gram(&draws).values,
            &naive_inverse(&precision).0.values,
            1e-12,
        );
        let one = Matrix::from_row(&noise(9, posterior.noise()));
        let sum = naive_product(&one, &draws);
        close(&posterior.draws(&one, &pool).values, &sum.values, 1e-12);
    }
}

#[test]
fn random_draws_have_the_covariance_of_the_posterior() {
    let (pool, count) = (pool(), 20_000);
    for (name, curvature, mut precision) in forms() {
        precision.add_diagonal(&prior().precision);
        let covariance = naive_inverse(&precision).0;
        let posterior = curvature.posterior(&prior(), 1.0, &pool).unwrap();
        let draws = posterior.draws(&random(10, count, posterior.noise()), &pool);
        let found = naive_gram(&draws);
        for (i, j) in (0..12).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            // The variance of the product of two Gaussian variables is c_ii c_jj + c_ij^2.
            let spread = covariance[(i, i)] * covariance[(j, j)] + covariance[(i, j)].powi(2);
            let z = (found[(i, j)] / count as f64 - covariance[(i, j)]) / (spread / count as f64).sqrt();
            assert!(z.abs() < 4.5, "{name}: z = {z} at {i}, {j}");
        }
    }
}
