//! Tests the roots of curvatures.

use crate::models::{classification, close, diagonal};
use crate::{all_close, normals, root, square};
use bnnc_base::dtype::Precision;
use bnnc_laplace::root::{RootError, Roots};

/// Returns a matrix with these eigenvalues: `Q diag Q'`, where `Q` is a Householder reflection.
fn with_eigenvalues(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let v = normals("reflection", n);
    let norm: f64 = v.iter().map(|x| x * x).sum();
    let q = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / norm;
    (0..n * n)
        .map(|at| (0..n).map(|k| q(at / n, k) * values[k] * q(at % n, k)).sum())
        .collect()
}

#[test]
fn squares_of_roots_are_the_curvatures() {
    for n in [1, 2, 3, 10, 40] {
        let factor = normals("factor", n * n);
        let matrix = square(&factor, n);
        let scale = diagonal(&matrix).iter().fold(0.0f64, |a, b| a.max(*b));
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 0);
        all_close(&square(&c, n), &matrix, 1e-14 * n as f64 * scale);
    }
}

/// The curvature of the softmax is singular in the direction of the vector of ones. If a class is certain, the curvature is nearly zero.
#[test]
fn squares_of_roots_are_the_softmax_curvatures() {
    for temperature in [0.1, 1.0, 10.0] {
        let logits: Vec<f64> = normals("logits", 10).iter().map(|x| temperature * x).collect();
        let largest = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let p = classification::softmax(&logits.iter().map(|logit| logit - largest).collect::<Vec<_>>());
        let matrix: Vec<f64> = (0..100)
            .map(|at| f64::from(u8::from(at / 10 == at % 10)) * p[at / 10] - p[at / 10] * p[at % 10])
            .collect();
        let scale = diagonal(&matrix).iter().fold(0.0f64, |a, b| a.max(*b));
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 0, "{temperature}");
        all_close(&square(&c, 10), &matrix, 1e-14 * scale);
        // The root maps a Jacobian that is the same for all logits to zero.
        c.chunks(10)
            .for_each(|row| close(row.iter().sum(), 0.0, 3e-7 * scale.sqrt()));
    }
}

/// The result is the nearest positive semidefinite matrix: negative eigenvalues are replaced by zero, and the other eigenvalues and all
/// eigenvectors stay the same.
#[test]
fn negative_eigenvalues_are_replaced_by_zero() {
    let values = [3.0, -2.0, 0.5, 0.0, -0.25];
    let positive: Vec<f64> = values.iter().map(|value: &f64| value.max(0.0)).collect();
    let (c, clipped) = root(&with_eigenvalues(&values), Precision::F64);
    assert_eq!(clipped, 1);
    all_close(&square(&c, 5), &with_eigenvalues(&positive), 1e-14);
    for (matrix, want) in [
        (vec![-4.0], vec![0.0]),
        (vec![0.0, 1.0, 1.0, 0.0], vec![0.5; 4]),
        (vec![-1.0, 0.0, 0.0, -2.0], vec![0.0; 4]),
        (vec![4.0, 0.0, 0.0, -1.0], vec![4.0, 0.0, 0.0, 0.0]),
    ] {
        let (c, clipped) = root(&matrix, Precision::F64);
        assert_eq!(clipped, 1);
        all_close(&square(&c, matrix.len().isqrt()), &want, 1e-15);
    }
    assert_eq!(root(&[0.0; 9], Precision::F64), (vec![0.0; 9], 0));
}

#[test]
fn negative_eigenvalues_of_rounding_size_are_not_counted() {
    let clipped = |smallest: f64, precision| root(&with_eigenvalues(&[2.0, 1.0, smallest]), precision).1;
    assert_eq!(clipped(-1e-11, Precision::F64), 0);
    assert_eq!(clipped(-1e-9, Precision::F64), 1);
    assert_eq!(clipped(-1e-6, Precision::F32), 0);
    assert_eq!(clipped(-1e-4, Precision::F32), 1);
}

/// If the class of a row is certain, the row's curvature consists only of rounding errors, which are negligible relative to the curvatures of
/// other rows.
#[test]
fn negligible_rows_are_not_counted() {
    let noise = [0.0, -1e-20, -1e-20, 1e-20];
    assert_eq!(root(&noise, Precision::F64).1, 1);
    let rows = [noise, [0.25, -0.25, -0.25, 0.25]].concat();
    let (mut roots, mut out) = (Roots::new(2, Precision::F64), [0.0; 8]);
    assert_eq!(roots.cotangents(&rows, &mut out), Ok(0));
    // Curvatures are also compared with those of rows in earlier calls.
    assert_eq!(roots.cotangents(&noise, &mut out[..4]), Ok(0));
}

#[test]
fn rows_are_counted_one_by_one() {
    let rows = [
        1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 1.0, 4.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, -1.0,
    ];
    let mut roots = Roots::new(2, Precision::F64);
    let mut out = [0.0; 16];
    assert_eq!(roots.cotangents(&rows, &mut out), Ok(2));
    all_close(&square(&out[8..12], 2), &rows[8..12], 1e-15);
    let mut broken = rows;
    broken[9] = f64::NAN;
    assert_eq!(
        roots.cotangents(&broken, &mut out),
        Err(RootError {
            row: 2,
            reason: "is not finite"
        })
    );
    assert_eq!(Roots::new(0, Precision::F64).cotangents(&[], &mut []), Ok(0));
}

#[test]
#[ignore = "a measurement, in release builds: microseconds per row of ten classes, and of ten outputs with a negative eigenvalue"]
fn time_of_roots() {
    let matrices = [
        (classes(10), "softmax"),
        (
            with_eigenvalues(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, -1.0]),
            "indefinite",
        ),
        (with_eigenvalues(&[1.0, -1.0]), "indefinite"),
    ];
    for (matrix, name) in matrices {
        let n = matrix.len().isqrt();
        let rows: Vec<f64> = matrix
            .iter()
            .copied()
            .cycle()
            .take(matrix.len() * 20_000)
            .collect();
        let mut out = vec![0.0; rows.len()];
        let mut roots = Roots::new(n, Precision::F64);
        let start = std::time::Instant::now();
        roots.cotangents(&rows, &mut out).unwrap();
        println!(
            "{name} {n}: {:.2} us per row",
            start.elapsed().as_secs_f64() / 0.02
        );
    }
}

/// Returns the curvature of a softmax with `n` random logits.
fn classes(n: usize) -> Vec<f64> {
    let p = classification::softmax(&normals("logits", n));
    (0..n * n)
        .map(|at| f64::from(u8::from(at / n == at % n)) * p[at / n] - p[at / n] * p[at % n])
        .collect()
}
