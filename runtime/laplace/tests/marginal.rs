//! Tests of marginal likelihoods, and of the factors that maximise them. The models are conjugate, so both have closed forms.
#![allow(clippy::unwrap_used)]

mod models;

use bnnc_abi::methods::laplace::PriorStructure;
use bnnc_kernels::pool::Pool;
use bnnc_laplace::curvature::{Curvature, KroneckerBlock, LowRank, NotPositive, Prior};
use bnnc_laplace::marginal::{
    EvidenceTerms, LARGEST_FACTOR, ScalarEvidence, Tuning, TuningResult, evaluate, groups, log_evidence,
    log_evidence_of_normal, search,
};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::whitened;
use bnnc_math::philox;
use models::{block, close, diagonal, inverse, plus_diagonal, product, regression, transposed};
use std::f64::consts::TAU;

/// Returns the log density of a Normal distribution around zero with these precisions.
fn log_prior(weights: &[f64], precision: &[f64]) -> f64 {
    let terms = weights.iter().zip(precision);
    terms
        .map(|(w, precision)| 0.5 * ((precision / TAU).ln() - precision * w * w))
        .sum()
}

/// Computes the log evidence for some weights of the regression by two formulas. `posterior_precision` is the posterior precision of these weights.
fn evidences(chosen: &[usize], posterior_precision: &[f64]) -> [f64; 2] {
    let weights: Vec<f64> = chosen.iter().map(|d| regression::WEIGHTS[*d]).collect();
    let precision = vec![regression::PRECISION; chosen.len()];
    let log_prior = log_prior(&weights, &precision);
    let (_, log_determinant) = inverse(posterior_precision);
    let of_prior: f64 = precision.iter().map(|precision| precision.ln()).sum();
    let quadratic: f64 = weights.iter().map(|w| regression::PRECISION * w * w).sum();
    let log_likelihood = regression::log_likelihood();
    [
        log_evidence(log_likelihood, log_prior, chosen.len(), log_determinant),
        log_evidence_of_normal(log_likelihood, quadratic, log_determinant - of_prior),
    ]
}

#[test]
fn both_evidence_formulas_give_the_value_of_the_regression() {
    close(regression::log_likelihood(), -1.47551767, 5e-9);
    let (all, curvature) = ((0..7).collect::<Vec<_>>(), regression::curvature());
    let full = plus_diagonal(curvature.clone(), regression::PRECISION);
    let only_diagonal: Vec<f64> = (0..49)
        .map(|at| if at % 8 == 0 { full[at] } else { 0.0 })
        .collect();
    let chosen = [0, 4, 6];
    for (chosen, precision, want) in [
        (&all[..], full.clone(), -8.66815167),
        (&all[..], only_diagonal, -10.95237987),
        (&chosen[..], block(&full, &chosen), -6.45081240),
    ] {
        for got in evidences(chosen, &precision) {
            close(got, want, 5e-9);
        }
    }
}

/// A linear regression with eight rows, five weights and known noise. Its log evidence has a closed form.
struct Linear {
    x: Vec<f64>,
    y: Vec<f64>,
    precision: Vec<f64>,
}

const ROWS: usize = 8;
const WEIGHTS: usize = 5;
const NOISE: f64 = 0.7;

impl Linear {
    fn new() -> Linear {
        let key = philox::key(5, "linear");
        let normal = |at: usize| philox::normal(key, [0; 3], at as u64);
        let x: Vec<f64> = (0..ROWS * WEIGHTS).map(normal).collect();
        let weights = [1.2, -0.4, 2.5, 0.1, -3.0];
        let y = product(&x, &weights, WEIGHTS)
            .iter()
            .enumerate()
            .map(|(n, f)| f + NOISE * normal(100 + n))
            .collect();
        Linear {
            x,
            y,
            precision: vec![1.0, 0.5, 2.0, 1.0, 0.25],
        }
    }

    /// Returns the curvature `X'X / sigma^2`.
    fn curvature(&self) -> Vec<f64> {
        let squares = product(&transposed(&self.x, WEIGHTS), &self.x, ROWS);
        squares.iter().map(|element| element / (NOISE * NOISE)).collect()
    }

    fn precisions(&self, factors: &[f64]) -> Vec<f64> {
        self.precision
            .iter()
            .zip(factors)
            .map(|(precision, factor)| precision * factor)
            .collect()
    }

