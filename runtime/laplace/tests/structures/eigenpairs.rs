//! Tests the search for the largest eigenpairs.

use crate::{close, naive_gram, pool, positive, random};
use bnnc_laplace::curvature::{Curvature, EigenpairSearch, LowRank, Prior};
use bnnc_laplace::matrix::Matrix;
use std::convert::Infallible;

#[test]
fn search_finds_the_largest_eigenpairs_of_known_matrices() {
    let pool = pool();
    // The matrix of second differences has the eigenvalues 2 - 2 cos(pi k / (n + 1)) and the eigenvectors sin(pi k i / (n + 1)).
    let size = 60;
    let angle = |k: usize| std::f64::consts::PI * k as f64 / (size + 1) as f64;
    let mut apply = |vectors: &Matrix| -> Result<Matrix, Infallible> {
        let mut products = Matrix::zeros(vectors.rows, size);
        for row in 0..vectors.rows {
            let v = vectors.row(row);
            let around = |at: usize| if at == 0 || at > size { 0.0 } else { v[at - 1] };
            (0..size).for_each(|at| products[(row, at)] = 2.0 * v[at] - around(at) - around(at + 2));
        }
        Ok(products)
    };
    let search = EigenpairSearch {
        rank: 5,
        tolerance: 1e-8,
        passes: 100,
    };
    let start = random(70, search.start_rows(size), size);
    let pairs = search.of_operator(start, &mut apply, &pool).unwrap();
    assert!(pairs.residual <= 1e-8, "residual {}", pairs.residual);
    let known: Vec<f64> = (0..5).map(|at| 2.0 - 2.0 * angle(size - at).cos()).collect();
    close(&pairs.values, &known, 1e-12);
    for (vector, k) in pairs.vectors.each_row().zip((0..5).map(|at| size - at)) {
        let known = (0..size).map(|at| (angle(k) * (at + 1) as f64).sin() * (2.0 / (size + 1) as f64).sqrt());
        let share: f64 = vector.iter().zip(known).map(|(x, y)| x * y).sum();
        assert!(share.abs() > 1.0 - 1e-8);
    }
}

#[test]
fn search_with_a_rank_above_that_of_the_matrix_finds_all_pairs() {
    let (pool, rows) = (pool(), random(80, 3, 40));
    let search = EigenpairSearch {
        rank: 10,
        tolerance: 1e-9,
        passes: 10,
    };
    let start = random(81, search.start_rows(40), 40);
    let mut blocks = 0;
    let pairs = search
        .of_rows::<Infallible>(
            start,
            &mut |take| {
                (0..3).for_each(|row| take(&rows.rows_in(row..row + 1)));
                blocks += 1;
                Ok(())
            },
            &pool,
        )
        .unwrap();
    assert_eq!(pairs.values.len(), 3);
    assert!(blocks <= 3, "{blocks} passes");
    close(
        &naive_gram(&pairs.rows()).values,
        &naive_gram(&rows).values,
        1e-12,
    );
    // If the rank is full, the posterior is the same as in the form `Full`.
    let prior = Prior::diagonal(positive(82, 40));
    let low = Curvature::LowRank(pairs).posterior(&prior, 1.0, &pool).unwrap();
    let full = Curvature::Full(naive_gram(&rows))
        .posterior(&prior, 1.0, &pool)
        .unwrap();
    let jacobian = random(83, 6, 40);
    close(
        &low.joint(&jacobian, &pool).values,
        &full.joint(&jacobian, &pool).values,
        1e-11,
    );
    let start = |seed: u64| random(seed, 14, 40);
    let nothing: Result<LowRank, &str> = search.of_rows(start(84), &mut |_| Err("no rows"), &pool);
    assert_eq!(nothing.unwrap_err(), "no rows");
    let of = |rows: Matrix| {
        let mut pass = |take: &mut dyn FnMut(&Matrix)| -> Result<(), Infallible> {
            take(&rows);
            Ok(())
        };
        search.of_rows(start(85), &mut pass, &pool).unwrap()
    };
    assert_eq!(of(Matrix::zeros(2, 40)).values.len(), 0);
    let unknown = of(Matrix::new(1, 40, vec![f64::NAN; 40]));
    assert!(unknown.residual.is_nan());
    let fault = Curvature::LowRank(unknown)
        .posterior(&prior, 1.0, &pool)
        .unwrap_err();
    assert!(fault.value.is_nan());
}
