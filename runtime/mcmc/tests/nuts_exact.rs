//! The no-U-turn sampler agrees state by state with the recursive algorithm of the papers, and leaves known distributions invariant.
#![allow(clippy::unwrap_used)]

mod chains;
mod recursive;
mod targets;

use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_mcmc::adapt::metric::Whitening;
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::samplers::nuts::nuts as sampler;
use chains::{Density, draws};
use recursive::{Mistake, Recursive};
use targets::{Exact, REFUSED, adapted, fixed, nuts, place, unadapted};

/// A banana-shaped distribution. The first element is `x ~ Normal(0, 1)`, and each other element is `Normal(x^2 / 4, 1)`.
fn banana(at: &[f64], gradient: &mut [f64]) -> f64 {
    let bend = at[0] * at[0] / 4.0;
    gradient[0] = -at[0];
    let mut log_density = -0.5 * at[0] * at[0];
    for i in 1..at.len() {
        let residual = at[i] - bend;
        gradient[i] = -residual;
        gradient[0] += residual * at[0] / 2.0;
        log_density -= 0.5 * residual * residual;
    }
    log_density
}

/// Returns the number of iterations in which the sampler and the recursive algorithm differ. Each iteration of the recursive algorithm begins
/// at the position of the sampler.
fn differences(dimension: usize, adaptation: Adaptation, warmup: usize, mistake: Mistake) -> usize {
    let transition = nuts(adaptation);
    let start = vec![0.3; dimension];
    let mut setup = unadapted(&transition, &start, 3);
    setup.warmup = warmup;
    let mut sampler = sampler(
        &setup,
        &NutsOptions {
            max_depth: 10,
            adaptation,
        },
    );
    let (mut target, mut second) = (Density(banana), Density(banana));
    let mut position = start.clone();
    for draw in draws(&mut sampler, &mut target, warmup) {
        position = draw.position;
    }
    let inverse_mass = match sampler.warmup().whitening() {
        Whitening::Unit => vec![1.0; dimension],
        Whitening::Diagonal(scale) => scale.iter().map(|scale| scale * scale).collect(),
        Whitening::Dense(_) => unreachable!("the recursive form has a diagonal mass matrix"),
    };
    let mut recursive = Recursive::new(
        &mut second,
        setup.noise,
        sampler.warmup().step_size(),
        inverse_mass,
    );
    recursive.mistake = mistake;
    let mut differences = 0;
    for iteration in warmup..warmup + 300 {
        let moved = recursive.transition(&position, iteration as u64);
        let draw = draws(&mut sampler, &mut target, 1).remove(0);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + a.abs());
        let same = draw.stats[place("tree_depth")] == moved.depth as f64
            && draw.stats[place("n_steps")] == moved.steps as f64
            && near(draw.stats[place("acceptance_rate")], moved.acceptance)
            && draw
                .position
                .iter()
                .zip(&moved.position)
                .all(|(a, b)| near(*a, *b));
        differences += usize::from(!same);
        position = draw.position;
    }
    differences
}

#[test]
fn trees_agree_with_the_recursive_form() {
    for (dimension, step_size) in [(1, 0.3), (2, 0.05), (3, 0.7), (9, 0.25), (30, 0.4)] {
        assert_eq!(
            differences(dimension, fixed(step_size), 0, Mistake::None),
            0,
            "{dimension}"
        );
    }
    for metric in [MetricKind::Diagonal, MetricKind::Windowed] {
        assert_eq!(differences(7, adapted(metric), 200, Mistake::None), 0);
    }
}

#[test]
fn checks_across_subtrees_change_trees() {
    assert!(differences(30, fixed(0.4), 0, Mistake::NoChecksAcross) > 0);
}

/// On a flat density, steps do not have energy errors and trajectories do not turn back. Every trajectory then reaches the maximum depth.
#[test]
fn trajectories_end_at_the_largest_depth() {
    let mut flat = Density(|_: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        0.0
    });
    for max_depth in [0, 1, 3] {
        let adaptation = fixed(0.1);
        let transition = Transition::Nuts(NutsOptions {
            max_depth,
            adaptation,
        });
        let mut sampler = sampler(
            &unadapted(&transition, &[0.0; 3], 0),
            &NutsOptions {
                max_depth,
                adaptation,
            },
        );
        for draw in draws(&mut sampler, &mut flat, 20) {
            assert_eq!(draw.stats[place("tree_depth")], max_depth as f64);
            assert_eq!(draw.stats[place("n_steps")], ((1 << max_depth) - 1) as f64);
        }
    }
}

