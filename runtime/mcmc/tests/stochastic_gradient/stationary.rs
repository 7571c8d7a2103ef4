//! Compares draws with the stationary distributions of the recursions.

use crate::chains::{Mean, draws, mean, sampler, stat};
use crate::{LENGTH, sghmc, sgld};
use bnnc_abi::methods::sampling::Transition;
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers;
use bnnc_mcmc::setup::Setup;

type Matrix = [[f64; 2]; 2];

fn times(left: Matrix, right: Matrix) -> Matrix {
    let entry = |row: usize, column: usize| (0..2).map(|at| left[row][at] * right[at][column]).sum();
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}

/// The stationary distribution of the recursion `x' = A x + e`, where the vectors `e` are independent normal with covariance `Q`.
struct Linear {
    /// The stationary variance of the first element.
    variance: f64,
    /// Two sums over all lags: the sum of the autocovariances of the first element, and the sum of their squares.
    sums: [f64; 2],
}

/// Solves `V = A V A' + Q` by its series. Sums the first elements of `A^k V` and their squares over all lags `k`.
fn linear(matrix: Matrix, noise: Matrix) -> Linear {
    let transposed = [[matrix[0][0], matrix[1][0]], [matrix[0][1], matrix[1][1]]];
    let (mut covariance, mut term) = ([[0.0; 2]; 2], noise);
    for _ in 0..4000 {
        for row in 0..2 {
            (0..2).for_each(|column| covariance[row][column] += term[row][column]);
        }
        term = times(matrix, times(term, transposed));
    }
    let variance = covariance[0][0];
    let (mut sums, mut lagged) = ([variance, variance * variance], covariance);
    for _ in 0..4000 {
        lagged = times(matrix, lagged);
        sums[0] += 2.0 * lagged[0][0];
        sums[1] += 2.0 * lagged[0][0] * lagged[0][0];
    }
    Linear { variance, sums }
}

/// The stationary distribution of Langevin dynamics on a normal target:
/// `theta' = (1 - eta precision) theta + sqrt(2 eta) e + eta (noise of the gradient)`.
fn langevin(eta: f64, precision: f64, gradient_variance: f64) -> Linear {
    let noise = 2.0 * eta + eta * eta * gradient_variance;
    linear(
        [[1.0 - eta * precision, 0.0], [0.0, 0.0]],
        [[noise, 0.0], [0.0, 0.0]],
    )
}

/// The stationary distribution of Hamiltonian dynamics on a normal target: `theta' = theta + v`,
/// `v' = (1 - alpha) v - eta precision theta' + noise`.
fn hamiltonian(eta: f64, friction: f64, precision: f64, gradient_variance: f64) -> Linear {
    let force = eta * precision;
    let noise = 2.0 * friction * eta + eta * eta * gradient_variance;
    linear(
        [[1.0, 1.0], [-force, 1.0 - friction - force]],
        [[0.0, 0.0], [0.0, noise]],
    )
}

/// Returns two differences, each in standard errors: the mean of a sequence minus `centre`, and the variance of the sequence minus the variance of
/// `law`.
fn deviations(values: &[f64], law: &Linear, centre: f64) -> [f64; 2] {
    let count = values.len() as f64;
    let squares: Vec<f64> = values.iter().map(|value| (value - centre).powi(2)).collect();
    [
        (mean(values) - centre).abs() / (law.sums[0] / count).sqrt(),
        (mean(&squares) - law.variance).abs() / (2.0 * law.sums[1] / count).sqrt(),
    ]
}

fn agrees(values: &[f64], law: &Linear, centre: f64) -> bool {
    deviations(values, law, centre)
        .iter()
        .all(|deviation| *deviation < 4.5)
}

/// Returns a target with twenty observations. Its posterior has the precision 10.5.
fn target() -> Mean {
    let data = (0..20)
        .map(|row| (f64::from(row) * 0.7).sin() * 2.0 + 1.0)
        .collect();
    Mean {
        data,
        prior: 0.5,
        precision: 0.5,
    }
}

/// Returns the draws after the warm-up. The chain starts at 0.
fn values(transition: &Transition, target: &mut Mean) -> Vec<f64> {
    let mut sampler = sampler(transition, &[0.0], target.data.len(), LENGTH);
    let drawn = draws(&mut *sampler, target, LENGTH.warmup + LENGTH.draws);
    assert!(
        stat(&*sampler, &drawn, "diverging")
            .iter()
            .all(|diverging| *diverging == 0.0)
    );
    let kept: Vec<f64> = drawn
        .iter()
        .filter(|draw| !draw.warmup)
        .map(|draw| draw.position[0])
        .collect();
    assert_eq!(kept.len(), LENGTH.draws);
    kept
}

