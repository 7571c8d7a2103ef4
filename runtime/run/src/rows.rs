//! The order in which rows are visited.

use bnnc_base::philox;

/// The key of the random numbers that shuffle the rows of an infer.
pub fn key(seed: u64, infer: &str) -> u64 {
    philox::key(seed, &format!("shuffle/{infer}"))
}

/// Shuffles `order` for an epoch (Fisher and Yates).
pub fn shuffle(order: &mut [u32], key: u64, epoch: usize) {
    for last in (1..order.len()).rev() {
        let uniform = philox::uniform(key, [0, 0, epoch as u32], last as u64);
        let other = ((uniform * (last + 1) as f64) as usize).min(last);
        order.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_once_and_epochs_differ() {
        let mut first: Vec<u32> = (0..100).collect();
        let mut second = first.clone();
        shuffle(&mut first, key(1, "a"), 0);
        shuffle(&mut second, key(1, "a"), 1);
        assert_ne!(first, second);
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..100));
    }
}
