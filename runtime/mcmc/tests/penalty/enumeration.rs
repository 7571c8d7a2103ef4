//! Tests that enumerate all possible batches, in order to compute the exact mean of the estimates.

use crate::linear::{Law, Line, eight};
use bnnc_abi::methods::sampling::samplers::penalty::{Correction, Estimator, Loss, Penalty, Proposal};
use bnnc_mcmc::samplers::penalty::estimate::{Losses, NoisyDifference, mean};
use bnnc_mcmc::samplers::penalty::report::target;

fn options(batch: usize, batches: usize, loss: Loss) -> Penalty {
    Penalty {
        batch,
        batches,
        loss,
        estimator: Estimator::Mean,
        correction: Correction::Plain,
        proposal: Proposal::RandomWalk { step: 0.1 },
        gradient_batch: 0,
        replacement: false,
    }
}

/// Returns all subsets of the integers `first..end` that have `count` elements.
fn subsets(first: u32, end: u32, count: usize) -> Vec<Vec<u32>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with_lowest = |lowest: u32| {
        let rest = subsets(lowest + 1, end, count - 1);
        rest.into_iter().map(move |rest| [vec![lowest], rest].concat())
    };
    (first..end).flat_map(with_lowest).collect()
}

/// Returns all possible batches that contain `counts[k]` rows of each shard `k`. A batch has one group per shard.
fn batches(shards: &[usize], counts: &[usize]) -> Vec<Vec<Vec<u32>>> {
    let (mut all, mut first) = (vec![Vec::new()], 0);
    for (&rows, &count) in shards.iter().zip(counts) {
        let end = first + rows as u32;
        let of_shard = subsets(first, end, count);
        all = all
            .iter()
            .flat_map(|batch| {
                of_shard
                    .iter()
                    .map(|group| [batch.clone(), vec![group.clone()]].concat())
            })
            .collect();
        first = end;
    }
    all
}

/// Returns the estimate that is computed from these batches.
fn estimate(
    losses: &mut Losses,
    line: &Line,
    batches: &[&Vec<Vec<u32>>],
    from: &[f64],
    to: &[f64],
) -> NoisyDifference {
    let groups = batches.iter().flat_map(|batch| batch.iter());
    let sums: Vec<f64> = groups.map(|rows| line.change(rows, from, to)).collect();
    losses.estimate(line.prior(to) - line.prior(from), &sums)
}

/// Computes the mean of the estimated differences over all batches. Returns the normal distribution whose log density has these differences;
/// five points determine it.
fn enumerated(losses: &mut Losses, line: &Line, all: &[Vec<Vec<u32>>]) -> Law {
    let mut change = |to: [f64; 2]| {
        let sum: f64 = all
            .iter()
            .map(|batch| -estimate(losses, line, &[batch], &[0.0, 0.0], &to).difference)
            .sum();
        sum / all.len() as f64
    };
    let (right, left) = (change([1.0, 0.0]), change([-1.0, 0.0]));
    let (up, down) = (change([0.0, 1.0]), change([0.0, -1.0]));
    let both = change([1.0, 1.0]);
    Law::of_form(
        [(right - left) / 2.0, (up - down) / 2.0],
        [-(right + left), -(both - right - up), -(up + down)],
    )
}

fn assert_law(law: &Law, [a, b, aa, ab, bb]: [f64; 5]) {
    let got = [
        law.mean[0],
        law.mean[1],
        law.variance[0],
        law.covariance,
        law.variance[1],
    ];
    for (got, want) in got.iter().zip([a, b, aa, ab, bb]) {
        assert!((got - want).abs() < 6e-9, "{law:?}");
    }
}

const FULL: [f64; 5] = [0.21480489, 0.77863725, 0.01138104, -0.00159433, 0.00992162];
const TEMPERED: [f64; 5] = [0.21121462, 0.75711215, 0.04399345, -0.00598864, 0.03851154];

