//! The progress line of an inference run on a terminal. The line is refreshed at most ten times per
//! second. Without a terminal, nothing is shown.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A progress line of an inference run.
pub struct Progress {
    bar: ProgressBar,
    next: Instant,
    diverged: u64,
}

impl Progress {
    /// Returns a progress line for an inference block `infer` that will take `steps` steps.
    pub fn new(infer: &str, steps: u64, visible: bool) -> Progress {
        let target = if visible {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        let template = "{prefix} {bar:24} {pos}/{len} steps  {per_sec}  {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(infer.to_owned());
        Progress {
            bar,
            next: Instant::now(),
            diverged: 0,
        }
    }

    /// Shows the current step and its loss. The call is cheap enough to be made at every step.
    pub fn at(&mut self, step: u64, loss: f64) {
        if self.bar.is_hidden() || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + Duration::from_millis(100);
        self.bar.set_position(step);
        self.bar.set_message(format!("loss {loss:.5}"));
    }

    /// Advances the line by `steps` steps. `diverged` is the number of these steps that have diverged.
    pub fn advance(&mut self, steps: u64, diverged: u64) {
        self.bar.inc(steps);
        if diverged > 0 {
            self.diverged += diverged;
            self.bar.set_message(format!("{} divergences", self.diverged));
        }
    }

    /// Removes the progress line from the terminal.
    pub fn done(self) {
        self.bar.finish_and_clear();
    }
}
