//! Tests that curvatures and posteriors in all forms agree with closed forms and with simple dense linear algebra.
#![allow(clippy::unwrap_used)]

use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{
    Curvature, EigenpairSearch, Gram, KroneckerBlock, LowRank, NotPositive, Prior, add_squares, bytes,
};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::{Cholesky, GaussianPosterior, whitened};
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

/// The weights of a network with one input, two hidden tanh units and one output: first weights, first biases, second weights, second bias.
const WEIGHTS: [f64; 7] = [0.8, -0.5, 0.1, 0.2, 1.5, -1.0, 0.3];

fn network_jacobian(inputs: &[f64]) -> Matrix {
    let rows = inputs.iter().flat_map(|x| {
        let h = [0, 1].map(|unit| (WEIGHTS[unit] * x + WEIGHTS[2 + unit]).tanh());
        let slope = [0, 1].map(|unit| WEIGHTS[4 + unit] * (1.0 - h[unit] * h[unit]));
        [slope[0] * x, slope[1] * x, slope[0], slope[1], h[0], h[1], 1.0]
    });
    Matrix::new(inputs.len(), 7, rows.collect())
}

/// Returns the variances of the network's output at the inputs 0, 1 and 3. Only the uncertainty of the chosen weights is included.
fn network_variances(weights: &[usize], lambda: f64, diagonal: bool) -> Vec<f64> {
    let (pool, sigma) = (pool(), 0.5);
    let mut rows = network_jacobian(&[-1.0, 0.5, 2.0]).columns_at(weights);
    rows.values.iter_mut().for_each(|value| *value /= sigma);
    let curvature = if diagonal {
        let mut sums = vec![0.0; weights.len()];
        add_squares(&mut sums, &rows, 1.0);
        Curvature::Diagonal(sums)
    } else {
        let mut sum = Gram::new(weights.len());
        sum.add(&rows, 1.0, &pool);
        Curvature::Full(sum.finish(&pool))
    };
    let prior = Prior::diagonal(vec![lambda; weights.len()]);
    let posterior = curvature.posterior(&prior, 1.0, &pool).unwrap();
    let at = network_jacobian(&[0.0, 1.0, 3.0]).columns_at(weights);
    posterior.covariance(&at, 1, &pool)
}

#[test]
fn a_small_network_has_the_variances_of_the_closed_form() {
    let all = [0, 1, 2, 3, 4, 5, 6];
    let cases = [
        (
            network_variances(&all, 2.0, false),
            [0.20727046, 0.16292985, 0.30755988],
        ),
        (
            network_variances(&all, 2.0, true),
            [0.37920735, 0.45262343, 0.40944098],
        ),
        (
            network_variances(&[4, 5, 6], 2.0, false),
            [0.08194964, 0.10526522, 0.20782731],
        ),
        (
            network_variances(&[0, 4, 6], 2.0, false),
            [0.07524095, 0.14133965, 0.18888348],
        ),
        (
            network_variances(&[0, 4, 6], 2.0 * 3.0 / 7.0, false),
            [0.08667413, 0.16185637, 0.26288471],
        ),
    ];
    for (found, known) in cases {
        found
            .iter()
            .zip(known)
            .for_each(|(x, y)| assert!((x - y).abs() < 6e-9, "{x} against {y}"));
    }
}

