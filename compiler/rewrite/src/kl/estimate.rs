//! KL divergences that are estimated by draws. A separated term becomes the product of a function
//! of the parameters and a mean of noise. All other terms are averaged over draws.

use super::algebra::{Algebra, Monomial, SeparatedForm, SeparatedTerm};
use super::closed::{held_at, prepared};
use super::expand::interpret;
use crate::constrain;
use crate::density::prefix_noise;
use crate::nodes::{self, Scope};
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::SitePosterior;
use bnnc_graph::op::Op;
use bnnc_graph::types::Type;

/// The product of a function of the parameters and a mean of noise.
#[derive(Clone, Debug)]
pub struct NoiseProduct {
    /// The coefficient. It does not vary with the draw.
    pub coefficient: Value,
    /// The factors that are averaged over draws, as powers of atoms.
    pub monomial: Monomial,
    /// The value of the monomial. Gradients do not flow through it.
    pub noise: Value,
}

/// The contribution of one draw to a divergence, in separated form.
#[derive(Clone, Debug, Default)]
pub struct KlEstimate {
    /// The scalar part that does not vary with the draw.
    pub fixed: Option<Value>,
    /// The products. Each product contributes the sum of its elements.
    pub products: Vec<NoiseProduct>,
    /// True if signs or choices were replaced by values through which no gradient flows.
    pub detached: bool,
}

