//! Tests the factors that maximise marginal likelihoods.

use crate::models::{close, diagonal};
use crate::{Linear, NOISE, ROWS, WEIGHTS, pool};
use bnnc_abi::methods::laplace::PriorStructure;
use bnnc_laplace::curvature::{Curvature, KroneckerBlock, LowRank, Prior};
use bnnc_laplace::marginal::{ScalarEvidence, Tuning, evaluate, groups};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::whitened;
use bnnc_math::philox;

/// Returns the point of an interval at which a function is largest, found by golden section.
fn maximum(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..120 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if f(left) > f(right) {
            high = right
        } else {
            low = left
        }
    }
    0.5 * (low + high)
}

/// The test alternates between two steps: it computes the posterior mean of the weights, and then the best factor. The factor converges to the
/// maximum of the exact log evidence.
#[test]
fn one_factor_maximises_the_exact_evidence_of_a_linear_model() {
    let (linear, pool) = (Linear::new(), pool());
    let values = whitened(&linear.full(), &linear.prior(), &pool).unwrap();
    let mut factor = 1.0;
    for _ in 0..200 {
        let weights = linear.mean(&[factor; 5]);
        let scalar = ScalarEvidence {
            eigenvalues: &values,
            temperature: 1.0,
            scatter: linear.scatter(&weights).iter().sum(),
            log_likelihood: linear.log_likelihood(&weights),
        };
        close(scalar.log_evidence(factor), linear.exact(&[factor; 5]), 1e-10);
        let tuned = scalar.maximise(factor);
        assert!(tuned.converged && tuned.after >= tuned.before - 1e-12);
        factor = tuned.factors[0];
    }
    let want = maximum(-10.0, 10.0, |log| linear.exact(&[log.exp(); 5]));
    // Golden section uses only values of the function, so it determines the position of the maximum to only half of the digits.
    close(factor.ln(), want, 1e-6);
}

#[test]
fn layer_factors_maximise_the_exact_evidence_of_a_linear_model() {
    let (linear, pool) = (Linear::new(), pool());
    let of = groups(PriorStructure::Layer, &[2, 3]);
    assert_eq!(of, [0, 0, 1, 1, 1]);
    let each = |factors: &[f64]| of.iter().map(|group| factors[*group]).collect::<Vec<_>>();
    let mut factors = vec![1.0; 2];
    for _ in 0..200 {
        let weights = linear.mean(&each(&factors));
        let scatter = linear.scatter(&weights);
        let tuning = Tuning {
            precision: &linear.precision,
            scatter: &scatter,
            groups: &of,
            log_likelihood: linear.log_likelihood(&weights),
            steps: 200,
        };
        let tuned = tuning
            .maximise(&factors, evaluate(&linear.full(), &linear.prior(), 1.0, &pool))
            .unwrap();
        assert!(tuned.converged && tuned.after >= tuned.before);
        factors = tuned.factors;
    }
    let mut logs = [0.0, 0.0];
    for _ in 0..60 {
        for group in 0..2 {
            logs[group] = maximum(-12.0, 12.0, |log| {
                let mut logs = logs;
                logs[group] = log;
                linear.exact(&each(&logs.map(f64::exp)))
            });
        }
    }
    (0..2).for_each(|group| close(factors[group].ln(), logs[group], 1e-4));
}

