//! Options of samplers, and checks of draws that detect incorrect samplers.
#![allow(dead_code, reason = "each test uses a part")]

use crate::chains::{Drawn, Length, deviation, draws, sampler};
use bnnc_abi::sampling::{Adaptation, MetricKind, NutsOptions, Transition};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::registry::Setup;
use bnnc_mcmc::seam::Target;

/// All metrics. The first is not adapted.
pub const METRICS: [MetricKind; 5] = [
    MetricKind::Unit,
    MetricKind::Diagonal,
    MetricKind::Dense,
    MetricKind::Windowed,
    MetricKind::WindowedDense,
];

/// The default options.
pub fn adapted(metric: MetricKind) -> Adaptation {
    Adaptation {
        step_size: None,
        target_acceptance: 0.8,
        metric,
    }
}

/// Options with a given step size.
pub fn fixed(step_size: f64) -> Adaptation {
    Adaptation {
        step_size: Some(step_size),
        ..adapted(MetricKind::Unit)
    }
}

/// The no-U-turn sampler.
pub fn nuts(adaptation: Adaptation) -> Transition {
    Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation,
    })
}

/// Returns the setup of the chain with this index, without warm-up.
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

/// Returns the draws after a warm-up.
pub fn run(transition: &Transition, target: &mut dyn Target, start: &[f64], length: Length) -> Vec<Drawn> {
    let mut sampler = sampler(transition, start, 0, length);
    let warmup = draws(sampler.as_mut(), target, length.warmup);
    assert!(warmup.iter().all(|draw| draw.warmup));
    let draws = draws(sampler.as_mut(), target, length.draws);
    assert!(draws.iter().all(|draw| !draw.warmup));
    draws
}

/// Returns the position of a statistic of the no-U-turn sampler.
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
    /// The standard error of `mean`, if `mean` is itself an estimate.
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

/// Returns the largest distance of a mean over draws from its exact value, in standard errors, and the name of this mean.
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

/// Panics if a mean over draws is five standard errors or more from its exact value.
pub fn check(draws: &[Drawn], means: &[Mean<'_>]) {
    let (distance, name) = furthest(draws, means);
    assert!(distance < 5.0, "{name}: {distance} standard errors");
}

/// Returns the means and second moments of a normal distribution.
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
    /// Makes a draw from random numbers.
    pub draw: &'a dyn Fn(ChainNoise) -> Vec<f64>,
    /// A function of a draw that is uniformly distributed on (0, 1).
    pub uniform: &'a dyn Fn(&[f64]) -> f64,
}

impl Exact<'_> {
    /// Moves each of many exact draws by a few transitions, and counts the results in 20 cells of equal probability. `moved` takes a start and the
    /// index of the chain. Returns the chi-square statistic of the counts. Chains are independent of each other, so that the statistic has 19 degrees
    /// of freedom if the transitions leave the distribution invariant.
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

/// The value that a chi-square statistic with 19 degrees of freedom exceeds with a probability of 1e-6.
pub const REFUSED: f64 = 63.0;
