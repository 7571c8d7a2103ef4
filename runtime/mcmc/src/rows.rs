//! Chooses the rows of batches at random. The choice depends on the iteration and the purpose, not on earlier choices.
//!
//! The rows of all shards are numbered consecutively, so that each shard is a contiguous range. Batches are chosen independently of each other.
//! Every shard contributes a fixed number of rows to a batch. All subsets of this size are equally likely, up to a relative error of `rows / 2^32`
//! that comes from the resolution of the uniform numbers.

use crate::noise::{ChainNoise, Purpose};

/// The rows of several batches, group after group. A group consists of the rows that one shard contributes to one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// The indices of the chosen rows.
    pub rows: Vec<u32>,
    /// The end of each group in `rows`. Groups are ordered by batch, then by shard. If a shard does not contribute rows, it does
    /// not have a group.
    pub ends: Vec<usize>,
}

/// The rows of a shard, and the number of rows that it contributes to each batch.
#[derive(Clone, Copy, Debug)]
struct Shard {
    /// The index of the shard's first row.
    first: u32,
    /// The number of rows in the shard.
    rows: usize,
    /// The number of rows that the shard contributes to a batch.
    count: usize,
}

/// Chooses the rows of batches. A chooser need not be saved, because its choices depend only on the arguments of its constructor, the noise, the
/// purpose and the iteration.
#[derive(Clone, Debug)]
pub struct Chooser {
    shards: Vec<Shard>,
    replacement: bool,
    /// The integers from 0 on, in increasing order except during a choice.
    order: Vec<u32>,
    /// The swaps of the current choice: element `i` is the position in `order` with which position `i` was swapped.
    swapped: Vec<u32>,
}

impl Chooser {
    /// Creates a chooser of batches with `counts[k]` rows of a shard with `shards[k]` rows. Without replacement, a shard contributes at most all of
    /// its rows. If a shard contributes all of its rows, these are in order. An empty shard contributes no rows.
    pub fn new(shards: &[usize], counts: &[usize], replacement: bool) -> Chooser {
        let mut first = 0;
        let mut given = Vec::with_capacity(shards.len());
        for (&rows, &count) in shards.iter().zip(counts) {
            let most = if replacement && rows > 0 { usize::MAX } else { rows };
            let count = count.min(most);
            if count > 0 {
                given.push(Shard {
                    first: first as u32,
                    rows,
                    count,
                });
            }
            first += rows;
        }
        let chosen = given
            .iter()
            .filter(|shard| !replacement && shard.count < shard.rows);
        let longest = chosen.clone().map(|shard| shard.rows).max().unwrap_or(0);
        let largest = chosen.map(|shard| shard.count).max().unwrap_or(0);
        Chooser {
            shards: given,
            replacement,
            order: (0..longest as u32).collect(),
            swapped: Vec::with_capacity(largest),
        }
    }

    /// Returns the number of rows in a batch.
    pub fn batch(&self) -> usize {
        self.shards.iter().map(|shard| shard.count).sum()
    }

    /// Returns two numbers for each group of a batch: the number of rows in its shard, and the number of rows that the shard contributes.
    pub fn shares(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.shards.iter().map(|shard| (shard.rows, shard.count))
    }

    /// Chooses the rows of `batches` batches, and writes them to `into`. The memory of `into` is
    /// reused.
    pub fn choose(
        &mut self,
        noise: ChainNoise,
        purpose: Purpose,
        iteration: u64,
        batches: usize,
        into: &mut Batches,
    ) {
        into.rows.clear();
        into.ends.clear();
        for _ in 0..batches {
            for at in 0..self.shards.len() {
                let offset = into.rows.len();
                let uniform = |element: usize| noise.uniform(purpose, iteration, offset + element);
                let shard = self.shards[at];
                if self.replacement {
                    let rows = (0..shard.count).map(|element| below(shard.rows, uniform(element)));
                    into.rows.extend(rows.map(|row| shard.first + row as u32));
                } else if shard.count == shard.rows {
                    into.rows.extend(shard.first..shard.first + shard.rows as u32);
                } else {
                    self.subset(shard, uniform, &mut into.rows);
                }
                into.ends.push(into.rows.len());
            }
        }
    }

    /// Chooses a random subset by the first swaps of a shuffle. The swaps are then undone, so that the cost is proportional to the size of the
    /// subset.
    fn subset(&mut self, shard: Shard, uniform: impl Fn(usize) -> f64, rows: &mut Vec<u32>) {
        self.swapped.clear();
        for at in 0..shard.count {
            let other = at + below(shard.rows - at, uniform(at));
            self.order.swap(at, other);
            self.swapped.push(other as u32);
            rows.push(shard.first + self.order[at]);
        }
        for (at, &other) in self.swapped.iter().enumerate().rev() {
            self.order.swap(at, other as usize);
        }
    }
}

