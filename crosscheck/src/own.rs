//! Chains of bnnc's own sampler.

use crate::densities::Law;
use crate::{Chain, DRAWS, WARMUP};
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers::sampler;
use bnnc_mcmc::seam::{Answers, Target, next};
use bnnc_mcmc::setup::Setup;

struct Counted<'a> {
    law: &'a Law,
    gradients: usize,
}

impl Target for Counted<'_> {
    fn gradient(&mut self, at: &[f64], _: Option<&[u32]>, _: f64, gradient: &mut [f64]) -> f64 {
        self.gradients += 1;
        (self.law.density)(at, gradient)
    }

    fn value(&mut self, _: &[f64], _: Option<&[u32]>, _: f64) -> f64 {
        unreachable!("not asked here")
    }

    fn differences(&mut self, _: &[f64], _: &[f64], _: &[u32], _: &[usize], _: &mut [f64]) -> f64 {
        unreachable!("not asked here")
    }
}

/// Runs one chain with the options that `bnnc` programs have by default.
pub fn chain(law: &Law, metric: MetricKind, number: usize) -> Chain {
    let transition = Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation: Adaptation {
            step_size: None,
            target_acceptance: 0.8,
            metric,
        },
    });
    let mut sampler = sampler(&Setup {
        transition: &transition,
        start: &law.start(number as u64),
        shards: &[],
        warmup: WARMUP,
        draws: DRAWS,
        temperature: 1.0,
        noise: ChainNoise::new(9, "crosscheck", number),
    });
    let diverging = sampler
        .stats()
        .iter()
        .position(|name| *name == "diverging")
        .expect("a statistic");
    let (mut target, mut answers) = (Counted { law, gradients: 0 }, Answers::default());
    let mut take = |target: &mut Counted<'_>| {
        next(sampler.as_mut(), target, &mut answers, |draw| {
            (draw.position.to_vec(), draw.stats[diverging] as usize)
        })
    };
    for _ in 0..WARMUP {
        take(&mut target);
    }
    let before = target.gradients;
    let (draws, divergences): (Vec<Vec<f64>>, Vec<usize>) = (0..DRAWS).map(|_| take(&mut target)).unzip();
    Chain {
        draws,
        gradients: [before, target.gradients - before],
        divergences: divergences.iter().sum(),
    }
}
