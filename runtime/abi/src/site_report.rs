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
    /// True if the value of the site is given and never changes.
    pub is_fixed: bool,
    /// True if the family puts all its mass at one value.
    pub is_point: bool,
    /// True if the parameter `scale` of the family is the standard deviation.
    pub has_deviation: bool,
    /// True if the elements of the family are known to be uncorrelated with each other and with other parameters.
    pub is_factorised: bool,
    /// How the KL divergence of the site is computed, and the reason for this choice.
    pub kl: String,
    /// How the likelihood is averaged over the site: with a draw that all rows share, or with the gradient estimator of the layer.
    pub likelihood: String,
    /// Properties of the site's prior. The posterior is compared with them.
    pub prior: PriorReport,
}

impl SiteReport {
    /// Returns the name of the state that holds the location of the site.
    pub fn location(&self) -> String {
        format!("{}/loc", self.name)
    }
}

/// Properties of the prior of a site. They do not depend on the values of the prior's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorReport {
    /// The support of the prior, after truncation to the declared type.
    pub support: Support,
    /// True if the integral of the prior density is infinite.
    pub is_improper: bool,
    /// True if the elements have independent normal priors, without truncation, whose moments are known.
    pub is_normal: bool,
    /// The mean and the standard deviation: one pair for each element, or one pair that all elements share. Empty if these numbers are not known.
    pub moments: Vec<(f64, f64)>,
    /// The smallest and the largest plausible value under the prior: one pair for each element, or one pair that all elements share. Empty if these
    /// values are not known.
    pub plausible: Vec<(f64, f64)>,
}

impl PriorReport {
    /// Returns the report for a proper prior with this support, whose moments and plausible values are unknown.
    pub fn of(support: Support) -> PriorReport {
        PriorReport {
            support,
            is_improper: false,
            is_normal: false,
            moments: Vec::new(),
            plausible: Vec::new(),
        }
    }

    /// Returns the mean and the standard deviation of the prior of an element, or `None` if they are not known.
    pub fn moments(&self, at: usize) -> Option<(f64, f64)> {
        let at = if self.moments.len() == 1 { 0 } else { at };
        self.moments.get(at).copied()
    }

    /// Returns the mean and the standard deviation of the prior of an element. Returns `None` if the prior is not normal, or if its mean
    /// and standard deviation are not known.
    pub fn normal(&self, at: usize) -> Option<(f64, f64)> {
        self.moments(at).filter(|_| self.is_normal)
    }
}
