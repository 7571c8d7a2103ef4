//! The command `:kl Q P`. It computes the KL divergence exactly if there is a closed form, and
//! estimates it from draws otherwise. The output states the method and the reason
//! for its choice.

use super::show::number;
use bnnc_base::fault::Fault;
use bnnc_base::reasons;
use bnnc_base::shape::Sizes;
use bnnc_driver::concrete::{Concrete, NoDraws, SampleSummary};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{MeasureKind, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::{FamilyParam, FamilyStart, Site, SitePosterior};
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::density::SitePrior;
use bnnc_rewrite::kl::finite::Finiteness;
use bnnc_rewrite::kl::{self, Placement};
use std::sync::Arc;

reasons! {
    /// The reason why a KL divergence cannot be computed.
    #[derive(Clone, Debug)]
    pub enum NoDivergence {
        /// One of the distributions cannot be sampled, or its probabilities cannot be tabulated.
        Draws(why: NoDraws) = "{why}";
        /// The second distribution is improper. The field is its name.
        Improper(name: String)
            = "`{name}` is improper: the KL divergence from it is known only up to a constant";
        /// The log density of one of the distributions is NaN at a draw. The fields are the names of both distributions.
        NotANumber(q: String, p: String)
            = "the KL divergence is not known: a log density of `{q}` or `{p}` is not a number at a draw";
        /// The search for a closed form failed.
        Search(why: Fault) = "{why}";
    }
}

impl From<NoDraws> for NoDivergence {
    fn from(why: NoDraws) -> NoDivergence {
        NoDivergence::Draws(why)
    }
}

/// Computes the KL divergence, and formats the result together with the method. `stream` is the
/// random stream for draws, if they are needed.
pub fn divergence(
    q: &Concrete,
    p: &Concrete,
    draws: usize,
    stream: &str,
    number: u32,
) -> Result<String, NoDivergence> {
    let discrete = |concrete: &Concrete| matches!(concrete.instance.support, Support::Integers(_));
    match (discrete(q), discrete(p)) {
        (true, true) => return summed(q, p),
        (false, false) => {}
        _ => {
            return Ok(infinite(&format!(
                "one of `{}` and `{}` is discrete",
                q.instance.name, p.instance.name
            )));
        }
    }
    let family = Arc::new(q.instance.clone());
    let posterior = SitePosterior {
        site: "x".into(),
        members: Vec::new(),
        family,
        params: held(q),
    };
    let point = [q, p]
        .into_iter()
        .find(|side| side.instance.measure == MeasureKind::Point);
    if let Some(point) = point {
        let name = &point.instance.name;
        return Ok(infinite(&format!("all mass of `{name}` is at one point")));
    }
    let (ty, support) = (p.instance.value.clone(), p.instance.support);
    let site = Site {
        name: "x".into(),
        ty,
        support,
        local: false,
        start: None,
    };
    // The ends of a uniform distribution are parameters, so its declared support does not contain
    // them. For two distributions on intervals, the declared ends therefore determine whether the
    // divergence is finite.
    let is_interval = |support: Support| matches!(support, Support::Real | Support::Interval(..));
    let are_intervals = is_interval(support) && is_interval(posterior.family.support);
    if !are_intervals && !matches!(kl::placement(&site, &posterior), Ok(Placement::Inside)) {
        let (q, p) = (&q.instance.name, &p.instance.name);
        return Ok(infinite(&format!(
            "`{q}` has positive density where the density of `{p}` is zero"
        )));
    }
    if p.instance.measure == MeasureKind::Improper {
        return Err(NoDivergence::Improper(p.instance.name.to_string()));
    }
    let prior = prior(p);
    let known = match kl::finite::finiteness(&site, &posterior, Placement::Inside, &prior) {
        Finiteness::Infinite(why) => return Ok(infinite(&why)),
        Finiteness::Finite => String::new(),
        Finiteness::Unknown(why) => format!(", not known to be finite: {why}"),
    };
    let exact = kl::exact(&posterior, Placement::Inside, &prior).map_err(NoDivergence::Search)?;
    match exact {
        Ok(closed) => Ok(format!(
            "{} (exact: {}){known}",
            self::number(value_of(&closed.function, q)),
            closed.because
        )),
        Err(why) => {
            let found = sampled(q, p, draws, stream, number, &why.to_string())?;
            Ok(format!("{found}{known}"))
        }
    }
}

/// Converts the parameters of a distribution to fixed parameters of a family.
fn held(concrete: &Concrete) -> Vec<FamilyParam> {
    let named = concrete.instance.params.iter().zip(&concrete.params);
    named
        .map(|((name, ty), value)| FamilyParam {
            name: name.clone(),
            ty: ty.clone(),
            support: Support::Real,
            start: FamilyStart::Fixed(value.data.clone()),
        })
        .collect()
}

/// Converts a distribution to the prior of a site.
fn prior(concrete: &Concrete) -> SitePrior {
    let mut builder = Builder::new("arguments");
    let named = concrete.instance.params.iter().zip(&concrete.params);
    let results = named
        .map(|((name, ty), value)| {
            let first = value.data.first().copied().unwrap_or(0.0);
            let is_number = value.data.iter().all(|element| *element == first);
            let argument = match is_number {
                true => builder.constant(ty, first),
                false => builder.literal(&value.shape, &value.data),
            };
            (name.clone(), argument)
        })
        .collect();
    SitePrior {
        members: Vec::new(),
        site: "x".into(),
        distribution: Arc::new(concrete.instance.clone()),
        arguments: builder.finish(results),
        depends_on: None,
    }
}

/// Evaluates a function of a distribution's parameters.
fn value_of(function: &Function, concrete: &Concrete) -> f64 {
    let values = evaluate(function, &concrete.params, &Sizes::default());
    values.first().map_or(f64::NAN, |tensor| tensor.data[0])
}

fn infinite(why: &str) -> String {
    format!("inf ({why})")
}

fn sampled(
    q: &Concrete,
    p: &Concrete,
    draws: usize,
    stream: &str,
    number: u32,
    why: &str,
) -> Result<String, NoDivergence> {
    let values = q.draws(stream, number, draws)?;
    let pairs = q.log_densities(&values).into_iter().zip(p.log_densities(&values));
    let ratios: Vec<f64> = pairs.map(|(of_q, of_p)| of_q - of_p).collect();
    if ratios.contains(&f64::INFINITY) {
        return Ok(infinite(&format!(
            "or not known: a draw of `{}` lies, or is rounded to, where the density of `{}` is zero",
            q.instance.name, p.instance.name
        )));
    }
    if ratios.iter().any(|ratio| ratio.is_nan()) {
        let [q, p] = [q, p].map(|side| side.instance.name.to_string());
        return Err(NoDivergence::NotANumber(q, p));
    }
    let SampleSummary { mean, error, .. } = SampleSummary::of(&ratios);
    Ok(format!(
        "{} ± {} (monte_carlo, {draws} draws: {why})",
        self::number(mean),
        two_digits(error)
    ))
}

fn two_digits(error: f64) -> String {
    let rounded = format!("{error:.1e}").parse();
    number(rounded.unwrap_or(error))
}

/// Computes the KL divergence of two discrete distributions as a sum over their values.
fn summed(q: &Concrete, p: &Concrete) -> Result<String, NoDivergence> {
    let (of_q, of_p) = (q.table()?, p.table()?);
    let mut total = 0.0;
    for (at, masses) in of_q.iter().enumerate() {
        for (element, mass) in masses.data.iter().enumerate() {
            let other = match of_p.get(at) {
                Some(masses) => masses.data[element].ln(),
                // If the values of a distribution are unbounded, its log density can also be
                // evaluated after the end of its table.
                None if p.instance.support == Support::Integers(0) && p.instance.probabilities.is_none() => {
                    let value = Tensor::from_fn(p.sizes(), |_| at as f64);
                    if value.data.len() == 1 {
                        p.log_density(&value)
                    } else {
                        f64::NEG_INFINITY
                    }
                }
                None => f64::NEG_INFINITY,
            };
            if *mass > 0.0 {
                total += mass * (mass.ln() - other);
            }
        }
    }
    match total.is_infinite() {
        true => Ok(infinite(&format!(
            "`{}` has probability where `{}` has none",
            q.instance.name, p.instance.name
        ))),
        false => Ok(format!(
            "{} (exact: summed over {} values)",
            number(total),
            of_q.len()
        )),
    }
}
