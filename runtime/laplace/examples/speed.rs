//! Prints the times of the parts of a full posterior, compared with a plain matrix product: `speed [weights] [rows] [threads]`.

use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, Gram, Prior};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::{Cholesky, whitened};
use std::time::Instant;

/// Prints the time of a step with this number of floating-point operations.
fn timed<T>(name: &str, operations: f64, step: impl FnOnce() -> T) -> T {
    let from = Instant::now();
    let result = step();
    let seconds = from.elapsed().as_secs_f64();
    println!(
        "{name:<32}{seconds:>9.3} s{:>9.1} GFLOP/s",
        operations / seconds / 1e9
    );
    result
}

/// Returns a matrix of numbers between -0.5 and 0.5 without a pattern that affects the times.
fn mixed(rows: usize, columns: usize) -> Matrix {
    let value = |at: u64| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let values = (1..=(rows * columns) as u64).map(|at| value(at * at));
    Matrix::new(rows, columns, values.collect())
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let mut argument = |default: usize| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (weights, rows, threads) = (argument(2600), argument(10_000), argument(2));
    let pool = Pool::new(threads);
    let d = weights as f64;
    let square = mixed(1024, 1024);
    square.product(&square, &pool);
    timed("product of 1024 x 1024", 2.0 * 1024f64.powi(3), || {
        square.product(&square, &pool)
    });
    let data = mixed(rows, weights);
    let whole = timed("gram", rows as f64 * d * d, || {
        let mut sum = Gram::new(weights);
        for from in (0..rows).step_by(100) {
            sum.add(&data.rows_in(from..rows.min(from + 100)), 1.0, &pool);
        }
        sum.finish(&pool)
    });
    let prior = Prior::diagonal(vec![1.0; weights]);
    let mut precision = whole.clone();
    precision.add_diagonal(&prior.precision);
    let factor = timed("cholesky", d.powi(3) / 3.0, || Cholesky::new(precision, &pool));
    if factor.is_err() {
        return;
    }
    let curvature = Curvature::Full(whole);
    let Ok(posterior) = curvature.posterior(&prior, 1.0, &pool) else {
        return;
    };
    let jacobian = mixed(1000, weights);
    timed("covariances of 1000 rows", 1000.0 * d * d, || {
        posterior.covariance(&jacobian, 1, &pool)
    });
    timed("variances", d.powi(3) / 3.0, || posterior.variances(&pool));
    let noise = mixed(100, weights);
    timed("100 draws", 100.0 * d * d, || posterior.draws(&noise, &pool));
    let one = Matrix::from_row(noise.row(0));
    timed("1 draw", d * d, || posterior.draws(&one, &pool));
    let _ = timed("eigenvalues", 4.0 / 3.0 * d.powi(3), || {
        whitened(&curvature, &prior, &pool)
    });
}
