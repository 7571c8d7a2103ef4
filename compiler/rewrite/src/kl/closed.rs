//! KL divergences in closed form. The mean of each term of the prior's log density is computed from
//! the moments that the family defines.

use super::algebra::{Algebra, Monomial, SeparatedForm, SeparatedTerm};
use super::expand::interpret;
use crate::density::SitePrior;
use crate::diagnostics::NoClosedForm;
use crate::nodes;
use crate::simplify::simplify;
use crate::unroll::expand_maps;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, range};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{FamilyParam, FamilyStart, SitePosterior};
use bnnc_graph::ops;

/// A KL divergence in closed form.
#[derive(Clone, Debug)]
pub struct Closed {
    /// `(parameters of the family.., parameters of SitePrior::arguments..) -> kl`.
    pub function: Function,
    /// Why the closed form exists. The report quotes this text.
    pub because: String,
}

/// If all elements of a family's parameter are fixed at the same number, returns this number.
pub fn held_at(param: &FamilyParam) -> Option<f64> {
    match &param.start {
        FamilyStart::Fixed(values) => {
            let first = *values.first()?;
            values.iter().all(|value| *value == first).then_some(first)
        }
        FamilyStart::Optimise(_) | FamilyStart::From(..) => None,
    }
}

/// Returns `function` after its loops are expanded and its constants are folded. For example,
/// `x ^ 2` becomes a square.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn prepared(function: &Function) -> Result<Function, Fault> {
    simplify(&expand_maps(function))
}

/// Returns `(parameters.., x) -> log density` in the form that factorises best: one log density per
/// element, if the elements are independent.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn log_density(distribution: &Instance) -> Result<Function, Fault> {
    let elements = distribution.log_density_elements.as_ref();
    prepared(elements.unwrap_or(&distribution.log_density))
}

/// Returns `(parameters of SitePrior::arguments.., x) -> log density`. Constant arguments of the
/// prior are folded.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn log_prior(prior: &SitePrior) -> Result<Function, Fault> {
    let mut builder = Builder::new("log_prior");
    let free = nodes::params_of(&mut builder, &prior.arguments);
    let mut args = builder.inline(&prior.arguments, &free);
    args.push(builder.param(SITE, prior.distribution.value.clone()));
    let value = builder.inline(&log_density(&prior.distribution)?, &args)[0];
    prepared(&builder.finish(vec![(PortName::LogPrior.into(), value)]))
}

/// The name of the parameter that is the value of the site.
const SITE: &str = "value of the site";

/// Returns the KL divergence from `posterior` to `prior` in closed form, or the reason why no
/// closed form exists.
///
/// The first attempt splits the value into its mean and its deviation from the mean. `E[(w - m)^2]`
/// then becomes `(E[w] - m)^2 + Var[w]`, which is a sum without cancellation. This attempt works
/// only for the first two powers. The second attempt uses moments of the value itself.
///
/// # Errors
/// Returns the errors of [`simplify`].
pub fn closed(posterior: &SitePosterior, prior: &SitePrior) -> Result<Result<Closed, NoClosedForm>, Fault> {
    let log_prior = log_prior(prior)?;
    let attempt = |is_centred| attempt(posterior, prior, &log_prior, is_centred);
    let closed = attempt(true).or_else(|_| attempt(false));
    let simplified = |closed: Closed| {
        let function = simplify(&closed.function)?;
        Ok(Closed { function, ..closed })
    };
    closed.map_or_else(|why| Ok(Err(why)), |closed| simplified(closed).map(Ok))
}

fn attempt(
    posterior: &SitePosterior,
    prior: &SitePrior,
    log_prior: &Function,
    is_centred: bool,
) -> Result<Closed, NoClosedForm> {
    let family = &*posterior.family;
    let Some(entropy) = &family.entropy else {
        return Err(NoClosedForm::NoEntropy(family.name.to_string()));
    };
    let mut builder = Builder::new("divergence");
    let of_family = family_params(&mut builder, posterior);
    let params = nodes::params_of(&mut builder, log_prior);
    let x = *params
        .last()
        .unwrap_or_else(|| unreachable!("the value of the site is a parameter"));
    let mut algebra = Algebra::new(&mut builder, [x], []);
    algebra.bound(x, range(family.support));
    let mut mean = Mean {
        family,
        prior: &prior.distribution,
        params: &of_family,
        x,
        around: None,
        used: Vec::new(),
    };
    let mut args: Vec<SeparatedForm> = params.iter().map(|value| algebra.whole(*value)).collect();
    if let Some(slot) = args.last_mut().filter(|_| is_centred) {
        *slot = mean
            .centred(&mut algebra)
            .ok_or_else(|| mean.lacks("Var[w]".to_owned()))?;
    }
    let log_density = interpret(&mut algebra, log_prior, &args);
    let expected = mean.of_form(&mut algebra, &log_density[0])?;
    let because = mean.because();
    let entropy = builder.inline(entropy, &of_family)[0];
    let sum = builder.add(entropy, expected);
    let kl = builder.neg(sum);
    let whole = builder.finish(vec![(PortName::Kl.into(), kl)]);
    let function = nodes::without_param(&whole, SITE);
    Ok(Closed { function, because })
}

/// Adds the parameters of the family, in order. If a parameter is fixed at a number, its value is this constant.
fn family_params(builder: &mut Builder, posterior: &SitePosterior) -> Vec<Value> {
    let instance = posterior.family.params.iter().enumerate();
    let of = |(at, (name, ty)): (usize, &(std::sync::Arc<str>, bnnc_graph::types::Type))| {
        let param = builder.param(&format!("family/{name}"), ty.clone());
        match posterior.params.get(at).and_then(held_at) {
            Some(number) => builder.constant(ty, number),
            None => param,
        }
    };
    instance.map(of).collect()
}

