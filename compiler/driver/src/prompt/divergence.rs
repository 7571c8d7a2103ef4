//! `:kl Q P`: exact where the graph shows a closed form, else by draws, and it says which and why.

use super::concrete::{Concrete, Sample};
use super::show::number;
use bnnc_base::shape::Sizes;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::model::{Site, SitePosterior};
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::kl::{self, Choice, Placement};
use std::sync::Arc;

/// A divergence as text, with how it was found. `draws` are taken from `stream` where it needs them.
pub fn divergence(
    q: &Concrete,
    p: &Concrete,
    draws: usize,
    stream: &str,
    number: u32,
) -> Result<String, String> {
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
        family,
        params: Vec::new(),
    };
    if kl::is_point(&posterior) {
        return Ok(infinite("all mass of `Point` is at one point"));
    }
    let (ty, support) = (p.instance.value.clone(), p.instance.support);
    let site = Site {
        name: "x".into(),
        ty,
        support,
        local: false,
    };
    match kl::placement(&site, &posterior) {
        Ok(Placement::Inside) => {}
        Ok(Placement::Carried) | Err(_) => {
            let (q, p) = (&q.instance.name, &p.instance.name);
            return Ok(infinite(&format!("`{q}` has mass where `{p}` has none")));
        }
    }
    if &*p.instance.name == "Flat" {
        return Err("`Flat` is improper: the divergence from it is known only up to a constant".to_owned());
    }
    match kl::choose(&posterior, Placement::Inside, &p.instance, None) {
        Choice::Exact(why) => match exact(q, p) {
            Some(value) => Ok(format!(
                "{} (exact: {})",
                self::number(value),
                why.replace(" in the site", "")
            )),
            None => sampled(q, p, draws, stream, number, "no closed form was found"),
        },
        Choice::MonteCarlo(why) => sampled(q, p, draws, stream, number, &why),
        Choice::Point => Ok(infinite("all mass is at one point")),
    }
}

fn infinite(why: &str) -> String {
    format!("inf ({why})")
}

fn exact(q: &Concrete, p: &Concrete) -> Option<f64> {
    let mut builder = Builder::new("divergence");
    let params = |concrete: &Concrete, builder: &mut Builder| {
        let named = concrete.instance.params.iter();
        named
            .map(|(name, ty)| builder.param(name, ty.clone()))
            .collect::<Vec<_>>()
    };
    let (of_q, of_p) = (params(q, &mut builder), params(p, &mut builder));
    let value = kl::exact(&mut builder, &q.instance, &of_q, &p.instance, &of_p)?;
    let function = builder.finish(vec![("divergence".into(), value)]);
    let inputs: Vec<Tensor> = q.params.iter().chain(&p.params).cloned().collect();
    evaluate(&function, &inputs, &Sizes::default())
        .first()
        .map(|tensor| tensor.data[0])
}

fn sampled(
    q: &Concrete,
    p: &Concrete,
    draws: usize,
    stream: &str,
    number: u32,
    why: &str,
) -> Result<String, String> {
    let values = q.draws(stream, number, draws)?;
    let pairs = q.log_densities(&values).into_iter().zip(p.log_densities(&values));
    let ratios: Vec<f64> = pairs.map(|(of_q, of_p)| of_q - of_p).collect();
    if ratios.contains(&f64::INFINITY) {
        return Ok(infinite(&format!(
            "draws of `{}` lie where `{}` has no density",
            q.instance.name, p.instance.name
        )));
    }
    let Sample { mean, error, .. } = Sample::of(&ratios);
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

/// Between discrete distributions: a sum over the values.
fn summed(q: &Concrete, p: &Concrete) -> Result<String, String> {
    let (of_q, of_p) = (q.table()?, p.table()?);
    let mut total = 0.0;
    for (at, masses) in of_q.iter().enumerate() {
        for (element, mass) in masses.data.iter().enumerate() {
            let other = match of_p.get(at) {
                Some(masses) => masses.data[element].ln(),
                // Beyond the table of an unbounded distribution its density is still known.
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
            "`{}` has mass where `{}` has none",
            q.instance.name, p.instance.name
        ))),
        false => Ok(format!(
            "{} (exact: summed over {} values)",
            number(total),
            of_q.len()
        )),
    }
}
