//! Adapted samplers on posteriors whose curvature varies between regions.
#![allow(clippy::unwrap_used)]

mod chains;
mod targets;

use bnnc_abi::methods::sampling::{Adaptation, MetricKind};
use bnnc_mcmc::diagnostics::Summariser;
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::samplers;
use bnnc_mcmc::setup::Setup;
use chains::{Density, Drawn, draws, stat};
use targets::{adapted, nuts};

/// The results for several seeds, one element per seed. For each seed, four chains are run.
#[derive(Debug, Default)]
struct Sweep {
    rhat: Vec<f64>,
    divergences: Vec<f64>,
    /// The smallest mean acceptance rate of a chain.
    acceptance: Vec<f64>,
}

/// Runs four chains for each seed. Each chain has 1000 iterations of warm-up and 1000 draws.
fn sweep(
    density: impl Fn(&[f64], &mut [f64]) -> f64,
    dimension: usize,
    seeds: std::ops::Range<u64>,
    adaptation: Adaptation,
) -> Sweep {
    let transition = nuts(adaptation);
    let mut found = Sweep::default();
    for seed in seeds {
        let (mut all, mut divergences, mut least) = (Vec::new(), 0.0, 1.0_f64);
        for chain in 0..4 {
            let noise = ChainNoise::new(seed, "curved", chain);
            let start: Vec<f64> = (0..dimension)
                .map(|at| 4.0 * noise.uniform(Purpose::Start, 0, at) - 2.0)
                .collect();
            let mut sampler = samplers::sampler(&Setup {
                transition: &transition,
                start: &start,
                shards: &[0],
                warmup: 1000,
                draws: 1000,
                temperature: 1.0,
                noise,
            });
            let mut target = Density(&density);
            draws(sampler.as_mut(), &mut target, 1000);
            let drawn: Vec<Drawn> = draws(sampler.as_mut(), &mut target, 1000);
            let of = |name| stat(sampler.as_ref(), &drawn, name);
            divergences += of("diverging").iter().sum::<f64>();
            least = least.min(chains::mean(&of("acceptance_rate")));
            all.push(drawn);
        }
        let mut rhat = 1.0_f64;
        for at in 0..dimension {
            let values: Vec<Vec<f64>> = all
                .iter()
                .map(|drawn| drawn.iter().map(|draw| draw.position[at]).collect())
                .collect();
            let chains: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            let summary = Summariser::default().summary(&chains);
            rhat = rhat.max(if summary.rhat.is_nan() {
                f64::INFINITY
            } else {
                summary.rhat
            });
        }
        found.rhat.push(rhat);
        found.divergences.push(divergences);
        found.acceptance.push(least);
    }
    found
}

const PLACES: usize = 11;

