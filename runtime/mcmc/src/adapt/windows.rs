//! Selects the iterations that learn a metric, using the windows of Stan (reference manual, "Automatic parameter tuning").

use serde::{Deserialize, Serialize};

/// The effect of an iteration of the warm-up on the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmupRole {
    /// The position is ignored, because only the step size is learnt.
    Step,
    /// The position is added to the current window.
    Learn,
    /// The position is added to the current window, and a new metric is computed from the positions of the window.
    Renew,
}

/// The stages of a warm-up. The first stage is fast and does not learn a metric. It is followed by windows that learn a metric, each
/// twice as long as the previous one. The last stage is fast again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmupWindows {
    first: usize,
    /// The index of the first iteration of the final fast stage.
    end: usize,
    width: usize,
    /// The index of the last iteration of the current window.
    close: usize,
}

impl WarmupWindows {
    /// The number of iterations in each of three parts of a long warm-up: the first stage, the first window and the last stage.
    const STAGES: [usize; 3] = [75, 25, 50];
    /// A shorter warm-up than this does not learn a metric.
    pub const SHORTEST: usize = 20;

    /// Returns the windows of a warm-up. If a warm-up is too short for the full lengths, the first stage takes 15 % of the
    /// iterations, and the last stage 10 %.
    pub fn new(warmup: usize) -> WarmupWindows {
        let [mut first, mut width, mut last] = WarmupWindows::STAGES;
        if warmup < WarmupWindows::SHORTEST {
            (first, width, last) = (warmup, 0, 0);
        } else if first + width + last > warmup {
            (first, last) = (15 * warmup / 100, warmup / 10);
            width = warmup - first - last;
        }
        WarmupWindows {
            first,
            end: warmup - last,
            width,
            close: (first + width).saturating_sub(1),
        }
    }

    /// Returns the role of an iteration. The caller must pass all iterations in order.
    pub fn part(&mut self, iteration: usize) -> WarmupRole {
        if iteration < self.first || iteration >= self.end {
            return WarmupRole::Step;
        }
        if iteration < self.close {
            return WarmupRole::Learn;
        }
        self.width *= 2;
        self.close = iteration + self.width;
        // If the next window would not fit before the last stage, the current window extends to the last stage.
        if self.close + 2 * self.width >= self.end {
            self.close = self.end - 1;
        }
        WarmupRole::Renew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(warmup: usize) -> (usize, Vec<usize>) {
        let mut windows = WarmupWindows::new(warmup);
        let parts: Vec<WarmupRole> = (0..warmup).map(|at| windows.part(at)).collect();
        let ends = (0..warmup).filter(|at| parts[*at] == WarmupRole::Renew).collect();
        (
            parts.iter().take_while(|part| **part == WarmupRole::Step).count(),
            ends,
        )
    }

    /// The lengths come from Stan's reference manual: a first stage of 75 iterations, windows of 25, 50, 100, 200 and 500, and a
    /// last stage of 50.
    #[test]
    fn a_thousand_iterations_have_the_published_windows() {
        assert_eq!(ends(1000), (75, vec![99, 149, 249, 449, 949]));
    }

    /// In a warm-up of 150 iterations, one window of 25 iterations fits exactly. A warm-up of 100 iterations has a first stage of 15,
    /// a window of 75, and a last stage of 10.
    #[test]
    fn short_warm_ups_have_one_window() {
        assert_eq!(ends(150), (75, vec![99]));
        assert_eq!(ends(149), (22, vec![134]));
        assert_eq!(ends(100), (15, vec![89]));
        assert_eq!(ends(20), (3, vec![17]));
    }

    #[test]
    fn very_short_warm_ups_have_no_window() {
        assert_eq!(ends(19), (19, vec![]));
        assert_eq!(ends(0), (0, vec![]));
    }

    /// The last window always ends where the last stage begins.
    #[test]
    fn last_window_ends_where_the_last_stage_begins() {
        for warmup in 150..3000 {
            assert_eq!(ends(warmup).1.last(), Some(&(warmup - 51)), "{warmup}");
        }
    }
}
