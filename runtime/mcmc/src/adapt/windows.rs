//! When a metric is learnt: the windows of Stan (reference manual, "Automatic parameter tuning").

use serde::{Deserialize, Serialize};

/// The part that an iteration of the warm-up plays in learning the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// None: only the step size is learnt.
    Step,
    /// The position counts.
    Learn,
    /// The position counts, and the metric is renewed from all that counted since the last time.
    Renew,
}

/// A fast stage, windows each twice as long as the one before, and a fast stage at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    first: usize,
    /// The first iteration of the last stage.
    end: usize,
    width: usize,
    /// The last iteration of the window that is under way.
    close: usize,
}

impl Windows {
    /// Iterations of the first stage, of the first window and of the last stage of a long warm-up.
    const STAGES: [usize; 3] = [75, 25, 50];
    /// Warm-ups shorter than this learn no metric.
    pub const SHORTEST: usize = 20;

    /// The windows of a warm-up. One that is too short for all stages has a first stage of 15 % and a last of 10 %.
    pub fn new(warmup: usize) -> Windows {
        let [mut first, mut width, mut last] = Windows::STAGES;
        if warmup < Windows::SHORTEST {
            (first, width, last) = (warmup, 0, 0);
        } else if first + width + last > warmup {
            (first, last) = (15 * warmup / 100, warmup / 10);
            width = warmup - first - last;
        }
        Windows {
            first,
            end: warmup - last,
            width,
            close: (first + width).saturating_sub(1),
        }
    }

    /// The part of an iteration; to be asked for each iteration in order.
    pub fn part(&mut self, iteration: usize) -> Part {
        if iteration < self.first || iteration >= self.end {
            return Part::Step;
        }
        if iteration < self.close {
            return Part::Learn;
        }
        self.width *= 2;
        self.close = iteration + self.width;
        // A window that the next one could not follow takes all that is left.
        if self.close + 2 * self.width >= self.end {
            self.close = self.end - 1;
        }
        Part::Renew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(warmup: usize) -> (usize, Vec<usize>) {
        let mut windows = Windows::new(warmup);
        let parts: Vec<Part> = (0..warmup).map(|at| windows.part(at)).collect();
        let ends = (0..warmup).filter(|at| parts[*at] == Part::Renew).collect();
        (parts.iter().take_while(|part| **part == Part::Step).count(), ends)
    }

    /// The stages of the reference manual: 75, then 25, 50, 100, 200 and 500, then 50.
    #[test]
    fn a_thousand_iterations_have_the_published_windows() {
        assert_eq!(ends(1000), (75, vec![99, 149, 249, 449, 949]));
    }

    /// Exactly one window of 25 fits 150; 100 is cut to 15, 75 and 10.
    #[test]
    fn short_warm_ups_have_one_window() {
        assert_eq!(ends(150), (75, vec![99]));
        assert_eq!(ends(149), (22, vec![134]));
        assert_eq!(ends(100), (15, vec![89]));
        assert_eq!(ends(20), (3, vec![17]));
    }

    #[test]
    fn very_short_warm_ups_have_none() {
        assert_eq!(ends(19), (19, vec![]));
        assert_eq!(ends(0), (0, vec![]));
    }

    /// The last window always ends where the last stage begins.
    #[test]
    fn windows_fill_the_middle() {
        for warmup in 150..3000 {
            assert_eq!(ends(warmup).1.last(), Some(&(warmup - 51)), "{warmup}");
        }
    }
}
