//! Divergences that are infinite, found by looking at both densities far out, near zero and where the family has its mass.
//!
//! Note \[Tails\]. `KL(q || p)` is infinite where `-log p` grows like `|w|^a` (or like `|w|^-a` at zero) and q has no moment of that
//! order. Both are read off the densities as they are evaluated: far out a power law has `log q = -(k + 1) log |w|`, so the
//! slope between 1e10, 1e20 and 1e40 tells `k`, and a slope that keeps changing says that the tail is lighter than any power;
//! `a` is the slope of `log(-log p)`, which is zero for a prior with a power law of its own. Near zero alike, with the sign
//! of the slope turned. This needs no knowledge of any family, and holds for those that a program declares.
//!
//! A prior whose log density falls like an exponential is compared where it is still a number: at the largest distance before it
//! overflows and at halves of it, the logarithm of the integrand `q |log p|` tells by its slope whether the integral exists.
//!
//! Parameters that are optimised are taken where they start: a family whose shape decides has to start where the divergence is
//! finite.

use super::Placement;
use super::closed::bounds;
use crate::constrain::constrain;
use crate::density::Prior;
use crate::nodes;
use crate::report;
use crate::unroll::expand_maps;
use bnnc_abi::manifest::Init;
use bnnc_base::arena::Id;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::{FamilyParam, Site, SitePosterior, Start};
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// Three distances, each the square of the one before.
const FAR: [f64; 3] = [1e10, 1e20, 1e40];
/// Distances on the reals at which carried values are not yet rounded to the ends of a bounded support.
const CARRIED: [f64; 3] = [7.5, 15.0, 30.0];
/// Joint priors of more elements are not examined.
const LARGE: usize = 64;
/// Points closer to zero tell nothing of mass.
const APART: f64 = 1e-6;
/// Powers of two among the distances: where a log density that falls like an exponential of `w / s` overflows, at `709 s`.
const DOUBLINGS: std::ops::RangeInclusive<i32> = -20..=40;
/// A log density that overflows falls below this first; others are still above.
const OVERFLOWING: f64 = -1e100;
/// How far below its peak the log density of the family still counts as mass.
const MASS: f64 = 16.0;
/// A growth of a higher order is no power.
const EXPONENTIAL: f64 = 10.0;
/// Orders are read off to this accuracy.
const TOLERANCE: f64 = 1e-3;

/// Refuses a divergence that is infinite.
///
/// # Errors
/// As [`why_infinite`].
pub fn check(
    site: &Site,
    posterior: &SitePosterior,
    placement: Placement,
    prior: &Prior,
) -> Result<(), Box<Diagnostic>> {
    let Some(why) = why_infinite(site, posterior, placement, prior) else {
        return Ok(());
    };
    let (family, name) = (&posterior.family.name, &prior.distribution.name);
    let message = format!(
        "the KL from `{family}` to the prior of `{}` is infinite: {why}",
        site.name
    );
    let help = format!("choose a family inside the support of `{name}` with lighter tails, or another prior");
    Err(Box::new(report::error(&report::INFINITE_KL, message).help(help)))
}

/// Why the divergence of a site is infinite, if it is: the family lacks a moment that the prior asks for, or has mass where the
/// prior has none. Joint families, large joint priors, and priors whose parameters depend on sites or data are not examined.
pub fn why_infinite(
    site: &Site,
    posterior: &SitePosterior,
    placement: Placement,
    prior: &Prior,
) -> Option<String> {
    let probe = Probe::new(site, posterior, placement, prior)?;
    probe.mass().or_else(|| probe.ends())
}

/// Whether a divergence can be examined: elementwise families, priors without free parameters.
pub fn is_examined(site: &Site, posterior: &SitePosterior, placement: Placement, prior: &Prior) -> bool {
    Probe::new(site, posterior, placement, prior).is_some()
}

/// Whether an elementwise family with fixed parameters has its mass inside an interval, although its support is declared as wider:
/// `Uniform(0.2, 0.9)` lies in the positive numbers.
pub fn lies_within(posterior: &SitePosterior, interval: Interval) -> bool {
    let params: Option<Vec<f64>> = posterior.params.iter().map(start).collect();
    let (Some(params), Some(density)) = (params, &posterior.family.log_density_elements) else {
        return false;
    };
    let distances = (-300..=300).map(|exponent| 10f64.powi(exponent));
    let outside: Vec<f64> = distances
        .flat_map(|distance| [interval.lo - distance, interval.hi + distance])
        .filter(|x| x.is_finite() && !(interval.lo <= *x && *x <= interval.hi))
        .collect();
    let Some(density) = along(density, outside.len()) else {
        return false;
    };
    let mut inputs: Vec<Tensor> = params
        .iter()
        .map(|number| Tensor::from_fn(vec![outside.len()], |_| *number))
        .collect();
    inputs.push(column(&outside));
    let found = evaluate(&density, &inputs, &Sizes::default());
    found
        .first()
        .is_some_and(|found| found.data.iter().all(|log| *log == f64::NEG_INFINITY))
}

