//! The interface between a sampler and its caller.
//!
//! Note \[Densities\]. Positions are vectors on the unconstrained scale. The log density at a position is
//! `log prior + log Jacobian of the constraints + scale * sum over rows of log p(row)`. Only the sum over rows is
//! scaled, so that a prior is never tempered by accident.

/// A request of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SamplerRequest<'a> {
    /// The log density and its gradient at a position.
    Gradient {
        /// The position.
        at: &'a [f64],
        /// The indices of the rows in the sum; `None` for all rows.
        rows: Option<&'a [u32]>,
        /// The factor on the sum over these rows.
        scale: f64,
    },
    /// The log density alone.
    Value {
        /// The position.
        at: &'a [f64],
        /// The indices of the rows in the sum; `None` for all rows.
        rows: Option<&'a [u32]>,
        /// The factor on the sum over these rows.
        scale: f64,
    },
    /// The changes of the log likelihood of groups of rows between two positions.
    Differences {
        /// The position before.
        from: &'a [f64],
        /// The position after.
        to: &'a [f64],
        /// The indices of the rows, group after group. All rows of a group belong to one shard of the data.
        rows: &'a [u32],
        /// The end of each group in `rows`.
        ends: &'a [usize],
    },
    /// An iteration is complete; the caller computes nothing.
    Draw(Draw<'a>),
}

/// The outcome of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw<'a> {
    /// The position.
    pub position: &'a [f64],
    /// True if the sampler still adapts or explores; such draws are not draws of the posterior.
    pub warmup: bool,
    /// One number for each name of [`Sampler::stats`].
    pub stats: &'a [f64],
}

/// The answer to a request. Numbers that are not finite mark a point at which the density cannot be computed; the sampler treats
/// it as a divergence or a rejection, and continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
    /// Begin, or continue after a draw.
    Go,
    /// The answer to [`SamplerRequest::Gradient`].
    Gradient {
        /// The log density.
        log_density: f64,
        /// The gradient of the log density.
        gradient: &'a [f64],
    },
    /// The answer to [`SamplerRequest::Value`]: the log density.
    Value(f64),
    /// The answer to [`SamplerRequest::Differences`].
    Differences {
        /// `log prior + log Jacobian` at `to` minus the same sum at `from`.
        prior: f64,
        /// For each group of rows, the sum of `log p(row)` at `to` minus the sum at `from`.
        sums: &'a [f64],
    },
}

/// A sampler as a state machine: it returns a request, and waits for the answer.
pub trait Sampler: Send {
    /// Continues with the answer to the last request, and returns the next request. The first answer is [`Answer::Go`].
    /// Does not allocate memory after the first iterations.
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_>;

    /// Returns the names of the numbers that accompany every draw, with ArviZ's names if they exist: `lp`, `acceptance_rate`, `step_size`,
    /// `tree_depth`, `n_steps`, `diverging`, `energy`.
    fn stats(&self) -> &'static [&'static str];

    /// Returns the inverse metric that the sampler uses: one number per coordinate if the metric is diagonal, one row per coordinate if it
    /// is dense, and an empty vector if it is the identity or the sampler does not have one.
    fn inverse_metric(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Returns the state that determines later iterations. May only be called after a draw.
    fn save(&self) -> Vec<u8>;

    /// Restores the state that [`Sampler::save`] returned. The draws that follow are the same, bit for bit.
    ///
    /// # Errors
    /// The bytes were not written by a sampler of this kind and dimension.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt>;
}

/// The error for bytes that were not written by a sampler of this kind and dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// Computes the answers to the requests of one chain.
pub trait Target {
    /// Returns the log density at `at` (see Note \[Densities\]), and writes its gradient.
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64;

    /// Returns the log density.
    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64;

    /// Computes the answer to [`SamplerRequest::Differences`]: returns the difference of `log prior + log Jacobian`, and writes one sum per group.
    fn differences(
        &mut self,
        from: &[f64],
        to: &[f64],
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> f64;
}

/// Buffers for answers.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    gradient: Vec<f64>,
    sums: Vec<f64>,
}

/// Runs a sampler until the next draw, and passes the draw to `take`.
pub fn next<T>(
    sampler: &mut dyn Sampler,
    target: &mut dyn Target,
    answers: &mut Answers,
    take: impl FnOnce(Draw<'_>) -> T,
) -> T {
    let mut answer = Answer::Go;
    loop {
        answer = match sampler.advance(answer) {
            SamplerRequest::Gradient { at, rows, scale } => {
                answers.gradient.resize(at.len(), 0.0);
                let log_density = target.gradient(at, rows, scale, &mut answers.gradient);
                Answer::Gradient {
                    log_density,
                    gradient: &answers.gradient,
                }
            }
            SamplerRequest::Value { at, rows, scale } => Answer::Value(target.value(at, rows, scale)),
            SamplerRequest::Differences { from, to, rows, ends } => {
                answers.sums.resize(ends.len(), 0.0);
                let prior = target.differences(from, to, rows, ends, &mut answers.sums);
                Answer::Differences {
                    prior,
                    sums: &answers.sums,
                }
            }
            SamplerRequest::Draw(draw) => return take(draw),
        };
    }
}