#[test]
fn a_linear_classifier_has_the_covariance_of_the_closed_form() {
    let pool = pool();
    let weights = [[1.0, -0.5], [0.2, 0.4], [-0.6, 0.3]];
    let inputs = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]];
    let jacobian = |x: [f64; 2]| {
        let mut rows = Matrix::zeros(3, 6);
        (0..3).for_each(|class| rows.row_mut(class)[2 * class..2 * class + 2].copy_from_slice(&x));
        rows
    };
    let mut sum = Gram::new(6);
    for x in inputs {
        let scores = weights.map(|row: [f64; 2]| (row[0] * x[0] + row[1] * x[1]).exp());
        let total: f64 = scores.iter().sum();
        let p = scores.map(|score| score / total);
        // The root follows from diag(p) - p p' = L L' with L = diag(sqrt p) - p sqrt(p)'.
        let mut root = Matrix::zeros(3, 3);
        for i in 0..3 {
            for j in 0..3 {
                root[(i, j)] = if i == j { p[i].sqrt() } else { 0.0 } - p[i] * p[j].sqrt();
            }
        }
        sum.add(&naive_product(&naive_transposed(&root), &jacobian(x)), 1.0, &pool);
    }
    let curvature = Curvature::Full(sum.finish(&pool));
    let posterior = curvature
        .posterior(&Prior::diagonal(vec![1.0; 6]), 1.0, &pool)
        .unwrap();
    let covariance = posterior.covariance(&jacobian([2.0, -1.0]), 3, &pool);
    for (class, known) in [3.88178061, 3.58123412, 3.66298247].into_iter().enumerate() {
        assert!((covariance[class * 3 + class] - known).abs() < 6e-9);
    }
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

#[test]
fn every_form_agrees_with_its_precision_as_a_full_matrix() {
    let (pool, temperature, jacobian) = (pool(), 0.6, random(5, 6, 12));
    for (name, curvature, mut precision) in forms() {
        println!("{name}");
        precision
            .values
            .iter_mut()
            .for_each(|value| *value /= temperature);
        precision.add_diagonal(&prior().precision);
        let (inverse, log_determinant) = naive_inverse(&precision);
        let posterior = curvature.posterior(&prior(), temperature, &pool).unwrap();
        let joint = naive_product(&naive_product(&jacobian, &inverse), &naive_transposed(&jacobian));
        close(&posterior.joint(&jacobian, &pool).values, &joint.values, 1e-12);
        close(&posterior.inverse(&pool).values, &inverse.values, 1e-12);
        close(&posterior.variances(&pool), &inverse.diagonal(), 1e-12);
        let solved = naive_product(&jacobian, &inverse);
        close(&posterior.solve(&jacobian, &pool).values, &solved.values, 1e-12);
        let covariance = posterior.covariance(&jacobian, 2, &pool);
        let blocks = (0..3).flat_map(|n| (0..4).map(move |at| (2 * n + at / 2, 2 * n + at % 2)));
        let within: Vec<f64> = blocks.map(|at| joint[at]).collect();
        close(&covariance, &within, 1e-12);
        assert!((posterior.log_determinant() - log_determinant).abs() < 1e-11);
        let of_prior: f64 = prior().precision.iter().map(|value| value.ln()).sum();
        let ratio = posterior.log_determinant_ratio().unwrap();
        assert!((ratio - (log_determinant - of_prior)).abs() < 1e-11);
    }
}

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

#[test]
fn subnetworks_never_have_more_variance_at_equal_precision() {
    let pool = pool();
    for seed in 20..40 {
        let (size, rows) = (
            3 + seed as usize % 9,
            random(seed, 4 + seed as usize % 5, 3 + seed as usize % 9),
        );
        let jacobian = random(seed + 100, 5, size);
        let prior = Prior::diagonal(positive(seed + 200, size));
        let variances = |kept: &[usize]| {
            let mut sum = Gram::new(kept.len());
            sum.add(&rows.columns_at(kept), 1.0, &pool);
            let posterior = Curvature::Full(sum.finish(&pool)).posterior(&prior.select(kept), 1.0, &pool);
            posterior
                .unwrap()
                .covariance(&jacobian.columns_at(kept), 1, &pool)
        };
        let all: Vec<usize> = (0..size).collect();
        let chosen = noise(seed + 300, size);
        let some: Vec<usize> = all.iter().copied().filter(|at| chosen[*at] > -0.3).collect();
        for (part, whole) in variances(&some).iter().zip(variances(&all)) {
            assert!(*part <= whole * (1.0 + 1e-12), "{part} of {whole}");
        }
    }
}