/// Both log densities at the same points.
struct Probe<'a> {
    family: &'a str,
    prior: &'a str,
    points: Vec<f64>,
    log_q: Vec<f64>,
    log_p: Vec<f64>,
    placement: Placement,
}

fn column(numbers: &[f64]) -> Tensor {
    Tensor::from_fn(vec![numbers.len()], |at: &[usize]| numbers[at[0]])
}

/// Points on the reals carried onto a support of numbers, with the logarithms of the slopes. Where a value is rounded to an end of
/// the support, the slope is not a number.
fn carried(support: Support, points: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    if support.is_of_vectors() {
        return None;
    }
    let mut builder = Builder::new("carried");
    let z = builder.param("z", Type::scalar());
    let (value, log_jacobian) = constrain(&mut builder, support, z)?;
    let function = builder.finish(vec![
        ("value".into(), value),
        ("log_jacobian".into(), log_jacobian),
    ]);
    let ends = bounds(support);
    let at = |z: &f64| {
        let results = evaluate(&function, &[Tensor::scalar(*z)], &Sizes::default());
        let (value, slope) = (results[0].data[0], results[1].data[0]);
        let is_inside = ends.lo < value && value < ends.hi;
        (value, if is_inside { slope } else { f64::NAN })
    };
    Some(points.iter().map(at).unzip())
}

/// The log density of a prior without free parameters at each of `values`; of a joint one where all elements are about
/// this value.
fn log_prior(prior: &Prior, values: &[f64]) -> Option<Vec<f64>> {
    if !prior.arguments.params.is_empty() {
        return None;
    }
    let distribution = &prior.distribution;
    if let Some(elements) = &distribution.log_density_elements {
        let p = along(elements, values.len())?;
        let mut inputs = evaluate(&along(&prior.arguments, values.len())?, &[], &Sizes::default());
        inputs.push(column(values));
        return evaluate(&p, &inputs, &Sizes::default())
            .pop()
            .map(|tensor| tensor.data);
    }
    let sizes = distribution.value.shape.resolve(&Sizes::default());
    if sizes.iter().product::<usize>() > LARGE {
        return None;
    }
    let function = super::closed::log_prior(prior);
    let at = |value: &f64| {
        // Elements that differ: a density may well be zero where two of them are equal.
        let mut element = 0.0;
        let x = Tensor::from_fn(sizes.clone(), |_| {
            element += 1.0;
            value * (1.0 + 0.01 * element)
        });
        evaluate(&function, &[x], &Sizes::default())
            .pop()
            .map(|tensor| tensor.data[0])
    };
    values.iter().map(at).collect()
}

/// Towards which end a density is followed.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Infinity,
    Zero,
}

