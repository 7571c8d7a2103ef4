//! The tails that distributions declare agree with their densities. The tails determine whether a
//! KL divergence is finite.

use super::probe::{Probe, module, named};
use super::scalars::{all, ends, near};
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{DeclaredEnd, Support, TailKind};
use bnnc_graph::function::Function;
use bnnc_graph::model::{FamilyParam, FamilyStart, Site, SitePosterior};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_rewrite::density::SitePrior;
use bnnc_rewrite::kl::Placement;
use bnnc_rewrite::kl::finite::{Finiteness, finiteness};
use std::f64::consts::LN_10;
use std::sync::Arc;

const INFINITY: f64 = f64::INFINITY;

/// Returns the value of a declared number of a distribution.
fn number(probe: &Probe<'_>, function: &Function) -> f64 {
    probe.call(function, &[]).data[0]
}

/// Checks that the density has the declared tail at one end of its support. The end is infinite
/// with the sign `sign`, or is a finite bound.
fn tail(probe: &Probe<'_>, end: &DeclaredEnd, (at, sign): (f64, f64)) -> Result<(), String> {
    let tail = end.tail.as_ref().ok_or("a tail is not declared")?;
    let numbers: Vec<f64> = tail
        .numbers
        .iter()
        .map(|function| number(probe, function))
        .collect();
    // Near a finite bound that is not zero, differences have large rounding errors.
    let (place, far, tolerance): (&dyn Fn(f64) -> f64, f64, f64) = match at {
        at if at.is_infinite() => (&|t| sign * t, 30.0, 1e-6),
        0.0 => (&|t| 1.0 / t, 30.0, 1e-6),
        _ => (&|t| at - sign / t, 5.0, 1e-3),
    };
    let log = |t: f64| {
        let found = probe.log_densities(&[place(t)]);
        found.map_or(f64::NAN, |found| found[0])
    };
    match tail.kind {
        TailKind::Power => {
            let slope = (log(10f64.powf(1.3 * far)) - log(10f64.powf(far))) / (0.3 * far * LN_10);
            // At a finite bound, the density is a function of the distance from the bound. The
            // distance from a finite bound is `1 / t`.
            let expected = if at.is_infinite() {
                -numbers[0] - 1.0
            } else {
                1.0 - numbers[0]
            };
            near("slope", slope, expected, tolerance)
        }
        // If the logarithm is doubled, its square is multiplied by four.
        TailKind::LogNormal => near("ratio", log(1e160) / log(1e80), 4.0, 0.1),
        TailKind::Exponential => {
            let (rate, order) = (numbers[0], numbers[1]);
            let t = 1e24f64.powf(1.0 / order) / rate;
            near("ratio", -log(t) / 1e24, 1.0, tolerance)
        }
        TailKind::DoubleExponential => {
            let slope = ((-log(200.0)).ln() - (-log(100.0)).ln()) / 100.0;
            near("rate", slope, numbers[0], tolerance)
        }
    }
}

#[test]
fn declared_tails_match_the_densities() {
    all(|probe| {
        let (support, item) = (ends(probe), probe.item());
        if matches!(support, Support::Integers(_)) || item.mixture {
            return Ok(());
        }
        let (low, high) = match support {
            Support::Interval(low, high) => (low, high),
            _ => (-INFINITY, INFINITY),
        };
        let instance = probe.instance(&[]);
        for (end, (own, sign)) in instance.reach[0].ends.iter().zip([(low, -1.0), (high, 1.0)]) {
            let at = end.at.as_ref().map_or(own, |at| number(probe, at));
            tail(probe, end, (at, sign))?;
            if end.at.is_some() {
                let beyond = probe
                    .log_densities(&[at + 0.01 * sign, at - 0.01 * sign])
                    .unwrap_or_default();
                if beyond[0] != -INFINITY || !beyond[1].is_finite() {
                    return Err(format!("log densities {beyond:?} on both sides of the end {at}"));
                }
            }
        }
        Ok(())
    });
}

/// Known properties of a distribution. Each array has one entry for the lower and one for the upper
/// bound of the support. The array `ends` contains the bounds. Towards an infinite bound, the
/// negative log density grows like the distance to the power `order`. If `order` is 0, it grows
/// like the logarithm of the distance. Moments of the distance exist for orders below `moments`.
/// For a finite bound, the distance is replaced by its inverse.
struct Known {
    name: &'static str,
    values: &'static [f64],
    ends: [f64; 2],
    order: [f64; 2],
    moments: [f64; 2],
    /// True if the mean of `exp(x)` exists.
    exponential: bool,
}

const fn known(
    name: &'static str,
    values: &'static [f64],
    ends: [f64; 2],
    (order, moments): ([f64; 2], [f64; 2]),
    exponential: bool,
) -> Known {
    Known {
        name,
        values,
        ends,
        order,
        moments,
        exponential,
    }
}

const REALS: [f64; 2] = [-INFINITY, INFINITY];
const POSITIVE: [f64; 2] = [0.0, INFINITY];
const ALL: [f64; 2] = [INFINITY, INFINITY];

