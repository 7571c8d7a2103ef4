//! Taylor series of log densities in the value of a site. The series follow Theorem 3 of Nazarovs
//! et al. (2021), except that the series of the logarithm is corrected to
//! `log w = sum over k >= 1 of (-1)^(k+1) (w - 1)^k / k`.
//!
//! Note \[Jets\]. A node that depends on the site is represented by the coefficients of its Taylor
//! series around the centre. For each op, a recurrence computes the coefficients of the result from
//! the coefficients of the operands (Griewank and Walther 2008, chapter 13). The coefficients are
//! nodes of the graph, so the parameters of the prior may be optimised.

use crate::nodes;
use bnnc_base::shape::Sizes;
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Op, OpDef};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

/// Powers with whole exponents up to this number are computed as repeated products.
const LARGEST_WHOLE: f64 = 16.0;

/// The coefficients of a Taylor series: entry `k` multiplies the `k`-th power of the distance from
/// the centre. Missing coefficients are zero.
type Jet = Vec<Option<Value>>;

/// Given the series of an op's operands, computes the series of the result up to an order.
type Recurrence = fn(&mut Builder, &[Jet], usize) -> Option<Jet>;

/// The recurrence of each op. A function has no series if the site affects it through an op without
/// a recurrence.
static RECURRENCES: &[(&OpDef, Recurrence)] = &[
    (&ops::add::ADD, |b, x, order| {
        Some(each(order, |k| nodes::sum(b, at(&x[0], k), at(&x[1], k))))
    }),
    (&ops::div::DIV, |b, x, order| quotient(b, &x[0], &x[1], order)),
    (&ops::exp::EXP, |b, x, order| exponential(b, &x[0], order)),
    (&ops::log::LOG, |b, x, order| {
        let divisor = x[0].clone();
        let start = b.log(at(&divisor, 0)?);
        logarithm(b, start, &divisor, order)
    }),
    (&ops::log1p::LOG1P, |b, x, order| {
        let start = b.log1p(at(&x[0], 0)?);
        let mut divisor = x[0].clone();
        divisor[0] = Some(b.shift(at(&divisor, 0)?, 1.0));
        logarithm(b, start, &divisor, order)
    }),
    (&ops::log_sigmoid::LOG_SIGMOID, |b, x, order| {
        let minus = negative(b, &x[0]);
        let softplus = softplus(b, &minus, order)?;
        Some(negative(b, &softplus))
    }),
    (&ops::mul::MUL, |b, x, order| {
        Some(product(b, &x[0], &x[1], order))
    }),
    (&ops::neg::NEG, |b, x, _| Some(negative(b, &x[0]))),
    (&ops::sigmoid::SIGMOID, |b, x, order| sigmoid(b, &x[0], order)),
    (&ops::softplus::SOFTPLUS, |b, x, order| softplus(b, &x[0], order)),
    (&ops::sqrt::SQRT, |b, x, order| power(b, &x[0], 0.5, order)),
    (&ops::sub::SUB, |b, x, order| {
        let minus = negative(b, &x[1]);
        Some(each(order, |k| nodes::sum(b, at(&x[0], k), at(&minus, k))))
    }),
];

fn at(jet: &Jet, k: usize) -> Option<Value> {
    jet.get(k).copied().flatten()
}

fn each(order: usize, f: impl FnMut(usize) -> Option<Value>) -> Jet {
    (0..=order).map(f).collect()
}

fn times(b: &mut Builder, x: Option<Value>, y: Option<Value>) -> Option<Value> {
    Some(b.mul(x?, y?))
}

fn scaled(b: &mut Builder, x: Option<Value>, by: f64) -> Option<Value> {
    x.map(|x| b.scale(x, by))
}

fn negative(b: &mut Builder, x: &Jet) -> Jet {
    x.iter().map(|x| x.map(|x| b.neg(x))).collect()
}

/// Returns the sum over `j` in `1..=k` of `weight(j) x[j] y[k - j]`.
fn convolution(b: &mut Builder, x: &Jet, y: &Jet, k: usize, weight: impl Fn(usize) -> f64) -> Option<Value> {
    let mut sum = None;
    for j in 1..=k {
        let term = times(b, at(x, j), at(y, k - j));
        let term = scaled(b, term, weight(j));
        sum = nodes::sum(b, sum, term);
    }
    sum
}

