//! Samplers and means of distributions that a declared type truncates to an interval.
//!
//! Note \[Truncation\]. Everything is relative to one end of the interval and in logarithms, so that no digits cancel far out in a tail. A value is
//! `end + exp(y)` or `end - exp(y)`, or it lies at the fraction `sigmoid(y)` of a bounded interval, measured from `end`. `beyond(y)` is the
//! probability of the values further from that end: a survival function or a cumulative function. In a bounded interval, the end is the one beyond
//! which the distribution has more probability. A draw is the `y` at which `log beyond(y)` equals the logarithm of a uniform variate, found by
//! bisection. The mean is an integral over `y` between two such values. The integrand vanishes at both, so the trapezoidal rule converges
//! exponentially.

use super::InstanceBuilder;
use crate::elaborate::datum::Datum;
use crate::elaborate::frame::{Elaborated, Frame};
use crate::parts;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::dist::TailKind;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The bound on the absolute logarithm of the distance from the end.
const REACH: f64 = 70.0;
/// The number of bisection steps, for a relative distance of `2 REACH / 2^STEPS`, 2e-9.
const STEPS: usize = 36;
/// The number of points of the integral for a mean. They are a fifth apart for an exponential distribution.
const POINTS: usize = 128;
/// The probability that the integral for a mean omits next to the end, and at the other end of a bounded interval.
const NEAR: f64 = 1e-9;
/// The probability that it omits far out in an unbounded interval. A tail `t ^ -1.5` falls to it near 2e13, where a mean has converged to six
/// digits.
const FAR: f64 = 1e-20;

/// An interval with a part of a distribution's probability.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn is_bounded(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// The end of the interval that values are relative to.
struct Origin {
    /// True if it is the upper end. Equal for all elements if the interval has only one end.
    is_upper: Value,
    /// `log beyond` of the whole interval.
    whole: Value,
    /// `log beyond` at the other end minus `whole`; `None` if the interval is unbounded there.
    rest: Option<Value>,
}

impl<'a> InstanceBuilder<'_, 'a, '_> {
    /// Builds a sampler of the distribution inside an interval. Returns `None` if the distribution does not have a cumulative function.
    pub(super) fn truncated_draw(&mut self, (low, high): (f64, f64)) -> Elaborated<Option<Function>> {
        let inside = Interval { low, high };
        let Some(beyond) = self.beyond(inside)? else {
            return Ok(None);
        };
        self.function("draw", |this, frame| {
            let params = this.parameters();
            let b = &mut this.elaborator.builder;
            let coordinates =
                ["draw", "example", "step"].map(|name| b.param(name, Type::int(Shape::scalar())));
            let uniform = b.noise(NoiseKind::Uniform, "truncated", coordinates, &this.value.shape);
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            // This computes `log(1 - uniform (1 - exp(rest)))`.
            let b = &mut this.elaborator.builder;
            let lost = match origin.rest {
                Some(rest) => b.expm1(rest),
                None => b.like(-1.0, uniform),
            };
            let part = b.mul(uniform, lost);
            let wanted = b.log1p(part);
            let y = this.root(&beyond, &params, wanted);
            let (value, _) = this.place(inside, origin.is_upper, y);
            Ok(Some(value))
        })
    }

    /// Builds the mean of the distribution inside an interval. Returns `None` if the declarations do not decide whether the mean exists.
    pub(super) fn truncated_mean(&mut self, (low, high): (f64, f64)) -> Elaborated<Option<Function>> {
        let inside = Interval { low, high };
        let item = self.item();
        let tail = match (low.is_finite(), high.is_finite()) {
            (true, true) => None,
            (true, false) => Some(&item.ends[1].tail),
            (false, _) => Some(&item.ends[0].tail),
        };
        let index = match tail {
            // The integral is not this accurate for a density that jumps inside the interval.
            _ if item.mixture || item.ends.iter().any(|end| end.at.is_some()) => return Ok(None),
            Some(None) => return Ok(None),
            Some(Some((TailKind::Power, numbers))) => numbers.first(),
            Some(Some(_)) | None => None,
        };
        let (Some(beyond), Some(terms)) = (self.beyond(inside)?, self.terms(inside)?) else {
            return Ok(None);
        };
        self.function("mean", |this, frame| {
            let params = this.parameters();
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            let (far, shape) = (
                if inside.is_bounded() { NEAR } else { FAR },
                this.value.shape.clone(),
            );
            let b = &mut this.elaborator.builder;
            let near = b.splat((-NEAR).ln_1p(), &shape);
            let far = match origin.rest {
                Some(rest) => {
                    let all = b.expm1(rest);
                    let part = b.scale(all, 1.0 - far);
                    b.log1p(part)
                }
                None => b.splat(far.ln(), &shape),
            };
            let from = this.root(&beyond, &params, near);
            let to = this.root(&beyond, &params, far);
            let distance = this.mean_distance(inside, &terms, &params, [from, to]);
            let b = &mut this.elaborator.builder;
            let (low, high) = (
                b.splat(finite(inside.low), &shape),
                b.splat(finite(inside.high), &shape),
            );
            let (above, below) = (b.add(low, distance), b.sub(high, distance));
            let mean = b.select(origin.is_upper, below, above);
            let Some(index) = index else { return Ok(Some(mean)) };
            let index = this.elaborator.expr(index, frame)?;
            let index = this.elaborator.real(&index, this.span)?;
            let index = this.shaped(index)?;
            let b = &mut this.elaborator.builder;
            let (one, infinite) = (
                b.like(1.0, index),
                if inside.high.is_finite() {
                    -f64::INFINITY
                } else {
                    f64::INFINITY
                },
            );
            let exists = b.lt(one, index);
            let infinite = b.like(infinite, mean);
            Ok(Some(b.select(exists, mean, infinite)))
        })
    }

