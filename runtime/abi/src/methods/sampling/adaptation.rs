//! The adaptation of the step size and the metric during the warm-up.

use crate::method::declare::{options, words};
use crate::method::options::POSITIVE;
use crate::method::{OptionKind, Phase};
use serde::{Deserialize, Serialize};

options! {
    /// The adaptation of step size and metric during the warm-up.
    #[derive(Copy)]
    pub struct Adaptation {
        /// The step size is adapted until the mean acceptance rate has this value.
        target_acceptance: f64 { "0.8", OptionKind::Real(0.0, 1.0), Phase::Run,
            &["adapt_delta", "delta", "target_accept", "target_accept_prob"] };
        /// The step size; without a value, it is adapted in the warm-up.
        step_size: Option<f64> { "", POSITIVE, Phase::Run, &["learning_rate", "lr"] };
        /// The metric that the warm-up adapts. `diagonal` and `dense` (with correlations) are estimated from positions; `nuts` and `hmc` use
        /// gradients too. `windowed` and `windowed_dense` are estimated from positions only, in the windows of Stan. `unit` is the identity and is
        /// not adapted. `automatic` is `dense` for `nuts` and `hmc` if the model has no layers and at most 50 dimensions, otherwise `diagonal`. A
        /// `dense` metric stays diagonal until a window of the warm-up has at least two draws per dimension. With a warm-up of 1000 iterations, this
        /// happens only for models of at most 230 dimensions.
        metric: MetricKind { "automatic", MetricKind::KIND, Phase::Run };
    }
}

/// The form of the metric of a Hamiltonian sampler, and how the warm-up estimates the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricKind {
    /// [`MetricKind::Dense`] for small models whose sampler uses trajectories, otherwise
    /// [`MetricKind::Diagonal`]: see [`Transition::resolve`](super::Transition::resolve).
    Automatic,
    /// The identity matrix, which is not adapted.
    Unit,
    /// A diagonal matrix. The matrix is estimated from positions and, if the transition computes
    /// gradients, also from gradients.
    Diagonal,
    /// A diagonal matrix. The matrix is estimated from positions only, in the windows of Stan.
    Windowed,
    /// A full matrix. The matrix is estimated in the same way as `Diagonal`.
    Dense,
    /// A full matrix. The matrix is estimated from positions only, in the windows of Stan.
    WindowedDense,
}

words!(MetricKind {
    "automatic" => Automatic,
    "diagonal" => Diagonal,
    "dense" => Dense,
    "windowed" => Windowed,
    "windowed_dense" => WindowedDense,
    "unit" => Unit,
});

impl MetricKind {
    /// Returns whether the metric is a full matrix.
    pub fn is_dense(self) -> bool {
        matches!(self, MetricKind::Dense | MetricKind::WindowedDense)
    }
}
