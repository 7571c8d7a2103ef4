//! Elaborates the parts of a distribution that are functions of a value, such as `log_density(x)`.
//! The module also computes the values of parts outside the support, derives parts from other
//! parts, and computes the probability of an interval.

use super::{InstanceBuilder, support};
use crate::elaborate::datum::Datum;
use crate::elaborate::frame::{Elaborated, Elaborator, Frame};
use crate::parts::{DistributionPart, PartOfValue};
use crate::tree::{DistItem, TypedExpr};
use crate::types::Ty;
use bnnc_base::dtype::DType;
use bnnc_base::source::Span;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::op::Interval;
use std::collections::HashMap;

impl<'a> Elaborator<'a> {
    /// Elaborates a part of a distribution at `x`. The point `x` may lie anywhere on the real line. Outside the support, densities are
    /// zero and cumulative functions are zero or one. Returns `None` if the distribution does not have the part.
    pub(super) fn part_at(
        &mut self,
        item: &'a DistItem,
        part: DistributionPart,
        x: Datum,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Option<Datum>> {
        let (Some(known), Some((low, high))) = (part.of_value(), ends(item)) else {
            return self.formula(item, part, x, frame, span);
        };
        let value = self.real(&x, span)?;
        let range = self.bounds(value);
        let (below, above) = (range.lo < low, range.hi > high);
        if !below && !above {
            return self.formula(item, part, x, frame, span);
        }
        let shape = self.ty(value).shape;
        let mut inside = value;
        let mut outside = Vec::new();
        for (is_possible, end, result) in [(below, low, known.outside[0]), (above, high, known.outside[1])] {
            if !is_possible {
                continue;
            }
            let end_of = self.builder.splat(end, &shape);
            let sides = if end == low {
                [value, end_of]
            } else {
                [end_of, value]
            };
            let beyond = match known.ends_are_outside {
                true => self.builder.le(sides[0], sides[1]),
                false => self.builder.lt(sides[0], sides[1]),
            };
            // For an `x` outside the support, the formula is evaluated at a value inside, because
            // otherwise the formula or its gradient could become NaN.
            let harmless = self.builder.splat(Interval::new(low, high).inside(), &shape);
            inside = self.builder.select(beyond, harmless, inside);
            outside.push((beyond, result));
        }
        let Some(found) = self.formula(item, part, Datum::Tensor(inside), frame, span)? else {
            return Ok(None);
        };
        let mut found = self.real(&found, span)?;
        for (beyond, result) in outside {
            let (beyond, aligned) = self.align(beyond, found, span)?;
            let result = self.builder.like(result, aligned);
            found = self.builder.select(beyond, result, aligned);
        }
        Ok(Some(Datum::Tensor(found)))
    }

    /// Elaborates a part from its declaration, or derives it from another part.
    fn formula(
        &mut self,
        item: &'a DistItem,
        part: DistributionPart,
        x: Datum,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Option<Datum>> {
        if let Some((_, local, body)) = item.functions.iter().find(|(found, ..)| *found == part) {
            frame.values.insert(*local, x);
            return self.expr(body, frame).map(Some);
        }
        let derived = |known: &PartOfValue| item.source(known);
        let Some((source, derive)) = part.of_value().and_then(derived) else {
            return Ok(None);
        };
        let Some(found) = self.formula(item, source, x, frame, span)? else {
            return Ok(None);
        };
        let found = self.real(&found, span)?;
        Ok(Some(Datum::Tensor(derive(&mut self.builder, found))))
    }

    /// Returns bounds of the elements of a value. They are derived from the supports of the quantities on which the
    /// value depends.
    fn bounds(&self, value: Value) -> Interval {
        let function = self.builder.function();
        let mut known: HashMap<Value, Interval> = HashMap::new();
        let mut open = vec![value];
        while let Some(value) = open.last().copied() {
            let range = match &function.nodes[value].kind {
                _ if known.contains_key(&value) => None,
                NodeKind::Param(_) => Some(self.inside.get(&value).copied().unwrap_or(Interval::REALS)),
                NodeKind::Apply { op, args, attrs } => {
                    let missing = args.iter().filter(|arg| !known.contains_key(arg));
                    let count = open.len();
                    open.extend(missing);
                    if open.len() > count {
                        continue;
                    }
                    let operands: Vec<Interval> = args.iter().map(|arg| known[arg]).collect();
                    Some((op.range)(&operands, attrs))
                }
            };
            known.extend(range.map(|range| (value, range)));
            open.pop();
        }
        known[&value]
    }
}

/// Returns the ends of the support of a distribution over real or count scalars.
pub(super) fn ends(item: &DistItem) -> Option<(f64, f64)> {
    match &item.on {
        Ty::Tensor(elem, dims) if dims.is_empty() => match support(elem) {
            Support::Interval(low, high) => Some((low, high)),
            Support::Integers(0) => Some((0.0, f64::INFINITY)),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> InstanceBuilder<'_, 'a, '_> {
    pub(super) fn part(
        &mut self,
        part: DistributionPart,
        arg: Datum,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Option<Value>> {
        let (item, span) = (self.item(), self.span);
        match self.elaborator.part_at(item, part, arg, frame, span)? {
            Some(datum) => self.elaborator.real(&datum, span).map(Some),
            None => Ok(None),
        }
    }

    /// Elaborates a part as [`Self::part`] does, and converts it to the shape of the distribution's value.
    pub(super) fn shaped_part(
        &mut self,
        part: DistributionPart,
        x: Value,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Option<Value>> {
        let found = self.part(part, Datum::Tensor(x), frame)?;
        found.map(|found| self.shaped(found)).transpose()
    }

    /// Elaborates a declared number, and converts it to the shape of the distribution's value.
    pub(super) fn shaped_number(
        &mut self,
        number: &'a TypedExpr,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Value> {
        let number = self.elaborator.expr(number, frame)?;
        let number = self.elaborator.real(&number, self.span)?;
        self.shaped(number)
    }

    /// Returns the log probability of an interval inside the support, or `None` if the distribution does not have a `cdf`.
    pub(super) fn log_mass(
        &mut self,
        (low, high): (f64, f64),
        frame: &mut Frame<'a>,
    ) -> Elaborated<Option<Value>> {
        let item = self.item();
        let own = ends(item).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let mut at = |this: &mut Self, part: DistributionPart, end: f64| -> Elaborated<Option<Value>> {
            let x = this.elaborator.constant(end, DType::Real);
            this.part(part, Datum::Tensor(x), frame)
        };
        match (own.0 < low, high < own.1) {
            (false, false) => Ok(Some(self.elaborator.constant(0.0, DType::Real))),
            (true, false) => at(self, DistributionPart::LogSurvival, low),
            (false, true) => at(self, DistributionPart::LogCdf, high),
            (true, true) => {
                // The difference is computed from cumulative or survival probabilities, whichever
                // are smaller, so that no digits are lost by cancellation. Far above the median,
                // the survival probabilities are smaller.
                let has_upper =
                    item.declares(DistributionPart::Survival) || item.declares(DistributionPart::LogSurvival);
                let upper = [
                    (DistributionPart::LogSurvival, low),
                    (DistributionPart::LogSurvival, high),
                ];
                let lower = [(DistributionPart::LogCdf, high), (DistributionPart::LogCdf, low)];
                let mut logs = Vec::new();
                for (part, end) in lower.into_iter().chain(upper.into_iter().filter(|_| has_upper)) {
                    let Some(log) = at(self, part, end)? else {
                        return Ok(None);
                    };
                    logs.push(log);
                }
                self.log_difference(&logs).map(Some)
            }
        }
    }

    /// Sets a log density to minus infinity where `x` lies outside an interval.
    pub(super) fn zero_outside(
        &mut self,
        (low, high): (f64, f64),
        x: Value,
        density: Value,
    ) -> Elaborated<Value> {
        let b = &mut self.elaborator.builder;
        let (low, high) = (b.like(low, x), b.like(high, x));
        let (below, above) = (b.lt(x, low), b.lt(high, x));
        let beyond = b.binary(&bnnc_graph::ops::or::OR, below, above);
        let (beyond, density) = self.elaborator.align(beyond, density, self.span)?;
        let b = &mut self.elaborator.builder;
        let nothing = b.like(f64::NEG_INFINITY, density);
        Ok(b.select(beyond, nothing, density))
    }

    /// Returns `log(exp(a) - exp(b))`. `a` and `b` are the first two values in `logs`. If there are
    /// four values, and the third is smaller than the first, they are the last two values.
    fn log_difference(&mut self, logs: &[Value]) -> Elaborated<Value> {
        let span = self.span;
        let widest = logs.iter().map(|log| self.elaborator.ty(*log).shape);
        let shape = widest.max_by_key(|shape| shape.rank()).unwrap_or_default();
        let mut stretched = Vec::new();
        for log in logs {
            stretched.push(self.elaborator.stretch(*log, &shape, span)?);
        }
        let b = &mut self.elaborator.builder;
        let (whole, part) = match stretched[..] {
            [whole, part, other_whole, other_part] => {
                let is_upper = b.lt(other_whole, whole);
                (
                    b.select(is_upper, other_whole, whole),
                    b.select(is_upper, other_part, part),
                )
            }
            _ => (stretched[0], stretched[1]),
        };
        let difference = b.sub(part, whole);
        // For an interval with probability zero, the result is NaN, which every sampler rejects.
        let (near, far) = (b.like(-0.7, difference), b.like(-0.69, difference));
        let is_near = b.lt(near, difference);
        let close = b.max(difference, near);
        let close = b.expm1(close);
        let close = b.neg(close);
        let close = b.log(close);
        let distant = b.min(difference, far);
        let distant = b.exp(distant);
        let distant = b.neg(distant);
        let distant = b.log1p(distant);
        let factor = b.select(is_near, close, distant);
        Ok(b.add(whole, factor))
    }
}
