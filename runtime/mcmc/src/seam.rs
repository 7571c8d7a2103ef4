//! What a sampler and whoever runs it say to each other.
//!
//! Note \[Densities\]. Positions are vectors on the unconstrained scale. The log density at a position is
//! `log prior + log Jacobian of the constraints + scale * sum over rows of log p(row)`; only the sum over rows is ever
//! scaled, so that a prior is never tempered by accident.

/// A question of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request<'a> {
    /// The log density and its gradient at a position.
    Gradient {
        /// Where.
        at: &'a [f64],
        /// Numbers of the rows in the sum; all rows where there is none.
        rows: Option<&'a [u32]>,
        /// What the sum over these rows is multiplied by.
        scale: f64,
    },
    /// The log density alone.
    Value {
        /// Where.
        at: &'a [f64],
        /// As in `Gradient`.
        rows: Option<&'a [u32]>,
        /// As in `Gradient`.
        scale: f64,
    },
    /// How the log likelihood of groups of rows changes between two positions.
    Differences {
        /// The position before.
        from: &'a [f64],
        /// The position after.
        to: &'a [f64],
        /// Numbers of rows, group after group. All rows of a group belong to one shard of the data.
        rows: &'a [u32],
        /// Where each group ends in `rows`.
        ends: &'a [usize],
    },
    /// Nothing: an iteration is complete.
    Draw(Draw<'a>),
}

/// The outcome of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw<'a> {
    /// The position.
    pub position: &'a [f64],
    /// Whether the sampler still adapts; such draws are not draws of the posterior.
    pub warmup: bool,
    /// One number per name of [`Sampler::stats`].
    pub stats: &'a [f64],
}

/// The answer to a question. What is not a finite number is a point where the density cannot be computed: the sampler treats
/// it as a divergence or a rejection and goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
    /// To nothing: begin, or go on after a draw.
    Go,
    /// To `Gradient`.
    Gradient {
        /// The log density.
        log_density: f64,
        /// Its derivatives.
        gradient: &'a [f64],
    },
    /// To `Value`: the log density.
    Value(f64),
    /// To `Differences`.
    Differences {
        /// `log prior + log Jacobian` at `to` minus at `from`.
        prior: f64,
        /// For each group, the sum over its rows of `log p(row)` at `to` minus at `from`.
        sums: &'a [f64],
    },
}

/// A sampler between two answers.
pub trait Sampler: Send {
    /// Goes on with the answer to the last request, and says what is needed next. The first answer is [`Answer::Go`].
    /// Allocates nothing after the first iterations.
    fn advance(&mut self, answer: Answer<'_>) -> Request<'_>;

    /// The names of the numbers that come with every draw, by the names that ArviZ gives them where it has one: `lp`,
    /// `acceptance_rate`, `step_size`, `tree_depth`, `n_steps`, `diverging`, `energy`.
    fn stats(&self) -> &'static [&'static str];

    /// The inverse metric that the sampler goes by: one number per coordinate where it is diagonal, a row per coordinate where it
    /// is dense, nothing where it is the identity or there is none.
    fn inverse_metric(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Everything that later iterations depend on. To be called after a draw only.
    fn save(&self) -> Vec<u8>;

    /// Goes back to what [`Sampler::save`] gave: the same draws follow, bit for bit.
    ///
    /// # Errors
    /// Bytes that no sampler of this kind and dimension wrote.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Corrupt>;
}

/// Bytes that no sampler of this kind wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// What answers the questions of one chain.
pub trait Target {
    /// The log density at `at` (see Note \[Densities\]); writes its derivatives.
    fn gradient(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64, gradient: &mut [f64]) -> f64;

    /// The log density alone.
    fn value(&mut self, at: &[f64], rows: Option<&[u32]>, scale: f64) -> f64;

    /// The answer to [`Request::Differences`]: returns the prior's part and writes one sum per group.
    fn differences(
        &mut self,
        from: &[f64],
        to: &[f64],
        rows: &[u32],
        ends: &[usize],
        sums: &mut [f64],
    ) -> f64;
}

/// Memory for answers.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    gradient: Vec<f64>,
    sums: Vec<f64>,
}

/// Runs a sampler until the next draw and hands that to `take`.
pub fn next<T>(
    sampler: &mut dyn Sampler,
    target: &mut dyn Target,
    answers: &mut Answers,
    take: impl FnOnce(Draw<'_>) -> T,
) -> T {
    let mut answer = Answer::Go;
    loop {
        answer = match sampler.advance(answer) {
            Request::Gradient { at, rows, scale } => {
                answers.gradient.resize(at.len(), 0.0);
                let log_density = target.gradient(at, rows, scale, &mut answers.gradient);
                Answer::Gradient {
                    log_density,
                    gradient: &answers.gradient,
                }
            }
            Request::Value { at, rows, scale } => Answer::Value(target.value(at, rows, scale)),
            Request::Differences { from, to, rows, ends } => {
                answers.sums.resize(ends.len(), 0.0);
                let prior = target.differences(from, to, rows, ends, &mut answers.sums);
                Answer::Differences {
                    prior,
                    sums: &answers.sums,
                }
            }
            Request::Draw(draw) => return take(draw),
        };
    }
}
