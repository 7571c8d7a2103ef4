//! Chains of the penalty method sample the distributions that their reports describe.

use crate::linear::{Law, Line, eight};
use bnnc_abi::methods::sampling::Transition;
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Estimator, Loss, Penalty, Proposal};
use bnnc_mcmc::noise::ChainNoise;
use bnnc_mcmc::samplers::penalty::STATS;
use bnnc_mcmc::samplers::sampler;
use bnnc_mcmc::seam::{Answers, Corrupt, Sampler, Target, next};
use bnnc_mcmc::setup::Setup;

/// A summary of all draws of a run. A draw whose density could not be computed is treated as rejected, and its variance is ignored.
#[derive(Default)]
struct PenaltySummary {
    draws: u64,
    accepted: f64,
    computed: u64,
    variance: f64,
}

impl PenaltySummary {
    /// Adds a draw. Its statistics are in the order of [`STATS`].
    fn take(&mut self, stats: &[f64]) {
        let [_, accepted, _, variance, diverging, _] = stats else {
            unreachable!("{} numbers come with a draw", STATS.len())
        };
        self.draws += 1;
        self.accepted += accepted;
        if *diverging == 0.0 {
            self.computed += 1;
            self.variance += variance;
        }
    }

    /// Returns the fraction of proposals that were accepted.
    fn acceptance(&self) -> f64 {
        self.accepted / self.draws as f64
    }

    /// Returns the mean of the estimated variances of the loss difference.
    fn mean_delta_variance(&self) -> f64 {
        self.variance / self.computed as f64
    }
}

fn walk(batch: usize, batches: usize, step: f64) -> Penalty {
    Penalty {
        batch,
        batches,
        loss: Loss::Batch,
        estimator: Estimator::Mean,
        correction: Correction::Plain,
        proposal: Proposal::RandomWalk { step },
        gradient_batch: 0,
        replacement: false,
    }
}

/// Returns 2000 points on a line, in increasing order of `x`. The files therefore differ if each one holds consecutive rows.
fn many() -> Line {
    let noise = ChainNoise::new(5, "line", 0);
    let mut errors = vec![0.0; 2000];
    noise.normals(bnnc_mcmc::noise::Purpose::Start, 0, &mut errors);
    let x: Vec<f64> = (0..2000).map(|row| f64::from(row) / 1000.0 - 1.0).collect();
    let y = x
        .iter()
        .zip(&errors)
        .map(|(x, error)| 0.4 - 0.7 * x + 0.5 * error);
    Line {
        y: y.collect(),
        x,
        noise: 0.5,
    }
}

fn chain(options: Penalty, start: &[f64], shards: &[usize], seed: u64) -> Box<dyn Sampler> {
    sampler(&Setup {
        transition: &Transition::Penalty(options),
        start,
        shards,
        warmup: 100,
        draws: 0,
        temperature: 1.0,
        noise: ChainNoise::new(seed, "penalty", 0),
    })
}

/// Returns the draws after the warm-up, with one vector per coordinate, and the summary of these draws.
fn draws(
    sampler: &mut dyn Sampler,
    target: &mut dyn Target,
    count: usize,
) -> ([Vec<f64>; 2], PenaltySummary) {
    let (mut kept, mut summary, mut answers) = (
        [Vec::new(), Vec::new()],
        PenaltySummary::default(),
        Answers::default(),
    );
    while kept[0].len() < count {
        next(sampler, target, &mut answers, |draw| {
            if !draw.warmup {
                summary.take(draw.stats);
                for (into, value) in kept.iter_mut().zip(draw.position) {
                    into.push(*value);
                }
            }
        });
    }
    (kept, summary)
}