    /// Returns the posterior mean of the weights if their prior precisions are multiplied by these factors.
    fn mean(&self, factors: &[f64]) -> Vec<f64> {
        let mut precision = self.curvature();
        let prior = self.precisions(factors);
        (0..WEIGHTS).for_each(|d| precision[d * WEIGHTS + d] += prior[d]);
        let pulled = product(&transposed(&self.x, WEIGHTS), &self.y, ROWS);
        let pulled: Vec<f64> = pulled.iter().map(|element| element / (NOISE * NOISE)).collect();
        product(&inverse(&precision).0, &pulled, WEIGHTS)
    }

    /// Returns the log marginal density of `y`, which is `N(0, sigma^2 I + X P0^-1 X')`.
    fn exact(&self, factors: &[f64]) -> f64 {
        let prior = self.precisions(factors);
        let scaled: Vec<f64> = (0..ROWS * WEIGHTS)
            .map(|at| self.x[at] / prior[at % WEIGHTS])
            .collect();
        let covariance = plus_diagonal(
            product(&scaled, &transposed(&self.x, WEIGHTS), WEIGHTS),
            NOISE * NOISE,
        );
        let (precision, log_determinant) = inverse(&covariance);
        let quadratic = product(&product(&self.y, &precision, ROWS), &self.y, ROWS)[0];
        -0.5 * (quadratic + log_determinant + ROWS as f64 * TAU.ln())
    }

    fn log_likelihood(&self, weights: &[f64]) -> f64 {
        let f = product(&self.x, weights, WEIGHTS);
        let density = |(y, f): (&f64, &f64)| -0.5 * ((y - f) / NOISE).powi(2) - NOISE.ln() - 0.5 * TAU.ln();
        self.y.iter().zip(&f).map(density).sum()
    }

    fn scatter(&self, weights: &[f64]) -> Vec<f64> {
        weights
            .iter()
            .zip(&self.precision)
            .map(|(w, precision)| precision * w * w)
            .collect()
    }

    fn full(&self) -> Curvature {
        Curvature::Full(Matrix::new(WEIGHTS, WEIGHTS, self.curvature()))
    }

    fn prior(&self) -> Prior {
        Prior::diagonal(self.precision.clone())
    }
}

fn pool() -> Pool {
    Pool::new(1)
}

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