/// The variance that the series gives agrees with the closed form for a scalar recursion, `1 / (precision (1 - eta precision / 2))`.
#[test]
fn langevin_variance_agrees_with_its_closed_form() {
    let law = langevin(0.05, 10.5, 0.0);
    assert!((law.variance * 10.5 * (1.0 - 0.05 * 10.5 / 2.0) - 1.0).abs() < 1e-12);
    let ratio: f64 = 1.0 - 0.05 * 10.5;
    let squares = law.variance.powi(2) * (1.0 + ratio * ratio) / (1.0 - ratio * ratio);
    assert!((law.sums[1] / squares - 1.0).abs() < 1e-12);
}

#[test]
fn langevin_dynamics_have_the_variance_of_their_recursion() {
    let mut target = target();
    let (eta, precision, centre) = (0.05, target.posterior(), target.centre());
    let chain = values(&sgld(0, eta), &mut target);
    assert!(agrees(&chain, &langevin(eta, precision, 0.0), centre));
    // The test would detect a chain without the discretisation error, and a chain with noise of variance eta.
    let exact = linear([[1.0 - eta * precision, 0.0], [0.0, 0.0]], {
        let ratio = 1.0 - eta * precision;
        [[(1.0 - ratio * ratio) / precision, 0.0], [0.0, 0.0]]
    });
    assert!(!agrees(&chain, &exact, centre));
    let halved = linear(
        [[1.0 - eta * precision, 0.0], [0.0, 0.0]],
        [[eta, 0.0], [0.0, 0.0]],
    );
    assert!(!agrees(&chain, &halved, centre));
}

#[test]
fn batches_add_the_variance_of_their_gradients_to_the_draws() {
    let mut target = target();
    let (eta, precision, centre) = (0.05, target.posterior(), target.centre());
    for batch in [1, 4, 15] {
        let chain = values(&sgld(batch, eta), &mut target);
        let law = |variance| langevin(eta, precision, variance);
        assert!(
            agrees(&chain, &law(target.gradient_variance(batch)), centre),
            "{batch}"
        );
        assert!(!agrees(&chain, &law(0.0), centre), "{batch}");
        // With replacement, the gradients would have a larger variance.
        let corrected = 1.0 - batch as f64 / 20.0;
        let with_replacement = target.gradient_variance(batch) / corrected * (19.0 / 20.0);
        assert!(
            batch == 1 || !agrees(&chain, &law(with_replacement), centre),
            "{batch}"
        );
    }
}

#[test]
fn hamiltonian_dynamics_have_the_variance_of_their_recursion() {
    let mut target = target();
    let (eta, friction, precision, centre) = (0.02, 0.3, target.posterior(), target.centre());
    for batch in [0, 4] {
        let gradient_variance = if batch == 0 {
            0.0
        } else {
            target.gradient_variance(batch)
        };
        let chain = values(&sghmc(batch, eta, friction), &mut target);
        assert!(
            agrees(
                &chain,
                &hamiltonian(eta, friction, precision, gradient_variance),
                centre
            ),
            "{batch}"
        );
        // The test would detect a gradient or a noise that is half as large as it should be.
        assert!(
            !agrees(
                &chain,
                &hamiltonian(eta, friction, precision / 2.0, gradient_variance),
                centre
            ),
            "{batch}"
        );
        let force = eta * precision;
        let noise = friction * eta + eta * eta * gradient_variance;
        let quiet = linear(
            [[1.0, 1.0], [-force, 1.0 - friction - force]],
            [[0.0, 0.0], [0.0, noise]],
        );
        assert!(!agrees(&chain, &quiet, centre), "{batch}");
    }
}

/// The temperature divides the log likelihood, and does not change the prior.
#[test]
fn temperature_divides_the_likelihood_only() {
    let mut target = target();
    let transition = sgld(4, 0.05);
    let setup = Setup {
        transition: &transition,
        start: &[0.0],
        shards: &[12, 8],
        warmup: 200,
        draws: 40_000,
        temperature: 4.0,
        noise: ChainNoise::new(3, "tempered", 0),
    };
    let mut sampler = samplers::sampler(&setup);
    let drawn = draws(&mut *sampler, &mut target, 40_200);
    let chain: Vec<f64> = drawn[200..].iter().map(|draw| draw.position[0]).collect();
    let tempered = Mean {
        precision: 0.5 / 4.0,
        ..target
    };
    let law = langevin(0.05, tempered.posterior(), tempered.gradient_variance(4));
    assert!(agrees(&chain, &law, tempered.centre()));
}
