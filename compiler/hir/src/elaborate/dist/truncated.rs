//! Builds samplers and means of distributions that a declared type truncates to an interval.
//!
//! Note \[Truncation\]. A value is represented by the logarithm `y` of its distance from one end of
//! the interval, so that no digits are lost far out in a tail. The value is `end + exp(y)` or
//! `end - exp(y)`. If the interval is bounded, `sigmoid(y)` is the distance from `end` as a
//! fraction of the interval's length. `beyond(y)` is the probability of values further away from
//! `end` than `y`. The function `beyond` is a survival function or a cumulative function. In a
//! bounded interval, `end` is the end beyond which the distribution has more probability. For a
//! draw, `y` solves the equation that `log beyond(y)` equals the logarithm of a uniform variate.
//! Note \[Root\] describes how it is found. The mean is an integral over `y` between two such
//! values. The integrand vanishes at both, so the trapezoidal rule converges exponentially.

use super::InstanceBuilder;
use super::parts::ends;
use super::root::Search;
use crate::elaborate::frame::{Elaborated, Frame};
use crate::parts::DistributionPart;
use bnnc_abi::ports::PortName;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::TailKind;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Interval;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The number of points at which the integrand is evaluated to compute a mean. For an exponential
/// distribution, the distance between neighbouring points is 0.2 in `y`.
const POINTS: usize = 128;
/// The probability that the integral for a mean omits next to the end from which values are
/// measured. In a bounded interval, it omits the same probability next to the other end.
const NEAR: f64 = 1e-9;
/// The probability that the integral for a mean omits far out in an unbounded interval. For a tail
/// probability `t ^ -1.5`, the integral ends near `t = 2e13`, where the mean has converged to six
/// digits.
const FAR: f64 = 1e-20;

/// The end of the interval from which values are measured.
pub(super) struct Origin {
    /// For each element, true if values are measured from the upper end. If only one end of the
    /// interval is finite, values are measured from it for all elements.
    pub(super) is_upper: Value,
    /// `log beyond` of the whole interval.
    pub(super) whole: Value,
    /// `log beyond` at the other end, minus `whole`. `None` if the other end is infinite.
    pub(super) rest: Option<Value>,
}

impl<'a> InstanceBuilder<'_, 'a, '_> {
    /// Builds a sampler of the distribution inside an interval. Returns `None` if the distribution does not have a cumulative function.
    pub(super) fn truncated_draw(&mut self, (low, high): (f64, f64)) -> Elaborated<Option<Arc<Function>>> {
        let inside = Interval::new(low, high);
        let Some(mut search) = self.search(inside)? else {
            return Ok(None);
        };
        self.function(DistributionPart::Draw.name(), |this, frame| {
            let b = &mut this.elaborator.builder;
            let coordinates =
                PortName::COORDINATES.map(|port| b.param(port.text(), Type::int(Shape::scalar())));
            let uniform = b.noise(NoiseKind::Uniform, "truncated", coordinates, &this.value.shape);
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            // The next lines compute `log(1 - uniform * (1 - exp(rest)))`.
            let b = &mut this.elaborator.builder;
            let lost = match origin.rest {
                Some(rest) => b.expm1(rest),
                None => b.like(-1.0, uniform),
            };
            let part = b.mul(uniform, lost);
            let wanted = b.log1p(part);
            this.begin(&mut search, &origin, frame)?;
            let y = this.root(&search, wanted);
            let (value, _) = this.place(inside, origin.is_upper, y);
            Ok(Some(value))
        })
    }

    /// Builds the mean of the distribution inside an interval. Returns `None` if it cannot be
    /// concluded from the declarations of the distribution that the mean exists.
    pub(super) fn truncated_mean(&mut self, (low, high): (f64, f64)) -> Elaborated<Option<Arc<Function>>> {
        let inside = Interval::new(low, high);
        let item = self.item();
        let tail = match (low.is_finite(), high.is_finite()) {
            (true, true) => None,
            (true, false) => Some(&item.ends[1].tail),
            (false, _) => Some(&item.ends[0].tail),
        };
        let index = match tail {
            // If the density jumps inside the interval, the integral is not accurate enough.
            _ if item.mixture || item.ends.iter().any(|end| end.at.is_some()) => return Ok(None),
            Some(None) => return Ok(None),
            Some(Some((TailKind::Power, numbers))) => numbers.first(),
            Some(Some(_)) | None => None,
        };
        let Some(mut search) = self.search(inside)? else {
            return Ok(None);
        };
        self.function(DistributionPart::Mean.name(), |this, frame| {
            let Some(origin) = this.origin(inside, frame)? else {
                return Ok(None);
            };
            let far = if inside.is_bounded() { NEAR } else { FAR };
            let shape = this.value.shape.clone();
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
            this.begin(&mut search, &origin, frame)?;
            let [from, to] = [near, far].map(|wanted| this.root(&search, wanted));
            let distance = this.mean_distance(&search, [from, to]);
            let b = &mut this.elaborator.builder;
            let (low, high) = (
                b.splat(finite(inside.lo), &shape),
                b.splat(finite(inside.hi), &shape),
            );
            let (above, below) = (b.add(low, distance), b.sub(high, distance));
            let mean = b.select(origin.is_upper, below, above);
            let Some(index) = index else { return Ok(Some(mean)) };
            let index = this.shaped_number(index, frame)?;
            let b = &mut this.elaborator.builder;
            let infinite = match inside.hi.is_finite() {
                true => -f64::INFINITY,
                false => f64::INFINITY,
            };
            let one = b.like(1.0, index);
            let exists = b.lt(one, index);
            let infinite = b.like(infinite, mean);
            Ok(Some(b.select(exists, mean, infinite)))
        })
    }

