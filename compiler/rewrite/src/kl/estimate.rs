//! Divergences by draws: what separates becomes (function of parameters) . (means of noise), the rest a mean of its own.

use super::algebra::{Algebra, Form, Monomial, Term};
use super::closed::{held_at, prepared};
use super::expand::interpret;
use crate::constrain;
use crate::density::{SitePrior, prefix_noise};
use crate::nodes::{self, Scope};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::SitePosterior;
use bnnc_graph::types::Type;

/// A mean of noise times a function of parameters.
#[derive(Clone, Debug)]
pub struct NoiseProduct {
    /// It does not vary with the draw.
    pub coefficient: Value,
    /// What is averaged over draws, as powers of atoms.
    pub monomial: Monomial,
    /// The same as a value; no gradient flows through it.
    pub noise: Value,
}

/// The part of a divergence at one draw, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// What does not vary, as a scalar.
    pub fixed: Option<Value>,
    /// The sum over elements of each product belongs to the divergence.
    pub products: Vec<NoiseProduct>,
    /// Whether signs or choices were detached.
    pub detached: bool,
}

/// Takes a scalar form apart, or names the operation that mixes parameters and noise.
pub fn estimate(algebra: &mut Algebra<'_>, form: &Form) -> Result<Estimate, String> {
    let mut estimate = Estimate {
        detached: algebra.detached,
        ..Estimate::default()
    };
    for term in &form.terms {
        if term.monomial.0.is_empty() {
            let sum = algebra.builder.reduce_sum_all(term.coefficient);
            add_to(algebra.builder, &mut estimate.fixed, sum);
        } else if let Some(atom) = mixed_atom(algebra, term) {
            let what = algebra.builder.function().op(atom);
            return Err(format!("`{}`", what.map_or("a parameter", |op| op.name)));
        } else {
            let noise = algebra.monomial_value(&term.monomial);
            estimate.products.push(NoiseProduct {
                coefficient: term.coefficient,
                monomial: term.monomial.clone(),
                noise,
            });
        }
    }
    Ok(estimate)
}

/// The first atom of a term that parameters reach.
fn mixed_atom(algebra: &mut Algebra<'_>, term: &Term) -> Option<Value> {
    let mut atoms = term.monomial.0.iter().map(|(atom, _)| *atom);
    atoms.find(|atom| algebra.moves(*atom))
}

/// Adds to a sum that may not have begun.
pub fn add_to(builder: &mut Builder, sum: &mut Option<Value>, term: Value) {
    *sum = Some(sum.map_or(term, |sum| builder.add(sum, term)));
}

/// A draw of a site as a form: its value in the support, the draw of the family, and the log-Jacobian between them.
#[derive(Clone, Debug)]
pub struct DrawnForm {
    /// The parameters of the family.
    pub params: Vec<Form>,
    /// On the declared scale.
    pub value: Form,
    /// Before it was carried onto the support.
    pub unconstrained: Form,
    /// A scalar.
    pub log_jacobian: Option<Form>,
    /// Whether the sampler was taken apart by detached signs.
    pub detached: bool,
}

/// The draw of `posterior` with `params` at `coordinates`, whose noise lies under `path`, carried onto `support` if asked.
pub fn draw(
    algebra: &mut Algebra<'_>,
    posterior: &SitePosterior,
    params: &[Value],
    coordinates: [Value; 3],
    (path, carried): (&str, Option<Support>),
) -> DrawnForm {
    algebra.detached = false;
    let params: Vec<Form> = posterior
        .params
        .iter()
        .zip(params)
        .map(|(param, value)| match held_at(param) {
            Some(number) => {
                let number = algebra.builder.like(number, *value);
                algebra.whole(number)
            }
            None => algebra.whole(*value),
        })
        .collect();
    let unconstrained = match &posterior.family.draw {
        Some(sampler) => {
            let coordinates = coordinates.map(|coordinate| algebra.whole(coordinate));
            let args: Vec<Form> = params.iter().cloned().chain(coordinates).collect();
            interpret(algebra, &prepared(&prefix_noise(sampler, path)), &args).remove(0)
        }
        None => params[0].clone(),
    };
    let bijection = carried.and_then(|support| bijection(support, &posterior.family.value));
    let (value, log_jacobian) = match bijection {
        Some(function) => {
            let mut results = interpret(algebra, &function, std::slice::from_ref(&unconstrained));
            let log_jacobian = results.pop();
            (results.remove(0), log_jacobian)
        }
        None => (unconstrained.clone(), None),
    };
    DrawnForm {
        params,
        value,
        unconstrained,
        log_jacobian,
        detached: algebra.detached,
    }
}