/// The rows for estimating a gradient. The rows are chosen from all shards together, as if these were a single shard. If each shard contributed a
/// fixed number of rows, these numbers would have to be rounded, and the gradient times [`GradientRows::factor`] would be a biased estimate of the
/// gradient over all rows.
#[derive(Clone, Debug)]
pub struct GradientRows {
    /// The chooser of the rows; `None` if all rows are used.
    chooser: Option<Chooser>,
    chosen: Batches,
    all: usize,
}

impl GradientRows {
    /// Creates the chooser of `batch` rows out of `all`, without replacement. If `batch` is 0 or at least `all`, all rows are used.
    pub fn new(batch: usize, all: usize) -> GradientRows {
        let chooser = (batch > 0 && batch < all).then(|| Chooser::new(&[all], &[batch], false));
        GradientRows {
            chooser,
            chosen: Batches::default(),
            all,
        }
    }

    /// Chooses the rows of an iteration.
    pub fn choose(&mut self, noise: ChainNoise, iteration: u64) {
        if let Some(chooser) = &mut self.chooser {
            chooser.choose(noise, Purpose::GradientRows, iteration, 1, &mut self.chosen);
        }
    }

    /// Returns the chosen rows; `None` if all rows are used.
    pub fn rows(&self) -> Option<&[u32]> {
        self.chooser.is_some().then_some(&self.chosen.rows[..])
    }

    /// Returns the number of rows that are used to estimate the gradient.
    pub fn count(&self) -> usize {
        self.chooser.as_ref().map_or(self.all, Chooser::batch)
    }

    /// Returns the number of all rows divided by the number of rows that are used to estimate the
    /// gradient.
    pub fn factor(&self) -> f64 {
        if self.chooser.is_some() {
            self.all as f64 / self.count() as f64
        } else {
            1.0
        }
    }
}

/// Maps a uniform number in (0, 1) to an integer between 0 and `count - 1`.
fn below(count: usize, uniform: f64) -> usize {
    ((uniform * count as f64) as usize).min(count - 1)
}

/// Returns how many rows each shard contributes to a batch of `batch` rows. The numbers are proportional to the sizes of the shards, and are
/// rounded by
/// the method of largest remainders. If remainders are equal, the earlier shard is rounded up. Every shard that is not empty contributes at least
/// one row. If more than `batch` shards are not empty, the result is therefore a larger batch. If `batch` is 0 or at least the number of all rows,
/// the batch has all rows.
pub fn split(batch: usize, shards: &[usize]) -> Vec<usize> {
    let all: usize = shards.iter().sum();
    if batch == 0 || batch >= all {
        return shards.to_vec();
    }
    let share = |rows: usize| batch as u128 * rows as u128;
    let mut counts: Vec<usize> = shards
        .iter()
        .map(|&rows| (share(rows) / all as u128) as usize)
        .collect();
    let mut order: Vec<usize> = (0..shards.len()).collect();
    order.sort_by_key(|&shard| std::cmp::Reverse(share(shards[shard]) % all as u128));
    let left = batch - counts.iter().sum::<usize>();
    for &shard in &order[..left] {
        counts[shard] += 1;
    }
    lift(&mut counts, shards);
    counts
}

