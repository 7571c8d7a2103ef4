//! Compares the posteriors of all forms with their precisions as full matrices.

use crate::{
    close, forms, naive_gram, naive_inverse, naive_kronecker, naive_product, naive_transposed, noise, pool,
    positive, prior, random, same_bits,
};
use bnnc_laplace::curvature::{Curvature, Gram, KroneckerBlock, NotPositive, Prior};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::{GaussianPosterior, whitened};

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