/// Splits a scalar form into a fixed part and products. The error is the op that mixes parameters
/// and noise. It is `None` if the atom is a parameter and not the result of an op.
pub fn estimate(algebra: &mut Algebra<'_>, form: &SeparatedForm) -> Result<KlEstimate, Option<Op>> {
    let mut estimate = KlEstimate {
        detached: algebra.detached,
        ..KlEstimate::default()
    };
    for term in &form.terms {
        if term.monomial.0.is_empty() {
            let sum = algebra.builder.reduce_sum_all(term.coefficient);
            add_to(algebra.builder, &mut estimate.fixed, sum);
        } else if let Some(atom) = mixed_atom(algebra, term) {
            return Err(algebra.builder.function().op(atom));
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

/// Returns the first atom of a term that depends on a moving parameter.
fn mixed_atom(algebra: &mut Algebra<'_>, term: &SeparatedTerm) -> Option<Value> {
    let mut atoms = term.monomial.0.iter().map(|(atom, _)| *atom);
    atoms.find(|atom| algebra.moves(*atom))
}

/// Adds a term to a sum that may be empty.
pub fn add_to(builder: &mut Builder, sum: &mut Option<Value>, term: Value) {
    *sum = nodes::sum(builder, *sum, Some(term));
}

/// A draw of a site in separated form. The form has three parts: the draw of the family, the value
/// in the support to which a bijection maps it, and the log determinant of the bijection's
/// Jacobian.
#[derive(Clone, Debug)]
pub struct DrawnForm {
    /// The parameters of the family.
    pub params: Vec<SeparatedForm>,
    /// The value in the support of the site.
    pub value: SeparatedForm,
    /// The draw of the family, before the bijection onto the support.
    pub unconstrained: SeparatedForm,
    /// The log determinant of the Jacobian, a scalar. `None` if no bijection is needed.
    pub log_jacobian: Option<SeparatedForm>,
    /// True if stop-gradient signs were needed to separate the sampler.
    pub detached: bool,
}

/// Returns the draw of `posterior` with the parameters `params` at `coordinates`. The names of its
/// noise streams begin with `path`. If a support is given, a bijection transforms the draw onto the
/// support.
///
/// # Errors
/// Fails if the simplifier has a bug or exceeds one of its limits.
pub fn draw(
    algebra: &mut Algebra<'_>,
    posterior: &SitePosterior,
    params: &[Value],
    coordinates: [Value; 3],
    (path, transformed): (&str, Option<Support>),
) -> Result<DrawnForm, Fault> {
    algebra.detached = false;
    let params: Vec<SeparatedForm> = posterior
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
            let args: Vec<SeparatedForm> = params.iter().cloned().chain(coordinates).collect();
            interpret(algebra, &prepared(&prefix_noise(sampler, path))?, &args).remove(0)
        }
        None => params[0].clone(),
    };
    let bijection = transformed.and_then(|support| bijection(support, &posterior.family.value));
    let (value, log_jacobian) = match bijection {
        Some(function) => {
            let mut results = interpret(algebra, &function, std::slice::from_ref(&unconstrained));
            let log_jacobian = results.pop();
            (results.remove(0), log_jacobian)
        }
        None => (unconstrained.clone(), None),
    };
    Ok(DrawnForm {
        params,
        value,
        unconstrained,
        log_jacobian,
        detached: algebra.detached,
    })
}

/// Returns the function `z -> (value, log_jacobian)`. It transforms `z` onto `support`.
fn bijection(support: Support, ty: &Type) -> Option<Function> {
    let mut builder = Builder::new("constrain");
    let z = builder.param("z", ty.clone());
    let (value, log_jacobian) = constrain::constrain(&mut builder, support, z)?;
    Some(builder.finish(vec![
        ("value".into(), value),
        ("log_jacobian".into(), log_jacobian),
    ]))
}

/// Returns the log density of the prior at a draw as a scalar form. `log_prior` is the function
/// `(parameters of SitePrior::arguments.., x) -> log density`.
pub fn log_prior(
    algebra: &mut Algebra<'_>,
    log_prior: &Function,
    drawn: &DrawnForm,
    arguments: &[SeparatedForm],
) -> SeparatedForm {
    let mut args = arguments.to_vec();
    args.push(drawn.value.clone());
    log_density(algebra, log_prior, &args)
}

/// Returns `log q - log p` at a draw as a scalar form. Here, `q` is the approximation and `p` the
/// prior. `log q` is left out if the family defines its entropy. `arguments` are the parameters of
/// `SitePrior::arguments`, as forms, and `log_prior` is the function
/// `(parameters of SitePrior::arguments.., x) -> log density`.
///
/// # Errors
/// Fails if the simplifier has a bug or exceeds one of its limits.
pub fn integrand(
    algebra: &mut Algebra<'_>,
    posterior: &SitePosterior,
    log_prior: &Function,
    drawn: &DrawnForm,
    arguments: &[SeparatedForm],
) -> Result<SeparatedForm, Fault> {
    let log_prior = self::log_prior(algebra, log_prior, drawn, arguments);
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
        let of_family = super::closed::log_density(&posterior.family)?;
        let log_density = log_density(algebra, &of_family, &args);
        let value = algebra.builder.add(sum.value, log_density.value);
        sum = algebra.add(value, &sum, &log_density);
    }
    Ok(sum)
}

/// Returns a log density as a scalar form. If the log density has one value per element, the values
/// are summed.
fn log_density(algebra: &mut Algebra<'_>, function: &Function, args: &[SeparatedForm]) -> SeparatedForm {
    let form = interpret(algebra, function, args).remove(0);
    if form.summed || algebra.builder.rank(form.value) == 0 {
        return form;
    }
    let value = algebra.builder.reduce_sum_all(form.value);
    algebra.total(value, &form)
}

/// Returns the forms of a function's parameters, found by name. A parameter that is not in `forms` is
/// taken from `scope`.
pub fn named_forms(
    algebra: &mut Algebra<'_>,
    function: &Function,
    scope: &Scope,
    forms: &[(&str, &SeparatedForm)],
) -> Vec<SeparatedForm> {
    let of = |param: &Value| {
        let name = nodes::param_name(function, *param);
        match forms.iter().find(|(known, _)| *known == name) {
            Some((_, form)) => (*form).clone(),
            None => algebra.whole(scope.get(name)),
        }
    };
    function.params.iter().map(of).collect()
}
