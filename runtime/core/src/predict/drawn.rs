//! Parameters with several values.

use std::ops::Range;

/// A parameter with several values.
pub(super) struct Drawn {
    pub(super) name: String,
    /// The number of elements per value.
    width: usize,
    /// True if all draws of a call share one value.
    is_shared: bool,
    values: Vec<f64>,
    /// The values for the predictive draws of one call.
    chosen: Vec<f64>,
}

impl Drawn {
    pub(super) fn new(name: &str, (width, is_shared): (usize, bool), values: Vec<f64>) -> Drawn {
        Drawn {
            name: name.to_owned(),
            width,
            is_shared,
            values,
            chosen: Vec::new(),
        }
    }

    /// Selects the values for a range of predictive draws. There are `all` predictive draws, and their values are
    /// evenly spaced among the stored values.
    pub(super) fn choose(&mut self, draws: Range<usize>, all: usize) {
        let values = if self.is_shared { 1 } else { draws.len() };
        self.chosen.clear();
        self.chosen.reserve_exact(values * self.width);
        for draw in draws.take(values) {
            let at = self.stored(draw, all) * self.width;
            self.chosen.extend_from_slice(&self.values[at..at + self.width]);
        }
    }

    /// Returns the largest number of consecutive draws, starting with `draw`, that one call can compute. If a call reads a single
    /// value, these draws must all have the same value.
    pub(super) fn same(&self, draw: usize, all: usize) -> usize {
        match self.is_shared {
            true => ((self.stored(draw, all) + 1) * all).div_ceil(self.held()) - draw,
            false => all - draw,
        }
    }

    /// Returns the values of the selected draws.
    pub(super) fn chosen(&self) -> &[f64] {
        &self.chosen
    }

    /// Returns the index of the value of a draw.
    fn stored(&self, draw: usize, all: usize) -> usize {
        draw * self.held() / all.max(1)
    }

    /// Returns the number of stored values.
    fn held(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each call, the value and the number of draws.
    fn calls(values: usize, all: usize) -> Vec<(f64, usize)> {
        let mut drawn = Drawn::new("w", (1, true), (0..values).map(|value| value as f64).collect());
        let (mut calls, mut draw) = (Vec::new(), 0);
        while draw < all {
            let count = drawn.same(draw, all);
            drawn.choose(draw..draw + count, all);
            assert_eq!(drawn.chosen().len(), 1);
            calls.push((drawn.chosen()[0], count));
            draw += count;
        }
        calls
    }

    #[test]
    fn every_member_is_used_in_one_call() {
        assert_eq!(
            calls(5, 100),
            [0.0, 1.0, 2.0, 3.0, 4.0].map(|member| (member, 20))
        );
        assert_eq!(calls(3, 3), [0.0, 1.0, 2.0].map(|member| (member, 1)));
        assert_eq!(calls(3, 7), [(0.0, 3), (1.0, 2), (2.0, 2)]);
        // If there are more values than draws, some values are not used.
        assert_eq!(calls(4, 2), [(0.0, 1), (2.0, 1)]);
    }

    #[test]
    fn a_call_selects_the_value_of_each_draw() {
        let mut drawn = Drawn::new("w", (2, false), vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(drawn.same(1, 4), 3);
        drawn.choose(1..4, 4);
        assert_eq!(drawn.chosen(), [1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    }
}
