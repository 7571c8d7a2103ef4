//! The last-layer rewrite: computes the mean of the log-likelihood over the weights of a layer in
//! closed form.
//!
//! A product `w h` of independent normal weights `w` is normal for a given `h`. If the
//! log-likelihood is a polynomial in this product, the expectation needs only the product's mean
//! and variance. Each node is interpreted in one of three ways: as a polynomial in normal variates,
//! as an expectation, or as a value that is independent of the variates. The rewrite fails at two
//! kinds of nodes. The first is an op on a polynomial that is neither elementwise nor linear. The
//! second is a product of two values that depend on the same weights, but not through the same
//! variates.

use super::choice::Expectation;
use super::gaussian::{Numbering, VariatePolynomial, Variates, log_sigmoid_series};
use super::per_example::{Rewritten, centre, spread};
use crate::diagnostics::no_estimator;
use crate::nodes;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rewrites `row` so that the sites in `integrated` are integrated out. `series` is the order of
/// the series for logistic likelihoods.
///
/// # Errors
/// Fails if the log-likelihood is not a polynomial in the outputs of the integrated sites.
pub fn rewrite(row: &Function, integrated: &[Arc<str>], series: usize) -> Result<Rewritten, Vec<Diagnostic>> {
    let mut walk = Walk::new(row, series);
    let params: Vec<State> = (row.params.iter())
        .map(|param| walk.param(*param, nodes::param_name(row, *param), integrated))
        .collect();
    let states = row
        .try_map_nodes(params, |call, states| {
            walk.apply(call.op.0, &states.of(call.args), call.attrs)
        })
        .map_err(|(why, sources)| faults(integrated, &sources, &why))?;
    let results: Vec<Value> = row
        .results
        .iter()
        .map(|(_, value)| states[*value].expectation(&mut walk.builder))
        .collect();
    let sentence = walk.sentence();
    Ok(Rewritten {
        row: walk.builder.finish(nodes::named(row, &results)),
        sentences: integrated
            .iter()
            .map(|name| (name.clone(), sentence.clone()))
            .collect(),
    })
}

fn faults(integrated: &[Arc<str>], sources: &BTreeSet<usize>, why: &str) -> Vec<Diagnostic> {
    let names = sources.iter().filter_map(|at| integrated.get(*at));
    names
        .map(|name| no_estimator(Expectation::Integrated.option(), name, why))
        .collect()
}

/// The interpretation of a node, given the sites that are not integrated out.
#[derive(Clone, Debug)]
enum State {
    /// A value that does not depend on an integrated site.
    Free(Value),
    /// A polynomial in normal variates.
    Polynomial(VariatePolynomial),
    /// The expectation of the node, and the indices of the sites on which the node depends.
    Expected(Value, BTreeSet<usize>),
}

/// The reason why a node cannot be interpreted, and the indices of the sites on which the node depends.
type Obstacle = (String, BTreeSet<usize>);

impl State {
    fn sources(&self) -> BTreeSet<usize> {
        match self {
            State::Free(_) => BTreeSet::new(),
            State::Polynomial(polynomial) => polynomial.of.sources.clone(),
            State::Expected(_, sources) => sources.clone(),
        }
    }

    fn expectation(&self, builder: &mut Builder) -> Value {
        match self {
            State::Free(value) | State::Expected(value, _) => *value,
            State::Polynomial(polynomial) => polynomial.expectation(builder),
        }
    }
}

struct Walk<'a> {
    row: &'a Function,
    builder: Builder,
    numbering: Numbering,
    series: usize,
    /// The highest degree of any polynomial so far.
    degree: usize,
    is_series: bool,
}