#[test]
fn a_kronecker_product_of_one_row_is_the_full_curvature() {
    let pool = pool();
    let (a, g, jacobian) = (random(50, 1, 4), random(51, 1, 3), random(52, 5, 12));
    for swapped in [false, true] {
        let product = |i: usize, j: usize| a.values[i] * g.values[j];
        let row = (0..12).map(|at| {
            if swapped {
                product(at % 4, at / 4)
            } else {
                product(at / 3, at % 3)
            }
        });
        let mut sum = Gram::new(12);
        sum.add(&Matrix::from_row(&row.collect::<Vec<f64>>()), 1.0, &pool);
        let mut block = KroneckerBlock::new(0, 4, 3, swapped);
        block.add(&naive_gram(&a).values, &naive_gram(&g).values);
        block.finish(1);
        let prior = Prior::diagonal(vec![0.4; 12]);
        let full = Curvature::Full(sum.finish(&pool))
            .posterior(&prior, 2.0, &pool)
            .unwrap();
        let blocks = Curvature::Kronecker {
            blocks: vec![block],
            elements: 12,
        };
        let blocks = blocks.posterior(&prior, 2.0, &pool).unwrap();
        let [x, y] = [&full, &blocks].map(|posterior| posterior.joint(&jacobian, &pool).values);
        close(&x, &y, 1e-13);
        assert!((full.log_determinant() - blocks.log_determinant()).abs() < 1e-12);
    }
}

#[test]
fn prior_varying_within_a_block_enters_by_its_diagonal_in_the_eigenbasis() {
    let pool = pool();
    let mut block = KroneckerBlock::new(0, 3, 4, true);
    block.add(
        &naive_gram(&random(60, 5, 3)).values,
        &naive_gram(&random(61, 6, 4)).values,
    );
    block.finish(5);
    let precision = positive(62, 12);
    let curvature = Curvature::Kronecker {
        blocks: vec![block.clone()],
        elements: 12,
    };
    let posterior = curvature
        .posterior(&Prior::diagonal(precision.clone()), 1.0, &pool)
        .unwrap();
    // The posterior precision commutes with the curvature, so it is diagonal in the same eigenbasis. The trace of the posterior precision minus the
    // curvature is the trace of the prior precision.
    let (found, _) = naive_inverse(&posterior.joint(&Matrix::identity(12), &pool));
    let given = naive_kronecker(&[block], 12);
    close(
        &naive_product(&found, &given).values,
        &naive_product(&given, &found).values,
        1e-10,
    );
    let mut added = found.clone();
    added
        .values
        .iter_mut()
        .zip(&given.values)
        .for_each(|(x, y)| *x -= y);
    assert!((added.diagonal().iter().sum::<f64>() - precision.iter().sum::<f64>()).abs() < 1e-10);
    // The product of this difference with the curvature has the same trace as the product of the prior precision with the curvature, because only
    // the diagonal in the eigenbasis contributes to the trace.
    let prior = Matrix::from_diagonal(&precision);
    let [x, y] = [&added, &prior].map(|matrix| naive_product(matrix, &given).diagonal().iter().sum::<f64>());
    assert!((x - y).abs() < 1e-9 * y.abs());
    // Without data, the log ratio of the determinants is zero.
    let empty = Curvature::Kronecker {
        blocks: vec![KroneckerBlock::new(0, 3, 4, true)],
        elements: 12,
    };
    let posterior = empty
        .posterior(&Prior::diagonal(precision.clone()), 1.0, &pool)
        .unwrap();
    assert!(posterior.log_determinant_ratio().unwrap().abs() < 1e-13);
    close(
        &posterior.variances(&pool),
        &precision.iter().map(|value| 1.0 / value).collect::<Vec<f64>>(),
        1e-14,
    );
}

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

