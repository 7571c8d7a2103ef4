//! Tests that curvatures and posteriors in all forms agree with closed forms and with simple dense linear algebra.

#![allow(clippy::unwrap_used)]

mod closed_forms;
mod computation;
mod draws;
mod eigenpairs;
mod forms;

use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, EigenpairSearch, Gram, KroneckerBlock, Prior, add_squares};
use bnnc_laplace::matrix::Matrix;
use std::convert::Infallible;

/// Returns approximately standard normal numbers. Each is a sum of twelve uniform numbers that are computed from a counter.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let uniform = |counter: u64| {
        let mut z = counter
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(seed << 32);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count as u64)
        .map(|at| (0..12).map(|part| uniform(at * 12 + part)).sum::<f64>() - 6.0)
        .collect()
}

fn random(seed: u64, rows: usize, columns: usize) -> Matrix {
    Matrix::new(rows, columns, noise(seed, rows * columns))
}

fn positive(seed: u64, count: usize) -> Vec<f64> {
    noise(seed, count)
        .into_iter()
        .map(|value| 0.2 + value * value)
        .collect()
}

fn naive_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = Matrix::zeros(a.rows, b.columns);
    for i in 0..a.rows {
        for j in 0..b.columns {
            c[(i, j)] = (0..a.columns).map(|k| a[(i, k)] * b[(k, j)]).sum();
        }
    }
    c
}

fn naive_transposed(a: &Matrix) -> Matrix {
    let mut t = Matrix::zeros(a.columns, a.rows);
    (0..a.rows).for_each(|i| (0..a.columns).for_each(|j| t[(j, i)] = a[(i, j)]));
    t
}

fn naive_gram(rows: &Matrix) -> Matrix {
    naive_product(&naive_transposed(rows), rows)
}

/// Returns the inverse of a matrix and the logarithm of the absolute value of its determinant. Both are computed by elimination with pivots.
fn naive_inverse(matrix: &Matrix) -> (Matrix, f64) {
    let size = matrix.rows;
    let (mut left, mut right, mut log) = (matrix.clone(), Matrix::identity(size), 0.0);
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|x, y| left[(*x, column)].abs().total_cmp(&left[(*y, column)].abs()))
            .unwrap();
        for matrix in [&mut left, &mut right] {
            for at in 0..size {
                let (x, y) = (matrix[(column, at)], matrix[(pivot, at)]);
                (matrix[(column, at)], matrix[(pivot, at)]) = (y, x);
            }
        }
        let scale = left[(column, column)];
        log += scale.abs().ln();
        for row in (0..size).filter(|row| *row != column) {
            let factor = left[(row, column)] / scale;
            for at in 0..size {
                let (x, y) = (left[(column, at)], right[(column, at)]);
                left[(row, at)] -= factor * x;
                right[(row, at)] -= factor * y;
            }
        }
        for at in 0..size {
            left[(column, at)] /= scale;
            right[(column, at)] /= scale;
        }
    }
    (right, log)
}

fn close(x: &[f64], y: &[f64], tolerance: f64) {
    assert_eq!(x.len(), y.len());
    let scale = y.iter().fold(1e-300f64, |scale, value| scale.max(value.abs()));
    for (at, (x, y)) in x.iter().zip(y).enumerate() {
        assert!(
            (x - y).abs() <= tolerance * scale,
            "element {at}: {x} against {y}"
        );
    }
}

fn same_bits(x: &[f64], y: &[f64]) {
    assert_eq!(x.len(), y.len());
    assert!(x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits()));
}

fn pool() -> Pool {
    Pool::new(2)
}

/// Returns curvatures in all forms for 12 weights. The matrix `G` has 5 rows. The Kronecker blocks have 2 x 3 and 4 elements, and two elements are
/// outside of them. The low-rank form has rank 4.
fn forms() -> Vec<(&'static str, Curvature, Matrix)> {
    let pool = pool();
    let rows = random(1, 5, 12);
    let mut diagonal = vec![0.0; 12];
    add_squares(&mut diagonal, &rows, 1.0);
    let squares = Matrix::from_diagonal(&diagonal);
    let mut sum = Gram::new(12);
    sum.add(&rows, 1.0, &pool);
    let mut blocks = vec![
        KroneckerBlock::new(1, 2, 3, true),
        KroneckerBlock::new(8, 1, 4, false),
    ];
    for seed in [2, 3] {
        let factors = [random(seed, 3, 2), random(seed + 5, 3, 3), random(seed + 7, 2, 4)];
        let [left, right, whole] = factors.map(|rows| naive_gram(&rows).values);
        blocks[0].add(&left, &right);
        blocks[1].add(&[], &whole);
    }
    blocks.iter_mut().for_each(|block| block.finish(6));
    let kronecker = naive_kronecker(&blocks, 12);
    let search = EigenpairSearch {
        rank: 4,
        tolerance: 1e-10,
        passes: 20,
    };
    let start = random(4, search.start_rows(12), 12);
    let pairs = search
        .of_rows::<Infallible>(
            start,
            &mut |take| {
                take(&rows);
                Ok(())
            },
            &pool,
        )
        .unwrap();
    assert_eq!(pairs.values.len(), 4);
    let low = naive_gram(&pairs.rows());
    vec![
        ("full", Curvature::Full(sum.finish(&pool)), naive_gram(&rows)),
        ("diagonal", Curvature::Diagonal(diagonal), squares),
        (
            "kronecker",
            Curvature::Kronecker { blocks, elements: 12 },
            kronecker,
        ),
        ("low rank", Curvature::LowRank(pairs), low),
        (
            "functional",
            Curvature::Functional(rows.clone().into()),
            naive_gram(&rows),
        ),
    ]
}

/// Returns Kronecker blocks as one matrix. The computation follows the definition of the elements' order directly.
fn naive_kronecker(blocks: &[KroneckerBlock], elements: usize) -> Matrix {
    let mut matrix = Matrix::zeros(elements, elements);
    for block in blocks {
        let [left, right] = [block.left.rows, block.right.rows];
        let place = |i: usize, j: usize| {
            block.start
                + if block.swapped {
                    j * left + i
                } else {
                    i * right + j
                }
        };
        for (i, k) in (0..left).flat_map(|i| (0..left).map(move |k| (i, k))) {
            for (j, l) in (0..right).flat_map(|j| (0..right).map(move |l| (j, l))) {
                matrix[(place(i, j), place(k, l))] = block.left[(i, k)] * block.right[(j, l)];
            }
        }
    }
    matrix
}

/// Returns a prior whose precision varies between weights, but not within the blocks of [`forms`].
fn prior() -> Prior {
    Prior::diagonal(vec![0.3, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 2.0, 1.1, 1.1, 1.1, 1.1])
}