impl<'a> Walk<'a> {
    fn new(row: &'a Function, series: usize) -> Walk<'a> {
        Walk {
            row,
            builder: Builder::new(&row.name),
            numbering: Numbering::default(),
            series: series - series % 2,
            degree: 0,
            is_series: false,
        }
    }

    fn sentence(&self) -> String {
        if !self.is_series {
            return format!("integrated exactly (polynomial of degree {})", self.degree);
        }
        let order = self.series;
        let error = log_sigmoid_series(order).last().map_or(0.0, |last| last.abs());
        format!(
            "integrated by the series of order {order} (biased by at most {error:.3e} times the mean of u^{}, where u is the \
             logit)",
            order + 2
        )
    }

    fn param(&mut self, value: Value, name: &str, integrated: &[Arc<str>]) -> State {
        let ty = self.row.ty(value).clone();
        let Some(at) = integrated.iter().position(|site| **site == *name) else {
            return State::Free(self.builder.param(name, ty));
        };
        let mean = self.builder.param(&centre(name), ty.clone());
        let deviation = self.builder.param(&spread(name), ty);
        let of = Variates {
            id: self.numbering.of(format!("site {at}")),
            variance: self.builder.square(deviation),
            sources: BTreeSet::from([at]),
            independent: true,
        };
        State::Polynomial(VariatePolynomial::variate(&mut self.builder, mean, of))
    }

    fn apply(&mut self, op: &'static OpDef, operands: &[State], attrs: &[Attr]) -> Result<State, Obstacle> {
        let free: Option<Vec<Value>> = operands
            .iter()
            .map(|state| match state {
                State::Free(value) => Some(*value),
                State::Polynomial(_) | State::Expected(..) => None,
            })
            .collect();
        if let Some(free) = free {
            return Ok(State::Free(self.builder.apply(op, &free, attrs.to_vec())));
        }
        let found = self.combined(op, operands, attrs);
        if let Some(State::Polynomial(polynomial)) = &found {
            self.degree = self.degree.max(polynomial.degree());
        }
        found.ok_or_else(|| {
            let sources = operands.iter().flat_map(State::sources).collect();
            let why = match op {
                op if op.is(&ops::mul::MUL) || op.is(&ops::contract::CONTRACT) => {
                    "the log likelihood multiplies outputs that share weights in different ways".to_owned()
                }
                op => format!(
                    "the log likelihood is not a polynomial in the outputs, because it applies `{}` to them",
                    op.name
                ),
            };
            (why, sources)
        })
    }

    fn combined(&mut self, op: &'static OpDef, operands: &[State], attrs: &[Attr]) -> Option<State> {
        let x = &operands[0];
        match op {
            op if op.is(&ops::add::ADD) => Some(self.sum(x, &operands[1])),
            op if op.is(&ops::sub::SUB) => {
                let minus = self.negated(&operands[1]);
                Some(self.sum(x, &minus))
            }
            op if op.is(&ops::neg::NEG) => Some(self.negated(x)),
            op if op.is(&ops::mul::MUL) => self.product(x, &operands[1]),
            op if op.is(&ops::div::DIV) => {
                let State::Free(divisor) = operands[1] else {
                    return None;
                };
                let one = self.builder.like(1.0, divisor);
                let inverse = self.builder.div(one, divisor);
                self.product(x, &State::Free(inverse))
            }
            op if op.is(&ops::pow::POW) => self.power(x, &operands[1]),
            op if op.is(&ops::select::SELECT) => self.selected(operands),
            op if op.is(&ops::log_sigmoid::LOG_SIGMOID) => self.log_sigmoid(x),
            op if op.is(&ops::softplus::SOFTPLUS) => {
                let minus = self.negated(x);
                let result = self.log_sigmoid(&minus)?;
                Some(self.negated(&result))
            }
            op if op.is(&ops::contract::CONTRACT) => self.contracted(operands, attrs),
            op if op.is(&ops::reduce_sum::REDUCE_SUM) => self.summed(x, attrs),
            op if op.is_one_of(MOVES) => Some(self.moved(op, x, attrs)),
            _ => None,
        }
    }

    fn negated(&mut self, x: &State) -> State {
        match x {
            State::Free(value) => State::Free(self.builder.neg(*value)),
            State::Polynomial(polynomial) => {
                State::Polynomial(polynomial.each(|value| self.builder.neg(value)))
            }
            State::Expected(value, sources) => State::Expected(self.builder.neg(*value), sources.clone()),
        }
    }

    fn sum(&mut self, x: &State, y: &State) -> State {
        let builder = &mut self.builder;
        match (x, y) {
            (State::Free(value), State::Polynomial(p)) | (State::Polynomial(p), State::Free(value)) => {
                State::Polynomial(p.shifted(builder, *value))
            }
            (State::Polynomial(p), State::Polynomial(q)) if p.of.id == q.of.id => {
                State::Polynomial(p.zip(q, |a, b| nodes::sum(builder, a, b)))
            }
            (State::Polynomial(p), State::Polynomial(q))
                if p.degree() <= 1 && q.degree() <= 1 && p.of.sources.is_disjoint(&q.of.sources) =>
            {
                State::Polynomial(p.joined(builder, &mut self.numbering, q))
            }
            _ => {
                let (a, b) = (x.expectation(builder), y.expectation(builder));
                State::Expected(builder.add(a, b), &x.sources() | &y.sources())
            }
        }
    }

    /// Multiplies two states. If the factors are independent, the mean of the product is the product of the
    /// means.
    fn product(&mut self, x: &State, y: &State) -> Option<State> {
        let builder = &mut self.builder;
        match (x, y) {
            (State::Free(value), State::Polynomial(p)) | (State::Polynomial(p), State::Free(value)) => Some(
                State::Polynomial(p.each(|coefficient| builder.mul(coefficient, *value))),
            ),
            (State::Polynomial(p), State::Polynomial(q)) if p.of.id == q.of.id => {
                p.times(builder, q).map(State::Polynomial)
            }
            _ if x.sources().is_disjoint(&y.sources()) => {
                let (a, b) = (x.expectation(builder), y.expectation(builder));
                Some(State::Expected(builder.mul(a, b), &x.sources() | &y.sources()))
            }
            _ => None,
        }
    }

    fn power(&mut self, x: &State, exponent: &State) -> Option<State> {
        let (State::Polynomial(base), State::Free(exponent)) = (x, exponent) else {
            return None;
        };
        let exponent =
            nodes::constant_of(&self.builder, *exponent).filter(|e| e.fract() == 0.0 && *e >= 1.0)?;
        let mut result = base.clone();
        // The loop is short even if the exponent is large, because `times` returns `None` as soon
        // as the degree is too high.
        for _ in 1..exponent as usize {
            result = result.times(&mut self.builder, base)?;
        }
        Some(State::Polynomial(result))
    }

    fn selected(&mut self, operands: &[State]) -> Option<State> {
        let State::Free(condition) = operands[0] else {
            return None;
        };
        let builder = &mut self.builder;
        if let (State::Polynomial(p), State::Polynomial(q)) = (&operands[1], &operands[2])
            && p.of.id == q.of.id
        {
            let zero = builder.zeros_like(p.of.variance);
            return Some(State::Polynomial(p.zip(q, |a, b| {
                Some(builder.select(condition, a.unwrap_or(zero), b.unwrap_or(zero)))
            })));
        }
        let (a, b) = (operands[1].expectation(builder), operands[2].expectation(builder));
        let sources = &operands[1].sources() | &operands[2].sources();
        Some(State::Expected(builder.select(condition, a, b), sources))
    }

    /// Expands `log(sigmoid(z))` into `-log 2 + z / 2 - z^2 / 8 + z^4 / 192 - ..`, up to the order
    /// of the series.
    fn log_sigmoid(&mut self, x: &State) -> Option<State> {
        let State::Polynomial(z) = x else { return None };
        self.is_series = true;
        let coefficients = log_sigmoid_series(self.series);
        let kept = &coefficients[..coefficients.len().checked_sub(1)?];
        let square = z.times(&mut self.builder, z)?;
        let mut result: Option<VariatePolynomial> = None;
        for coefficient in kept.iter().rev() {
            let constant = self.builder.like(*coefficient, z.of.variance);
            let inner = match result {
                Some(inner) => inner
                    .shifted(&mut self.builder, constant)
                    .times(&mut self.builder, &square)?,
                None => square.each(|value| self.builder.mul(constant, value)),
            };
            result = Some(inner);
        }
        let linear = z.each(|value| self.builder.scale(value, 0.5));
        let minus_log_2 = self.builder.like(-std::f64::consts::LN_2, z.of.variance);
        let linear = linear.shifted(&mut self.builder, minus_log_2);
        let builder = &mut self.builder;
        Some(State::Polynomial(
            linear.zip(&result?, |a, b| nodes::sum(builder, a, b)),
        ))
    }

    /// Contracts a state with a factor that does not depend on integrated sites. A state of
    /// independent normal variates stays normal. For any other state, the expectation is
    /// contracted.
    fn contracted(&mut self, operands: &[State], attrs: &[Attr]) -> Option<State> {
        let ContractionLabels { left, right, result } = ops::contract::parsed(attrs);
        let (x, against, factor, labels) = match (&operands[0], &operands[1]) {
            (x, State::Free(value)) => (
                x,
                &right,
                *value,
                ContractionLabels {
                    left: left.clone(),
                    right: right.clone(),
                    result,
                },
            ),
            (State::Free(value), x) => {
                let labels = ContractionLabels {
                    left: right.clone(),
                    right: left.clone(),
                    result,
                };
                (x, &left, *value, labels)
            }
            _ => return None,
        };
        let text = labels.to_string();
        let of_weights = |letter: &char| labels.left.contains(letter);
        // The contraction may sum over letters of the factor that do not occur in the polynomial.
        // The factor would have to be summed over these letters before it is squared.
        let plain = against
            .iter()
            .all(|letter| of_weights(letter) || labels.result.contains(letter));
        let builder = &mut self.builder;
        match x {
            State::Polynomial(p) if p.degree() <= 1 && p.of.independent && plain => {
                let (mean, variance) = (p.mean(builder), p.variance(builder));
                let square = builder.square(factor);
                let mean = builder.contract(mean, factor, &text);
                let of = Variates {
                    id: self.numbering.of(format!(
                        "{text} of {} times {:?}, {factor}",
                        p.of.id,
                        p.coefficients.get(1)
                    )),
                    variance: builder.contract(variance, square, &text),
                    sources: p.of.sources.clone(),
                    independent: labels.result.iter().all(of_weights),
                };
                Some(State::Polynomial(VariatePolynomial::variate(builder, mean, of)))
            }
            _ => {
                let value = x.expectation(builder);
                Some(State::Expected(
                    builder.contract(value, factor, &text),
                    x.sources(),
                ))
            }
        }
    }

    fn summed(&mut self, x: &State, attrs: &[Attr]) -> Option<State> {
        let op = &ops::reduce_sum::REDUCE_SUM;
        let builder = &mut self.builder;
        match x {
            State::Polynomial(p) if p.degree() <= 1 && p.of.independent => {
                let (mean, variance) = (p.mean(builder), p.variance(builder));
                let mean = builder.apply(op, &[mean], attrs.to_vec());
                let of = Variates {
                    id: self.numbering.of(format!(
                        "sum of {} times {:?}, {attrs:?}",
                        p.of.id,
                        p.coefficients.get(1)
                    )),
                    variance: builder.apply(op, &[variance], attrs.to_vec()),
                    sources: p.of.sources.clone(),
                    independent: true,
                };
                Some(State::Polynomial(VariatePolynomial::variate(builder, mean, of)))
            }
            _ => {
                let value = x.expectation(builder);
                Some(State::Expected(
                    builder.apply(op, &[value], attrs.to_vec()),
                    x.sources(),
                ))
            }
        }
    }

    fn moved(&mut self, op: &'static OpDef, x: &State, attrs: &[Attr]) -> State {
        match x {
            State::Polynomial(p) => {
                let repeats = op.is(&ops::broadcast::BROADCAST);
                State::Polynomial(p.moved(&mut self.builder, &mut self.numbering, op, attrs, repeats))
            }
            State::Free(value) => State::Free(self.builder.apply(op, &[*value], attrs.to_vec())),
            State::Expected(value, sources) => {
                State::Expected(self.builder.apply(op, &[*value], attrs.to_vec()), sources.clone())
            }
        }
    }
}

/// The ops that have a single operand and only move or repeat its elements.
static MOVES: &[&OpDef] = &[
    &ops::broadcast::BROADCAST,
    &ops::reshape::RESHAPE,
    &ops::slice::SLICE,
    &ops::transpose::TRANSPOSE,
];
