//! The divergence from an approximation to a prior, exact where the graph shows that it can be.
//!
//! `KL(q || p) = -H(q) - E_q[log p(w)]`. Where `log p` is a polynomial of degree two in each element of `w`, the
//! expectation needs only the mean and the variance of `q`: no draw is taken. See the note at the end.

use crate::constrain;
use crate::report;
use crate::simplify::simplify;
use crate::unroll::expand_maps;
use bnnc_base::arena::Id;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::{Site, SitePosterior};
use bnnc_graph::op::Op;
use bnnc_graph::ops;
use bnnc_graph::types::Type;

/// How the divergence of one site is computed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Without draws.
    Exact(String),
    /// By the draws of the step.
    MonteCarlo(String),
    /// The approximation is one point: minus the log prior there.
    Point,
}

impl Choice {
    /// The sentence of the report.
    pub fn sentence(&self) -> String {
        match self {
            Choice::Exact(why) => format!("exact: {why}"),
            Choice::MonteCarlo(why) => format!("monte_carlo: {why}"),
            Choice::Point => "point: minus the log prior at the point".to_owned(),
        }
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
    &*posterior.family.name == "Point"
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
    let wanted = constrain::unconstrained(site.support, &site.ty);
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

/// Chooses how the divergence of one site is computed. `depends_on` names a site that the prior's parameters depend on.
pub fn choose(
    posterior: &SitePosterior,
    placement: Placement,
    prior: &Instance,
    depends_on: Option<&str>,
) -> Choice {
    let family = &posterior.family;
    if is_point(posterior) {
        return Choice::Point;
    }
    if placement == Placement::Carried {
        return Choice::MonteCarlo(format!(
            "`{}` is carried from the reals onto the support",
            family.name
        ));
    }
    if let Some(site) = depends_on {
        return Choice::MonteCarlo(format!("the prior depends on the site `{site}`"));
    }
    let missing = [
        ("entropy", family.entropy.is_none()),
        ("mean", family.mean.is_none()),
        ("variance", family.variance.is_none()),
    ];
    if let Some((what, _)) = missing.iter().find(|(_, is_missing)| *is_missing) {
        return Choice::MonteCarlo(format!("`{}` states no {what}", family.name));
    }
    let mut scratch = Builder::new("scratch");
    let params: Vec<Value> = prior
        .params
        .iter()
        .map(|(name, ty)| scratch.param(name, ty.clone()))
        .collect();
    match polynomial(&mut scratch, prior, &params).map(|p| p.degree()) {
        Some(degree) => Choice::Exact(format!(
            "the log density of `{}` is a polynomial of degree {degree} in the site, and `{}` has a mean, a variance \
             and an entropy",
            prior.name, family.name
        )),
        None => Choice::MonteCarlo(format!(
            "the log density of `{}` is not a polynomial of degree two or less",
            prior.name
        )),
    }
}

/// `KL(family || prior)` without draws; `None` where [`choose`] does not say so.
pub fn exact(
    builder: &mut Builder,
    family: &Instance,
    family_params: &[Value],
    prior: &Instance,
    prior_params: &[Value],
) -> Option<Value> {
    let entropy = builder.inline(family.entropy.as_ref()?, family_params)[0];
    let mean = builder.inline(family.mean.as_ref()?, family_params)[0];
    let variance = builder.inline(family.variance.as_ref()?, family_params)[0];
    let polynomial = polynomial(builder, prior, prior_params)?;
    let square = builder.square(mean);
    let second = builder.add(variance, square);
    let mut expected = builder.zeros_like(mean);
    for (coefficient, moment) in polynomial
        .coefficients
        .into_iter()
        .zip([None, Some(mean), Some(second)])
    {
        let Some(coefficient) = coefficient else { continue };
        let term = moment.map_or(coefficient, |moment| builder.mul(coefficient, moment));
        expected = builder.add(expected, term);
    }
    let expected = builder.reduce_sum_all(expected);
    let sum = builder.add(entropy, expected);
    Some(builder.neg(sum))
}

/// A polynomial in each element of one tensor; an absent coefficient is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Polynomial {
    coefficients: [Option<Value>; 3],
}

impl Polynomial {
    const ZERO: Polynomial = Polynomial {
        coefficients: [None; 3],
    };

    fn constant(value: Value) -> Polynomial {
        Polynomial {
            coefficients: [Some(value), None, None],
        }
    }

