//! Hand-written targets, and functions that run chains on them.
#![allow(dead_code, reason = "each test uses a part")]

use bnnc_abi::methods::sampling::Transition;
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers;
use bnnc_mcmc::seam::{self, Answers, Sampler, Target};
use bnnc_mcmc::setup::Setup;

/// A target whose density does not depend on rows of data. The function writes the gradient and returns the log density.
pub struct Density<Function>(pub Function);

impl<Function: FnMut(&[f64], &mut [f64]) -> f64> Target for Density<Function> {
    fn gradient(&mut self, at: &[f64], _: Option<&[u32]>, _: f64, gradient: &mut [f64]) -> f64 {
        (self.0)(at, gradient)
    }

    fn value(&mut self, at: &[f64], _: Option<&[u32]>, _: f64) -> f64 {
        (self.0)(at, &mut vec![0.0; at.len()])
    }

    fn differences(&mut self, _: &[f64], _: &[f64], _: &[u32], _: &[usize], _: &mut [f64]) -> f64 {
        unreachable!("not asked here")
    }
}

/// The model of an unknown mean. Its prior is normal around 0, and the observations are normal around it.
pub struct Mean {
    pub data: Vec<f64>,
    /// The prior precision of the unknown mean.
    pub prior: f64,
    /// The precision of each observation.
    pub precision: f64,
}

impl Mean {
    /// Returns the posterior precision of the unknown mean.
    pub fn posterior(&self) -> f64 {
        self.prior + self.precision * self.data.len() as f64
    }

    /// Returns the posterior mean of the unknown mean.
    pub fn centre(&self) -> f64 {
        self.precision * self.data.iter().sum::<f64>() / self.posterior()
    }

    /// Returns the variance of a gradient estimate: `N / n` times the gradient of `n` of the `N` rows, chosen without replacement. The
    /// variance is `(N precision)^2 S^2 / n (1 - n / N)`, where `S^2` is the sample variance of the observations.
    pub fn gradient_variance(&self, batch: usize) -> f64 {
        let (all, batch) = (self.data.len() as f64, batch as f64);
        let mean = self.data.iter().sum::<f64>() / all;
        let spread = self.data.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (all - 1.0);
        (all * self.precision).powi(2) * spread / batch * (1.0 - batch / all)
    }
}

impl Target for Mean {
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64 {
        let (mut log, mut slope) = (0.0, 0.0);
        let mut add = |row: f64| {
            log -= 0.5 * self.precision * (row - at[0]).powi(2);
            slope += self.precision * (row - at[0]);
        };
        match rows {
            Some(rows) => rows.iter().for_each(|row| add(self.data[*row as usize])),
            None => self.data.iter().for_each(|row| add(*row)),
        }
        gradient[0] = scale * slope - self.prior * at[0];
        scale * log - 0.5 * self.prior * at[0] * at[0]
    }

    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64 {
        self.gradient(at, rows, scale, &mut [0.0])
    }

    fn differences(&mut self, _: &[f64], _: &[f64], _: &[u32], _: &[usize], _: &mut [f64]) -> f64 {
        unreachable!("not asked here")
    }
}

/// A draw of a chain, with its statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    pub position: Vec<f64>,
    pub warmup: bool,
    pub stats: Vec<f64>,
}

/// The number of iterations of a chain in the warm-up and after it.
#[derive(Clone, Copy)]
pub struct Length {
    pub warmup: usize,
    pub draws: usize,
}

/// Returns a sampler for one chain with seed 7 on `rows` rows of data.
pub fn sampler(transition: &Transition, start: &[f64], rows: usize, length: Length) -> Box<dyn Sampler> {
    samplers::sampler(&Setup {
        transition,
        start,
        shards: &[rows],
        warmup: length.warmup,
        draws: length.draws,
        temperature: 1.0,
        noise: ChainNoise::new(7, "chain", 0),
    })
}

/// Returns the next `count` draws of the sampler.
pub fn draws(sampler: &mut dyn Sampler, target: &mut dyn Target, count: usize) -> Vec<Drawn> {
    let mut answers = Answers::default();
    let drawn = |draw: seam::Draw<'_>| Drawn {
        position: draw.position.to_vec(),
        warmup: draw.warmup,
        stats: draw.stats.to_vec(),
    };
    (0..count)
        .map(|_| seam::next(sampler, target, &mut answers, drawn))
        .collect()
}

/// Returns the values of one statistic, chosen by its name, for all draws.
pub fn stat(sampler: &dyn Sampler, drawn: &[Drawn], name: &str) -> Vec<f64> {
    let at = sampler
        .stats()
        .iter()
        .position(|stat| *stat == name)
        .expect("a stat of this name");
    drawn.iter().map(|draw| draw.stats[at]).collect()
}

/// Returns the mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the standard error of the mean of a correlated sequence, estimated from the means of 40 batches.
pub fn standard_error(values: &[f64]) -> f64 {
    let batches: Vec<f64> = values.chunks_exact(values.len() / 40).map(mean).collect();
    let centre = mean(&batches);
    let spread = batches.iter().map(|batch| (batch - centre).powi(2)).sum::<f64>();
    (spread / (batches.len() - 1) as f64 / batches.len() as f64).sqrt()
}

/// Returns how far the mean of a correlated sequence is above `from`, in standard errors.
pub fn deviation(values: &[f64], from: f64) -> f64 {
    (mean(values) - from).abs() / standard_error(values)
}

/// Checks that a sampler that is restored from saved bytes continues with identical bits, both before and after the end of the warm-up. Also
/// checks that invalid bytes are rejected.
pub fn resumes(transition: &Transition, target: &mut dyn Target, rows: usize) {
    let length = Length {
        warmup: 200,
        draws: 100,
    };
    let fresh = || sampler(transition, &[0.3, -0.2], rows, length);
    let (mut whole, mut bytes) = (fresh(), Vec::new());
    let mut all = Vec::new();
    for _ in 0..300 {
        all.extend(draws(&mut *whole, target, 1));
        bytes.push(whole.save());
    }
    for at in [0, 1, 99, 199, 250] {
        let mut resumed = fresh();
        assert_eq!(resumed.restore(&bytes[at]), Ok(()));
        assert_eq!(resumed.save(), bytes[at]);
        let rest = draws(&mut *resumed, target, 299 - at);
        assert_eq!(rest, all[at + 1..]);
        assert_eq!(resumed.save(), bytes[299]);
    }
    let last = &bytes[299];
    assert!(fresh().restore(&last[..last.len() - 1]).is_err());
    assert!(sampler(transition, &[0.3], rows, length).restore(last).is_err());
}
