//! Computes the KL divergence for one weight by quadrature. The computation is independent of the
//! compiler's computation.

use super::diagnostics::ExploreError;
use super::quadrature::{IntegralRange, integrate, marks};
use super::{Prepared, Question, Way, prepare, program};
use bnnc_abi::manifest::Init;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_driver::concrete::Concrete;
use bnnc_driver::infer::CompileFailure;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{FamilyParam, FamilyStart};
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::batch::batch;
use bnnc_rewrite::constrain::constrain;
use bnnc_rewrite::kl::{Placement, placement};

/// The number of draws from which the range of the integral is determined.
const DRAWS: usize = 2000;

/// The probabilities of those quantiles of the draws that determine the range of the integral.
const SHARES: [f64; 9] = [0.001, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999];

/// The number of points on a density curve.
const POINTS: usize = 241;

/// The KL divergence for one weight and the curves of both densities, computed without the
/// compiler's rewrites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exact {
    /// The divergence, or `None` if the quadrature did not find a finite value.
    pub value: Option<f64>,
    /// True if the approximation is defined on the reals, and a bijection maps its values to the
    /// support of the prior.
    pub transformed: bool,
    /// The curves of both densities in the region that has most of the approximation's probability.
    /// Each entry holds the weight, the density of the approximation and the density of the prior.
    /// With a bijection, all three refer to the scale before the bijection.
    pub curve: Vec<[f64; 3]>,
}

/// Computes the KL divergence for one weight, and the curves of both densities.
///
/// # Errors
/// Fails with the diagnostics of the question's program.
pub fn exact(question: &Question) -> Result<Exact, ExploreError> {
    let question = Question {
        weights: 1,
        ..question.clone()
    };
    let program = program::load(&question, Way::Direct)?;
    let options = program::options(&question, &[]);
    let found = prepare(&program, &options).and_then(|prepared| by_quadrature(&prepared));
    found.map_err(|failure| ExploreError::of_program(&failure, &program))
}

fn by_quadrature(prepared: &Prepared<'_>) -> Result<Exact, CompileFailure> {
    let missing = || CompileFailure::Fault(Fault::Bug("the explorer's program has one site".to_owned()));
    let site = prepared.elaborated.model.sites.first().ok_or_else(missing)?;
    let posterior = prepared.elaborated.posterior.sites.first().ok_or_else(missing)?;
    let prior = prepared.densities.priors.first().ok_or_else(missing)?;
    let placement = placement(site, posterior)?;
    let family = Concrete {
        instance: (*posterior.family).clone(),
        params: posterior.params.iter().map(start).collect(),
    };
    let transformed = (placement == Placement::Transformed).then_some(site.support);
    let densities = densities(&family.instance, &prior.distribution, transformed);
    let of_prior = evaluate(&prior.arguments, &[], &Sizes::default());
    let parameters: Vec<Tensor> = family.params.iter().cloned().chain(of_prior).collect();
    let Mass { range, shares, marks } = mass(&family);
    let at = |points: &[f64]| log_densities(&densities, &parameters, points);
    let mut values = |points: &[f64]| at(points).into_iter().map(contribution).collect();
    let points = grid(&shares, family.instance.support);
    let pairs = points.iter().zip(at(&points));
    let curve = pairs
        .map(|(x, (log_q, log_p))| [*x, log_q.exp(), log_p.exp()])
        .collect();
    Ok(Exact {
        value: integrate(range, &marks, &mut values).map(|integral| integral.value),
        transformed: transformed.is_some(),
        curve,
    })
}