    fn degree(&self) -> usize {
        (0..3)
            .rev()
            .find(|power| self.coefficients[*power].is_some())
            .unwrap_or(0)
    }
}

/// The log density of each element of the value as a polynomial in that element.
fn polynomial(builder: &mut Builder, prior: &Instance, params: &[Value]) -> Option<Polynomial> {
    // Loops are carried out and numbers folded first, so that `x ^ 2` reads as a product.
    let elements = &simplify(&expand_maps(prior.log_density_elements.as_ref()?));
    let one = builder.splat(1.0, &prior.value.shape);
    let mut known: Vec<Polynomial> = vec![Polynomial::ZERO; elements.nodes.len()];
    let mut reaches = vec![false; elements.nodes.len()];
    let (value, parameters) = elements.params.split_last()?;
    for (param, arg) in parameters.iter().zip(params) {
        known[param.index()] = Polynomial::constant(*arg);
    }
    known[value.index()] = Polynomial {
        coefficients: [None, Some(one), None],
    };
    reaches[value.index()] = true;
    for node in elements.nodes.ids() {
        let NodeKind::Apply { op, args, attrs } = &elements.nodes[node].kind else {
            continue;
        };
        let operands: Vec<Polynomial> = args.iter().map(|arg| known[arg.index()]).collect();
        reaches[node.index()] = args.iter().any(|arg| reaches[arg.index()]);
        known[node.index()] = if reaches[node.index()] {
            combine(builder, *op, elements, args, &operands)?
        } else {
            copy(builder, *op, attrs, &operands)
        };
    }
    let (_, result) = elements.results.first()?;
    Some(known[result.index()])
}

/// A node that does not depend on the value.
fn copy(builder: &mut Builder, op: Op, attrs: &[Attr], operands: &[Polynomial]) -> Polynomial {
    let args: Option<Vec<Value>> = operands.iter().map(|operand| operand.coefficients[0]).collect();
    let args = args.unwrap_or_else(|| unreachable!("a node without the value has only constant operands"));
    Polynomial::constant(builder.apply(op.0, &args, attrs.to_vec()))
}

/// A node that depends on the value: sums, products and quotients by constants keep polynomials polynomial.
fn combine(
    builder: &mut Builder,
    op: Op,
    function: &Function,
    args: &[Value],
    operands: &[Polynomial],
) -> Option<Polynomial> {
    let ty = function.ty(args[0]);
    match op.0 {
        op if std::ptr::eq(op, &ops::add::ADD) => Some(zip(operands, |x, y| sum(builder, x, y))),
        op if std::ptr::eq(op, &ops::sub::SUB) => {
            let minus = each(operands[1], |c| builder.neg(c));
            Some(zip(&[operands[0], minus], |x, y| sum(builder, x, y)))
        }
        op if std::ptr::eq(op, &ops::neg::NEG) => Some(each(operands[0], |c| builder.neg(c))),
        op if std::ptr::eq(op, &ops::mul::MUL) => product(builder, operands[0], operands[1]),
        op if std::ptr::eq(op, &ops::div::DIV) && operands[1].degree() == 0 => {
            let divisor = operands[1].coefficients[0]?;
            Some(each(operands[0], |c| builder.div(c, divisor)))
        }
        op if std::ptr::eq(op, &ops::pow::POW) => {
            let exponent = crate::nodes::constant_of(builder, operands[1].coefficients[0]?)?;
            power(builder, operands[0], exponent, ty)
        }
        _ => None,
    }
}

fn power(builder: &mut Builder, base: Polynomial, exponent: f64, ty: &Type) -> Option<Polynomial> {
    match exponent {
        0.0 => Some(Polynomial::constant(builder.constant(ty, 1.0))),
        1.0 => Some(base),
        2.0 => product(builder, base, base),
        _ => None,
    }
}

fn product(builder: &mut Builder, x: Polynomial, y: Polynomial) -> Option<Polynomial> {
    let mut result = Polynomial::ZERO;
    for (i, a) in x.coefficients.iter().enumerate() {
        for (j, b) in y.coefficients.iter().enumerate() {
            let (Some(a), Some(b)) = (a, b) else { continue };
            let term = builder.mul(*a, *b);
            let slot = result.coefficients.get_mut(i + j)?;
            *slot = sum(builder, *slot, Some(term));
        }
    }
    Some(result)
}

fn sum(builder: &mut Builder, x: Option<Value>, y: Option<Value>) -> Option<Value> {
    match (x, y) {
        (Some(x), Some(y)) => Some(builder.add(x, y)),
        (x, y) => x.or(y),
    }
}

fn each(x: Polynomial, mut f: impl FnMut(Value) -> Value) -> Polynomial {
    Polynomial {
        coefficients: x.coefficients.map(|c| c.map(&mut f)),
    }
}

fn zip(
    operands: &[Polynomial],
    mut f: impl FnMut(Option<Value>, Option<Value>) -> Option<Value>,
) -> Polynomial {
    let mut result = Polynomial::ZERO;
    for power in 0..3 {
        result.coefficients[power] = f(operands[0].coefficients[power], operands[1].coefficients[power]);
    }
    result
}

// Note: polynomials
//
// Each node of the prior's log density is interpreted as coefficients of 1, w and w^2, one per element of w, that do not
// depend on w; what cannot be is not a polynomial of degree two, and the whole is sampled. Only operations that keep
// elements in place are admitted, so that coefficient and moment always belong to the same element of w.