impl<'a> Probe<'a> {
    fn new(
        site: &Site,
        posterior: &'a SitePosterior,
        placement: Placement,
        prior: &'a Prior,
    ) -> Option<Probe<'a>> {
        let family = &posterior.family;
        let params: Option<Vec<f64>> = posterior.params.iter().map(start).collect();
        let params = params?;
        let inside = match placement {
            Placement::Inside => bounds(family.support),
            Placement::Carried => Interval::REALS,
        };
        let points: Vec<f64> = grid(posterior, &params)
            .into_iter()
            .filter(|x| inside.lo < *x && *x < inside.hi)
            .collect();
        let (values, slopes) = match placement {
            Placement::Inside => (points.clone(), vec![0.0; points.len()]),
            Placement::Carried => carried(site.support, &points)?,
        };
        let q = along(family.log_density_elements.as_ref()?, points.len())?;
        let mut of_q: Vec<Tensor> = params
            .iter()
            .map(|number| Tensor::from_fn(vec![points.len()], |_| *number))
            .collect();
        of_q.push(column(&points));
        let log_p = log_prior(prior, &values)?;
        Some(Probe {
            family: &family.name,
            prior: &prior.distribution.name,
            log_q: evaluate(&q, &of_q, &Sizes::default()).pop()?.data,
            log_p: log_p
                .iter()
                .zip(slopes)
                .map(|(log_p, slope)| log_p + slope)
                .collect(),
            points,
            placement,
        })
    }

    /// A point where the family has mass and the prior has none.
    fn mass(&self) -> Option<String> {
        let peak = self
            .log_q
            .iter()
            .copied()
            .filter(|x| x.is_finite())
            .fold(f64::NEG_INFINITY, f64::max);
        // Close to zero a density may be rounded to nothing.
        let mut apart = (0..self.points.len()).filter(|at| self.points[*at].abs() >= APART);
        let at = apart.find(|at| self.log_q[*at] > peak - MASS && self.log_p[*at] == f64::NEG_INFINITY)?;
        Some(format!(
            "`{}` has no density at {}, where `{}` has mass",
            self.prior,
            rounded(self.points[at]),
            self.family
        ))
    }

    /// An end at which the family lacks the moment that the prior asks for.
    fn ends(&self) -> Option<String> {
        [1.0, -1.0].into_iter().find_map(|sign| {
            self.end(End::Infinity, sign)
                .or_else(|| self.end(End::Zero, sign))
                .or_else(|| self.exponential(sign))
        })
    }

    /// A prior whose log density falls like an exponential, faster than the family does.
    fn exponential(&self, sign: f64) -> Option<String> {
        let at = |exponent: i32| self.points.iter().position(|x| *x == sign * 2f64.powi(exponent));
        let log_p = |exponent: i32| at(exponent).map_or(f64::NAN, |at| self.log_p[at]);
        let last = DOUBLINGS.rev().find(|exponent| log_p(*exponent).is_finite())?;
        if last == *DOUBLINGS.end() || log_p(last) > OVERFLOWING {
            return None;
        }
        // The logarithm of the integrand.
        let log = |exponent: i32| Some(self.log_q[at(exponent)?] + (-log_p(exponent)).ln());
        let [near, middle, far] = [log(last - 2)?, log(last - 1)?, log(last)?];
        let (before, falls) = (middle - near, far - middle);
        // Between distances that double, an exponential falls by twice as much each time, a power by as much.
        let is_power = falls > 1.5 * before;
        let exists = falls < -1e-9 && (!is_power || falls / std::f64::consts::LN_2 < -1.0);
        if falls.is_nan() || exists {
            return None;
        }
        let (family, prior) = (self.family, self.prior);
        Some(format!(
            "far out the log density of `{prior}` falls like an exponential, whose mean under `{family}` does not exist"
        ))
    }

    fn end(&self, end: End, sign: f64) -> Option<String> {
        let place = |x: f64| if end == End::Infinity { sign * x } else { sign / x };
        let at = |x: f64| self.points.iter().position(|point| *point == place(x));
        let [a, b, c] = FAR.map(at);
        let index = index(end, [self.log_q[a?], self.log_q[b?], self.log_q[c?]])?;
        let log_p = |x: f64| at(x).map_or(f64::NAN, |at| self.log_p[at]);
        let order = match (self.placement, end) {
            (Placement::Inside, End::Infinity) => order(FAR.map(log_p)),
            // Next to zero a density that falls to nothing at once has been rounded.
            (Placement::Inside, End::Zero) if log_p(FAR[1]) == f64::NEG_INFINITY => 0.0,
            (Placement::Inside, End::Zero) => order(FAR.map(log_p)),
            (Placement::Carried, End::Infinity) => order_of_carried(CARRIED.map(log_p)),
            (Placement::Carried, End::Zero) => 0.0,
        };
        if order == 0.0 || order < index - TOLERANCE {
            return None;
        }
        let (index, order) = (rounded(index), rounded(order));
        let (family, prior) = (self.family, self.prior);
        Some(match end {
            End::Infinity if order > EXPONENTIAL => format!(
                "far out the log density of `{prior}` falls faster than any power, but under `{family}` the mean of |w|^k exists \
                 for k < {index} only"
            ),
            End::Infinity => format!(
                "far out the log density of `{prior}` falls like |w|^{order}, but under `{family}` the mean of |w|^k exists for \
                 k < {index} only"
            ),
            End::Zero => format!(
                "near zero the log density of `{prior}` falls like 1 / |w|^{order}, but under `{family}` the mean of 1 / |w|^k \
                 exists for k < {index} only"
            ),
        })
    }
}

/// Below which order the moments exist, at one end; `None` where all do.
fn index(end: End, log_density: [f64; 3]) -> Option<f64> {
    let steps = [FAR[1] / FAR[0], FAR[2] / FAR[1]].map(f64::ln);
    let slopes = [0, 1].map(|at| (log_density[at + 1] - log_density[at]) / steps[at]);
    let is_power = slopes.iter().all(|slope| slope.is_finite())
        && (slopes[1] - slopes[0]).abs() <= 0.02 * slopes[0].abs().max(1.0);
    // Towards zero log |x| falls by as much as it rises towards infinity: `q = |x|^s` there has the slope `-s`, and the mean of
    // `1 / |x|^k` exists for `k < s + 1`.
    is_power.then_some(match end {
        End::Infinity => -slopes[1] - 1.0,
        End::Zero => 1.0 - slopes[1],
    })
}

