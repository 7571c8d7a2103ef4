//! The interface between a sampler and its caller.
//!
//! Note \[Densities\]. A position is a vector of parameters on the unconstrained scale. The log density at a position is
//! `log prior + log Jacobian of the constraints + scale * sum over rows of log p(row)`. Only the sum over rows is multiplied by `scale`, so the
//! prior is never tempered.

/// A request of a sampler to its caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SamplerRequest<'a> {
    /// Compute the log density and its gradient at a position.
    Gradient {
        /// The position.
        at: &'a [f64],
        /// The indices of the rows in the sum of [`SamplerRequest::Gradient`]; `None` for all rows.
        rows: Option<&'a [u32]>,
        /// The factor of the sum over these rows.
        scale: f64,
    },
    /// Compute the log density without its gradient.
    Value {
        /// The position.
        at: &'a [f64],
        /// The indices of the rows in the sum of [`SamplerRequest::Value`]; `None` for all rows.
        rows: Option<&'a [u32]>,
        /// The factor of the sum over these rows.
        scale: f64,
    },
    /// Compute how the log likelihood of each group of rows changes between two positions.
    Differences {
        /// The position before the step.
        from: &'a [f64],
        /// The position after the step.
        to: &'a [f64],
        /// The indices of the rows, group after group. All rows of a group belong to one shard of the data.
        rows: &'a [u32],
        /// The end of each group in `rows`.
        ends: &'a [usize],
    },
    /// Store the draw. An iteration is complete, and nothing needs to be computed.
    Draw(Draw<'a>),
}

/// The outcome of one iteration of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw<'a> {
    /// The position after the iteration.
    pub position: &'a [f64],
    /// True if the sampler still adapts or explores. The draw is then not a draw of the posterior.
    pub warmup: bool,
    /// The statistics of the iteration: one number for each name that [`Sampler::stats`] returns.
    pub stats: &'a [f64],
}

/// The answer to a request. A number that is not finite marks a point where the density cannot be computed. The sampler then either reports a
/// divergence or rejects the point. In both cases, it continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
    /// Begin the chain, or continue after a draw.
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
        /// The sum of `log p(row)` at `to` minus the sum at `from`, for each group of rows.
        sums: &'a [f64],
    },
}

/// A sampler is a state machine: it returns a request, and continues when it receives the answer.
pub trait Sampler: Send {
    /// Continues with the answer to the last request, and returns the next request. The first answer is [`Answer::Go`]. After the first
    /// iterations, this function does not allocate memory.
    fn advance(&mut self, answer: Answer<'_>) -> SamplerRequest<'_>;

    /// Returns the names of the statistics that accompany every draw. Statistics that have a name in ArviZ use this name: `lp`,
    /// `acceptance_rate`, `step_size`, `tree_depth`, `n_steps`, `diverging`, `energy`.
    fn stats(&self) -> &'static [&'static str];

    /// Returns the current inverse metric. A diagonal metric has one number per coordinate, and a dense metric has one row per coordinate. If the
    /// metric is the identity, or if the sampler does not use a metric, the vector is empty.
    fn inverse_metric(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Returns the state that determines later iterations, as bytes. The caller may call this function only after a draw.
    fn save(&self) -> Vec<u8>;

    /// Restores the state that [`Sampler::save`] returned. The draws that follow equal the next draws of the saved sampler, bit for bit.
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

    /// Returns the log density at `at`: see Note \[Densities\].
    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64;

    /// Computes the answer to [`SamplerRequest::Differences`]. Returns the change of `log prior + log Jacobian`, and writes each group's change
    /// of the log likelihood.
    fn differences(
        &mut self,
        from: &[f64],
        to: &[f64],
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> f64;
}

/// Reusable buffers for the answers to requests.
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