    /// Returns the parameters of the function that is being built.
    pub(super) fn parameters(&self) -> Vec<Value> {
        self.elaborator.builder.function().params[..self.params.len()].to_vec()
    }

    /// Returns the end from which values are measured, or `None` if the distribution does
    /// not have a cumulative function.
    fn origin(&mut self, inside: Interval, frame: &mut Frame<'a>) -> Elaborated<Option<Origin>> {
        let shape = self.value.shape.clone();
        let own = ends(self.item()).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let mut at = |this: &mut Self, part: DistributionPart, end: f64| -> Elaborated<Option<Value>> {
            // A formula may not be valid at an end of the support.
            let known = part
                .of_value()
                .and_then(|known| match (end <= own.0, own.1 <= end) {
                    (true, _) => Some(known.outside[0]),
                    (_, true) => Some(known.outside[1]),
                    (false, false) => None,
                });
            if let Some(known) = known.filter(|_| this.item().has(part)) {
                return Ok(Some(this.elaborator.builder.splat(known, &this.value.shape)));
            }
            let x = this.elaborator.constant(end, DType::Real);
            this.shaped_part(part, x, frame)
        };
        let (survival, cdf) = (DistributionPart::LogSurvival, DistributionPart::LogCdf);
        let (is_upper, whole, rest) = match (inside.lo.is_finite(), inside.hi.is_finite()) {
            (true, false) => (false, at(self, survival, inside.lo)?, None),
            (false, _) => (true, at(self, cdf, inside.hi)?, None),
            (true, true) => {
                let ends = [
                    (survival, inside.lo),
                    (survival, inside.hi),
                    (cdf, inside.hi),
                    (cdf, inside.lo),
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

    /// Returns the value with the coordinate `y`, and the distance of this value from the end.
    pub(super) fn place(&mut self, inside: Interval, is_upper: Value, y: Value) -> (Value, Value) {
        let b = &mut self.elaborator.builder;
        let distance = match inside.is_bounded() {
            true => {
                let part = b.sigmoid(y);
                b.scale(part, inside.hi - inside.lo)
            }
            false => b.exp(y),
        };
        let (low, high) = (
            b.like(finite(inside.lo), distance),
            b.like(finite(inside.hi), distance),
        );
        let (above, below) = (b.add(low, distance), b.sub(high, distance));
        (b.select(is_upper, below, above), distance)
    }

    /// Returns the mean distance from the end over the coordinates `from` to `to`, integrated by
    /// the trapezoidal rule.
    fn mean_distance(&mut self, search: &Search, [from, to]: [Value; 2]) -> Value {
        let (ty, inside) = (self.value.clone(), search.inside);
        let integral = |with_distance: bool| {
            let mut body = Builder::new("point");
            let part = body.param("part", Type::scalar());
            let mut args = self.search_params(&mut body);
            let (from, to) = (body.param("from", ty.clone()), body.param("to", ty.clone()));
            let part = body.broadcast(part, &ty.shape, &[]);
            let range = body.sub(to, from);
            let offset = body.mul(part, range);
            let y = body.add(from, offset);
            args.push(y);
            let log = body.inline(&search.terms, &args)[0];
            let log = match (with_distance, inside.is_bounded()) {
                (false, _) => log,
                (true, true) => {
                    let log_part = body.log_sigmoid(y);
                    let log_distance = body.shift(log_part, (inside.hi - inside.lo).ln());
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
        args.extend(&search.arguments);
        args.extend([from, to]);
        let mapped: Vec<bool> = (0..args.len()).map(|at| at == 0).collect();
        let [moment, mass] = [moment, mass].map(|function| {
            let all = b.map(&function, &args, &mapped);
            b.reduce_sum(all, &[0])
        });
        b.div(moment, mass)
    }
}

/// Replaces an infinite end by zero. Callers use the result only if the end is finite.
pub(super) fn finite(end: f64) -> f64 {
    if end.is_finite() { end } else { 0.0 }
}