/// Computes means under a family.
struct Mean<'a> {
    family: &'a Instance,
    prior: &'a Instance,
    params: &'a [Value],
    x: Value,
    /// The deviation of the value from its mean, if the value was split.
    around: Option<Value>,
    /// The moments used so far, for the report.
    used: Vec<String>,
}

impl Mean<'_> {
    /// Splits the value into its mean and its deviation from the mean. Returns `None` if the family
    /// does not define a mean and a variance.
    fn centred(&mut self, algebra: &mut Algebra<'_>) -> Option<SeparatedForm> {
        self.family.variance.as_ref()?;
        let mean = algebra.builder.inline(self.family.mean.as_ref()?, self.params)[0];
        let around = algebra.builder.sub(self.x, mean);
        self.around = Some(around);
        let (mean, rest) = (algebra.whole(mean), algebra.whole(around));
        Some(algebra.add(self.x, &mean, &rest))
    }

    fn lacks(&self, moment: String) -> NoClosedForm {
        NoClosedForm::NoMoment {
            prior: self.prior.name.to_string(),
            moment,
            family: self.family.name.to_string(),
        }
    }

    /// Returns the mean of a form, summed over all elements.
    fn of_form(&mut self, algebra: &mut Algebra<'_>, form: &SeparatedForm) -> Result<Value, NoClosedForm> {
        let mut sum = algebra.builder.real(0.0);
        for term in &form.terms {
            let mean = self.of_term(algebra, term)?;
            let total = algebra.builder.reduce_sum_all(mean);
            sum = algebra.builder.add(sum, total);
        }
        Ok(sum)
    }

    fn of_term(&mut self, algebra: &mut Algebra<'_>, term: &SeparatedTerm) -> Result<Value, NoClosedForm> {
        let mean = match &term.monomial.0[..] {
            [] => return Ok(term.coefficient),
            [(atom, power)] => self.of_power(algebra, *atom, *power)?,
            _ => return Err(self.lacks(self.describe(algebra, &term.monomial))),
        };
        Ok(algebra.builder.mul(term.coefficient, mean))
    }

    fn of_power(
        &mut self,
        algebra: &mut Algebra<'_>,
        atom: Value,
        power: f64,
    ) -> Result<Value, NoClosedForm> {
        if let Some((inner, op, attrs)) = algebra.source_of(atom) {
            let mean = self.of_power(algebra, inner, power)?;
            return Ok(algebra.builder.apply(op, &[mean], attrs));
        }
        let known = if Some(atom) == self.around {
            self.central_moment(algebra.builder, power)
        } else if atom == self.x {
            self.moment(algebra.builder, power)
        } else if nodes::operand(algebra.builder, atom, &ops::log::LOG) == Some(self.x) {
            self.log_moment(algebra.builder, power)
        } else {
            None
        };
        let name = self.describe(algebra, &Monomial(vec![(atom, power)]));
        let mean = known.ok_or_else(|| self.lacks(name.clone()))?;
        if !self.used.contains(&name) {
            self.used.push(name);
        }
        Ok(mean)
    }

    fn central_moment(&self, builder: &mut Builder, power: f64) -> Option<Value> {
        let variance = builder.inline(self.family.variance.as_ref()?, self.params)[0];
        match power {
            1.0 => Some(builder.zeros_like(variance)),
            2.0 => Some(variance),
            _ => None,
        }
    }

    fn moment(&self, builder: &mut Builder, power: f64) -> Option<Value> {
        let call = |builder: &mut Builder, function: &Function| builder.inline(function, self.params)[0];
        match (power, &self.family.mean, &self.family.variance) {
            (1.0, Some(mean), _) => Some(call(builder, mean)),
            (2.0, Some(mean), Some(variance)) => {
                let (mean, variance) = (call(builder, mean), call(builder, variance));
                let square = builder.square(mean);
                Some(builder.add(variance, square))
            }
            _ => {
                let moment = self.family.moment.as_ref()?;
                let order = builder.real(power);
                let args: Vec<Value> = self.params.iter().copied().chain([order]).collect();
                Some(builder.inline(moment, &args)[0])
            }
        }
    }

    fn log_moment(&self, builder: &mut Builder, power: f64) -> Option<Value> {
        let mean = builder.inline(self.family.log_mean.as_ref()?, self.params)[0];
        if power == 1.0 {
            return Some(mean);
        }
        let variance = builder.inline(self.family.log_variance.as_ref()?, self.params)[0];
        let square = builder.square(mean);
        (power == 2.0).then(|| builder.add(variance, square))
    }

    /// Returns the name of a moment, such as `E[w^2]`.
    fn describe(&self, algebra: &Algebra<'_>, monomial: &Monomial) -> String {
        match monomial.0[..] {
            [(atom, 1.0)] if Some(atom) == self.around => return "E[w]".to_owned(),
            [(atom, 2.0)] if Some(atom) == self.around => return "Var[w]".to_owned(),
            _ => {}
        }
        let factor = |(atom, power): &(Value, f64)| {
            let mut name = "w".to_owned();
            if *atom != self.x {
                name = nodes::describe_call_of(algebra.builder.function(), *atom).replace(SITE, "w");
            }
            if *power == 1.0 {
                name
            } else {
                format!("{name}^{power}")
            }
        };
        let factors: Vec<String> = monomial.0.iter().map(factor).collect();
        format!("E[{}]", factors.join(" "))
    }

    fn because(&self) -> String {
        let prior = &self.prior.name;
        if self.used.is_empty() {
            return format!("the log density of `{prior}` does not depend on the site");
        }
        format!(
            "the log density of `{prior}` needs {}, which `{}` defines, and the entropy is defined too",
            self.used.join(", "),
            self.family.name
        )
    }
}
