//! The draws of one quantity, with each chain divided into two halves of equal length.

/// The halves of all chains, concatenated: both halves of the first chain, both halves of the second chain, and so on.
///
/// Chains are truncated to the length of the shortest. If this length is odd, the middle draw is left out. A comparison of the halves detects drift
/// within a chain (Vehtari et al. 2021, section 3.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Halves {
    values: Vec<f64>,
    length: usize,
}

impl Halves {
    /// Returns the halves of `chains`.
    pub fn new(chains: &[&[f64]]) -> Halves {
        let mut halves = Halves::default();
        halves.fill(chains);
        halves
    }

    /// Replaces the stored halves by the halves of `chains`, and reuses the memory.
    pub fn fill(&mut self, chains: &[&[f64]]) {
        let all = shortest(chains);
        self.length = all / 2;
        self.values.clear();
        for chain in chains {
            self.values.extend_from_slice(&chain[..self.length]);
            self.values.extend_from_slice(&chain[all - self.length..all]);
        }
    }

    /// Replaces each value of the stored halves by the result of `function`. Reuses the memory.
    pub fn fill_with(&mut self, others: &Halves, function: impl FnMut(f64) -> f64) {
        self.length = others.length;
        self.values.clear();
        self.values.extend(others.values.iter().copied().map(function));
    }

    /// Returns all values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Returns the number of draws in each half.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Iterates over the halves. If the halves are empty, the iterator is empty.
    pub fn each(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.length.max(1))
    }

    pub(super) fn each_mut(&mut self) -> std::slice::ChunksExactMut<'_, f64> {
        self.values.chunks_exact_mut(self.length.max(1))
    }

    /// Returns whether diagnostics are defined. They are defined if each half has at least `least` draws, all draws are finite, and not all draws
    /// are equal.
    pub fn vary(&self, least: usize) -> bool {
        let Some(first) = self.values.first() else {
            return false;
        };
        self.length >= least
            && self.values.iter().all(|value| value.is_finite())
            && self.values.iter().any(|value| value != first)
    }
}

/// Returns the length of the shortest chain, or 0 if `chains` is empty.
pub fn shortest(chains: &[&[f64]]) -> usize {
    chains.iter().map(|chain| chain.len()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_draw_of_an_odd_length_is_left_out() {
        let halves = Halves::new(&[&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]);
        assert_eq!(halves.values(), [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 9.0, 10.0]);
        assert_eq!(halves.each().len(), 4);
    }

    #[test]
    fn empty_chains_have_no_halves() {
        assert_eq!(Halves::new(&[]).each().len(), 0);
        assert_eq!(Halves::new(&[&[], &[1.0]]).each().len(), 0);
        assert!(!Halves::new(&[&[1.0]]).vary(0));
    }
}
