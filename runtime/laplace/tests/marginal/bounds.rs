//! Tests searches without a maximum, and searches with inconsistent or NaN evaluations.

use crate::models::close;
use crate::pool;
use bnnc_laplace::curvature::{Curvature, NotPositive, Prior};
use bnnc_laplace::marginal::{EvidenceTerms, LARGEST_FACTOR, ScalarEvidence, Tuning, TuningResult, evaluate};

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