/// The known properties of each distribution. The negative log density of `LogGamma` grows like
/// `exp(x)`. A growth like `exp(x)` counts as an infinite order.
const KNOWN: [Known; 26] = [
    known("Normal", &[0.0, 1.0], REALS, ([2.0, 2.0], ALL), true),
    known("Laplace", &[0.0, 1.0], REALS, ([1.0, 1.0], ALL), false),
    known("Laplace", &[0.0, 0.9], REALS, ([1.0, 1.0], ALL), true),
    known("Logistic", &[0.0, 1.0], REALS, ([1.0, 1.0], ALL), false),
    known("Cauchy", &[0.0, 1.0], REALS, ([0.0, 0.0], [1.0, 1.0]), false),
    known(
        "StudentT",
        &[3.0, 0.0, 1.0],
        REALS,
        ([0.0, 0.0], [3.0, 3.0]),
        false,
    ),
    known("Horseshoe", &[0.0, 1.0], REALS, ([0.0, 0.0], [1.0, 1.0]), false),
    known("Error", &[0.0, 1.0, 0.5], REALS, ([4.0, 4.0], ALL), true),
    known("LogGamma", &[2.0, 1.0], REALS, ([1.0, INFINITY], ALL), true),
    known(
        "Exponential",
        &[1.0],
        POSITIVE,
        ([0.0, 1.0], [1.0, INFINITY]),
        false,
    ),
    known(
        "Gamma",
        &[2.0, 1.0],
        POSITIVE,
        ([0.0, 1.0], [2.0, INFINITY]),
        false,
    ),
    known(
        "Gamma",
        &[0.5, 0.4],
        POSITIVE,
        ([0.0, 1.0], [0.5, INFINITY]),
        true,
    ),
    known("Chi2", &[3.0], POSITIVE, ([0.0, 1.0], [1.5, INFINITY]), false),
    known(
        "HalfNormal",
        &[1.0],
        POSITIVE,
        ([0.0, 2.0], [1.0, INFINITY]),
        true,
    ),
    known("HalfCauchy", &[1.0], POSITIVE, ([0.0, 0.0], [1.0, 1.0]), false),
    known(
        "HalfStudentT",
        &[3.0, 1.0],
        POSITIVE,
        ([0.0, 0.0], [1.0, 3.0]),
        false,
    ),
    known(
        "InverseGamma",
        &[3.0, 1.0],
        POSITIVE,
        ([1.0, 0.0], [INFINITY, 3.0]),
        false,
    ),
    known("InverseGaussian", &[1.0, 1.0], POSITIVE, ([1.0, 1.0], ALL), false),
    known("StandardWald", &[1.0], POSITIVE, ([1.0, 1.0], ALL), false),
    known("LogNormal", &[0.0, 1.0], POSITIVE, ([0.0, 0.0], ALL), false),
    known("Rayleigh", &[1.0], POSITIVE, ([0.0, 2.0], [2.0, INFINITY]), true),
    known(
        "Weibull",
        &[1.5, 1.0],
        POSITIVE,
        ([0.0, 1.5], [1.5, INFINITY]),
        true,
    ),
    known(
        "Weibull",
        &[0.5, 1.0],
        POSITIVE,
        ([0.0, 0.5], [0.5, INFINITY]),
        false,
    ),
    known("Beta", &[2.0, 2.0], [0.0, 1.0], ([0.0, 0.0], [2.0, 2.0]), true),
    known("Uniform", &[0.2, 0.9], [0.2, 0.9], ([0.0, 0.0], [1.0, 1.0]), true),
    known(
        "Pareto",
        &[1.0, 2.0],
        [1.0, INFINITY],
        ([0.0, 0.0], [1.0, 2.0]),
        false,
    ),
];

/// Returns whether the KL divergence is finite. The result follows from the known properties of
/// both distributions.
fn is_finite(q: &Known, p: &Known) -> bool {
    let inside = p.ends[0] <= q.ends[0] && q.ends[1] <= p.ends[1];
    let exists = |side: usize| match p.order[side] {
        _ if q.ends[side] != p.ends[side] => true,
        0.0 => true,
        INFINITY => q.exponential,
        order => order < q.moments[side],
    };
    inside && exists(0) && exists(1)
}

#[test]
fn kl_divergences_are_finite_where_the_moments_exist() {
    let module = module("");
    let probe = |known: &Known| {
        let values = known.values.iter().map(|value| Tensor::scalar(*value)).collect();
        Probe::at(&module, named(&module, known.name), values)
    };
    for q in &KNOWN {
        let family = probe(q).instance(&[]);
        let params = family
            .params
            .iter()
            .zip(q.values)
            .map(|((name, ty), value)| FamilyParam {
                name: name.clone(),
                ty: ty.clone(),
                support: Support::Real,
                start: FamilyStart::Fixed(vec![*value]),
            });
        let posterior = SitePosterior {
            site: "x".into(),
            members: Vec::new(),
            params: params.collect(),
            family: Arc::new(family.clone()),
        };
        for p in &KNOWN {
            let distribution = probe(p).instance(&[]);
            let site = Site {
                name: "x".into(),
                ty: distribution.value.clone(),
                support: distribution.support,
                local: false,
                start: None,
            };
            let prior = constant(distribution, p.values);
            let found = finiteness(&site, &posterior, Placement::Inside, &prior);
            let fits = match found {
                Finiteness::Finite => is_finite(q, p),
                Finiteness::Infinite(_) => !is_finite(q, p),
                Finiteness::Unknown(_) => false,
            };
            assert!(
                fits,
                "{} {:?} || {} {:?}: {found:?}",
                q.name, q.values, p.name, p.values
            );
        }
    }
}

/// Returns a prior with constant parameters.
fn constant(distribution: bnnc_graph::dist::Instance, values: &[f64]) -> SitePrior {
    let mut builder = Builder::new("arguments");
    let named = distribution.params.iter().zip(values);
    let results = named
        .map(|((name, _), value)| (name.clone(), *value))
        .collect::<Vec<_>>();
    let results = results.into_iter().map(|(name, value)| {
        let value = builder.constant(&Type::real(Shape::scalar()), value);
        (name, value)
    });
    let results = results.collect();
    SitePrior {
        site: "x".into(),
        distribution: Arc::new(distribution),
        arguments: builder.finish(results),
        depends_on: None,
        members: Vec::new(),
    }
}