/// Returns points that cover the region with most draws, with a margin on both sides. All points
/// lie inside the support.
fn grid(shares: &[f64], support: Support) -> Vec<f64> {
    let (Some(first), Some(last)) = (shares.get(1), shares.iter().rev().nth(1)) else {
        return Vec::new();
    };
    let room = 0.45 * (last - first);
    let (low, high) = match support {
        Support::Interval(low, high) => (low, high),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let (from, to) = ((first - room).max(low), (last + room).min(high));
    // The ends of the support are excluded, because densities may be infinite there.
    let share = |at: usize| (at as f64 + 0.5) / POINTS as f64;
    (0..POINTS).map(|at| from + (to - from) * share(at)).collect()
}

/// Returns the value of a parameter, or NaN if its start is random.
fn start(param: &FamilyParam) -> Tensor {
    let sizes = param.ty.shape.resolve(&Sizes::default());
    let values = match &param.start {
        FamilyStart::Optimise(Init::Constant(value)) => vec![*value],
        FamilyStart::Fixed(values) | FamilyStart::Optimise(Init::Values(values)) => values.clone(),
        FamilyStart::Optimise(Init::Uniform(..) | Init::Normal(..)) | FamilyStart::From(..) => vec![f64::NAN],
    };
    Tensor::from_fn(sizes, |_| values[0])
}

/// Builds a function that takes the parameters of both distributions and `x`, and returns
/// `log q(x)` and `log p(x)`. It is vectorised over `x`.
fn densities(family: &Instance, prior: &Instance, transformed: Option<Support>) -> Function {
    let mut builder = Builder::new("densities");
    let of_family = parameters(&mut builder, family, "q");
    let of_prior = parameters(&mut builder, prior, "p");
    let x = builder.param("x", family.value.clone());
    let log_q = builder.inline(&family.log_density, &with(of_family, x))[0];
    let onto = transformed.and_then(|support| constrain(&mut builder, support, x));
    let (value, log_jacobian) = onto.unwrap_or((x, builder.real(0.0)));
    let log_p = builder.inline(&prior.log_density, &with(of_prior, value))[0];
    let log_p = builder.add(log_p, log_jacobian);
    let function = builder.finish(vec![("q".into(), log_q), ("p".into(), log_p)]);
    let mapped: Vec<bool> = function.params.iter().map(|param| *param == x).collect();
    batch(&function, &mapped, Dim::Symbol(Symbol::Draws))
}

fn parameters(builder: &mut Builder, instance: &Instance, of: &str) -> Vec<Value> {
    let params = instance.params.iter();
    params
        .map(|(name, ty)| builder.param(&format!("{of}/{name}"), ty.clone()))
        .collect()
}

fn with(mut values: Vec<Value>, last: Value) -> Vec<Value> {
    values.push(last);
    values
}

/// Returns `log q(x)` and `log p(x)` at each point.
fn log_densities(densities: &Function, parameters: &[Tensor], points: &[f64]) -> Vec<(f64, f64)> {
    let at = Tensor::new(vec![points.len(), 1], points.to_vec());
    let inputs: Vec<Tensor> = parameters.iter().cloned().chain([at]).collect();
    let sizes = Sizes::default().with(Symbol::Draws, points.len());
    let results = evaluate(densities, &inputs, &sizes);
    results[0]
        .data
        .iter()
        .copied()
        .zip(results[1].data.iter().copied())
        .collect()
}

/// Returns `q (log q - log p)`, where `q` and `p` are densities. Returns zero if `q` is zero or
/// NaN, because the point then lies so far out that `q` underflows or its formula fails.
fn contribution((log_q, log_p): (f64, f64)) -> f64 {
    let density = log_q.exp();
    if density > 0.0 {
        density * (log_q - log_p)
    } else {
        0.0
    }
}

/// The region that contains nearly all of an approximation's probability.
struct Mass {
    range: IntegralRange,
    /// The quantiles of draws from the approximation, at the probabilities in `SHARES`.
    shares: Vec<f64>,
    /// Points on both sides of every narrow peak of the density. Between neighbouring points, the
    /// density does not have a narrow peak.
    marks: Vec<f64>,
}

fn mass(family: &Concrete) -> Mass {
    let mut draws = family
        .draws("explore", 0, DRAWS)
        .map_or_else(|_| Vec::new(), |draws| draws.data);
    draws.retain(|x| x.is_finite());
    draws.sort_by(f64::total_cmp);
    let share = |share: f64| draws.get((share * draws.len() as f64) as usize).copied();
    let shares: Vec<f64> = SHARES.iter().filter_map(|at| share(*at)).collect();
    let middle = share(0.5).unwrap_or(0.0);
    let spread = share(0.75)
        .zip(share(0.25))
        .map_or(1.0, |(upper, lower)| upper - lower);
    let spread = spread.max(1e-300);
    let width = |end: f64| {
        if draws.is_empty() {
            1.0
        } else {
            (middle - end).abs().max(1e-300)
        }
    };
    let range = match family.instance.support {
        Support::Interval(low, high) if low.is_finite() && high.is_finite() => {
            IntegralRange::Segment(low, high)
        }
        Support::Interval(low, _) if low.is_finite() => IntegralRange::Ray(low, width(low)),
        Support::Interval(_, high) if high.is_finite() => IntegralRange::Ray(high, -width(high)),
        _ => IntegralRange::Line(middle, spread),
    };
    let mut marks = marks(middle, spread);
    marks.extend(&shares);
    Mass { range, shares, marks }
}
