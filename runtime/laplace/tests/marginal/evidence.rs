//! Compares marginal likelihoods with closed forms.

use crate::models::{block, close, diagonal, inverse, plus_diagonal, regression};
use crate::{Linear, NOISE, ROWS, WEIGHTS, pool};
use bnnc_laplace::curvature::Curvature;
use bnnc_laplace::marginal::{ScalarEvidence, Tuning, evaluate, log_evidence, log_evidence_of_normal};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::whitened;
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