/// Gives one row to each shard that contributes no rows, unless the shard is empty. The row is taken from the shard with the largest
/// contribution, if that shard contributes more than one row.
fn lift(counts: &mut [usize], shards: &[usize]) {
    for shard in 0..counts.len() {
        if counts[shard] == 0 && shards[shard] > 0 {
            counts[shard] = 1;
            // Several shards may have the largest contribution. In this case, the last of them loses a row, because it was the last to be rounded
            // up.
            if let Some(largest) = counts.iter_mut().max().filter(|count| **count > 1) {
                *largest -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: fn() -> ChainNoise = || ChainNoise::new(11, "rows", 0);

    fn chosen(chooser: &mut Chooser, iteration: u64, batches: usize) -> Batches {
        let mut into = Batches::default();
        chooser.choose(NOISE(), Purpose::Rows, iteration, batches, &mut into);
        into
    }

    #[test]
    fn splits_by_largest_remainders() {
        assert_eq!(split(10, &[50, 30, 20]), [5, 3, 2]);
        // The exact contributions are 3.5, 2.1 and 1.4. The remaining row goes to the first shard.
        assert_eq!(split(7, &[50, 30, 20]), [4, 2, 1]);
        // The exact contributions are 4.95, 0.05 and 0. The second shard receives a row from the first shard, and the third shard is empty.
        assert_eq!(split(5, &[99, 1, 0]), [4, 1, 0]);
        assert_eq!(split(2, &[9, 9, 9, 9]), [1, 1, 1, 1]);
        assert_eq!(split(0, &[3, 4]), [3, 4]);
        assert_eq!(split(8, &[3, 4]), [3, 4]);
        assert_eq!(split(5, &[]), [] as [usize; 0]);
    }

    #[test]
    fn shards_contribute_at_most_their_rows() {
        for batch in 1..40 {
            for shards in [[1, 1, 37], [13, 13, 13], [1, 19, 19], [0, 1, 38]] {
                let counts = split(batch, &shards);
                assert!(counts.iter().zip(&shards).all(|(count, rows)| count <= rows));
                let givers = shards.iter().filter(|rows| **rows > 0).count();
                assert_eq!(counts.iter().sum::<usize>(), batch.max(givers));
            }
        }
    }

    #[test]
    fn groups_are_subsets_of_their_shards() {
        let mut chooser = Chooser::new(&[10, 0, 7, 4], &[3, 0, 2, 4], false);
        assert_eq!((chooser.batch(), chooser.shares().count()), (9, 3));
        let ranges = [0..10, 10..17, 17..21];
        for iteration in 0..50 {
            let batches = chosen(&mut chooser, iteration, 2);
            assert_eq!(batches.ends, [3, 5, 9, 12, 14, 18]);
            let starts = std::iter::once(0).chain(batches.ends.iter().copied());
            for (group, (start, &end)) in starts.zip(&batches.ends).enumerate() {
                let mut rows = batches.rows[start..end].to_vec();
                assert!(rows.iter().all(|row| ranges[group % 3].contains(row)));
                rows.sort_unstable();
                rows.dedup();
                assert_eq!(rows.len(), end - start);
            }
            assert_eq!(batches.rows[5..9], [17, 18, 19, 20]);
        }
    }

    /// The same iteration always gives the same rows, because earlier choices do not affect the
    /// choice.
    #[test]
    fn choices_do_not_depend_on_earlier_ones() {
        let mut chooser = Chooser::new(&[10, 7], &[4, 3], false);
        let before = chosen(&mut chooser, 5, 3);
        for iteration in 0..20 {
            chosen(&mut chooser, iteration, 1 + iteration as usize % 4);
        }
        assert_eq!(chosen(&mut chooser, 5, 3), before);
        assert_eq!(chosen(&mut Chooser::new(&[10, 7], &[4, 3], false), 5, 3), before);
        assert_ne!(chosen(&mut chooser, 6, 3), before);
    }

    /// Returns whether a binomial frequency is within five standard deviations of its mean.
    fn close(seen: usize, times: usize, probability: f64) -> bool {
        let mean = times as f64 * probability;
        let variance = times as f64 * probability * (1.0 - probability);
        (seen as f64 - mean).abs() <= 5.0 * variance.sqrt()
    }

    /// A row is in a batch with the probability `count / rows`. A pair of rows is in a batch with the probability
    /// `count (count - 1) / (rows (rows - 1))`. Different batches are independent: the probability that one row is in the first batch and another
    /// row in the second is the product of their probabilities.
    #[test]
    fn rows_and_pairs_are_equally_likely() {
        let (times, mut chooser) = (20_000, Chooser::new(&[2, 6], &[1, 3], false));
        let (mut single, mut pair, mut across) = ([0; 8], [[0; 6]; 6], [[0; 6]; 6]);
        for iteration in 0..times {
            let batches = chosen(&mut chooser, iteration as u64, 2);
            batches.rows[..4]
                .iter()
                .for_each(|row| single[*row as usize] += 1);
            for one in &batches.rows[1..4] {
                for (counts, others) in [
                    (&mut pair, &batches.rows[1..4]),
                    (&mut across, &batches.rows[5..8]),
                ] {
                    for other in others {
                        counts[*one as usize - 2][*other as usize - 2] += 1;
                    }
                }
            }
        }
        assert!(single.iter().all(|seen| close(*seen, times, 0.5)));
        for one in 0..6 {
            for other in 0..6 {
                assert!(one == other || close(pair[one][other], times, 3.0 * 2.0 / (6.0 * 5.0)));
                assert!(close(across[one][other], times, 0.25));
            }
        }
    }

    #[test]
    fn gradient_rows_are_chosen_from_all_rows() {
        let mut some = GradientRows::new(4, 10);
        some.choose(NOISE(), 3);
        assert_eq!(
            (some.rows().map(<[u32]>::len), some.count(), some.factor()),
            (Some(4), 4, 2.5)
        );
        let mut purposes = Chooser::new(&[10], &[4], false);
        assert_ne!(some.rows(), Some(&chosen(&mut purposes, 3, 1).rows[..]));
        for batch in [0, 10, 11] {
            let all = GradientRows::new(batch, 10);
            assert_eq!((all.rows(), all.count(), all.factor()), (None, 10, 1.0));
        }
    }

    /// With replacement, all sequences of rows are equally likely to be chosen.
    #[test]
    fn sequences_with_replacement_are_equally_likely() {
        let (times, mut chooser) = (20_000, Chooser::new(&[1, 3], &[1, 2], true));
        let mut seen = [[0; 3]; 3];
        for iteration in 0..times {
            let batches = chosen(&mut chooser, iteration as u64, 1);
            assert_eq!((batches.rows[0], &batches.ends[..]), (0, &[1, 3][..]));
            seen[batches.rows[1] as usize - 1][batches.rows[2] as usize - 1] += 1;
        }
        assert!(seen.iter().flatten().all(|seen| close(*seen, times, 1.0 / 9.0)));
    }
}