#[test]
fn variances_are_accurate_for_very_precise_data() {
    let pool = pool();
    let mut rows = random(90, 8, 12);
    rows.values.iter_mut().for_each(|value| *value *= 1e7);
    let prior = Prior::diagonal(vec![1e-3; 12]);
    let posterior = Curvature::Functional(rows.clone().into())
        .posterior(&prior, 1.0, &pool)
        .unwrap();
    // The covariance G (G'G + 0.001)^-1 G' differs from the identity by only 1e-17. The prior variances of these functions are about 1e18.
    let joint = posterior.joint(&rows, &pool);
    close(&joint.values, &Matrix::identity(8).values, 1e-9);
    assert!(posterior.variances(&pool).iter().all(|variance| *variance > 0.0));
}

/// If there are more weights than columns in a block, the results are still the same as for the full matrix.
#[test]
fn column_blocks_do_not_change_results() {
    let (pool, rows, prior) = (pool(), random(93, 6, 600), Prior::diagonal(positive(94, 600)));
    let functional = Curvature::Functional(rows.clone().into());
    let functional = functional.posterior(&prior, 2.0, &pool).unwrap();
    let full = Curvature::Full(naive_gram(&rows))
        .posterior(&prior, 2.0, &pool)
        .unwrap();
    close(&functional.variances(&pool), &full.variances(&pool), 1e-10);
    close(
        &functional.solve(&rows, &pool).values,
        &full.solve(&rows, &pool).values,
        1e-10,
    );
    close(
        &[functional.log_determinant_ratio().unwrap()],
        &[full.log_determinant_ratio().unwrap()],
        1e-9,
    );
    let restored = GaussianPosterior::from_arrays(&functional.arrays()).unwrap();
    assert_eq!(restored, functional);
}

#[test]
fn functional_form_with_many_rows_agrees_with_the_full_form() {
    let (pool, rows, prior) = (pool(), random(91, 20, 7), Prior::diagonal(positive(92, 7)));
    let functional = Curvature::Functional(rows.clone().into())
        .posterior(&prior, 2.0, &pool)
        .unwrap();
    let full = Curvature::Full(naive_gram(&rows))
        .posterior(&prior, 2.0, &pool)
        .unwrap();
    assert_eq!(functional.noise(), 7);
    close(
        &functional.covariance(&rows, 5, &pool),
        &full.covariance(&rows, 5, &pool),
        1e-12,
    );
    close(
        &functional.solve(&rows, &pool).values,
        &full.solve(&rows, &pool).values,
        1e-13,
    );
}

#[test]
fn whitened_eigenvalues_give_the_ratio_for_every_factor() {
    let pool = pool();
    for (name, curvature, _) in forms() {
        println!("{name}");
        let values = whitened(&curvature, &prior(), &pool).unwrap();
        for (factor, temperature) in [(1.0, 1.0), (0.01, 0.6), (30.0, 2.0)] {
            let scaled = prior().scaled(&[factor; 12]);
            let posterior = curvature.posterior(&scaled, temperature, &pool).unwrap();
            let ratios = values
                .iter()
                .map(|value| (value / (temperature * factor)).ln_1p());
            let ratio: f64 = ratios.sum();
            assert!((ratio - posterior.log_determinant_ratio().unwrap()).abs() < 1e-10);
        }
    }
}