fn product(b: &mut Builder, x: &Jet, y: &Jet, order: usize) -> Jet {
    each(order, |k| {
        let first = times(b, at(x, 0), at(y, k));
        let rest = convolution(b, x, y, k, |_| 1.0);
        nodes::sum(b, first, rest)
    })
}

fn quotient(b: &mut Builder, x: &Jet, y: &Jet, order: usize) -> Option<Jet> {
    let divisor = at(y, 0)?;
    let mut q: Jet = Vec::new();
    for k in 0..=order {
        let known = convolution(b, y, &q, k, |_| -1.0);
        let sum = nodes::sum(b, at(x, k), known);
        q.push(sum.map(|sum| b.div(sum, divisor)));
    }
    Some(q)
}

fn exponential(b: &mut Builder, x: &Jet, order: usize) -> Option<Jet> {
    let start = at(x, 0)?;
    let mut e: Jet = vec![Some(b.exp(start))];
    for k in 1..=order {
        e.push(convolution(b, x, &e, k, |j| j as f64 / k as f64));
    }
    Some(e)
}

/// Returns the series of the logarithm of `x`. `start` is the coefficient of order 0 of the result.
fn logarithm(b: &mut Builder, start: Value, x: &Jet, order: usize) -> Option<Jet> {
    let divisor = at(x, 0)?;
    let mut l: Jet = vec![Some(start)];
    for k in 1..=order {
        let mut sum = at(x, k);
        for j in 1..k {
            let term = times(b, at(&l, j), at(x, k - j));
            let term = scaled(b, term, -(j as f64) / k as f64);
            sum = nodes::sum(b, sum, term);
        }
        l.push(sum.map(|sum| b.div(sum, divisor)));
    }
    Some(l)
}

fn power(b: &mut Builder, x: &Jet, exponent: f64, order: usize) -> Option<Jet> {
    if exponent.fract() == 0.0 && (0.0..=LARGEST_WHOLE).contains(&exponent) {
        // The recurrence divides by the base, so it fails if the base is zero at the centre.
        // Repeated products also work for such a base.
        let one = b.like(1.0, at(x, 0)?);
        let mut y: Jet = vec![Some(one)];
        for _ in 0..exponent as usize {
            y = product(b, &y, x, order);
        }
        return Some(y);
    }
    let base = at(x, 0)?;
    let constant = b.like(exponent, base);
    let mut y: Jet = vec![Some(b.pow(base, constant))];
    for k in 1..=order {
        let sum = convolution(b, x, &y, k, |j| (exponent * j as f64 - (k - j) as f64) / k as f64);
        y.push(sum.map(|sum| b.div(sum, base)));
    }
    Some(y)
}

fn sigmoid(b: &mut Builder, x: &Jet, order: usize) -> Option<Jet> {
    let mut s: Jet = vec![Some(b.sigmoid(at(x, 0)?))];
    for k in 1..=order {
        // Uses `s' = s (1 - s) x'`.
        let square = product(b, &s, &s, k - 1);
        let slope: Jet = (0..k)
            .map(|j| {
                let minus = at(&square, j).map(|value| b.neg(value));
                nodes::sum(b, at(&s, j), minus)
            })
            .collect();
        s.push(convolution(b, x, &slope, k, |j| j as f64 / k as f64));
    }
    Some(s)
}

fn softplus(b: &mut Builder, x: &Jet, order: usize) -> Option<Jet> {
    let slope = sigmoid(b, x, order)?;
    let mut y: Jet = vec![Some(b.softplus(at(x, 0)?))];
    for k in 1..=order {
        y.push(convolution(b, x, &slope, k, |j| j as f64 / k as f64));
    }
    Some(y)
}

