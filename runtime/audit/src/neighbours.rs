//! Computes two mean differences between rows: one over pairs of rows with neighbouring inputs, and one over all pairs of rows.

use std::cmp::Ordering;

/// Some rows of a table, evenly spaced, and the columns that are used to compute their distances.
pub(super) struct Neighbours<'a> {
    rows: Vec<usize>,
    columns: &'a [Vec<f64>],
}

impl<'a> Neighbours<'a> {
    /// Selects at most `most` of the first `count` rows. The number of rows is limited because the time grows with its square.
    pub(super) fn new(count: usize, most: usize, columns: &'a [Vec<f64>]) -> Neighbours<'a> {
        let step = count.div_ceil(most).max(1);
        Neighbours {
            rows: (0..count).step_by(step).collect(),
            columns,
        }
    }

    /// Returns the number of selected rows.
    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the mean difference between a row and its nearest row. If several rows are equally near, the difference is averaged over these rows.
    ///
    /// If the inputs are discrete, many rows have the same inputs. If only the first of these rows were used, all other rows would
    /// be compared with this single row. Its noise would then dominate the mean. If the next row in the file were used, the
    /// differences would be too small in a file that is
    /// sorted by the target.
    pub(super) fn nearby(&self, apart: &impl Fn(usize, usize) -> f64) -> f64 {
        self.mean(&|row| {
            let (mut least, mut sum, mut count) = (f64::INFINITY, 0.0, 0_u32);
            for other in self.others(row) {
                let distance = self.distance(row, other);
                match distance.total_cmp(&least) {
                    Ordering::Less => (least, sum, count) = (distance, apart(row, other), 1),
                    Ordering::Equal => (sum, count) = (sum + apart(row, other), count + 1),
                    Ordering::Greater => {}
                }
            }
            sum / f64::from(count.max(1))
        })
    }

    /// Returns the mean difference over all pairs of rows.
    pub(super) fn anywhere(&self, apart: &impl Fn(usize, usize) -> f64) -> f64 {
        let others = self.rows.len().saturating_sub(1).max(1) as f64;
        self.mean(&|row| self.others(row).map(|other| apart(row, other)).sum::<f64>() / others)
    }

    fn mean(&self, of: &dyn Fn(usize) -> f64) -> f64 {
        self.rows.iter().map(|row| of(*row)).sum::<f64>() / self.rows.len().max(1) as f64
    }

    fn others(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().copied().filter(move |other| *other != row)
    }

    /// Returns the squared distance between the inputs of two rows.
    fn distance(&self, one: usize, other: usize) -> f64 {
        let squares = self
            .columns
            .iter()
            .map(|column| (column[one] - column[other]).powi(2));
        squares.sum()
    }
}

/// Random numbers for tests. Numbers from a linear recurrence are not suitable, because they form a lattice. In a lattice, the distances of
/// neighbours have only a few values.
#[cfg(test)]
pub(super) mod random {
    /// Returns uniform numbers between 0 and 1, computed by the finaliser of splitmix64.
    pub(crate) fn uniform(seed: u64, count: usize) -> Vec<f64> {
        let mixed = |at: u64| {
            let state = ((seed << 32) | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((state ^ (state >> 31)) >> 11) as f64 / 2_f64.powi(53)
        };
        (1..=count as u64).map(mixed).collect()
    }

    /// Returns standard normal numbers (Box and Muller 1958).
    pub(crate) fn normal(seed: u64, count: usize) -> Vec<f64> {
        let of =
            |pair: &[f64]| (-2.0 * (1.0 - pair[0]).ln()).sqrt() * (std::f64::consts::TAU * pair[1]).cos();
        uniform(seed, 2 * count).chunks(2).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_at_the_same_distance_count_alike() {
        let columns = [vec![0.0, 0.0, 0.0, 1.0]];
        let target = [1.0, 2.0, 4.0, 10.0];
        let apart = |one: usize, other: usize| f64::abs(target[one] - target[other]);
        let neighbours = Neighbours::new(4, 10, &columns);
        // For the four rows, the means over the nearest rows are (1 + 3) / 2, (1 + 2) / 2, (3 + 2) / 2 and (9 + 8 + 6) / 3.
        let nearby = (2.0 + 1.5 + 2.5 + 23.0 / 3.0) / 4.0;
        assert!((neighbours.nearby(&apart) - nearby).abs() < 1e-12);
        // The differences of the six pairs of rows are 1, 3, 9, 2, 8 and 6.
        assert!((neighbours.anywhere(&apart) - 29.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn rows_are_spaced_evenly() {
        let rows = |count, most| Neighbours::new(count, most, &[]).rows;
        assert_eq!(rows(5, 10), [0, 1, 2, 3, 4]);
        assert_eq!(rows(9, 4), [0, 3, 6]);
        assert!(rows(0, 4).is_empty());
    }
}