#[test]
fn full_form_uses_a_dense_prior() {
    let (pool, rows, jacobian) = (pool(), random(110, 5, 8), random(111, 4, 8));
    let mut dense = naive_gram(&random(112, 9, 8));
    dense.add_diagonal(&[0.5; 8]);
    let prior = Prior::dense(dense.clone());
    let curvature = Curvature::Full(naive_gram(&rows));
    let values = whitened(&curvature, &prior, &pool).unwrap();
    for factor in [1.0, 0.2] {
        let mut precision = naive_gram(&rows);
        precision
            .values
            .iter_mut()
            .zip(&dense.values)
            .for_each(|(x, y)| *x += factor * y);
        let (inverse, log) = naive_inverse(&precision);
        let of_prior = naive_inverse(&dense).1 + 8.0 * f64::ln(factor);
        let posterior = curvature
            .posterior(&prior.scaled(&[factor; 8]), 1.0, &pool)
            .unwrap();
        let joint = naive_product(&naive_product(&jacobian, &inverse), &naive_transposed(&jacobian));
        close(&posterior.joint(&jacobian, &pool).values, &joint.values, 1e-12);
        let ratio: f64 = values.iter().map(|value| (value / factor).ln_1p()).sum();
        assert!((ratio - (log - of_prior)).abs() < 1e-11);
        assert!((posterior.log_determinant_ratio().unwrap() - (log - of_prior)).abs() < 1e-11);
    }
    let v = noise(113, 8);
    let product = naive_product(&Matrix::from_row(&v), &dense);
    let quadratic: f64 = product.values.iter().zip(&v).map(|(x, y)| x * y).sum();
    // For a deviation `v` from the mean, the gradient is `-P0 v`.
    let slope: Vec<f64> = product.values.iter().map(|value| -value).collect();
    let scatter: f64 = prior.scatter(&slope, &pool).unwrap().iter().sum();
    assert!((scatter - quadratic).abs() < 1e-12 * quadratic.abs());
    let density = 0.5 * (naive_inverse(&dense).1 - quadratic - 8.0 * std::f64::consts::TAU.ln());
    assert!((prior.log_density_of_normal(&slope, &pool).unwrap() - density).abs() < 1e-11);
    let some = prior.select(&[6, 1]);
    assert_eq!(
        some.dense.unwrap().values,
        [(6, 6), (6, 1), (1, 6), (1, 1)].map(|at| dense[at])
    );
}

#[test]
fn errors_name_what_is_not_positive_definite() {
    let pool = pool();
    let mut hessian = naive_gram(&random(120, 100, 90));
    hessian[(70, 70)] = -3.0;
    let prior = Prior::diagonal(vec![0.0; 90]);
    let fault = Curvature::Full(hessian)
        .posterior(&prior, 1.0, &pool)
        .unwrap_err();
    assert_eq!(fault.element, Some(70));
    assert!(fault.value < -3.0);
    assert!(fault.to_string().contains("weight 70"));
    let flat = Prior::diagonal(vec![1.0, 0.0, 1.0]);
    let rows = random(121, 2, 3);
    let kronecker = |right: Matrix| {
        let mut block = KroneckerBlock::new(0, 1, 3, false);
        block.add(&[], &right.values);
        Curvature::Kronecker {
            blocks: vec![block],
            elements: 3,
        }
    };
    let zero = NotPositive {
        element: Some(1),
        value: 0.0,
    };
    assert_eq!(
        Curvature::Diagonal(vec![1.0, 0.0, 0.0]).posterior(&flat, 1.0, &pool),
        Err(zero)
    );
    assert_eq!(
        Curvature::Functional(rows.into()).posterior(&flat, 1.0, &pool),
        Err(zero)
    );
    let none = Prior::diagonal(vec![0.0; 3]);
    let fault = kronecker(naive_gram(&random(122, 2, 3)))
        .posterior(&none, 1.0, &pool)
        .unwrap_err();
    assert!(fault.element.is_none() && fault.value.abs() < 1e-12, "{fault}");
    let improper = Curvature::Full(naive_gram(&random(123, 5, 3)))
        .posterior(&none, 1.0, &pool)
        .unwrap();
    assert_eq!(improper.log_determinant_ratio(), None);
    let mut unknown = Matrix::identity(3);
    unknown[(1, 2)] = f64::NAN;
    assert!(
        Curvature::Full(unknown.clone())
            .posterior(&flat, 1.0, &pool)
            .unwrap_err()
            .value
            .is_nan()
    );
    assert!(
        kronecker(unknown)
            .posterior(&flat, 1.0, &pool)
            .unwrap_err()
            .value
            .is_nan()
    );
    let indefinite = Curvature::Full(Matrix::from_diagonal(&[-2.0, 1.0, 1.0]));
    let values = whitened(&indefinite, &Prior::diagonal(vec![1.0; 3]), &pool).unwrap();
    close(&values, &[-2.0, 1.0, 1.0], 1e-14);
}