/// If the weights are independent, the factors have a closed form. A factor is the positive root of `q t^2 + q c t - c`, where `q` is the scatter,
/// and `c` is the curvature divided by the precision.
#[test]
fn factors_of_independent_weights_have_the_closed_form() {
    let (curvature, precision): ([f64; 4], [f64; 4]) = ([3.0, 0.5, 100.0, 1e-3], [1.0, 2.0, 0.1, 1.0]);
    let scatter: [f64; 4] = [0.4, 5.0, 1e-3, 0.9];
    let (prior, pool) = (Prior::diagonal(precision.to_vec()), pool());
    let form = Curvature::Diagonal(curvature.to_vec());
    let of = groups(PriorStructure::Diagonal, &[1, 3]);
    assert_eq!(of, [0, 1, 2, 3]);
    let tuning = Tuning {
        precision: &precision,
        scatter: &scatter,
        groups: &of,
        log_likelihood: 0.0,
        steps: 200,
    };
    let tuned = tuning
        .maximise(&[1.0; 4], evaluate(&form, &prior, 1.0, &pool))
        .unwrap();
    assert!(tuned.converged && tuned.steps < 30, "{tuned:?}");
    for d in 0..4 {
        let (q, c) = (scatter[d], curvature[d] / precision[d]);
        let want = (-q * c + (q * q * c * c + 4.0 * q * c).sqrt()) / (2.0 * q);
        close(tuned.factors[d].ln(), want.ln(), 1e-5);
    }
}

/// A single factor can be computed from eigenvalues or from posteriors. Both computations agree for every form.
#[test]
fn one_factor_is_the_same_by_eigenvalues_and_by_every_form() {
    let (linear, pool) = (Linear::new(), pool());
    let weights = linear.mean(&[1.0; 5]);
    let scatter = linear.scatter(&weights);
    let of = groups(PriorStructure::Scalar, &[2, 0, 3]);
    assert_eq!(of, [0; 5]);
    let rows = Matrix::new(ROWS, WEIGHTS, linear.x.iter().map(|x| x / NOISE).collect());
    let vectors = Matrix::new(2, WEIGHTS, [&linear.x[..5], &linear.x[5..10]].concat());
    let forms = [
        linear.full(),
        Curvature::Functional(rows.into()),
        Curvature::Diagonal(diagonal(&linear.curvature())),
        Curvature::LowRank(orthogonal(vectors)),
    ];
    for form in &forms {
        for temperature in [1.0, 50.0] {
            let tuning = Tuning {
                precision: &linear.precision,
                scatter: &scatter,
                groups: &of,
                log_likelihood: -9.0,
                steps: 200,
            };
            let tuned = tuning
                .maximise(&[1.0], evaluate(form, &linear.prior(), temperature, &pool))
                .unwrap();
            let values = whitened(form, &linear.prior(), &pool).unwrap();
            let scalar = ScalarEvidence {
                eigenvalues: &values,
                temperature,
                scatter: scatter.iter().sum(),
                log_likelihood: -9.0,
            };
            let by_values = scalar.maximise(1.0);
            assert!(tuned.converged && by_values.converged);
            assert!(
                tuned.steps < 30 && by_values.steps < 15,
                "{tuned:?} {by_values:?}"
            );
            close(tuned.factors[0].ln(), by_values.factors[0].ln(), 2e-6);
            close(tuned.before, by_values.before, 1e-11);
            close(tuned.after, by_values.after, 1e-10);
            let want = maximum(-15.0, 15.0, |log| scalar.log_evidence(log.exp()));
            close(by_values.factors[0].ln(), want, 1e-6);
            let [slope, _] = scalar.slopes(by_values.factors[0]);
            close(slope, 0.0, 1e-8);
        }
    }
}

/// Orthonormalises two rows, and returns a low-rank curvature with these rows as eigenvectors.
fn orthogonal(mut vectors: Matrix) -> LowRank {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let first = vectors.row(0).to_vec();
    let share = dot(&first, vectors.row(1)) / dot(&first, &first);
    vectors
        .row_mut(1)
        .iter_mut()
        .zip(&first)
        .for_each(|(x, y)| *x -= share * y);
    for row in 0..2 {
        let norm = dot(vectors.row(row), vectors.row(row)).sqrt();
        vectors.row_mut(row).iter_mut().for_each(|x| *x /= norm);
    }
    LowRank {
        values: vec![7.0, 2.0],
        vectors,
        residual: 0.0,
    }
}

