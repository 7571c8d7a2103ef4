//! Parameters that have one value per draw.

use std::ops::Range;

/// A parameter that has one value per stored draw.
pub(super) struct Drawn {
    pub(super) name: String,
    /// The number of elements of one value.
    width: usize,
    values: Vec<f64>,
    /// The values for the predictive draws of one call.
    chosen: Vec<f64>,
}

impl Drawn {
    pub(super) fn new(name: &str, width: usize, values: Vec<f64>) -> Drawn {
        Drawn {
            name: name.to_owned(),
            width,
            values,
            chosen: Vec::new(),
        }
    }

    /// Selects the values for a range of predictive draws. `all` is the number of all predictive
    /// draws, to which the stored draws are assigned evenly.
    pub(super) fn choose(&mut self, draws: Range<usize>, all: usize) {
        let held = self.values.len() / self.width.max(1);
        self.chosen.clear();
        self.chosen.reserve_exact(draws.len() * self.width);
        for draw in draws {
            let at = draw * held / all.max(1) * self.width;
            self.chosen.extend_from_slice(&self.values[at..at + self.width]);
        }
    }

    /// Returns the values of the selected draws.
    pub(super) fn chosen(&self) -> &[f64] {
        &self.chosen
    }
}