/// The power of the distance at which minus the log density grows; zero where it grows like a logarithm or its square.
fn order([nearer, farther, _]: [f64; 3]) -> f64 {
    if farther == f64::NEG_INFINITY {
        return f64::INFINITY;
    }
    if !(nearer < 0.0 && farther < 0.0) {
        return 0.0;
    }
    let order = (farther / nearer).ln() / (FAR[1] / FAR[0]).ln();
    if order < 0.1 { 0.0 } else { order }
}

/// The same at moderate distances, each twice the one before: differences leave constants out, and powers are taken to be halves.
fn order_of_carried([near, middle, far]: [f64; 3]) -> f64 {
    let (nearer, farther) = (near - middle, middle - far);
    if farther == f64::INFINITY {
        return f64::INFINITY;
    }
    if !(nearer > 0.0 && farther > 0.0) {
        return 0.0;
    }
    let order = (farther / nearer).log2().max(0.0);
    if order > EXPONENTIAL {
        order
    } else {
        (2.0 * order).round() / 2.0
    }
}

/// To four digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// Where a parameter starts, or its typical start.
fn start(param: &FamilyParam) -> Option<f64> {
    match &param.start {
        Start::Optimise(Init::Constant(value)) => Some(*value),
        Start::Optimise(Init::Uniform(lo, hi)) => Some(0.5 * (lo + hi)),
        Start::Optimise(Init::Normal(mean, _)) => Some(*mean),
        Start::Optimise(Init::Values(values)) | Start::Fixed(values) => values.first().copied(),
        Start::From(..) => None,
    }
}

/// Points at both ends, and where the family has its mass.
fn grid(posterior: &SitePosterior, params: &[f64]) -> Vec<f64> {
    let mut points = Vec::new();
    for x in FAR.into_iter().chain(CARRIED) {
        points.extend([x, -x, 1.0 / x, -1.0 / x]);
    }
    for exponent in -12..=12 {
        let x = 10f64.powf(f64::from(exponent) / 2.0);
        points.extend([x, -x]);
    }
    for exponent in DOUBLINGS {
        let x = 2f64.powi(exponent);
        points.extend([x, -x]);
    }
    if let Some((mean, sd)) = centre(posterior, params) {
        points.extend((-5..=5).map(|step| mean + f64::from(step) * sd));
    }
    points
}

/// The mean and the standard deviation of an elementwise family with these parameters, where it states finite ones.
fn centre(posterior: &SitePosterior, params: &[f64]) -> Option<(f64, f64)> {
    let moment = |function: &Option<Arc<Function>>| -> Option<f64> {
        let function = along(function.as_ref()?, 1)?;
        let inputs: Vec<Tensor> = params
            .iter()
            .map(|number| Tensor::from_fn(vec![1], |_| *number))
            .collect();
        let values = evaluate(&function, &inputs, &Sizes::default());
        values
            .first()
            .map(|tensor| tensor.data[0])
            .filter(|value| value.is_finite())
    };
    let family = &posterior.family;
    let variance = moment(&family.variance)?;
    Some((moment(&family.mean)?, variance.sqrt()))
}

/// The mean and the standard deviation of a family where it starts.
pub fn start_of(posterior: &SitePosterior) -> Option<(f64, f64)> {
    let params: Option<Vec<f64>> = posterior.params.iter().map(start).collect();
    centre(posterior, &params?)
}

/// An elementwise function for `count` elements along one axis, whatever the shape it was made for.
pub(super) fn along(function: &Function, count: usize) -> Option<Function> {
    let function = expand_maps(function);
    let shape = Shape::fixed(&[count]);
    let mut builder = Builder::new(&function.name);
    let mut copies = vec![Value(0); function.nodes.len()];
    for value in function.nodes.ids() {
        let node = &function.nodes[value];
        let ty = Type::new(node.ty.dtype, shape.clone());
        copies[value.index()] = match &node.kind {
            NodeKind::Param(name) => builder.param(name, ty),
            NodeKind::Apply { op, args, attrs } => {
                let args: Vec<Value> = args.iter().map(|arg| copies[arg.index()]).collect();
                if std::ptr::eq(op.0, &ops::constant::CONSTANT) {
                    builder.constant(&ty, *attr::real(attrs, 2))
                } else if std::ptr::eq(op.0, &ops::broadcast::BROADCAST)
                    || std::ptr::eq(op.0, &ops::reshape::RESHAPE)
                    || std::ptr::eq(op.0, &ops::stop_gradient::STOP_GRADIENT)
                {
                    args[0]
                } else if op.is_elementwise() {
                    builder.apply(op.0, &args, attrs.clone())
                } else {
                    return None;
                }
            }
        };
    }
    let results: Vec<Value> = function
        .results
        .iter()
        .map(|(_, value)| copies[value.index()])
        .collect();
    let named = nodes::named(&function, &results);
    Some(builder.finish(named))
}