    /// Returns the parameters of the function that is being built.
    fn parameters(&self) -> Vec<Value> {
        self.elaborator.builder.function().params[..self.params.len()].to_vec()
    }

    /// Returns the end that values are relative to, or `None` without a cumulative function.
    fn origin(&mut self, inside: Interval, frame: &mut Frame<'a>) -> Elaborated<Option<Origin>> {
        let shape = self.value.shape.clone();
        let mut at = |this: &mut Self, part: &str, end: f64| -> Elaborated<Option<Value>> {
            let x = this.elaborator.constant(end, DType::Real);
            let found = this.part(part, Datum::Tensor(x), frame)?;
            found.map(|found| this.shaped(found)).transpose()
        };
        let (survival, cdf) = (parts::LOG_SURVIVAL, parts::LOG_CDF);
        let (is_upper, whole, rest) = match (inside.low.is_finite(), inside.high.is_finite()) {
            (true, false) => (false, at(self, survival, inside.low)?, None),
            (false, _) => (true, at(self, cdf, inside.high)?, None),
            (true, true) => {
                let ends = [
                    (survival, inside.low),
                    (survival, inside.high),
                    (cdf, inside.high),
                    (cdf, inside.low),
                ];
                let mut logs = Vec::new();
                for (part, end) in ends {
                    let Some(log) = at(self, part, end)? else {
                        return Ok(None);
                    };
                    logs.push(log);
                }
                let b = &mut self.elaborator.builder;
                let is_upper = b.lt(logs[2], logs[0]);
                let whole = b.select(is_upper, logs[2], logs[0]);
                let other = b.select(is_upper, logs[3], logs[1]);
                let rest = Some(b.sub(other, whole));
                return Ok(Some(Origin {
                    is_upper,
                    whole,
                    rest,
                }));
            }
        };
        let Some(whole) = whole else { return Ok(None) };
        let flag = self
            .elaborator
            .constant(f64::from(u8::from(is_upper)), DType::Bool);
        let is_upper = self.elaborator.stretch(flag, &shape, self.span)?;
        Ok(Some(Origin {
            is_upper,
            whole,
            rest,
        }))
    }

    /// Returns the value at `y`, and its distance from the end.
    fn place(&mut self, inside: Interval, is_upper: Value, y: Value) -> (Value, Value) {
        let b = &mut self.elaborator.builder;
        let distance = match inside.is_bounded() {
            true => {
                let part = b.sigmoid(y);
                b.scale(part, inside.high - inside.low)
            }
            false => b.exp(y),
        };
        let (low, high) = (
            b.like(finite(inside.low), distance),
            b.like(finite(inside.high), distance),
        );
        let (above, below) = (b.add(low, distance), b.sub(high, distance));
        (b.select(is_upper, below, above), distance)
    }

    /// Builds `(params.., y) -> log beyond(y)`, minus that of the whole interval.
    fn beyond(&mut self, inside: Interval) -> Elaborated<Option<Function>> {
        self.function("beyond", |this, frame| {
            let y = this.elaborator.builder.param("y", this.value.clone());
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            let (x, _) = this.place(inside, origin.is_upper, y);
            let mut at = |this: &mut Self, part: &str| -> Elaborated<Option<Value>> {
                let found = this.part(part, Datum::Tensor(x), frame)?;
                found.map(|found| this.shaped(found)).transpose()
            };
            let log = match (inside.low.is_finite(), inside.high.is_finite()) {
                (true, false) => at(this, parts::LOG_SURVIVAL)?,
                (false, _) => at(this, parts::LOG_CDF)?,
                (true, true) => match (at(this, parts::LOG_CDF)?, at(this, parts::LOG_SURVIVAL)?) {
                    (Some(cdf), Some(survival)) => {
                        Some(this.elaborator.builder.select(origin.is_upper, cdf, survival))
                    }
                    _ => None,
                },
            };
            Ok(log.map(|log| this.elaborator.builder.sub(log, origin.whole)))
        })
    }

