//! Computes the acceptance probability and the stationary distribution of a chain in one dimension by quadrature.

use bnnc_abi::methods::sampling::samplers::penalty::Correction;
use bnnc_mcmc::samplers::penalty::correction::penalty;
use bnnc_mcmc::samplers::penalty::estimate::{mean, single};
use bnnc_mcmc::samplers::penalty::log_acceptance;
use std::f64::consts::PI;

/// Returns the integral of a smooth function, computed by Simpson's rule.
fn simpson(from: f64, to: f64, pieces: usize, of: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / pieces as f64;
    let weights = |at: usize| {
        if at == 0 || at == pieces {
            1.0
        } else {
            2.0 + 2.0 * (at % 2) as f64
        }
    };
    let sum: f64 = (0..=pieces)
        .map(|at| weights(at) * of(from + at as f64 * step))
        .sum();
    sum * step / 3.0
}

fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Returns the mean acceptance probability for an estimate that is normal around `difference` with the known variance `variance`.
fn mean_acceptance(difference: f64, variance: f64) -> f64 {
    let (deviation, penalty) = (variance.sqrt(), penalty(Correction::Plain, variance, 5));
    let of = |z: f64| normal_density(z) * log_acceptance(0.0, difference + deviation * z, penalty).exp();
    let kink = -(difference + penalty) / deviation;
    simpson(-12.0, kink, 4000, of) + simpson(kink, 12.0, 4000, of)
}

#[test]
fn acceptance_with_known_variance_satisfies_detailed_balance() {
    for (difference, variance, want) in [
        (0.0, 1.0, 0.61707508),
        (0.0, 4.0, 0.31731051),
        (1.0, 1.0, 0.32118203),
    ] {
        let got = mean_acceptance(difference, variance);
        assert!((got - want).abs() < 6e-9, "{got}");
    }
    // With a known variance, detailed balance holds exactly.
    for (difference, variance) in [(0.3, 0.5), (1.7, 2.0), (4.0, 9.0)] {
        let ratio = mean_acceptance(difference, variance) / mean_acceptance(-difference, variance);
        assert!((ratio / (-difference).exp() - 1.0).abs() < 1e-9);
    }
}

/// Returns the distribution function of the standard normal distribution. The computation uses the error function of Numerical Recipes (relative
/// error 1.2e-7).
fn normal(x: f64) -> f64 {
    let z = (x / 2f64.sqrt()).abs();
    let t = 1.0 / (1.0 + 0.5 * z);
    let series = [
        -1.26551223,
        1.00002368,
        0.37409196,
        0.09678418,
        -0.18628806,
        0.27886807,
        -1.13520398,
        1.48851587,
        -0.82215223,
        0.17087277,
    ];
    let exponent = series.iter().rev().fold(0.0, |sum, term| sum * t + term);
    let upper = 0.5 * t * (exponent - z * z).exp();
    if x >= 0.0 { 1.0 - upper } else { upper }
}

/// Returns `E min(1, exp(-d - u))`, where `d` is normal and `u` is the penalty.
fn accepted(difference: f64, variance: f64, penalty: f64) -> f64 {
    let (middle, deviation) = (difference + penalty, variance.sqrt());
    normal(-middle / deviation) + (variance / 2.0 - middle).exp() * normal((middle - variance) / deviation)
}

/// Returns the differences of `batches` batches. Their mean is zero, and their sum of squares is `squares`.
fn spread(batches: usize, squares: f64) -> Vec<f64> {
    let mut differences = vec![0.0; batches];
    differences[0] = (squares / 2.0).sqrt();
    differences[1] = -differences[0];
    differences
}

/// Returns the nodes of a quadrature over penalties, each with its probability. The loss differences of `M` batches are normal with variance
/// `variance`. Therefore, the sum of their squared deviations from their mean is `variance` times a chi-square variable with `M - 1` degrees of
/// freedom.
fn penalties(correction: Correction, batches: usize, variance: f64) -> Vec<(f64, f64)> {
    let (free, nodes) = ((batches - 1) as f64, 60);
    let step = (free / 2.0 + 12.0 * (free / 2.0).sqrt() + 14.0).sqrt() / f64::from(nodes);
    let roots = (0..nodes).map(|node| (f64::from(node) + 0.5) * step);
    let weighed: Vec<(f64, f64)> = roots
        .map(|root| {
            let squares = 2.0 * root * root * variance;
            let (_, estimated) = mean(&spread(batches, squares));
            let weight = ((free - 1.0) * root.ln() - root * root).exp();
            (penalty(correction, estimated, batches), weight)
        })
        .collect();
    let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    weighed
        .into_iter()
        .map(|(penalty, weight)| (penalty, weight / total))
        .collect()
}