/// The mean of the estimates over all 28 batches of two rows is a difference of log densities. These are the log densities of the posterior
/// tempered by 2/8, or of the ordinary posterior if the loss is scaled to all rows.
#[test]
fn mean_over_all_batches_is_the_stated_target() {
    let line = eight();
    assert_law(&line.posterior(1.0), FULL);
    assert_law(&line.posterior(0.25), TEMPERED);
    let all = batches(&[8], &[2]);
    assert_eq!(all.len(), 28);
    let law = |loss| enumerated(&mut Losses::new(&options(2, 3, loss), &[8], 1.0), &line, &all);
    assert_law(&law(Loss::Batch), TEMPERED);
    assert_law(&law(Loss::Data), FULL);
    assert_eq!(
        target(&options(2, 3, Loss::Batch), 8, 1.0),
        "the posterior tempered by 2/8 (temperature 4)"
    );
    assert_eq!(
        target(&options(2, 3, Loss::Data), 8, 1.0),
        "the ordinary posterior"
    );
    // A temperature of 4 is equivalent to the tempering by a batch of 2 out of 8 rows.
    let cold = enumerated(
        &mut Losses::new(&options(2, 3, Loss::Data), &[8], 4.0),
        &line,
        &all,
    );
    assert_law(&cold, TEMPERED);
    assert_eq!(
        target(&options(2, 3, Loss::Data), 8, 4.0),
        "the posterior at temperature 4"
    );
    assert_eq!(
        target(&options(2, 3, Loss::Batch), 8, 0.5),
        "the posterior tempered by 2/8 at temperature 0.5 (temperature 2 in all)"
    );
    let naive = |batch| Penalty {
        correction: Correction::Naive,
        ..options(batch, 1, Loss::Batch)
    };
    assert_eq!(
        target(&naive(2), 8, 1.0),
        "a wider distribution than the posterior tempered by 2/8 (temperature 4), because nothing corrects for the noise of batches"
    );
    assert_eq!(target(&naive(8), 8, 1.0), "the ordinary posterior");
    // The division of 41 by 5, computed as a product with a reciprocal, gives 8.200000000000001.
    assert_eq!(
        target(&options(5, 3, Loss::Batch), 41, 1.0),
        "the posterior tempered by 5/41 (temperature 8.2)"
    );
}

/// If a batch contains all rows, only one batch is used, even if the options give a larger number of batches. For both losses, the estimated
/// difference is exact, and its variance is 0.
#[test]
fn batches_of_all_rows_are_exact() {
    let line = eight();
    let all = batches(&[8], &[8]);
    for (batch, loss) in [(0, Loss::Batch), (8, Loss::Batch), (9, Loss::Data)] {
        for estimator in [Estimator::Mean, Estimator::Single] {
            let options = Penalty {
                estimator,
                replacement: true,
                ..options(batch, 5, loss)
            };
            let mut losses = Losses::new(&options, &[8], 1.0);
            let noise = bnnc_mcmc::noise::ChainNoise::new(1, "x", 0);
            assert_eq!(losses.choose(noise, 3).rows, [0, 1, 2, 3, 4, 5, 6, 7]);
            assert_law(&enumerated(&mut losses, &line, &all), FULL);
            let one = estimate(&mut losses, &line, &[&all[0]], &[0.1, 0.9], &[0.3, 0.7]);
            assert_eq!((one.variance, one.penalty), (0.0, 0.0));
            assert_eq!(target(&options, 8, 1.0), "the ordinary posterior");
        }
    }
}

/// For one step from (0.1, 0.9) to (0.3, 0.7), the estimates agree with the published estimates.
#[test]
fn estimates_of_one_step_agree_with_published_ones() {
    let (line, from, to) = (eight(), [0.1, 0.9], [0.3, 0.7]);
    let mut losses = Losses::new(&options(2, 3, Loss::Data), &[8], 1.0);
    let each: Vec<f64> = batches(&[8], &[2])
        .iter()
        .map(|batch| estimate(&mut losses, &line, &[batch], &from, &to).difference)
        .collect();
    let mean_of = each.iter().sum::<f64>() / 28.0;
    let variance = each.iter().map(|one| (one - mean_of).powi(2)).sum::<f64>() / 28.0;
    assert!((mean_of + 0.60222222).abs() < 5e-9);
    assert!((variance - 5.41424550).abs() < 5e-9);
    // The three batches do not share rows. Each batch has a different loss.
    let disjoint = [vec![vec![0, 1]], vec![vec![2, 3]], vec![vec![4, 5]]];
    let mut losses = Losses::new(&options(2, 3, Loss::Batch), &[8], 1.0);
    for (batch, want) in disjoint.iter().zip([0.21333333, -0.91555556, -0.05111111]) {
        let one = estimate(&mut losses, &line, &[batch], &from, &to);
        assert!((one.difference - want).abs() < 6e-9, "{one:?}");
    }
    let [first, second, third] = &disjoint;
    let three = estimate(&mut losses, &line, &[first, second, third], &from, &to);
    assert!((three.difference + 0.25111111).abs() < 6e-9);
    assert!((three.variance - 0.11619918).abs() < 6e-9);
    assert_eq!(three.penalty, three.variance / 2.0);
}