/// For a linear model, the Laplace approximation at the posterior mean is exact.
#[test]
fn evidence_of_a_linear_model_is_exact() {
    let linear = Linear::new();
    for factors in [[1.0; 5], [0.1; 5], [30.0, 1.0, 0.2, 5.0, 0.01]] {
        let weights = linear.mean(&factors);
        let scatter = linear.scatter(&weights);
        let tuning = Tuning {
            precision: &linear.precision,
            scatter: &scatter,
            groups: &[0, 1, 2, 3, 4],
            log_likelihood: linear.log_likelihood(&weights),
            steps: 0,
        };
        let pool = pool();
        let tuned = tuning
            .maximise(&factors, evaluate(&linear.full(), &linear.prior(), 1.0, &pool))
            .unwrap();
        close(tuned.after, linear.exact(&factors), 1e-10);
        assert_eq!(tuned.before, tuned.after);
        assert!(!tuned.converged && tuned.steps == 0);
    }
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

/// At any values of the weights, the derivatives with respect to the logarithms of the factors agree with central differences.
#[test]
fn slopes_agree_with_central_differences() {
    let (linear, pool) = (Linear::new(), pool());
    let weights = [0.3, -2.0, 1.0, 0.01, 0.7];
    let scatter = linear.scatter(&weights);
    let of = [0, 1, 0, 2, 1];
    let tuning = Tuning {
        precision: &linear.precision,
        scatter: &scatter,
        groups: &of,
        log_likelihood: -3.0,
        steps: 1,
    };
    let rows = Matrix::new(ROWS, WEIGHTS, linear.x.iter().map(|x| x / NOISE).collect());
    let forms = [
        linear.full(),
        Curvature::Diagonal(diagonal(&linear.curvature())),
        Curvature::Functional(rows.into()),
    ];
    for (form, temperature) in forms.iter().zip([1.0, 0.5, 4.0]) {
        let prior = linear.prior();
        let at = evaluate(form, &prior, temperature, &pool);
        let value = |factors: &[f64]| {
            let each: Vec<f64> = of.iter().map(|group| factors[*group]).collect();
            let evaluation = at(&each).unwrap();
            (
                tuning.log_evidence(factors, &evaluation),
                tuning.slope(factors, &evaluation),
            )
        };
        let factors = [0.5, 3.0, 1.5];
        let (_, slope) = value(&factors);
        for group in 0..3 {
            let moved = |by: f64| {
                let mut factors = factors;
                factors[group] *= f64::exp(by);
                value(&factors).0
            };
            close(slope[group], (moved(1e-4) - moved(-1e-4)) / 2e-4, 1e-7);
        }
        let values = whitened(form, &prior, &pool).unwrap();
        let total = scatter.iter().sum();
        let scalar = ScalarEvidence {
            eigenvalues: &values,
            temperature,
            scatter: total,
            log_likelihood: -3.0,
        };
        let [first, second] = scalar.slopes(2.0);
        let value = |by: f64| scalar.log_evidence(2.0 * f64::exp(by));
        close(first, (value(1e-4) - value(-1e-4)) / 2e-4, 1e-7);
        close(
            second,
            (value(1e-3) - 2.0 * value(0.0) + value(-1e-3)) / 1e-6,
            1e-5,
        );
    }
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

/// If a scatter is NaN, the search does not report a maximum.
#[test]
fn nan_scatters_do_not_converge() {
    let (prior, pool) = (Prior::diagonal(vec![1.0]), pool());
    let tuning = Tuning {
        precision: &[1.0],
        scatter: &[f64::NAN],
        groups: &[0],
        log_likelihood: 0.0,
        steps: 9,
    };
    let form = Curvature::Diagonal(vec![1.0]);
    let tuned = tuning
        .maximise(&[2.0], evaluate(&form, &prior, 1.0, &pool))
        .unwrap();
    assert!(!tuned.converged && tuned.steps == 0 && tuned.after.is_nan());
    let scalar = ScalarEvidence {
        eigenvalues: &[1.0],
        temperature: 1.0,
        scatter: f64::NAN,
        log_likelihood: 0.0,
    };
    assert!(!scalar.maximise(2.0).converged);
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

/// If all weights equal the mean of their prior, the evidence grows without bound as the precision increases. If the data do not inform
/// weights, the evidence does not depend on the precision of these weights.
#[test]
fn factors_without_a_maximum_end_at_bounds() {
    let (prior, pool) = (Prior::diagonal(vec![1.0; 3]), pool());
    let form = Curvature::Diagonal(vec![2.0, 0.0, 1.0]);
    let tuning = Tuning {
        precision: &[1.0; 3],
        scatter: &[0.0, 0.0, 1.0],
        groups: &[0, 1, 2],
        log_likelihood: 0.0,
        steps: 200,
    };
    let tuned = tuning
        .maximise(&[1.0; 3], evaluate(&form, &prior, 1.0, &pool))
        .unwrap();
    assert!(tuned.converged);
    close(tuned.factors[0] / LARGEST_FACTOR, 1.0, 1e-9);
    close(tuned.factors[1], 1.0, 1e-12);
    assert_eq!(tuned.at_bounds().count(), 1);
    let scalar = ScalarEvidence {
        eigenvalues: &[2.0, 1.0],
        temperature: 1.0,
        scatter: 0.0,
        log_likelihood: 0.0,
    };
    let tuned = scalar.maximise(1.0);
    assert!(tuned.converged);
    assert_eq!(tuned.at_bounds().count(), 1);
    let none = ScalarEvidence {
        eigenvalues: &[],
        temperature: 1.0,
        scatter: 0.0,
        log_likelihood: -2.0,
    }
    .maximise(3.0);
    assert_eq!(
        none,
        TuningResult {
            factors: vec![none.factors[0]],
            before: -2.0,
            after: -2.0,
            steps: 1,
            converged: true
        }
    );
    close(none.factors[0], 3.0, 1e-15);
}

/// The search avoids factors that do not give a positive definite precision. If the precision is not positive definite at the start, the search
/// returns an error.
#[test]
fn negative_curvatures_bound_the_factors() {
    let (prior, pool) = (Prior::diagonal(vec![1.0; 2]), pool());
    let form = Curvature::Diagonal(vec![-0.5, 0.8]);
    let tuning = Tuning {
        precision: &[1.0; 2],
        scatter: &[1.0, 4.0],
        groups: &[0, 0],
        log_likelihood: 0.0,
        steps: 200,
    };
    let tuned = tuning
        .maximise(&[2.0], evaluate(&form, &prior, 1.0, &pool))
        .unwrap();
    assert!(tuned.converged && tuned.factors[0] > 0.5, "{tuned:?}");
    let failure = tuning.maximise(&[0.4], evaluate(&form, &prior, 1.0, &pool));
    assert!(matches!(failure, Err(NotPositive { element: Some(0), .. })));
    let scalar = ScalarEvidence {
        eigenvalues: &[-0.5, 0.8],
        temperature: 1.0,
        scatter: 5.0,
        log_likelihood: 0.0,
    };
    let by_values = scalar.maximise(2.0);
    assert!(by_values.converged && by_values.factors[0] > 0.5);
    assert!(by_values.after >= by_values.before);
    let stuck = scalar.maximise(0.4);
    assert!(!stuck.converged && stuck.before == f64::NEG_INFINITY);
}

/// In this test, the log determinant and the variances are inconsistent, so the derivatives are wrong. Nevertheless, no step decreases the evidence.
#[test]
fn evidence_never_falls_for_inconsistent_evaluations() {
    let wrong = |factors: &[f64]| -> Result<EvidenceTerms, NotPositive> {
        let log = factors[0].ln();
        Ok(EvidenceTerms {
            log_determinant_ratio: (log - 0.3).powi(2),
            variances: vec![0.2],
        })
    };
    let tuning = Tuning {
        precision: &[1.0],
        scatter: &[0.1],
        groups: &[0],
        log_likelihood: 0.0,
        steps: 50,
    };
    let tuned = tuning.maximise(&[1.0], wrong).unwrap();
    assert!(tuned.after >= tuned.before);
}

/// The score is a parabola in the logarithm of the factor. The grid finds the neighbourhood of the maximum, and golden section finds the maximum.
#[test]
fn grid_search_finds_the_maximum_of_a_parabola() {
    let mut asked = 0;
    let grid = search(|factor: f64| {
        asked += 1;
        Ok::<_, ()>(-(factor.ln() - 2.345).powi(2))
    })
    .unwrap();
    assert_eq!((asked, grid.curve.len(), grid.at_end), (33, 33, false));
    // The tolerance is the width of two grid intervals after eleven reductions.
    close(
        grid.factor.ln(),
        2.345,
        2.0 * 0.4 * 10f64.ln() * 0.618_034f64.powi(11),
    );
    assert!(grid.curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    close(grid.curve[0][0], 1e-4, 1e-16);
    close(grid.curve[32][0], 1e4, 1e-8);
    assert!(grid.curve.iter().any(|place| place[0] == 1.0));
    assert!(grid.curve.iter().all(|place| place[1] <= grid.score));
}

#[test]
fn grid_search_reports_a_best_factor_at_its_end() {
    let rising = search(|factor: f64| Ok::<_, ()>(factor.ln())).unwrap();
    assert!(rising.at_end);
    close(rising.factor.ln(), 1e4f64.ln(), 1e-12);
    let falling = search(|factor: f64| Ok::<_, ()>(-factor)).unwrap();
    assert!(falling.at_end);
    close(falling.factor, 1e-4, 1e-16);
}

#[test]
fn grid_search_handles_flat_nan_and_failing_scores() {
    let flat = search(|_| Ok::<_, ()>(-1.0)).unwrap();
    assert_eq!((flat.factor, flat.score, flat.at_end), (1.0, -1.0, false));
    let broken = search(|factor: f64| Ok::<_, ()>(if factor < 50.0 { f64::NAN } else { -factor })).unwrap();
    assert!(broken.factor >= 50.0 && broken.factor < 100.0);
    let nothing = search(|_| Ok::<_, ()>(f64::NAN)).unwrap();
    assert_eq!((nothing.factor, nothing.score), (1.0, f64::NEG_INFINITY));
    assert_eq!(search(|_| Err::<f64, _>("no rows")), Err("no rows"));
}
