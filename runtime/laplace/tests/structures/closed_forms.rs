//! Compares variances and covariances with closed forms.

use crate::{close, forms, naive_product, naive_transposed, pool, prior, random};
use bnnc_laplace::curvature::{Curvature, Gram, Prior, add_squares};
use bnnc_laplace::matrix::Matrix;
use bnnc_laplace::posterior::whitened;

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