/// Cases for the tests of shards: the number of rows of each file, the size of a batch, and the number of rows that each file contributes to
/// the batch.
const SHARDS: [(&[usize], usize, &[usize]); 4] = [
    (&[3, 5], 2, &[1, 1]),
    (&[2, 6], 3, &[1, 2]),
    (&[6, 2], 3, &[2, 1]),
    (&[1, 4, 3], 3, &[1, 1, 1]),
];

/// The target does not depend on the distribution of the rows over files.
#[test]
fn target_does_not_depend_on_files() {
    let line = eight();
    for (shards, batch, counts) in SHARDS {
        let all = batches(shards, counts);
        for (loss, power) in [(Loss::Batch, batch as f64 / 8.0), (Loss::Data, 1.0)] {
            let mut losses = Losses::new(&options(batch, 3, loss), shards, 1.0);
            let noise = bnnc_mcmc::noise::ChainNoise::new(1, "x", 0);
            let chosen = losses.choose(noise, 0);
            assert_eq!(chosen.ends.len(), 3 * shards.len());
            assert!(
                chosen
                    .ends
                    .iter()
                    .zip(counts)
                    .scan(0, |start, (end, count)| {
                        let took = end - *start;
                        *start = *end;
                        Some(took == *count)
                    })
                    .all(|right| right)
            );
            let law = enumerated(&mut losses, &line, &all);
            let want = line.posterior(power);
            let [mean, variance] = [want.mean, want.variance];
            assert_law(
                &law,
                [mean[0], mean[1], variance[0], want.covariance, variance[1]],
            );
        }
    }
}

/// The mean of the estimated variance over all pairs of batches equals the variance of the estimated difference. The test covers one file and
/// several files.
#[test]
fn estimated_variances_are_unbiased() {
    let (line, from, to) = (eight(), [0.1, 0.9], [0.3, 0.7]);
    let one_file: (&[usize], usize, &[usize]) = (&[8], 2, &[2]);
    for (shards, batch, counts) in SHARDS.into_iter().chain([one_file]) {
        for estimator in [Estimator::Mean, Estimator::Single] {
            let options = Penalty {
                estimator,
                ..options(batch, 2, Loss::Data)
            };
            let mut losses = Losses::new(&options, shards, 1.0);
            let all = batches(shards, counts);
            let (mut sum, mut squares, mut variances, mut times) = (0.0, 0.0, 0.0, 0.0);
            for (at, one) in all.iter().enumerate() {
                for other in &all {
                    // The single estimate is computed from a separate batch, which does not affect the mean of the estimated variance.
                    let used = match estimator {
                        Estimator::Mean => vec![one, other],
                        Estimator::Single => vec![&all[(7 * at + 3) % all.len()], one, other],
                    };
                    let got = estimate(&mut losses, &line, &used, &from, &to);
                    sum += got.difference;
                    squares += got.difference * got.difference;
                    variances += got.variance;
                    times += 1.0;
                }
            }
            let variance = match estimator {
                Estimator::Mean => squares / times - (sum / times).powi(2),
                Estimator::Single => {
                    let each: Vec<f64> = all
                        .iter()
                        .map(|batch| estimate(&mut losses, &line, &[batch], &from, &to).difference)
                        .collect();
                    let centre = each.iter().sum::<f64>() / each.len() as f64;
                    each.iter().map(|one| (one - centre).powi(2)).sum::<f64>() / each.len() as f64
                }
            };
            assert!(variance > 0.1 && (variances / times - variance).abs() < 1e-9 * variance);
        }
    }
}

/// If all differences are equal, or if there is only one, their variance is 0, which is a valid variance.
#[test]
fn variances_of_equal_or_single_differences_are_zero() {
    assert_eq!(mean(&[0.7, 0.7]), (0.7, 0.0));
    assert_eq!(mean(&[0.7]), (0.7, 0.0));
}
