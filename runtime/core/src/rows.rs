//! The random order in which training visits rows.

use bnnc_math::philox;

/// Returns the key of the random numbers that shuffle the rows of an inference block.
pub fn key(seed: u64, infer: &str) -> u64 {
    philox::key(seed, &format!("shuffle/{infer}"))
}

/// Shuffles `order` for one epoch, by the algorithm of Fisher and Yates.
pub fn shuffle(order: &mut [u32], key: u64, epoch: usize) {
    let mut words = [0; 4];
    for last in (1..order.len()).rev() {
        let word = last % 4;
        // Each call of Philox returns four random numbers. These calls take most of the time of a
        // shuffle, so all four numbers are used.
        if word == 3 || last + 1 == order.len() {
            words = philox::words(key, [0, 0, epoch as u32], last as u64);
        }
        let uniform = philox::unit(words[word]);
        let other = ((uniform * (last + 1) as f64) as usize).min(last);
        order.swap(last, other);
    }
}

/// Chooses `count` elements at random, and moves them to the front of `order`. The choice depends only on
/// the key, the step and the order before the call.
pub fn choose(order: &mut [u32], count: usize, key: u64, step: u64) {
    let all = order.len();
    for at in 0..count.min(all) {
        let uniform = philox::uniform(key, [1, (step >> 32) as u32, step as u32], at as u64);
        let other = at + ((uniform * (all - at) as f64) as usize).min(all - at - 1);
        order.swap(at, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_row_and_epochs_differ() {
        let mut first: Vec<u32> = (0..100).collect();
        let mut second = first.clone();
        shuffle(&mut first, key(1, "a"), 0);
        shuffle(&mut second, key(1, "a"), 1);
        assert_ne!(first, second);
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..100));
    }

    /// The random numbers are computed in blocks of four. For different lengths, the shuffle begins
    /// at different places of a block.
    #[test]
    fn a_shuffle_swaps_each_row_with_a_row_before_it() {
        for count in 0..10 {
            let (mut order, mut expected): (Vec<u32>, Vec<u32>) =
                ((0..count).collect(), (0..count).collect());
            for last in (1..count as usize).rev() {
                let uniform = philox::uniform(key(3, "a"), [0, 0, 5], last as u64);
                expected.swap(last, (uniform * (last + 1) as f64) as usize);
            }
            shuffle(&mut order, key(3, "a"), 5);
            assert_eq!(order, expected);
        }
    }

    /// Each step chooses three of ten elements, so an element is chosen in 3 of 10 steps on average.
    /// The bound is five standard deviations of the binomial distribution of the number of choices.
    #[test]
    fn every_element_is_chosen_equally_often() {
        let mut order: Vec<u32> = (0..10).collect();
        let (steps, mut counts) = (20_000, [0.0; 10]);
        for step in 0..steps {
            choose(&mut order, 3, key(1, "a"), step);
            order[..3].iter().for_each(|at| counts[*at as usize] += 1.0);
        }
        let (mean, sd) = (0.3 * steps as f64, (0.21 * steps as f64).sqrt());
        assert!(
            counts.iter().all(|count: &f64| (count - mean).abs() < 5.0 * sd),
            "{counts:?}"
        );
    }
}