fn moment(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the effective sample size for the mean of a series, estimated from the means of 200 long batches.
fn effective(values: &[f64]) -> f64 {
    let (mean, length) = (moment(values), values.len() / 200);
    let variance = moment(
        &values
            .iter()
            .map(|value| (value - mean).powi(2))
            .collect::<Vec<_>>(),
    );
    let of_means: Vec<f64> = values
        .chunks_exact(length)
        .map(|batch| (moment(batch) - mean).powi(2))
        .collect();
    variance / (length as f64 * moment(&of_means)) * values.len() as f64
}

/// Returns two numbers. The first number is the root mean squared deviation of the draws from `mean`, divided by the square root of `variance`. The
/// second number is the effective sample size of the squared deviations.
fn ratio(values: &[f64], mean: f64, variance: f64) -> (f64, f64) {
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    ((moment(&squares) / variance).sqrt(), effective(&squares))
}

/// Checks that means and standard deviations of draws agree with a distribution. The tolerance is `z` standard errors plus a relative error of
/// `bias`.
fn assert_samples(draws: &[Vec<f64>; 2], law: &Law, z: f64, bias: f64) {
    for (at, values) in draws.iter().enumerate() {
        let deviation = law.variance[at].sqrt();
        let error = z * deviation / effective(values).sqrt() + bias * deviation;
        let mean = moment(values);
        assert!(
            (mean - law.mean[at]).abs() < error,
            "mean {mean} of {}, error {error}",
            law.mean[at]
        );
        let (ratio, squares) = ratio(values, law.mean[at], law.variance[at]);
        let error = z * (0.5 / squares).sqrt() + bias;
        assert!(
            (ratio - 1.0).abs() < error,
            "ratio {ratio}, error {error}, effective {squares}"
        );
    }
}

/// In each iteration, 5 batches of 5 rows are chosen from 2000 rows. With this step size, the mean variance of the loss difference is 0.8 to 1. The
/// test divides the standard deviation of the draws by the standard deviation of the tempered posterior. This ratio must be 0.98 to 1.035 with the
/// plain penalty, 0.98 to 1.03 with the corrected penalty, and 1.07 to 1.12 without a penalty. The bounds leave room for more than three standard
/// errors of the ratio.
#[test]
fn corrected_batches_sample_the_tempered_posterior() {
    let mut line = many();
    let law = line.posterior(5.0 / 2000.0);
    for (correction, bound) in [
        (Correction::Plain, 0.98..1.035),
        (Correction::Corrected, 0.98..1.03),
        (Correction::Naive, 1.07..1.12),
    ] {
        let options = Penalty {
            correction,
            ..walk(5, 5, 0.06)
        };
        let mut chain = chain(options, &law.mean, &[2000], 3);
        let (draws, summary) = draws(chain.as_mut(), &mut line, 260_000);
        let variance = summary.mean_delta_variance();
        let acceptance = summary.acceptance();
        println!("{correction:?}: acceptance {acceptance:.3}, mean variance {variance:.3}");
        assert!((0.8..1.0).contains(&variance));
        for (at, values) in draws.iter().enumerate() {
            let (ratio, squares) = ratio(values, law.mean[at], law.variance[at]);
            println!("  ratio {ratio:.4}, effective squares {squares:.0}");
            assert!(
                squares >= 20_000.0 && bound.contains(&ratio),
                "{correction:?}: {ratio}, {squares}"
            );
        }
    }
}

/// Three files with 1500, 300 and 200 rows contribute 3, 1 and 1 rows to every batch. The rows of different files have different distributions. If
/// all rows of a batch had the same weight, the second and third file together would have a weight of 2/5 instead of a quarter.
#[test]
fn several_files_sample_the_target_of_one_file() {
    let mut line = many();
    line.y[1500..].iter_mut().for_each(|y| *y += 2.0);
    let law = line.posterior(5.0 / 2000.0);
    let options = Penalty {
        correction: Correction::Corrected,
        ..walk(5, 20, 0.06)
    };
    let mut one = chain(options, &[0.0, 0.0], &[1500, 300, 200], 4);
    let (draws, _) = draws(one.as_mut(), &mut line, 60_000);
    assert_samples(&draws, &law, 4.0, 0.03);
}

/// If a batch contains all rows, the chain is exact with both kinds of proposal. The Langevin step is long: without the acceptance step, the variance
/// would be too large by the fraction `1 / (1 - eta / (2 variance)) - 1`, which is more than a third here.
#[test]
fn all_rows_sample_the_posterior() {
    let mut line = eight();
    let law = line.posterior(1.0);
    for proposal in [
        Proposal::RandomWalk { step: 0.01 },
        Proposal::Langevin { step: 0.006 },
    ] {
        let options = Penalty {
            proposal,
            ..walk(0, 1, 1.0)
        };
        let mut one = chain(options, &[0.0, 0.0], &[3, 5], 5);
        let (draws, summary) = draws(one.as_mut(), &mut line, 60_000);
        assert_eq!(summary.mean_delta_variance(), 0.0);
        assert_samples(&draws, &law, 4.0, 0.0);
    }
}

/// Langevin proposals use gradients of batches. The first chain uses one of the two losses and one of the two estimators, and the second chain uses
/// the others. Without the acceptance step, the standard deviation of the first chain would be more than 1.2 times the correct value.
#[test]
fn langevin_proposals_from_batches_sample_the_target() {
    let mut line = many();
    let tempered = Penalty {
        proposal: Proposal::Langevin { step: 0.03 },
        correction: Correction::Corrected,
        gradient_batch: 20,
        ..walk(5, 20, 1.0)
    };
    let mut one = chain(tempered, &[0.0, 0.0], &[2000], 6);
    let (kept, _) = draws(one.as_mut(), &mut line, 60_000);
    assert_samples(&kept, &line.posterior(5.0 / 2000.0), 4.0, 0.015);
    let ordinary = Penalty {
        loss: Loss::Data,
        proposal: Proposal::Langevin { step: 2e-5 },
        estimator: Estimator::Single,
        correction: Correction::Corrected,
        gradient_batch: 0,
        replacement: true,
        ..walk(400, 8, 1.0)
    };
    let law = line.posterior(1.0);
    let mut one = chain(ordinary, &law.mean, &[2000], 7);
    let (kept, _) = draws(one.as_mut(), &mut line, 20_000);
    assert_samples(&kept, &law, 4.0, 0.02);
}

/// A restored chain continues with the same draws. Bytes from a chain with a different dimension are rejected.
#[test]
fn restored_chains_continue_bit_for_bit() {
    let mut line = many();
    let options = Penalty {
        proposal: Proposal::Langevin { step: 0.03 },
        ..walk(5, 5, 1.0)
    };
    let make = || chain(options, &[0.1, 0.2], &[1200, 800], 8);
    let mut first = make();
    draws(first.as_mut(), &mut line, 40);
    let saved = first.save();
    let (after, _) = draws(first.as_mut(), &mut line, 60);
    let mut second = make();
    draws(second.as_mut(), &mut line, 7);
    second.restore(&saved).unwrap();
    assert_eq!(second.save(), saved);
    assert_eq!(draws(second.as_mut(), &mut line, 60).0, after);
    let other = chain(options, &[0.1], &[2000], 8).save();
    for bytes in [
        &[][..],
        &saved[..saved.len() - 1],
        &[&saved[..], &[0]].concat(),
        &other,
    ] {
        assert_eq!(second.restore(bytes), Err(Corrupt));
    }
}

/// A standard normal distribution truncated to positive values. At negative positions, the density and the gradient are not finite.
struct Half(f64);

impl Target for Half {
    fn gradient(&mut self, at: &[f64], _: Option<&[u32]>, _: f64, gradient: &mut [f64]) -> f64 {
        gradient[0] = if at[0] < 0.0 { self.0 } else { -at[0] };
        self.value(at, None, 1.0)
    }

    fn value(&mut self, at: &[f64], _: Option<&[u32]>, _: f64) -> f64 {
        if at[0] < 0.0 { self.0 } else { -0.5 * at[0] * at[0] }
    }

    fn differences(&mut self, from: &[f64], to: &[f64], _: &[u32], _: &[usize], sums: &mut [f64]) -> f64 {
        sums.fill(0.0);
        self.value(to, None, 1.0) - self.value(from, None, 1.0)
    }
}

/// Proposals are rejected if the density cannot be computed there, and the statistics of the draw stay finite.
#[test]
fn proposals_that_are_not_finite_are_rejected() {
    for fault in [f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        for proposal in [
            Proposal::RandomWalk { step: 0.5 },
            Proposal::Langevin { step: 0.5 },
        ] {
            let options = Penalty {
                proposal,
                ..walk(2, 3, 1.0)
            };
            let mut one = chain(options, &[1.0], &[9], 9);
            let (mut answers, mut values, mut diverged) = (Answers::default(), Vec::new(), 0);
            for _ in 0..20_000 {
                next(one.as_mut(), &mut Half(fault), &mut answers, |draw| {
                    assert!(draw.position[0] >= 0.0 && draw.stats.iter().all(|value| value.is_finite()));
                    assert!(draw.stats[4] == 0.0 || draw.stats[0] == 0.0);
                    diverged += draw.stats[4] as usize;
                    values.push(draw.position[0]);
                });
            }
            assert!(diverged > 1000);
            let error = 4.0 * (1.0 - 2.0 / std::f64::consts::PI).sqrt() / effective(&values).sqrt();
            assert!((moment(&values) - (2.0 / std::f64::consts::PI).sqrt()).abs() < error);
        }
    }
}

/// A draw has one statistic per name, and a flag that marks draws of the warm-up.
#[test]
fn draws_have_their_statistics() {
    let (mut line, mut answers) = (many(), Answers::default());
    let mut one = chain(walk(5, 5, 0.06), &[0.4, -0.7], &[2000], 10);
    let number = |name: &str, of: &dyn Sampler| of.stats().iter().position(|stat| *stat == name).unwrap();
    let names = [
        "acceptance_rate",
        "accepted",
        "delta",
        "delta_variance",
        "step_size",
    ];
    let places = names.map(|name| number(name, one.as_ref()));
    let mut before = vec![0.4, -0.7];
    for iteration in 0..200 {
        let (warmup, position, stats) = next(one.as_mut(), &mut line, &mut answers, |draw| {
            (draw.warmup, draw.position.to_vec(), draw.stats.to_vec())
        });
        assert_eq!(warmup, iteration < 100);
        let [rate, accepted, delta, variance, step] = places.map(|place| stats[place]);
        assert_eq!(rate, (-delta - 0.5 * variance).min(0.0).exp());
        assert_eq!(accepted == 1.0, position != before);
        assert_eq!(step, 0.06);
        before = position;
    }
}