/// For a NaN, the error reports that the value is not a number, rather than a negative precision.
#[test]
fn nan_precisions_are_reported_as_not_a_number() {
    let prior = Prior::diagonal(vec![1.0, 1.0]);
    let rejected = |value: f64| {
        let found = Curvature::Diagonal(vec![1.0, value]).posterior(&prior, 1.0, &pool());
        found.unwrap_err().to_string()
    };
    assert_eq!(rejected(f64::NAN), "the precision at weight 1 is not a number");
    assert!(rejected(-2.0).contains("but must be above zero"));
}

#[test]
fn posteriors_are_rebuilt_from_arrays_bit_for_bit() {
    let (pool, jacobian) = (pool(), random(5, 6, 12));
    for (name, curvature, _) in forms() {
        let posterior = curvature.posterior(&prior(), 0.6, &pool).unwrap();
        let mut arrays = posterior.arrays();
        arrays.reverse();
        let rebuilt = GaussianPosterior::from_arrays(&arrays).unwrap();
        assert_eq!(rebuilt, posterior, "{name}");
        same_bits(
            &rebuilt.joint(&jacobian, &pool).values,
            &posterior.joint(&jacobian, &pool).values,
        );
        same_bits(&[rebuilt.log_determinant()], &[posterior.log_determinant()]);
        for at in 0..arrays.len() {
            let mut fewer = arrays.clone();
            fewer.remove(at);
            let fault = GaussianPosterior::from_arrays(&fewer);
            // The blocks are counted by their `start` arrays, so a block without such an array is ignored.
            assert!(
                fault.is_err() || arrays[at].0.ends_with("/start"),
                "{} is missing",
                arrays[at].0
            );
            let mut shorter = arrays.clone();
            shorter[at].1[0] += 1;
            assert!(
                GaussianPosterior::from_arrays(&shorter)
                    .unwrap_err()
                    .to_string()
                    .contains(&arrays[at].0)
            );
        }
    }
}

#[test]
fn sums_do_not_depend_on_the_division_into_blocks() {
    let (pool, rows) = (pool(), random(130, 700, 70));
    let sum = |cuts: &[usize]| {
        let mut sum = Gram::new(70);
        let mut from = 0;
        for to in cuts.iter().copied().chain([700]) {
            sum.add(&rows.rows_in(from..to), 1.0, &pool);
            from = to;
        }
        sum.finish(&pool)
    };
    let whole = sum(&[]);
    close(&whole.values, &naive_gram(&rows).values, 1e-13);
    for cuts in [vec![1, 2, 3, 300, 300, 511], (0..700).step_by(7).collect()] {
        same_bits(&sum(&cuts).values, &whole.values);
    }
    let mut other = whole.clone();
    other.add_gram(&rows.rows_in(0..50), -0.5, &pool);
    let part = naive_gram(&rows.rows_in(0..50));
    let known: Vec<f64> = whole
        .values
        .iter()
        .zip(&part.values)
        .map(|(x, y)| x - 0.5 * y)
        .collect();
    close(&other.values, &known, 1e-13);
    same_bits(&other.transposed().values, &other.values);
}