/// A Gaussian process with a squared exponential covariance and Poisson counts, on the unconstrained scale (`gp_pois_regr` of posteriordb). The
/// parameters are the log length scale, the log amplitude, and standard normal variables that are multiplied by the Cholesky factor of the
/// covariance.
#[allow(clippy::needless_range_loop, reason = "a factorisation is written in indices")]
fn counts(at: &[f64], gradient: &mut [f64]) -> f64 {
    const COUNTS: [f64; PLACES] = [40.0, 37.0, 29.0, 12.0, 4.0, 3.0, 9.0, 19.0, 77.0, 82.0, 33.0];
    type Matrix = [[f64; PLACES]; PLACES];
    let (rho, alpha, noise) = (at[0].exp(), at[1].exp(), &at[2..]);
    let (mut factor, mut by_rho, mut by_alpha): (Matrix, Matrix, Matrix) = Default::default();
    for i in 0..PLACES {
        for j in 0..=i {
            let distance = 2.0 * (i - j) as f64;
            let covariance = alpha * alpha * (-0.5 * (distance / rho).powi(2)).exp();
            factor[i][j] = covariance + if i == j { 1e-10 } else { 0.0 };
            by_rho[i][j] = covariance * (distance / rho).powi(2);
            by_alpha[i][j] = 2.0 * covariance;
        }
    }
    for i in 0..PLACES {
        for j in 0..=i {
            let rest = factor[i][j] - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
        }
    }
    // The derivative of the Cholesky factor is factor lower(factor^-1 (d covariance) factor^-T), where `lower` keeps the lower triangle, halves
    // the diagonal, and sets the rest to zero.
    let solve = |matrix: &mut Matrix| {
        for column in 0..PLACES {
            for i in 0..PLACES {
                let rest = matrix[i][column] - (0..i).map(|k| factor[i][k] * matrix[k][column]).sum::<f64>();
                matrix[i][column] = rest / factor[i][i];
            }
        }
    };
    let derivative = |mut matrix: Matrix| -> [f64; PLACES] {
        for i in 0..PLACES {
            for j in 0..i {
                matrix[j][i] = matrix[i][j];
            }
        }
        solve(&mut matrix);
        let mut system = matrix;
        for (i, row) in system.iter_mut().enumerate() {
            for (j, element) in row.iter_mut().enumerate() {
                *element = matrix[j][i];
            }
        }
        solve(&mut system);
        let lower: [f64; PLACES] = std::array::from_fn(|i| {
            (0..i).map(|j| system[i][j] * noise[j]).sum::<f64>() + 0.5 * system[i][i] * noise[i]
        });
        std::array::from_fn(|i| (0..=i).map(|k| factor[i][k] * lower[k]).sum())
    };
    let (by_rho, by_alpha) = (derivative(by_rho), derivative(by_alpha));
    let mut log = 25.0 * at[0] - 4.0 * rho + at[1] - alpha * alpha / 8.0;
    gradient.fill(0.0);
    (gradient[0], gradient[1]) = (25.0 - 4.0 * rho, 1.0 - alpha * alpha / 4.0);
    for i in 0..PLACES {
        let rate: f64 = (0..=i).map(|k| factor[i][k] * noise[k]).sum();
        log += COUNTS[i] * rate - rate.exp() - noise[i] * noise[i] / 2.0;
        let slope = COUNTS[i] - rate.exp();
        gradient[0] += slope * by_rho[i];
        gradient[1] += slope * by_alpha[i];
        gradient[2 + i] -= noise[i];
        for k in 0..=i {
            gradient[2 + k] += slope * factor[i][k];
        }
    }
    log
}

const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// The eight-schools model in the centred parameterisation. The parameters are the mean, the log scale and the eight effects.
fn centred(at: &[f64], gradient: &mut [f64]) -> f64 {
    let (mu, tau, theta) = (at[0], at[1].exp(), &at[2..]);
    let tail = 1.0 + (tau / 5.0).powi(2);
    let mut log = -0.5 * (mu / 5.0).powi(2) - tail.ln() + at[1];
    gradient[0] = -mu / 25.0;
    gradient[1] = 1.0 - 2.0 * (tau / 5.0).powi(2) / tail;
    for i in 0..8 {
        let (z, e) = ((theta[i] - mu) / tau, (EFFECTS[i] - theta[i]) / ERRORS[i]);
        log += -0.5 * (z * z + e * e) - at[1];
        gradient[0] += z / tau;
        gradient[1] += z * z - 1.0;
        gradient[2 + i] = e / ERRORS[i] - z / tau;
    }
    log
}

/// The eight-schools model in the non-centred parameterisation. The effects are replaced by standardised effects: the deviation of an effect from
/// the mean, divided by the scale.
fn non_centred(at: &[f64], gradient: &mut [f64]) -> f64 {
    let (mu, tau, z) = (at[0], at[1].exp(), &at[2..]);
    let tail = 1.0 + (tau / 5.0).powi(2);
    let mut log = -0.5 * (mu / 5.0).powi(2) - tail.ln() + at[1];
    gradient[0] = -mu / 25.0;
    gradient[1] = 1.0 - 2.0 * (tau / 5.0).powi(2) / tail;
    for i in 0..8 {
        let e = (EFFECTS[i] - mu - tau * z[i]) / ERRORS[i];
        log += -0.5 * (z[i] * z[i] + e * e);
        gradient[0] += e / ERRORS[i];
        gradient[1] += e / ERRORS[i] * tau * z[i];
        gradient[2 + i] = e / ERRORS[i] * tau - z[i];
    }
    log
}

