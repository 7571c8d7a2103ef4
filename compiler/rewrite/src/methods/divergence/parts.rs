//! The contributions of the sites to a divergence at one draw.

use crate::kl::algebra::Algebra;
use crate::kl::estimate::{self, KlEstimate, NoiseProduct};
use crate::kl::taylor::DensitySeries;
use crate::kl::{KlChoice, Separation, TaylorApproximation};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::function::Value;
use std::ops::Range;

/// The contributions of the sites at one draw.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) fixed: Option<Value>,
    pub(super) direct: Option<Value>,
    pub(super) products: Vec<NoiseProduct>,
    pub(super) choices: Vec<KlChoice>,
    /// For each choice, the range of its entries in `products`.
    pub(super) products_of: Vec<Range<usize>>,
    pub(super) warnings: Vec<Diagnostic>,
}

/// A Taylor series that factorises the divergence.
pub(super) struct Found {
    pub(super) order: usize,
    pub(super) series: DensitySeries,
    pub(super) warning: Option<Diagnostic>,
}

impl Parts {
    /// Adds the estimate of a divergence with a Taylor series.
    pub(super) fn add_series(
        &mut self,
        algebra: &mut Algebra<'_>,
        estimate: KlEstimate,
        found: &Found,
        because: &str,
    ) -> KlChoice {
        self.warnings.extend(found.warning.clone());
        match self.add(algebra, estimate, because) {
            KlChoice::Separated(separation) => KlChoice::Series(TaylorApproximation {
                order: found.order,
                centre: found.series.centre,
                radius: found.series.radius,
                separation,
            }),
            other => other,
        }
    }

    /// Adds the estimate of a divergence that factorises.
    pub(super) fn add(&mut self, algebra: &mut Algebra<'_>, estimate: KlEstimate, because: &str) -> KlChoice {
        if let Some(fixed) = estimate.fixed {
            estimate::add_to(algebra.builder, &mut self.fixed, fixed);
        }
        let means = estimate.products.len();
        self.products.extend(estimate.products);
        if means == 0 {
            return KlChoice::Exact("no part of the log density varies with the draw".to_owned());
        }
        KlChoice::Separated(Separation {
            means,
            detached: estimate.detached,
            because: because.to_owned(),
            by_law: false,
        })
    }
}