/// The model has two arrays. The curvature of one is a Kronecker product, and that of the other is a single block. The factors of the two arrays are
/// the same as for the equal matrix in the form `Full`.
#[test]
fn factors_of_kronecker_blocks_agree_with_the_full_matrix() {
    let (left, right, bias) = (
        [2.0, 0.5, 0.5, 1.0],
        [30.0, 6.0, -3.0, 6.0, 4.0, 0.0, -3.0, 0.0, 9.0],
        [5.0, 2.0, 2.0, 1.5],
    );
    let mut whole = vec![0.0; 64];
    for at in 0..36 {
        let (row, column) = (at / 6, at % 6);
        whole[row * 8 + column] = left[row / 3 * 2 + column / 3] * right[row % 3 * 3 + column % 3];
    }
    (0..4).for_each(|at| whole[(6 + at / 2) * 8 + 6 + at % 2] = bias[at]);
    let mut blocks = vec![
        KroneckerBlock::new(0, 2, 3, false),
        KroneckerBlock::new(6, 1, 2, false),
    ];
    blocks[0].left = Matrix::new(2, 2, left.to_vec());
    blocks[0].right = Matrix::new(3, 3, right.to_vec());
    blocks[1].right = Matrix::new(2, 2, bias.to_vec());
    let forms = [
        Curvature::Kronecker { blocks, elements: 8 },
        Curvature::Full(Matrix::new(8, 8, whole)),
    ];
    let (prior, pool, of) = (
        Prior::diagonal(vec![2.0; 8]),
        pool(),
        groups(PriorStructure::Layer, &[6, 2]),
    );
    let scatter = [0.3, 1.0, 2.0, 0.1, 0.0, 0.4, 3.0, 0.01];
    let tuning = Tuning {
        precision: &prior.precision,
        scatter: &scatter,
        groups: &of,
        log_likelihood: -4.0,
        steps: 200,
    };
    let [kronecker, full] = forms.map(|form| {
        tuning
            .maximise(&[1.0; 2], evaluate(&form, &prior, 3.0, &pool))
            .unwrap()
    });
    assert!(kronecker.converged && full.converged);
    close(kronecker.before, full.before, 1e-11);
    close(kronecker.after, full.after, 1e-11);
    (0..2).for_each(|group| close(kronecker.factors[group].ln(), full.factors[group].ln(), 1e-9));
}

/// The curvature is a random full matrix, and the groups have various sizes. Changing any factor from its value at the maximum, up or down, does not
/// increase the evidence.
#[test]
fn moving_a_factor_from_the_maximum_never_helps() {
    let key = philox::key(1, "curvature");
    let d = 24;
    let rows: Vec<f64> = (0..10 * d)
        .map(|at| philox::normal(key, [0; 3], at as u64))
        .collect();
    let form = Curvature::Functional(Matrix::new(10, d, rows).into());
    let precision: Vec<f64> = (0..d)
        .map(|at| 0.1 + philox::uniform(key, [1, 0, 0], at as u64))
        .collect();
    let scatter: Vec<f64> = (0..d)
        .map(|at| philox::normal(key, [2, 0, 0], at as u64).powi(2))
        .collect();
    let (prior, pool) = (Prior::diagonal(precision.clone()), pool());
    for sizes in [vec![24], vec![1, 23], vec![4, 10, 10], vec![1; 24]] {
        let of = groups(PriorStructure::Layer, &sizes);
        let tuning = Tuning {
            precision: &precision,
            scatter: &scatter,
            groups: &of,
            log_likelihood: 0.0,
            steps: 200,
        };
        let at = evaluate(&form, &prior, 1.0, &pool);
        let tuned = tuning.maximise(&vec![1.0; sizes.len()], &at).unwrap();
        assert!(tuned.converged && tuned.steps < 40, "{sizes:?} {tuned:?}");
        for group in 0..sizes.len() {
            for by in [0.99, 1.01] {
                let mut factors = tuned.factors.clone();
                factors[group] *= by;
                let each: Vec<f64> = of.iter().map(|group| factors[*group]).collect();
                assert!(tuning.log_evidence(&factors, &at(&each).unwrap()) <= tuned.after + 1e-9);
            }
        }
    }
}