/// `z -> (value, log_jacobian)`.
fn bijection(support: Support, ty: &Type) -> Option<Function> {
    let mut builder = Builder::new("constrain");
    let z = builder.param("z", ty.clone());
    let (value, log_jacobian) = constrain::constrain(&mut builder, support, z)?;
    Some(builder.finish(vec![
        ("value".into(), value),
        ("log_jacobian".into(), log_jacobian),
    ]))
}

/// The log density of the prior at a draw as a scalar form.
pub fn log_prior(
    algebra: &mut Algebra<'_>,
    prior: &SitePrior,
    drawn: &DrawnForm,
    arguments: &[Form],
) -> Form {
    log_prior_by(algebra, &super::closed::log_prior(prior), drawn, arguments)
}

fn log_prior_by(
    algebra: &mut Algebra<'_>,
    log_prior: &Function,
    drawn: &DrawnForm,
    arguments: &[Form],
) -> Form {
    let mut args = arguments.to_vec();
    args.push(drawn.value.clone());
    log_density(algebra, log_prior, &args)
}

/// `log q - log p` at a draw as a form, without the entropy where the family states one. `arguments` are the parameters of the
/// prior's own parameters (`SitePrior::arguments`), as forms.
pub fn integrand(
    algebra: &mut Algebra<'_>,
    posterior: &SitePosterior,
    prior: &SitePrior,
    drawn: &DrawnForm,
    arguments: &[Form],
) -> Form {
    integrand_with(
        algebra,
        posterior,
        &super::closed::log_prior(prior),
        drawn,
        arguments,
    )
}

/// As [`integrand`] with any `(parameters of SitePrior::arguments.., x) -> log density` for the prior.
pub fn integrand_with(
    algebra: &mut Algebra<'_>,
    posterior: &SitePosterior,
    log_prior: &Function,
    drawn: &DrawnForm,
    arguments: &[Form],
) -> Form {
    let log_prior = log_prior_by(algebra, log_prior, drawn, arguments);
    let value = algebra.builder.neg(log_prior.value);
    let mut sum = algebra.neg(value, &log_prior);
    if let Some(log_jacobian) = &drawn.log_jacobian {
        let value = algebra.builder.neg(log_jacobian.value);
        let minus = algebra.neg(value, log_jacobian);
        let value = algebra.builder.add(sum.value, minus.value);
        sum = algebra.add(value, &sum, &minus);
    }
    if posterior.family.entropy.is_none() {
        let mut args = drawn.params.clone();
        args.push(drawn.unconstrained.clone());
        let log_density = log_density(algebra, &super::closed::log_density(&posterior.family), &args);
        let value = algebra.builder.add(sum.value, log_density.value);
        sum = algebra.add(value, &sum, &log_density);
    }
    sum
}

/// A log density, or those of all elements, as a scalar form.
fn log_density(algebra: &mut Algebra<'_>, function: &Function, args: &[Form]) -> Form {
    let form = interpret(algebra, function, args).remove(0);
    if form.summed || algebra.builder.rank(form.value) == 0 {
        return form;
    }
    let value = algebra.builder.reduce_sum_all(form.value);
    algebra.total(value, &form)
}

/// The forms of the parameters of a function, by name.
pub fn named_forms(
    algebra: &mut Algebra<'_>,
    function: &Function,
    scope: &Scope,
    forms: &[(&str, &Form)],
) -> Vec<Form> {
    let of = |param: &Value| {
        let name = nodes::param_name(function, *param);
        match forms.iter().find(|(known, _)| *known == name) {
            Some((_, form)) => (*form).clone(),
            None => algebra.whole(scope.get(name)),
        }
    };
    function.params.iter().map(of).collect()
}
