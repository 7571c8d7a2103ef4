//! Chooses how to compute the KL divergence from an approximation to a prior, and records the reason for the choice.
//!
//! The choices, in order of preference:
//!
//! - a closed form ([`closed`]);
//! - draws of noise ([`estimate`], with stop-gradient signs in place of absolute values), if the divergence separates, so
//!   that the draws enter only as means of functions of the noise;
//! - a Taylor series, if requested ([`taylor`]);
//! - the plain mean over draws.
//!
//! An infinite divergence is an error ([`finite`]).

pub mod algebra;
pub mod closed;
pub mod estimate;
mod expand;
pub mod finite;
pub mod law;
pub mod start;
pub mod taylor;

use crate::density::SitePrior;
use crate::diagnostics::{self, NoClosedForm};
pub use bnnc_abi::methods::variational::{KlEstimator as Estimator, KlStatistics as Statistics};
use bnnc_base::fault::Fault;
use bnnc_graph::dist::{MeasureKind, Support, unconstrained};
use bnnc_graph::model::{Site, SitePosterior};

/// The user's options for KL divergences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KlOptions {
    /// The estimators that may be used.
    pub estimator: Estimator,
    /// How bnnc computes the means of noise that occur in factorised (separated) divergences.
    pub statistics: Statistics,
    /// The order of the Taylor series for divergences that do not factorise. The value
    /// 0 disables the series.
    pub taylor: usize,
}

/// The way in which a KL divergence is computed: in closed form or from draws.
#[derive(Clone, Debug)]
pub enum NeedsDraws {
    /// The divergence has a closed form. If the prior depends on other sites, these may still have
    /// to be drawn.
    Closed(closed::Closed),
    /// The divergence is estimated from draws of the site. The value is the reason, or `None` if
    /// the user's options request draws.
    Draws(Option<NoClosedForm>),
    /// The approximation is a single point. The divergence is minus the log prior at this point.
    Point,
}

/// The chosen computation of the KL divergence of one site, and the reason for the choice.
#[derive(Clone, Debug, PartialEq)]
pub enum KlChoice {
    /// The divergence is computed in closed form.
    Exact(String),
    /// The divergence is computed from nothing but parameters and means of noise.
    Separated(Separation),
    /// The log prior is replaced by a polynomial. The divergence is then computed from means of
    /// noise.
    Series(TaylorApproximation),
    /// The divergence is the plain mean over draws, with gradients through the draws. The text is
    /// the reason for this choice.
    Direct(String),
    /// The approximation is a single point. The divergence is minus the log prior at this point.
    Point,
}

/// Properties of a KL divergence that factorises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    /// The number of means of noise per element.
    pub means: usize,
    /// True if absolute values or choices were replaced by stop-gradient signs.
    pub detached: bool,
    /// The reason why a closed form does not exist.
    pub because: String,
    /// True if each mean of noise is drawn as one number from the distribution of the mean.
    pub by_law: bool,
}

impl KlChoice {
    /// Returns the sentence about the divergence for the report.
    pub fn sentence(&self) -> String {
        match self {
            KlChoice::Exact(why) => format!("exact: {why}"),
            KlChoice::Separated(separation) => separation.sentence(),
            KlChoice::Series(approximation) => approximation.sentence(),
            KlChoice::Direct(why) => format!("direct: {why}"),
            KlChoice::Point => "point: minus the log prior at the point".to_owned(),
        }
    }
}

/// A Taylor polynomial that replaces a log density.
#[derive(Clone, Debug, PartialEq)]
pub struct TaylorApproximation {
    /// The degree.
    pub order: usize,
    /// The value of the site at the expansion point of the series.
    pub centre: f64,
    /// The radius of convergence of the series.
    pub radius: f64,
    /// The factorised form that the divergence takes with this polynomial.
    pub separation: Separation,
}

impl TaylorApproximation {
    fn sentence(&self) -> String {
        let number = |x: f64| {
            format!("{:.4}", x)
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        };
        format!(
            "taylor: a polynomial of degree {} around {} that converges within {} (biased); {}",
            self.order,
            number(self.centre),
            number(self.radius),
            self.separation.sentence().trim_start_matches("tuple: ")
        )
    }
}

impl Separation {
    fn sentence(&self) -> String {
        let (method, under) = match self.detached {
            true => ("signs", " under stop-gradient signs"),
            false => ("tuple", ""),
        };
        let source = match self.by_law {
            true => "drawn from their distribution, in a time that does not depend on `draws`",
            false => "averaged over the draws without gradients",
        };
        let plural = if self.means == 1 { "mean" } else { "means" };
        format!(
            "{method}: {} {plural} of noise{under} per element, {source}; no closed form: {}",
            self.means, self.because
        )
    }
}

/// The place of the draws of a family: in the support of the site, or on the reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The draws lie in the support.
    Inside,
    /// The draws lie on the reals, and a bijection transforms them onto the support.
    Transformed,
}

/// Returns whether the family is a single point.
pub fn is_point(posterior: &SitePosterior) -> bool {
    posterior.family.measure == MeasureKind::Point
}

/// Returns whether the draws of `posterior` already lie in the support of `site`. Returns a
/// diagnostic if the draws cannot be transformed onto this support.
pub fn placement(site: &Site, posterior: &SitePosterior) -> Result<Placement, Fault> {
    let family = &posterior.family;
    if is_point(posterior) || is_within(family.support, site.support) {
        return Ok(Placement::Inside);
    }
    if !is_within(Support::Real, family.support) || matches!(site.support, Support::Integers(_)) {
        let (inside, support) = (describe(site.support), describe(family.support));
        return Err(diagnostics::wider_support(&site.name, &inside, &family.name, &support).into());
    }
    let wanted = unconstrained(site.support, &site.ty);
    if family.value != wanted {
        let why = format!(
            "the approximation of `{}` has values {}, not {wanted}",
            site.name, family.value
        );
        return Err(Fault::Bug(why));
    }
    Ok(Placement::Transformed)
}

/// Returns whether the support `inner` is contained in `outer`.
fn is_within(inner: Support, outer: Support) -> bool {
    match (ends(inner), ends(outer)) {
        (Some((lo, hi)), Some((least, most))) => least <= lo && hi <= most,
        _ => inner == outer,
    }
}

fn ends(support: Support) -> Option<(f64, f64)> {
    match support {
        Support::Real => Some((f64::NEG_INFINITY, f64::INFINITY)),
        Support::Interval(lo, hi) => Some((lo, hi)),
        Support::Simplex | Support::Ordered | Support::Integers(_) => None,
    }
}

fn describe(support: Support) -> String {
    match support {
        Support::Real => "the reals".to_owned(),
        Support::Interval(lo, hi) => format!("the interval ({lo}, {hi})"),
        Support::Simplex => "the simplex".to_owned(),
        Support::Ordered => "the increasing vectors".to_owned(),
        Support::Integers(0) => "the counts".to_owned(),
        Support::Integers(k) => format!("the integers below {k}"),
    }
}

/// Returns the closed form of a KL divergence, or the reason why no closed form exists.
///
/// # Errors
/// Fails if the simplifier has a bug or exceeds one of its limits.
pub fn exact(
    posterior: &SitePosterior,
    placement: Placement,
    prior: &SitePrior,
) -> Result<Result<closed::Closed, NoClosedForm>, Fault> {
    match placement {
        Placement::Inside => closed::closed(posterior, prior),
        Placement::Transformed => Ok(Err(NoClosedForm::Transformed(posterior.family.name.to_string()))),
    }
}