#[test]
fn gradients_agree_with_finite_differences() {
    let check = |density: &dyn Fn(&[f64], &mut [f64]) -> f64, at: &[f64]| {
        let mut gradient = vec![0.0; at.len()];
        density(at, &mut gradient);
        for i in 0..at.len() {
            let value = |step: f64| {
                let mut moved = at.to_vec();
                moved[i] += step;
                density(&moved, &mut vec![0.0; at.len()])
            };
            let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
            assert!(
                (slope - gradient[i]).abs() < 1e-4 * (1.0 + slope.abs()),
                "{i}: {slope} {}",
                gradient[i]
            );
        }
    };
    let at: Vec<f64> = (0..13).map(|i| 1.5 - 0.25 * f64::from(i)).collect();
    check(&counts, &at);
    check(&centred, &at[..10]);
    check(&non_centred, &at[..10]);
}

fn at(target_acceptance: f64, metric: MetricKind) -> Adaptation {
    Adaptation {
        target_acceptance,
        ..adapted(metric)
    }
}

/// A normal distribution whose neighbouring quantities have a correlation of 0.9.
fn correlated(at: &[f64], gradient: &mut [f64]) -> f64 {
    let scale = 0.19_f64.sqrt();
    let mut log = -0.5 * at[0] * at[0];
    gradient.fill(0.0);
    gradient[0] = -at[0];
    for i in 1..at.len() {
        let error = (at[i] - 0.9 * at[i - 1]) / scale;
        log -= 0.5 * error * error;
        gradient[i] -= error / scale;
        gradient[i - 1] += 0.9 * error / scale;
    }
    log
}

/// Runs the warm-up of a chain with a dense metric. Returns whether the metric still has correlations at the end.
fn keeps_correlations(density: impl Fn(&[f64], &mut [f64]) -> f64, dimension: usize, chain: usize) -> bool {
    let adaptation = at(0.9, MetricKind::Dense);
    let (transition, start) = (nuts(adaptation), vec![0.5; dimension]);
    let setup = Setup {
        transition: &transition,
        start: &start,
        shards: &[0],
        warmup: 1000,
        draws: 0,
        temperature: 1.0,
        noise: ChainNoise::new(1, "curved", chain),
    };
    let mut sampler = samplers::sampler(&setup);
    draws(sampler.as_mut(), &mut Density(&density), 1000);
    let metric = sampler.inverse_metric();
    let below = (0..metric.len()).filter(|at| at % dimension < at / dimension);
    below.into_iter().any(|at| metric[at] != 0.0)
}

/// The draws of a warm-up window nearly always include regions of high curvature, so at most one of eight chains keeps the dense metric.
#[test]
fn dense_metric_is_dropped_if_gradients_vary_more_under_it() {
    let kept = (0..8)
        .filter(|chain| keeps_correlations(counts, 13, *chain))
        .count();
    assert!(kept <= 1, "{kept} of 4 chains keep it");
    for chain in 0..2 {
        assert!(keeps_correlations(correlated, 13, chain));
        assert!(keeps_correlations(non_centred, 10, chain));
    }
}

/// Without the replacement of dense metrics, the largest R-hat was 1.10 over eight seeds and 1.28 over eight other seeds, and one chain had an
/// acceptance rate of only 0.27.
#[test]
#[ignore = "takes a minute"]
fn eight_seeds_agree() {
    for (name, found) in [
        ("counts", sweep(counts, 13, 0..8, at(0.9, MetricKind::Dense))),
        (
            "non-centred",
            sweep(non_centred, 10, 0..8, at(0.8, MetricKind::Dense)),
        ),
    ] {
        assert!(found.rhat.iter().all(|rhat| *rhat < 1.01), "{name}: {found:?}");
        assert!(
            found.acceptance.iter().all(|rate| *rate > 0.7),
            "{name}: {found:?}"
        );
    }
}

/// A linear metric cannot make the funnel of a centred parameterisation round. For every seed, divergences or a high R-hat show that the draws are
/// wrong.
#[test]
#[ignore = "takes a minute"]
fn a_centred_funnel_is_reported_for_every_seed() {
    let found = sweep(centred, 10, 0..8, at(0.8, MetricKind::Dense));
    let shown = found.rhat.iter().zip(&found.divergences);
    assert!(
        shown
            .into_iter()
            .all(|(rhat, divergences)| *rhat > 1.01 || *divergences > 0.0),
        "{found:?}"
    );
}
