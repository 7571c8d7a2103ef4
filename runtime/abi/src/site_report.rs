//! The reports on the sites of a posterior.

use bnnc_base::shape::Shape;
use bnnc_base::support::Support;
use serde::{Deserialize, Serialize};

/// A site of the posterior, for reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteReport {
    /// The name of the site: `hidden.w`.
    pub name: String,
    /// The shape of the site.
    pub shape: Shape,
    /// The name of the variational family: `Normal`.
    pub family: String,
    /// True if the family puts all its mass at one value.
    pub is_point: bool,
    /// True if the parameter `scale` of the family is the standard deviation.
    pub has_deviation: bool,
    /// True if the family has no parameters for correlations: its elements are uncorrelated with each other and with other parameters.
    pub is_factorised: bool,
    /// The way in which the KL divergence of the site is computed, and the reason.
    pub kl: String,
    /// The way in which the likelihood is averaged over the site: with a shared draw, or with the gradient estimator of the layer.
    pub likelihood: String,
    /// The properties of the prior of the site with which the posterior is compared.
    pub prior: PriorReport,
}

/// The properties of the prior of a site that do not depend on the values of its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorReport {
    /// The support of the prior, after truncation to the declared type.
    pub support: Support,
    /// True if the integral of the prior density is infinite.
    pub is_improper: bool,
    /// The smallest and the largest plausible value under the prior: one pair for each element, or one pair that all elements share. Empty if these
    /// values are not known.
    pub plausible: Vec<(f64, f64)>,
}

impl PriorReport {
    /// Returns the report for a proper prior with this support, whose plausible values are unknown.
    pub fn of(support: Support) -> PriorReport {
        PriorReport {
            support,
            is_improper: false,
            plausible: Vec::new(),
        }
    }

    /// Returns the mean and the standard deviation of the prior of an element, or `None` if its plausible values are not known. The prior must be
    /// normal.
    pub fn normal(&self, at: usize) -> Option<(f64, f64)> {
        let at = if self.plausible.len() == 1 { 0 } else { at };
        let (low, high) = *self.plausible.get(at)?;
        Some((0.5 * (low + high), 0.5 * (high - low) / PLAUSIBLE_DEVIATIONS))
    }
}

/// Half the width of the plausible interval of a normal prior, in standard deviations. The compiler calls a value plausible if its log density is at
/// most 12 below the maximum. At `z` standard deviations, the log density is `z^2 / 2` below its maximum, so `z` is the square root of 24.
const PLAUSIBLE_DEVIATIONS: f64 = 4.9;
