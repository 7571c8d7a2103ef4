//! The tensors that an optimiser updates or keeps, and their starting values.

use super::likelihood::symmetry;
use super::plan::{SitePlan, scale_of, state_name, state_type};
use super::plausible;
use super::sample::moves;
use crate::constrain::Scale;
use crate::diagnostics::NoState;
use crate::kl::{KlChoice, is_point};
use bnnc_abi::manifest::{Init, PriorReport, SiteReport, StartSite, State};
use bnnc_abi::methods::laplace::{EVIDENCE_SLOPE, PRIOR_FACTOR};
use bnnc_abi::names::{layers_of, path_in};
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{
    ApproximatePosterior, ElaboratedOptimiser, FamilyStart, Model, RunningMean, Site, SitePosterior,
};
use bnnc_graph::ops;
use std::sync::Arc;

/// Returns one state for each parameter of each site's family. They are followed by the states that
/// the optimiser keeps for each optimised parameter. If the prior is tuned during training
/// (`online`), the states of [`tuned`] are added.
pub fn states(plans: &[SitePlan<'_>], optimiser: &ElaboratedOptimiser, online: bool) -> Vec<State> {
    let mut states = parameters(plans);
    for (name, shape) in optimised(plans) {
        let own = optimiser.states.iter();
        let mut besides: Vec<(String, f64)> = own
            .map(|(state, value)| (format!("{name}/{state}"), *value))
            .collect();
        if online {
            besides.extend(tuned(&name).into_iter().zip([1.0, 0.0]));
        }
        states.extend(besides.into_iter().map(|(name, value)| State {
            name,
            shape: shape.clone(),
            init: Init::Constant(value),
            parameter: false,
            is_running_mean: false,
            from: None,
        }));
    }
    states
}

/// Returns one state per running mean. Predictions read it like a parameter; a training step updates it without the optimiser.
pub fn running(model: &Model, posterior: &ApproximatePosterior) -> impl Iterator<Item = State> {
    model.running.iter().map(|mean| State {
        name: mean.name.to_string(),
        shape: mean.ty.shape.clone(),
        init: Init::Constant(mean.start),
        parameter: true,
        is_running_mean: true,
        from: taken_mean(&mean.name, posterior),
    })
}

/// A site whose value is taken from a site of another inference block.
struct TakenSite {
    site: Arc<str>,
    infer: Arc<str>,
    source: Arc<str>,
}

/// Returns the inference block and the state from which a running mean starts, or `None` if it has its declared start. Fixed parameters are only
/// meaningful together with the means with which they were trained. Consider the innermost layer that contains the mean and has fixed parameters. The
/// mean is taken from the layer of the earlier model that provides these parameters. If there is not exactly one such layer, or if the model itself
/// declares the mean, the mean is taken under its own name from the inference block that provides all fixed parameters.
fn taken_mean(mean: &str, posterior: &ApproximatePosterior) -> Option<(String, String)> {
    let of_site = |site: &SitePosterior| {
        site.params.iter().find_map(|param| match &param.start {
            FamilyStart::From(infer, source) => Some(TakenSite {
                site: site.site.clone(),
                infer: infer.clone(),
                source: source.clone(),
            }),
            FamilyStart::Optimise(_) | FamilyStart::Fixed(_) => None,
        })
    };
    let taken: Vec<TakenSite> = posterior.sites.iter().filter_map(of_site).collect();
    layers_of(mean)
        .find_map(|layer| source_in(layer, mean, &taken))
        .or_else(|| {
            let first = &taken.first()?.infer;
            let is_only = taken.iter().all(|taken| taken.infer == *first);
            is_only.then(|| (first.to_string(), mean.to_owned()))
        })
}

/// Returns the inference block and the name of a running mean in the layer that provides the fixed parameters of `layer`. This layer is found by
/// depth: if `net.first.w` is fixed to `body.first.w`, then `body` provides the parameters of `net`. Returns
/// `None` if `layer` does not have fixed parameters, or if they come from several layers.
fn source_in(layer: &str, mean: &str, taken: &[TakenSite]) -> Option<(String, String)> {
    let line = path_in(layer, mean)?;
    let mut sources = taken.iter().filter_map(|taken| {
        let depth = path_in(layer, &taken.site)?.matches('.').count();
        let source = match taken.source.matches('.').count() {
            // The earlier model declares the parameters of this layer as its own.
            own if own == depth => line.to_owned(),
            _ => format!("{}.{line}", layers_of(&taken.source).nth(depth)?),
        };
        Some((&taken.infer, source))
    });
    let (infer, source) = sources.next()?;
    let is_unique = sources.all(|other| other == (infer, source.clone()));
    is_unique.then(|| (infer.to_string(), source))
}

/// Returns the names of two states that are tuned while another state is optimised. The first multiplies the slope of the log prior. The second,
/// such as the slope of an evidence, is added to the slope of the log posterior.
pub fn tuned(state: &str) -> [String; 2] {
    [PRIOR_FACTOR, EVIDENCE_SLOPE].map(|what| format!("{state}/{what}"))
}

/// Returns one state per parameter of each site's family.
pub fn parameters(plans: &[SitePlan<'_>]) -> Vec<State> {
    let mut states = Vec::new();
    for plan in plans {
        for param in &plan.posterior.params {
            let shape = state_type(plan, param).shape;
            let scale = scale_of(plan, param);
            let (init, from) = match &param.start {
                FamilyStart::Optimise(init) => (start(scale, &param.ty.shape, init), None),
                FamilyStart::Fixed(values) => (fixed(scale, &param.ty.shape, values), None),
                FamilyStart::From(infer, site) => {
                    let state = format!("{site}/{}", param.name);
                    (Init::Constant(0.0), Some((infer.to_string(), state)))
                }
            };
            states.push(State {
                name: state_name(plan, param),
                shape,
                init,
                parameter: true,
                is_running_mean: false,
                from,
            });
        }
    }
    states
}

/// Returns the sites and the stored running means of `model` whose values can be loaded from a file. The state of such a site is
/// its position. A site in `noncentred` does not qualify, because its state is the noise of the
/// prior.
///
/// # Errors
/// Fails if the approximation of a site is not a point, or if its parameterisation is non-centred.
pub fn loadable(
    model: &Model,
    posterior: &ApproximatePosterior,
    noncentred: &[Arc<str>],
) -> Result<Vec<StartSite>, NoState> {
    let one = |site: &Site| {
        let own = posterior.sites.iter().find(|own| own.site == site.name);
        let param = own.filter(|own| is_point(own)).and_then(|own| own.params.first());
        let Some(param) = param else {
            let (site, family) = (
                site.name.to_string(),
                own.map_or("something else", |own| &own.family.name).to_owned(),
            );
            return Err(NoState::Family { site, family });
        };
        if noncentred.contains(&site.name) {
            return Err(NoState::Noise(site.name.to_string()));
        }
        Ok(StartSite {
            site: site.name.to_string(),
            state: format!("{}/{}", site.name, param.name),
            shape: site.ty.shape.clone(),
            support: match param.support {
                Support::Real => site.support,
                support => support,
            },
            moves: matches!(param.start, FamilyStart::Optimise(_)),
        })
    };
    let stored = |mean: &RunningMean| StartSite {
        site: mean.name.to_string(),
        state: mean.name.to_string(),
        shape: mean.ty.shape.clone(),
        support: Support::Real,
        moves: true,
    };
    let means = model.running.iter().map(|mean| Ok(stored(mean)));
    model.sites.iter().map(one).chain(means).collect()
}

/// Returns the names and shapes of the states that the optimiser updates.
pub fn optimised(plans: &[SitePlan<'_>]) -> Vec<(Arc<str>, Shape)> {
    let of = |plan: &SitePlan<'_>| {
        let moved = plan
            .posterior
            .params
            .iter()
            .filter(|param| matches!(param.start, FamilyStart::Optimise(_)));
        moved
            .map(|param| (state_name(plan, param).into(), state_type(plan, param).shape))
            .collect::<Vec<(Arc<str>, Shape)>>()
    };
    plans.iter().flat_map(of).collect()
}

/// Returns one report for each site. If there is a sentence about the likelihood for a site, its
/// report includes it.
///
/// # Errors
/// Returns the errors of [`symmetry::is_uncorrelated`].
pub fn reports(
    plans: &[SitePlan<'_>],
    choices: &[KlChoice],
    likelihood: &[String],
) -> Result<Vec<SiteReport>, Fault> {
    let of = |(at, plan): (usize, &SitePlan<'_>)| {
        let is_factorised = is_factorised(&plan.posterior.family)?;
        let members = &plan.posterior.members;
        let names: Vec<String> = members.iter().map(|site| format!("`{}`", site.name)).collect();

        let together = match members.is_empty() {
            true => String::new(),
            false => format!("; one family and one divergence for {}", names.join(", ")),
        };
        let kl = choices.get(at).map(KlChoice::sentence).unwrap_or_default() + &together;
        let report = |site: &Site| SiteReport {
            name: site.name.to_string(),
            shape: site.ty.shape.clone(),
            family: plan.posterior.family.name.to_string(),
            is_fixed: is_point(plan.posterior) && !moves(plan),
            is_point: is_point(plan.posterior),
            has_deviation: has_deviation(&plan.posterior.family),
            is_factorised,
            kl: kl.clone(),
            likelihood: likelihood.get(at).cloned().unwrap_or_default(),
            prior: match members.is_empty() {
                true => plausible::report(site, plan.prior),
                false => PriorReport::of(site.support),
            },
        };
        Ok(plan.sites().iter().map(report).collect::<Vec<_>>())
    };
    let reports: Vec<Vec<SiteReport>> = plans.iter().enumerate().map(of).collect::<Result<_, Fault>>()?;
    Ok(reports.concat())
}

/// Returns whether the elements of a family are known to be uncorrelated: the family is elementwise, or its sampler shows it.
fn is_factorised(family: &Instance) -> Result<bool, Fault> {
    match &family.draw {
        Some(draw) if !family.elementwise => symmetry::is_uncorrelated(draw),
        Some(_) | None => Ok(family.elementwise),
    }
}

/// Returns whether the variance of a family is the square of its parameter `scale`.
fn has_deviation(family: &Instance) -> bool {
    let square = |function: &Function| {
        let (_, value) = function.results.first()?;
        let is_product = function.op(*value)?.is(&ops::mul::MUL);
        let args = function.args(*value);
        let is_scale = |arg: &Value| function.param_name(*arg).is_some_and(|name| &**name == "scale");
        Some(is_product && args.iter().all(is_scale))
    };
    family.variance.as_deref().and_then(square).unwrap_or(false)
}

/// The largest absolute value of a start on the unconstrained scale. Beyond it, every bijection
/// onto a support is flat in both precisions. A start at the end of a support is moved to this
/// limit.
const FAR: f64 = 40.0;

fn inverse(scale: Scale, last: usize, values: &[f64]) -> Vec<f64> {
    let is_free = scale.support() == Support::Real;
    let finite = |x: f64| if is_free { x } else { x.clamp(-FAR, FAR) };
    scale.state(last, values).into_iter().map(finite).collect()
}

/// Transforms a start from the declared scale to the reals. A start outside the support is assumed
/// to be unconstrained already. An example is the default start of a family on the reals.
fn start(scale: Scale, shape: &Shape, init: &Init) -> Init {
    let one = |x: f64| inverse(scale, 1, &[x])[0];
    let support = scale.support();
    let holds = |x: f64| matches!(support, Support::Interval(lo, hi) if lo < x && x < hi);
    match (support, init) {
        (Support::Real, _) => init.clone(),
        (_, Init::Values(values)) => Init::Values(inverse(scale, last_of(shape), values)),
        (_, Init::Constant(value)) if holds(*value) => Init::Constant(one(*value)),
        (_, Init::Constant(_)) => Init::Constant(0.0),
        (_, Init::Uniform(lo, hi)) if holds(*lo) && holds(*hi) => Init::Uniform(one(*lo), one(*hi)),
        (_, Init::Normal(mean, sd)) if holds(*mean) && *sd > 0.0 => {
            // The delta method: a narrow normal distribution stays normal to first order.
            let step = 1e-4 * sd;
            let slope = (one(mean + step) - one(mean - step)) / (2.0 * step);
            Init::Normal(one(*mean), sd * slope.abs())
        }
        (_, Init::Uniform(..) | Init::Normal(..)) => init.clone(),
    }
}

fn fixed(scale: Scale, shape: &Shape, values: &[f64]) -> Init {
    match values {
        [value] if !matches!(scale.support(), Support::Simplex | Support::Ordered) => {
            Init::Constant(inverse(scale, 1, &[*value])[0])
        }
        _ => Init::Values(inverse(scale, last_of(shape), values)),
    }
}

fn last_of(shape: &Shape) -> usize {
    shape.dims().last().and_then(|dim: &Dim| dim.fixed()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::special::{sigmoid, softplus};

    const POSITIVE: Support = Support::Interval(0.0, f64::INFINITY);

    fn numbers(init: &Init) -> Vec<f64> {
        match init {
            Init::Constant(value) => vec![*value],
            Init::Uniform(a, b) | Init::Normal(a, b) => vec![*a, *b],
            Init::Values(values) => values.clone(),
        }
    }

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        assert!(
            got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-6),
            "{got:?} is not {want:?}"
        );
    }

    fn starts(support: Support, init: Init) -> Vec<f64> {
        numbers(&start(Scale::Parameter(support), &Shape::fixed(&[2]), &init))
    }

    #[test]
    fn starts_inside_the_support_are_transformed_back() {
        close(&[softplus(starts(POSITIVE, Init::Constant(0.3))[0])], &[0.3]);
        let unit = Support::Interval(0.0, 1.0);
        let ends: Vec<f64> = starts(unit, Init::Uniform(0.2, 0.9))
            .into_iter()
            .map(sigmoid)
            .collect();
        close(&ends, &[0.2, 0.9]);
        close(&starts(Support::Real, Init::Normal(1.0, 2.0)), &[1.0, 2.0]);
        let values: Vec<f64> = starts(POSITIVE, Init::Values(vec![0.5, 2.0]))
            .into_iter()
            .map(softplus)
            .collect();
        close(&values, &[0.5, 2.0]);
    }

    /// The slope of the inverse of softplus at 1 is `1 / (1 - exp(-1))`.
    #[test]
    fn a_narrow_normal_keeps_its_width() {
        let got = starts(POSITIVE, Init::Normal(1.0, 0.01));
        close(&[softplus(got[0]), got[1]], &[1.0, 0.01 / (1.0 - (-1f64).exp())]);
    }

    /// The value of a positive site is the exponential of its state, so the state starts at a
    /// logarithm.
    #[test]
    fn a_point_starts_on_the_logarithmic_scale() {
        let got = start(Scale::Site(POSITIVE), &Shape::scalar(), &Init::Constant(0.3));
        close(&numbers(&got), &[0.3f64.ln()]);
        let kept = fixed(Scale::Site(POSITIVE), &Shape::fixed(&[2]), &[0.3, 2.0]);
        close(&numbers(&kept), &[0.3f64.ln(), 2f64.ln()]);
    }

    #[test]
    fn starts_outside_the_support_are_taken_on_the_reals() {
        close(&starts(POSITIVE, Init::Constant(0.0)), &[0.0]);
        close(&starts(POSITIVE, Init::Uniform(-0.5, 0.5)), &[-0.5, 0.5]);
        close(&starts(POSITIVE, Init::Normal(-1.0, 0.1)), &[-1.0, 0.1]);
        close(&starts(Support::Simplex, Init::Constant(0.3)), &[0.0]);
    }
}