    /// Returns the `y` at which `beyond` equals `wanted`, by bisection.
    fn root(&mut self, beyond: &Function, params: &[Value], wanted: Value) -> Value {
        let ty = self.value.clone();
        let mut body = Builder::new("bisection");
        let below = body.param("below", ty.clone());
        let width = body.param("width", Type::scalar());
        let mut args: Vec<Value> = self
            .params
            .iter()
            .map(|(name, ty)| body.param(name, ty.clone()))
            .collect();
        let target = body.param("wanted", ty.clone());
        let width = body.broadcast(width, &ty.shape, &[]);
        let middle = body.add(below, width);
        args.push(middle);
        let found = body.inline(beyond, &args)[0];
        let is_nearer = body.lt(target, found);
        let next = body.select(is_nearer, middle, below);
        let body = body.finish(vec![("below".into(), next)]);
        let b = &mut self.elaborator.builder;
        let widths: Vec<f64> = (1..=STEPS)
            .map(|step| 2.0 * REACH / (step as f64).exp2())
            .collect();
        let start = b.splat(-REACH, &ty.shape);
        let mut operands = vec![start, b.literal(&[STEPS], &widths)];
        operands.extend(params);
        operands.push(wanted);
        let all = b.apply(
            &ops::scan::SCAN,
            &operands,
            vec![Attr::Function(Arc::new(body)), Attr::Int(1)],
        );
        let last = b.slice(all, Window::full(ty.rank() + 1).with(0, STEPS - 1, STEPS));
        b.reshape(last, &ty.shape)
    }

    /// Builds `(params.., y) ->` the log density of `y`, relative to the whole interval.
    fn terms(&mut self, inside: Interval) -> Elaborated<Option<Function>> {
        self.function("terms", |this, frame| {
            let y = this.elaborator.builder.param("y", this.value.clone());
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            let (x, _) = this.place(inside, origin.is_upper, y);
            let Some(density) = this.part("log_density", Datum::Tensor(x), frame)? else {
                return Ok(None);
            };
            let density = this.shaped(density)?;
            let b = &mut this.elaborator.builder;
            let relative = b.sub(density, origin.whole);
            let slope = match inside.is_bounded() {
                true => {
                    let minus = b.neg(y);
                    let (below, above) = (b.log_sigmoid(y), b.log_sigmoid(minus));
                    b.add(below, above)
                }
                false => y,
            };
            Ok(Some(b.add(relative, slope)))
        })
    }

    /// Returns the mean distance from the end, by the trapezoidal rule between `from` and `to`.
    fn mean_distance(
        &mut self,
        inside: Interval,
        terms: &Function,
        params: &[Value],
        [from, to]: [Value; 2],
    ) -> Value {
        let ty = self.value.clone();
        let integral = |with_distance: bool| {
            let mut body = Builder::new("point");
            let part = body.param("part", Type::scalar());
            let mut args: Vec<Value> = self
                .params
                .iter()
                .map(|(name, ty)| body.param(name, ty.clone()))
                .collect();
            let (from, to) = (body.param("from", ty.clone()), body.param("to", ty.clone()));
            let part = body.broadcast(part, &ty.shape, &[]);
            let range = body.sub(to, from);
            let offset = body.mul(part, range);
            let y = body.add(from, offset);
            args.push(y);
            let log = body.inline(terms, &args)[0];
            let log = match (with_distance, inside.is_bounded()) {
                (false, _) => log,
                (true, true) => {
                    let log_part = body.log_sigmoid(y);
                    let log_distance = body.shift(log_part, (inside.high - inside.low).ln());
                    body.add(log, log_distance)
                }
                (true, false) => body.add(log, y),
            };
            let value = body.exp(log);
            Arc::new(body.finish(vec![("value".into(), value)]))
        };
        let (moment, mass) = (integral(true), integral(false));
        let b = &mut self.elaborator.builder;
        let points: Vec<f64> = (0..POINTS).map(|at| (at as f64 + 0.5) / POINTS as f64).collect();
        let mut args = vec![b.literal(&[POINTS], &points)];
        args.extend(params);
        args.extend([from, to]);
        let mapped: Vec<bool> = (0..args.len()).map(|at| at == 0).collect();
        let [moment, mass] = [moment, mass].map(|function| {
            let all = b.map(&function, &args, &mapped);
            b.reduce_sum(all, &[0])
        });
        b.div(moment, mass)
    }
}

/// Replaces an infinite end by zero. The result is used only if the end is finite.
fn finite(end: f64) -> f64 {
    if end.is_finite() { end } else { 0.0 }
}