#[test]
fn results_do_not_depend_on_threads() {
    let answer = |threads: usize| {
        let pool = Pool::new(threads);
        let rows = random(140, 300, 330);
        let mut sum = Gram::new(330);
        sum.add(&rows, 0.3, &pool);
        let prior = Prior::diagonal(positive(141, 330));
        let jacobian = random(142, 40, 330);
        let mut answers = Vec::new();
        for curvature in [
            Curvature::Full(sum.finish(&pool)),
            Curvature::Functional(rows.into()),
        ] {
            let posterior = curvature.posterior(&prior, 1.0, &pool).unwrap();
            answers.extend(posterior.covariance(&jacobian, 4, &pool));
            answers.extend(posterior.variances(&pool));
            answers.extend(posterior.draws(&random(143, 9, posterior.noise()), &pool).values);
            answers.push(posterior.log_determinant());
            answers.extend(whitened(&curvature, &prior, &pool).unwrap());
        }
        answers
    };
    let one = answer(1);
    assert!(one.iter().all(|value| value.is_finite()));
    same_bits(&one, &answer(2));
    same_bits(&one, &answer(3));
}

#[test]
fn large_factors_multiply_back_and_invert() {
    let pool = pool();
    for size in [1, 63, 64, 65, 200] {
        let mut matrix = naive_gram(&random(150, size + 3, size));
        matrix.add_diagonal(&vec![0.1; size]);
        let factor = Cholesky::new(matrix.clone(), &pool).unwrap();
        close(&naive_gram(&factor.upper).values, &matrix.values, 1e-13);
        let (inverse, log) = naive_inverse(&matrix);
        assert!((factor.log_determinant() - log).abs() < 1e-9);
        let root = factor.inverse_root(&pool);
        close(
            &naive_product(&root, &naive_transposed(&root)).values,
            &inverse.values,
            1e-9,
        );
        let mut rows = random(151, 3, size);
        let old = rows.clone();
        factor.forward(&mut rows, &pool);
        close(&naive_product(&rows, &factor.upper).values, &old.values, 1e-11);
        factor.backward(&mut rows, &pool);
        close(&rows.values, &naive_product(&old, &inverse).values, 1e-9);
    }
}

#[test]
fn predicted_memory_covers_the_arrays_of_the_posterior() {
    use bnnc_abi::methods::laplace::Structure;
    let pool = pool();
    let size = |posterior: &GaussianPosterior| {
        posterior
            .arrays()
            .iter()
            .map(|array| array.2.len() as u64 * 8)
            .sum::<u64>()
    };
    let blocks =
        [(2, 3, true), (1, 4, false)].map(|(left, right, swapped)| bnnc_abi::methods::laplace::WeightBlock {
            name: String::new(),
            weights: 0,
            left,
            right,
            swapped,
        });
    let structures = [
        Structure::Full,
        Structure::Diagonal,
        Structure::Kronecker,
        Structure::LowRank(4),
        Structure::Functional(None),
    ];
    for (structure, (name, curvature, _)) in structures.into_iter().zip(forms()) {
        let posterior = curvature.posterior(&prior(), 1.0, &pool).unwrap();
        let predicted = bytes(structure, 12, 5, 1, &blocks);
        let kept = size(&posterior);
        assert!(
            predicted.posterior <= kept && kept <= predicted.posterior + 64,
            "{name}: {kept} of {predicted:?}"
        );
        assert!(predicted.most() >= predicted.decomposition);
    }
    assert_eq!(
        bytes(Structure::Full, 2600, 10_000, 1, &[]).posterior,
        2600 * 2600 * 8
    );
    assert_eq!(bytes(Structure::Full, usize::MAX, 1, 1, &[]).most(), u64::MAX);
    assert_eq!(
        bytes(Structure::Functional(Some(100)), 10, 1_000_000, 2, &[]).curvature,
        200 * 10 * 8
    );
    // The rows are stored once. In addition, the form needs standard deviations, two kernels and a block of columns.
    let functional = bytes(Structure::Functional(None), 1_000_000, 100, 1, &[]);
    assert_eq!(
        functional.most(),
        8 * (100 * 1_000_000 + 1_000_000 + 2 * 100 * 100 + 100 * 256)
    );
}
