//! The losses of a training run, stored in bounded memory.

use serde::{Deserialize, Serialize};

/// The maximum number of losses that are kept. More losses are not needed, because a figure in a
/// report is only about 600 points wide.
const MOST: usize = 2048;

/// The mean losses in consecutive parts of a training run. All of these parts have the same length.
///
/// At first, each part is one epoch or a fraction of an epoch. When `MOST` parts are stored and
/// another follows, neighbouring parts are merged in pairs. The memory therefore does not depend on
/// the length of the training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    means: Vec<f64>,
    /// The number of losses that a training run adds per epoch.
    pieces: usize,
    /// The number of added losses in each stored mean.
    width: usize,
    /// The sum and the number of the losses that are not yet in a stored mean.
    pending: (f64, usize),
}

impl History {
    /// Returns an empty history for a training run with `pieces` losses per epoch and `losses`
    /// losses in total.
    pub fn new(pieces: usize, losses: usize) -> History {
        History {
            means: Vec::with_capacity(losses.clamp(1, MOST)),
            pieces: pieces.max(1),
            width: 1,
            pending: (0.0, 0),
        }
    }

    /// Adds the loss of the next part of an epoch.
    pub fn push(&mut self, loss: f64) {
        self.pending.0 += loss;
        self.pending.1 += 1;
        if self.pending.1 < self.width {
            return;
        }
        if self.means.len() == MOST {
            self.merge();
            if self.pending.1 < self.width {
                return;
            }
        }
        self.means.push(self.pending.0 / self.pending.1 as f64);
        self.pending = (0.0, 0);
    }

    /// Merges neighbouring means in pairs, so that half as many remain.
    fn merge(&mut self) {
        let half = self.means.len() / 2;
        for at in 0..half {
            self.means[at] = 0.5 * (self.means[2 * at] + self.means[2 * at + 1]);
        }
        self.means.truncate(half);
        self.width *= 2;
    }

    /// Returns the mean losses, in order.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Returns the number of epochs that each mean covers. It may be a fraction.
    pub fn epochs_each(&self) -> f64 {
        self.width as f64 / self.pieces.max(1) as f64
    }

    /// Returns the mean of the histories of several training runs. If a training run ended early,
    /// it contributes only to the epochs that it completed.
    pub fn average<'a>(histories: impl Iterator<Item = &'a History>) -> History {
        let mut all: Vec<History> = histories.cloned().collect();
        let widest = all.iter().map(|history| history.width).max().unwrap_or(1);
        for history in &mut all {
            while history.width > 0 && history.width < widest {
                history.merge();
            }
        }
        let longest = all.iter().map(|history| history.means.len()).max().unwrap_or(0);
        let mean = |at: usize| {
            let of: Vec<f64> = all
                .iter()
                .filter_map(|history| history.means.get(at).copied())
                .collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        History {
            means: (0..longest).map(mean).collect(),
            pieces: all.first().map_or(1, |history| history.pieces),
            width: widest,
            pending: (0.0, 0),
        }
    }
}

/// The losses of the validation rows during a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationCurve {
    /// The number of epochs from one loss to the next.
    every: usize,
    history: History,
}

/// The number of losses in the curve of a long training run. If a training run has fewer epochs,
/// its curve has one loss per epoch.
const POINTS: usize = 100;

impl ValidationCurve {
    /// Returns an empty curve for a training run of `epochs` epochs. The curve will have a loss
    /// after each epoch if `of_each` is true, and otherwise about a hundred losses.
    pub fn new(epochs: usize, of_each: bool) -> ValidationCurve {
        let every = if of_each { 1 } else { (epochs / POINTS).max(1) };
        ValidationCurve {
            every,
            history: History::new(1, epochs / every),
        }
    }

    /// Returns whether a loss is due after this epoch. Epochs are counted from 1.
    pub fn is_due(&self, epoch: usize) -> bool {
        epoch.is_multiple_of(self.every)
    }

    /// Adds the next loss that is due.
    pub fn push(&mut self, loss: f64) {
        self.history.push(loss);
    }

    /// Returns pairs of an epoch and the loss after it.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let each = self.history.epochs_each();
        let means = self.history.means().iter().enumerate();
        // A single loss is assigned to the end of its epoch. A mean of several losses is assigned
        // to the mean of the times at which their epochs ended.
        let epoch = |at: usize| (at as f64 * each + 0.5 * (each + 1.0)) * self.every as f64;
        means.map(|(at, loss)| (epoch(at), *loss)).collect()
    }

    /// Returns the mean of the curves of training runs with the same length.
    pub fn average<'a>(curves: impl Iterator<Item = &'a ValidationCurve>) -> Option<ValidationCurve> {
        let all: Vec<&ValidationCurve> = curves.collect();
        Some(ValidationCurve {
            every: all.first()?.every,
            history: History::average(all.iter().map(|curve| &curve.history)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_depend_on_the_length() {
        let mut history = History::new(1, 1_000_000_000_000);
        for epoch in 0..100_000 {
            history.push(f64::from(epoch));
        }
        assert!(history.means.capacity() <= MOST, "{}", history.means.capacity());
        assert_eq!(history.epochs_each(), 64.0);
        // The first mean covers the numbers 0 to 63, and the second mean covers the next 64
        // numbers.
        assert_eq!(&history.means()[..2], &[31.5, 95.5]);
        assert_eq!(history.means().len(), 100_000 / 64);
    }

    #[test]
    fn points_of_a_curve_are_at_the_ends_of_epochs() {
        let mut each = ValidationCurve::new(7, true);
        (0..7).for_each(|at| each.push(f64::from(at)));
        assert_eq!(each.points()[..2], [(1.0, 0.0), (2.0, 1.0)]);
        let mut some = ValidationCurve::new(1000, false);
        let due: Vec<usize> = (1..=1000).filter(|epoch| some.is_due(*epoch)).collect();
        assert_eq!((due.len(), due[0]), (100, 10));
        some.push(5.0);
        assert_eq!(some.points(), [(10.0, 5.0)]);
    }

    #[test]
    fn histories_of_different_lengths_are_averaged_by_epoch() {
        let (mut long, mut short) = (History::new(1, 5000), History::new(1, 5000));
        (0..4096).for_each(|_| long.push(1.0));
        (0..1024).for_each(|_| short.push(3.0));
        let mean = History::average([&long, &short].into_iter());
        assert_eq!(mean.epochs_each(), long.epochs_each());
        assert_eq!((mean.means()[0], mean.means()[600]), (2.0, 1.0));
    }
}