/// Returns the Taylor coefficients of an elementwise function `(parameters.., x) -> value` around
/// `centre`. Each coefficient is a function of the parameters.
fn coefficients(function: &Function, centre: f64, order: usize) -> Option<Function> {
    let mut builder = Builder::new("series");
    let (x, params) = function.params.split_last()?;
    let shape = function.ty(*x).shape.clone();
    let param = |param: &Value| {
        let jet = vec![Some(builder.param_like(function, *param))];
        (jet, false)
    };
    let mut jets: Vec<(Jet, bool)> = params.iter().map(param).collect();
    let around = [centre, 1.0].map(|number| Some(builder.splat(number, &shape)));
    jets.push((around.to_vec(), true));
    let jets = function.try_map_nodes(jets, |call, jets| {
        let depends = call.args.iter().any(|arg| jets[*arg].1);
        let operands: Vec<Jet> = call.args.iter().map(|arg| jets[*arg].0.clone()).collect();
        let jet = match depends {
            true => composed(&mut builder, call.op, &operands, order),
            false => {
                let args: Option<Vec<Value>> = operands.iter().map(|jet| at(jet, 0)).collect();
                args.map(|args| vec![Some(builder.apply(call.op.0, &args, call.attrs.to_vec()))])
            }
        };
        Ok::<_, ()>((jet.ok_or(())?, depends))
    });
    let (_, result) = function.results.first()?;
    let (jet, _) = jets.ok()?[*result].clone();
    let results = (0..=order)
        .map(|k| {
            let value = at(&jet, k).unwrap_or_else(|| builder.splat(0.0, &shape));
            (format!("{k}").into(), value)
        })
        .collect();
    Some(builder.finish(results))
}

/// Applies the recurrence of an op to the series of the operands.
fn composed(builder: &mut Builder, op: Op, operands: &[Jet], order: usize) -> Option<Jet> {
    if op.is(&ops::pow::POW) {
        let exponent = nodes::constant_of(builder, at(&operands[1], 0)?)?;
        return power(builder, &operands[0], exponent, order);
    }
    let (_, recurrence) = RECURRENCES.iter().find(|(known, _)| op.is(known))?;
    recurrence(builder, operands, order)
}

/// A polynomial that replaces a log density.
#[derive(Clone, Debug)]
pub struct DensitySeries {
    /// `(parameters.., x) -> polynomial`, one value per element.
    pub polynomial: Function,
    /// The value around which the series is expanded.
    pub centre: f64,
    /// The estimated radius of convergence.
    pub radius: f64,
}

/// The highest order of the coefficients from which the radius of convergence is estimated.
const LOOKED_AT: usize = 24;

/// Returns the Taylor polynomial of degree `order` of `log_density(parameters.., x)` around
/// `centre`. If the log density has free parameters, its radius of convergence is unknown and is
/// set to infinity.
pub fn series(log_density: &Function, centre: f64, order: usize) -> Option<DensitySeries> {
    let known = coefficients(log_density, centre, order)?;
    let mut builder = Builder::new("series");
    let params = nodes::params_of(&mut builder, log_density);
    let (x, rest) = params.split_last()?;
    let values = builder.inline(&known, rest);
    let centred = builder.shift(*x, -centre);
    let mut sum = values[0];
    let mut power = None;
    for value in &values[1..] {
        let next = power.map_or(centred, |power| builder.mul(power, centred));
        power = Some(next);
        let term = builder.mul(*value, next);
        sum = builder.add(sum, term);
    }
    let radius = if rest.is_empty() {
        radius(log_density, centre)?
    } else {
        f64::INFINITY
    };
    Some(DensitySeries {
        polynomial: builder.finish(vec![("series".into(), sum)]),
        centre,
        radius,
    })
}

/// Estimates the radius of convergence of a series with the root test, applied to the second half
/// of the coefficients.
fn radius(log_density: &Function, centre: f64) -> Option<f64> {
    // All elements have the same parameters, so one element is enough.
    let one = super::start::along(log_density, 1)?;
    let known = coefficients(&one, centre, LOOKED_AT)?;
    let tensors: Vec<Tensor> = evaluate(&known, &[], &Sizes::default());
    if tensors.iter().any(|tensor| !tensor.data[0].is_finite()) {
        return None;
    }
    let roots = tensors
        .iter()
        .enumerate()
        .skip(LOOKED_AT / 2)
        .map(|(k, tensor)| tensor.data[0].abs().powf(1.0 / k as f64));
    Some(1.0 / roots.fold(0.0, f64::max))
}
