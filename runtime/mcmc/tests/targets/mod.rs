//! Options of samplers for tests, and checks of draws that detect incorrect samplers.
#![allow(dead_code, reason = "each test uses a part")]

use crate::chains::{Drawn, Length, deviation, draws, sampler};
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::seam::Target;
use bnnc_mcmc::setup::Setup;

/// All metrics. All except the first are adapted.
pub const METRICS: [MetricKind; 5] = [
    MetricKind::Unit,
    MetricKind::Diagonal,
    MetricKind::Dense,
    MetricKind::Windowed,
    MetricKind::WindowedDense,
];

/// Returns the default options of the adaptation with this metric.
pub fn adapted(metric: MetricKind) -> Adaptation {
    Adaptation {
        step_size: None,
        target_acceptance: 0.8,
        metric,
    }
}

/// Returns options with a fixed step size.
pub fn fixed(step_size: f64) -> Adaptation {
    Adaptation {
        step_size: Some(step_size),
        ..adapted(MetricKind::Unit)
    }
}

/// Returns the no-U-turn sampler with these options.
pub fn nuts(adaptation: Adaptation) -> Transition {
    Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation,
    })
}

/// Returns the setup of the chain with the index `chain`, without a warm-up.
pub fn unadapted<'a>(transition: &'a Transition, start: &'a [f64], chain: usize) -> Setup<'a> {
    Setup {
        transition,
        start,
        shards: &[],
        warmup: 0,
        draws: 0,
        temperature: 1.0,
        noise: ChainNoise::new(20, "target", chain),
    }
}

/// Runs a chain. Returns the draws after the warm-up.
pub fn run(transition: &Transition, target: &mut dyn Target, start: &[f64], length: Length) -> Vec<Drawn> {
    let mut sampler = sampler(transition, start, 0, length);
    let warmup = draws(sampler.as_mut(), target, length.warmup);
    assert!(warmup.iter().all(|draw| draw.warmup));
    let draws = draws(sampler.as_mut(), target, length.draws);
    assert!(draws.iter().all(|draw| !draw.warmup));
    draws
}

/// Returns the index of a statistic of the no-U-turn sampler, given its name.
pub fn place(name: &str) -> usize {
    let names = bnnc_mcmc::hamiltonian::STATS;
    names
        .iter()
        .position(|known| *known == name)
        .expect("a statistic of this name")
}

/// Panics if an iteration diverged.
pub fn no_divergences(draws: &[Drawn]) {
    let divergences = draws
        .iter()
        .filter(|draw| draw.stats[place("diverging")] != 0.0)
        .count();
    assert_eq!(divergences, 0);
}

/// A function that maps a position to a number.
pub type Function<'a> = dyn Fn(&[f64]) -> f64 + 'a;

/// A function of a position, and its mean under the target.
pub struct Mean<'a> {
    pub name: String,
    pub of: Box<Function<'a>>,
    pub mean: f64,
    /// The standard error of `mean` if `mean` is itself an estimate, or zero.
    pub error: f64,
}

impl<'a> Mean<'a> {
    pub fn new(name: impl Into<String>, mean: f64, of: impl Fn(&[f64]) -> f64 + 'a) -> Mean<'a> {
        Mean {
            name: name.into(),
            of: Box::new(of),
            mean,
            error: 0.0,
        }
    }
}

/// Compares means over draws with their exact values. Returns the largest difference in standard errors, and the name of this mean.
pub fn furthest(draws: &[Drawn], means: &[Mean<'_>]) -> (f64, String) {
    let mut furthest = (0.0, String::new());
    for mean in means {
        let values: Vec<f64> = draws.iter().map(|draw| (mean.of)(&draw.position)).collect();
        let average = values.iter().sum::<f64>() / values.len() as f64;
        let own = (average - mean.mean).abs() / deviation(&values, mean.mean);
        let distance = (average - mean.mean).abs() / own.hypot(mean.error);
        if distance.is_nan() || distance > furthest.0 {
            furthest = (distance, mean.name.clone());
        }
        if distance.is_nan() {
            break;
        }
    }
    furthest
}

/// Panics if a mean over draws differs from its exact value by five standard errors or more.
pub fn check(draws: &[Drawn], means: &[Mean<'_>]) {
    let (distance, name) = furthest(draws, means);
    assert!(distance < 5.0, "{name}: {distance} standard errors");
}

/// Returns the means and second moments of a normal distribution, as functions of a position with their exact values.
pub fn normal_means<'a>(mean: &'a [f64], covariance: &'a [Vec<f64>]) -> Vec<Mean<'a>> {
    let mut means = Vec::new();
    for i in 0..mean.len() {
        means.push(Mean::new(format!("mean {i}"), mean[i], move |at| at[i]));
        for j in 0..=i {
            let product = move |at: &[f64]| (at[i] - mean[i]) * (at[j] - mean[j]);
            means.push(Mean::new(
                format!("covariance {i} {j}"),
                covariance[i][j],
                product,
            ));
        }
    }
    means
}

/// A distribution from which exact draws can be made.
pub struct Exact<'a> {
    /// Makes an exact draw from random numbers.
    pub draw: &'a dyn Fn(ChainNoise) -> Vec<f64>,
    /// Maps a draw to a number that is uniformly distributed on (0, 1).
    pub uniform: &'a dyn Fn(&[f64]) -> f64,
}

impl Exact<'_> {
    /// Makes many exact draws, moves each by a few transitions, and counts the results in 20 cells of equal probability. `moved` takes a draw and
    /// the index of a chain, and returns the position after the transitions. The result is the chi-square statistic of the counts. Since the chains
    /// are independent, it has 19 degrees of freedom if the transitions leave the distribution invariant.
    pub fn departure(&self, chains: usize, mut moved: impl FnMut(&[f64], usize) -> Vec<f64>) -> f64 {
        const CELLS: usize = 20;
        let mut counts = [0.0; CELLS];
        for chain in 0..chains {
            let start = (self.draw)(ChainNoise::new(77, "start", chain));
            let uniform = (self.uniform)(&moved(&start, chain));
            counts[((uniform * CELLS as f64) as usize).min(CELLS - 1)] += 1.0;
        }
        let expected = chains as f64 / CELLS as f64;
        counts
            .iter()
            .map(|count: &f64| (count - expected).powi(2) / expected)
            .sum()
    }
}

/// A chi-square variable with 19 degrees of freedom is above this value with a probability of 1e-6.
pub const REFUSED: f64 = 63.0;