const CELLS: usize = 121;
const REACH: f64 = 6.5;

/// Returns the variance of the stationary distribution of a chain. The target is N(0, 1). The steps are normal with standard deviation 0.8. The loss
/// differences of batches are normal with standard deviation `2 |step|`.
fn stationary_variance(correction: Correction, batches: usize) -> f64 {
    let (width, scale) = (2.0 * REACH / (CELLS - 1) as f64, 0.8);
    let place = |cell: usize| cell as f64 * width - REACH;
    let mut flow = vec![[0.0; CELLS]; CELLS];
    for distance in 1..CELLS {
        let step = distance as f64 * width;
        let proposed = width / scale * normal_density(step / scale);
        if proposed < 1e-12 {
            break;
        }
        let each = (2.0 * step).powi(2);
        let penalties = penalties(correction, batches, each);
        let of = |from: f64, to: f64| -> f64 {
            let difference = (to * to - from * from) / 2.0;
            let terms = penalties.iter();
            terms
                .map(|(penalty, weight)| weight * accepted(difference, each / batches as f64, *penalty))
                .sum()
        };
        for low in 0..CELLS - distance {
            let high = low + distance;
            flow[low][high] = proposed * of(place(low), place(high));
            flow[high][low] = proposed * of(place(high), place(low));
        }
    }
    let law = stationary(flow);
    (0..CELLS).map(|cell| law[cell] * place(cell).powi(2)).sum()
}

/// Returns the stationary distribution of a chain with these rates between states. The elimination method of Grassmann, Taksar and Heyman does this
/// without subtractions.
fn stationary(mut flow: Vec<[f64; CELLS]>) -> Vec<f64> {
    for last in (1..CELLS).rev() {
        let out: f64 = flow[last][..last].iter().sum();
        let row = flow[last];
        for before in &mut flow[..last] {
            before[last] /= out;
            let into = before[last];
            for (rate, more) in before[..last].iter_mut().zip(&row) {
                *rate += into * more;
            }
        }
    }
    let mut law = vec![1.0];
    for state in 1..CELLS {
        law.push((0..state).map(|before| law[before] * flow[before][state]).sum());
    }
    let total: f64 = law.iter().sum();
    law.into_iter().map(|weight| weight / total).collect()
}

/// The stationary variances agree with the published values. The variance of the target is 1.
#[test]
fn stationary_variances_agree_with_published_ones() {
    for (batches, plain, naive, digits) in [
        (2, 1.245, 1.574, 5e-4),
        (5, 1.0317, 1.286, 5e-5),
        (10, 1.0052, 1.159, 5e-5),
    ] {
        let got = stationary_variance(Correction::Plain, batches);
        assert!((got - plain).abs() < digits + 2e-6, "{batches} batches: {got}");
        let got = stationary_variance(Correction::Naive, batches);
        assert!((got - naive).abs() < 5e-4, "{batches} batches: {got}");
    }
    for (batches, excess) in [(5, 0.017), (10, 0.0006)] {
        let got = stationary_variance(Correction::Corrected, batches) - 1.0;
        assert!(
            (got - excess).abs() < if batches == 5 { 5e-4 } else { 5e-5 },
            "{batches} batches: {got}"
        );
    }
}

/// Estimator (a) computes the variance from all differences except the first, around the mean of these differences.
#[test]
fn variance_of_the_single_estimator_uses_the_other_differences() {
    let (difference, variance) = single(&[7.0, 1.0, 2.0, 6.0]);
    assert_eq!((difference, variance), (7.0, 7.0));
    assert_eq!(single(&[7.0, 1.0]), (7.0, 0.0));
    assert_eq!(single(&[]), (0.0, 0.0));
}
