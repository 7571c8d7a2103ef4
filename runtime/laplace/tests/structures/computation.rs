//! Tests that results do not depend on blocks or threads, and tests large factors and the predicted memory.

use crate::{
    close, forms, naive_gram, naive_inverse, naive_product, naive_transposed, pool, positive, prior, random,
    same_bits,
};
use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, Gram, Prior, bytes};
use bnnc_laplace::posterior::{Cholesky, GaussianPosterior, whitened};

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