/// A logistic distribution, which is symmetric and has heavier tails than a normal distribution.
fn logistic(at: &[f64], gradient: &mut [f64]) -> f64 {
    let shrunk = (-at[0].abs()).exp();
    gradient[0] = -at[0].signum() * (1.0 - shrunk) / (1.0 + shrunk);
    -at[0].abs() - 2.0 * shrunk.ln_1p()
}

/// A Gumbel distribution, which is skewed.
fn gumbel(at: &[f64], gradient: &mut [f64]) -> f64 {
    gradient[0] = (-at[0]).exp() - 1.0;
    -at[0] - (-at[0]).exp()
}

type Law = fn(&[f64], &mut [f64]) -> f64;

const LOGISTIC: Exact<'static> = Exact {
    draw: &|noise: ChainNoise| {
        let uniform = noise.uniform(Purpose::Start, 0, 0);
        vec![(uniform / (1.0 - uniform)).ln()]
    },
    uniform: &|at: &[f64]| 1.0 / (1.0 + (-at[0]).exp()),
};

const GUMBEL: Exact<'static> = Exact {
    draw: &|noise: ChainNoise| vec![-(-noise.uniform(Purpose::Start, 0, 0).ln()).ln()],
    uniform: &|at: &[f64]| (-(-at[0]).exp()).exp(),
};

/// The banana-shaped distribution in two dimensions. The uniform number is computed from the first element and the residual of the second
/// element.
const BANANA: Exact<'static> = Exact {
    draw: &|noise: ChainNoise| {
        let mut normal = [0.0; 2];
        noise.normals(Purpose::Start, 0, &mut normal);
        vec![normal[0], normal[0] * normal[0] / 4.0 + normal[1]]
    },
    uniform: &|at: &[f64]| {
        let squares = at[0] * at[0] + (at[1] - at[0] * at[0] / 4.0).powi(2);
        1.0 - (-0.5 * squares).exp()
    },
};

const LAWS: [(&Exact<'static>, Law); 3] = [(&LOGISTIC, logistic), (&GUMBEL, gumbel), (&BANANA, banana)];

/// Runs four transitions from exact draws of each distribution. Returns the chi-square statistic of each distribution.
fn departures(transition: &Transition) -> [f64; 3] {
    LAWS.map(|(exact, law)| {
        exact.departure(4000, |start, chain| {
            let mut sampler = bnnc_mcmc::samplers::sampler(&unadapted(transition, start, chain));
            draws(sampler.as_mut(), &mut Density(law), 4).remove(3).position
        })
    })
}

#[test]
fn known_distributions_are_invariant() {
    for step_size in [0.3, 1.2, 2.0] {
        let transition = nuts(fixed(step_size));
        for seen in departures(&transition) {
            assert!(seen < REFUSED, "{step_size}: {seen}");
        }
    }
}

/// Runs the same check on the recursive algorithm with a deliberate defect. Returns the largest chi-square statistic.
fn mistaken(mistake: Mistake) -> f64 {
    let departures = LAWS.map(|(exact, law)| {
        exact.departure(4000, |start, chain| {
            let (mut target, noise) = (Density(law), ChainNoise::new(5, "mistake", chain));
            let mut recursive = Recursive::new(&mut target, noise, 1.2, vec![1.0; start.len()]);
            recursive.mistake = mistake;
            (0..4).fold(start.to_vec(), |position, iteration| {
                recursive.transition(&position, iteration).position
            })
        })
    });
    departures.into_iter().fold(0.0, f64::max)
}

#[test]
fn mistakes_are_detected() {
    assert!(mistaken(Mistake::None) < REFUSED);
    assert!(mistaken(Mistake::NoChecksAcross) < REFUSED);
    for mistake in [Mistake::EqualWeights, Mistake::TurnedTaken, Mistake::MomentumKept] {
        let seen = mistaken(mistake);
        assert!(seen > 2.0 * REFUSED, "{mistake:?}: {seen}");
    }
}
