//! The divergence from an approximation to a prior: which way is open, which is best, and why.
//!
//! In order of preference: without draws ([`closed`]); by draws, of which what separates needs the means of noise only
//! ([`estimate`], by detached signs where absolute values are in the way); a Taylor series where asked for ([`taylor`]); the plain
//! mean over draws. A divergence that is infinite is an error ([`finite`]).

pub mod algebra;
pub mod closed;
pub mod estimate;
mod expand;
pub mod finite;
pub mod law;
pub mod start;
pub mod taylor;

use crate::density::SitePrior;
use crate::report;
pub use bnnc_abi::variational::{KlEstimator as Estimator, KlStatistics as Statistics};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::dist::{Measure, Support, unconstrained};
use bnnc_graph::model::{Site, SitePosterior};

/// What a user asks of divergences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which ways are open.
    pub estimator: Estimator,
    /// How the means of noise of separated divergences are made.
    pub statistics: Statistics,
    /// The order of the Taylor series of what does not separate; 0 takes none.
    pub taylor: usize,
}

/// Whether the divergence of a site needs draws.
#[derive(Clone, Debug)]
pub enum NeedsDraws {
    /// No; at most those of the sites that the prior depends on.
    Closed(closed::Closed),
    /// Yes, with the reason.
    Draws(String),
    /// The approximation is one point: minus the log prior there.
    Point,
}

/// How the divergence of one site is computed in the end, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub enum KlChoice {
    /// Without draws.
    Exact(String),
    /// By means of noise alone.
    Separated(Separation),
    /// By means of noise, with the prior replaced by a polynomial.
    Series(TaylorApproximation),
    /// By draws through which gradients flow, with the reason.
    Direct(String),
    /// The approximation is one point: minus the log prior there.
    Point,
}

/// What is known of a divergence that separates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    /// How many means of noise it needs, per element.
    pub means: usize,
    /// Whether absolute values or choices were taken apart by detached signs.
    pub detached: bool,
    /// Why there is no closed form.
    pub because: String,
    /// Whether its means are drawn from their own law.
    pub by_law: bool,
}

impl KlChoice {
    /// The sentence of the report.
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

/// A Taylor polynomial in place of a log density.
#[derive(Clone, Debug, PartialEq)]
pub struct TaylorApproximation {
    /// The degree.
    pub order: usize,
    /// Around which value of the site.
    pub centre: f64,
    /// How far from there the series converges.
    pub radius: f64,
    /// What it separates into.
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
            true => ("signs", " under detached signs"),
            false => ("tuple", ""),
        };
        let source = match self.by_law {
            true => "drawn by their law in a time that does not depend on the draws",
            false => "summed over the draws without gradient",
        };
        let plural = if self.means == 1 { "mean" } else { "means" };
        format!(
            "{method}: {} {plural} of noise{under} per element, {source}; no closed form: {}",
            self.means, self.because
        )
    }
}

/// Whether draws of a family already lie in the support of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// They do.
    Inside,
    /// They lie on the reals and are carried onto the support by a bijection.
    Carried,
}

/// Whether the family is a single point.
pub fn is_point(posterior: &SitePosterior) -> bool {
    posterior.family.measure == Measure::Point
}

/// How the draws of `posterior` come to lie in the support of `site`, or why they cannot.
pub fn placement(site: &Site, posterior: &SitePosterior) -> Result<Placement, Box<Diagnostic>> {
    let family = &posterior.family;
    if is_point(posterior) || is_within(family.support, site.support) {
        return Ok(Placement::Inside);
    }
    if !is_within(Support::Real, family.support) || matches!(site.support, Support::Integers(_)) {
        let message = format!(
            "expected an approximation of `{}` inside {}, but `{}` puts mass on {}: its KL is infinite",
            site.name,
            describe(site.support),
            family.name,
            describe(family.support)
        );
        let help = "choose a family on the support of the site, or one on the reals";
        return Err(Box::new(report::error(&report::INFINITE_KL, message).help(help)));
    }
    let wanted = unconstrained(site.support, &site.ty);
    if family.value != wanted {
        let message = format!(
            "expected an approximation of `{}` with values {wanted}, which are carried onto {}, but `{}` has {}",
            site.name,
            describe(site.support),
            family.name,
            family.value
        );
        return Err(Box::new(report::error(&report::FAMILY_SHAPE, message)));
    }
    Ok(Placement::Carried)
}

/// Whether a density on `inner` can be compared with one on `outer`.
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

/// The closed form of a divergence, or why there is none.
pub fn exact(
    posterior: &SitePosterior,
    placement: Placement,
    prior: &SitePrior,
) -> Result<closed::Closed, String> {
    match placement {
        Placement::Inside => closed::closed(posterior, prior),
        Placement::Carried => Err(format!(
            "`{}` is carried from the reals onto the support",
            posterior.family.name
        )),
    }
}
