//! Elaborates ranges whose ends depend on counters. Such a range is reduced, or it is a window of
//! constant length. The size of an array must be known at compile time. A reduction therefore
//! covers every position that can lie in its range. At positions outside the range, it uses the
//! neutral element, such as zero for a sum. A window has the same number of elements for every
//! value of the counter.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, Frame};
use super::linear::AffineExpr;
use crate::builtin::{Builtin, Reduction};
use crate::diagnostics::elaborate::{limit, open_array};
use crate::diagnostics::types::{empty_range, support};
use crate::tree::{TypedComprehension, TypedExpr, TypedExprKind, TypedIndex};
use crate::types::Ty;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_base::source::Span;
use bnnc_grammar::ast::BinaryOp;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::Value;
use bnnc_graph::ops;

/// Returns the neutral element of a reduction. It is used at positions outside the range.
fn neutral(builtin: &Builtin) -> f64 {
    match builtin.reduction() {
        Some(Reduction::Sum | Reduction::Mean) => 0.0,
        Some(Reduction::Prod) => 1.0,
        Some(Reduction::Min) => f64::INFINITY,
        Some(Reduction::Max) | None => f64::NEG_INFINITY,
    }
}

impl<'a> Elaborator<'a> {
    /// Elaborates `sum(y[a..b])` and `sum([e for i in a..b])` if an end of the range depends on a counter. Returns `None` for any other
    /// argument.
    pub fn reduce_array(
        &mut self,
        builtin: &'static Builtin,
        args: &[TypedExpr],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Option<Datum>> {
        let ([arg], true) = (args, builtin.reduces_ranges()) else {
            return Ok(None);
        };
        match &arg.kind {
            TypedExprKind::Comprehension(c) if self.is_open(&c.from, &c.to, frame)? => {
                self.reduce(builtin, c, frame, span).map(Some)
            }
            TypedExprKind::Index(base, indices) => match &indices[..] {
                [TypedIndex::Range(from, to)] if self.is_open(from, to, frame)? => {
                    let base = self.expr(base, frame)?;
                    let value = self.real(&base, span)?;
                    let ends = [self.expr(from, frame)?, self.expr(to, frame)?];
                    self.reduce_slice(builtin, value, ends, arg.span).map(Some)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns whether an end of a range is not known at compile time.
    fn is_open(&mut self, from: &TypedExpr, to: &TypedExpr, frame: &mut Frame<'a>) -> Elaborated<bool> {
        let is_known = |datum: &Datum| matches!(datum, Datum::Static(_));
        Ok(!is_known(&self.expr(from, frame)?) || !is_known(&self.expr(to, frame)?))
    }

    fn reduce_slice(
        &mut self,
        builtin: &'static Builtin,
        value: Value,
        ends: [Datum; 2],
        span: Span,
    ) -> Elaborated<Datum> {
        let Some(Dim::Fixed(size)) = self.ty(value).dims().first().copied() else {
            return Err(open_array(span));
        };
        if self.ty(value).rank() != 1 {
            return Err(open_array(span));
        }
        self.forwards(&ends, span)?;
        self.has_elements(builtin, &ends, span)?;
        self.within(&ends, size, span)?;
        let shape = Shape::fixed(&[size]);
        let position = self.apply(Operation::iota(Dim::Fixed(size)), span)?;
        let mut wide = Vec::new();
        for end in &ends {
            let end = self.tensor(end, span)?;
            wide.push(self.stretch(end, &shape, span)?);
        }
        let inside = self.inside(wide[0], position, wide[1], span)?;
        let outside = self.constant(neutral(builtin), DType::Real);
        let outside = self.stretch(outside, &shape, span)?;
        let chosen = Operation::new(&ops::select::SELECT, [inside, value, outside]);
        let chosen = self.apply(chosen, span)?;
        self.reduce_all_of(builtin, chosen, &ends, span)
    }

    /// Builds the condition `from <= position < to`.
    fn inside(&mut self, from: Value, position: Value, to: Value, span: Span) -> Elaborated<Value> {
        let after = self.apply(Operation::new(&ops::le::LE, [from, position]), span)?;
        let before = self.apply(Operation::new(&ops::lt::LT, [position, to]), span)?;
        self.apply(Operation::new(&ops::and::AND, [after, before]), span)
    }

    /// Rejects a range whose end is below its start for every value of the counters. If it is so only for some values of the counters, the range
    /// is empty for these values.
    fn forwards(&self, [from, to]: &[Datum; 2], span: Span) -> Elaborated<()> {
        let boxes = self.range_of_integer(from).zip(self.range_of_integer(to));
        let is_apart = boxes.is_some_and(|((first, _), (_, last))| last < first);
        let length = self.length(from, to);
        match is_apart || length.is_some_and(|(_, longest)| longest < 0) {
            true => {
                let (what, wanted) = ("the end of a range", "at least its start");
                Err(Box::new(support(
                    span,
                    what,
                    wanted,
                    "below it for every position",
                )))
            }
            false => Ok(()),
        }
    }

    /// Returns the smallest and the largest length of a range, if they are known.
    fn length(&self, from: &Datum, to: &Datum) -> Option<(i64, i64)> {
        let (from, to) = (self.forms.linear(from)?, self.forms.linear(to)?);
        self.forms.ends(&to.plus(&from, -1)?)
    }

    /// Rejects a range that is empty for some values of the counters, if the reduction needs at
    /// least one element. Inside an `if` that compares integers, such a range is allowed, because
    /// the condition may exclude these values.
    fn has_elements(&self, builtin: &'static Builtin, [from, to]: &[Datum; 2], span: Span) -> Elaborated<()> {
        let needs_one = match builtin.reduction() {
            Some(Reduction::Mean | Reduction::Min | Reduction::Max) => self.choices == 0,
            Some(Reduction::Sum | Reduction::Prod) | None => false,
        };
        let length = self.length(from, to);
        match needs_one && length.is_some_and(|(shortest, _)| shortest <= 0) {
            true => Err(Box::new(empty_range(span, builtin.name))),
            false => Ok(()),
        }
    }

    /// Checks that a slice stays inside its axis for every value of the counter.
    fn within(&self, [from, to]: &[Datum; 2], size: usize, span: Span) -> Elaborated<()> {
        let (Some((first, _)), Some((_, last))) = (self.range_of_integer(from), self.range_of_integer(to))
        else {
            return Err(open_array(span));
        };
        match first < 0 || last > size as i64 {
            true => {
                let text = format!("this slice runs from {first} to {last}, outside an axis of {size}");
                Err(limit(span, text).note("positions count from 0").into())
            }
            false => Ok(()),
        }
    }

    /// Reduces the first axis. At positions outside the range, the value is replaced by the neutral
    /// element.
    fn reduce_all_of(
        &mut self,
        builtin: &'static Builtin,
        value: Value,
        ends: &[Datum; 2],
        span: Span,
    ) -> Elaborated<Datum> {
        if builtin.reduction() != Some(Reduction::Mean) {
            return self.reduced(builtin, value, span);
        }
        let sum = self.apply(Operation::reduce_sum(value, &[0]), span)?;
        let ends = [self.real(&ends[0], span)?, self.real(&ends[1], span)?];
        let count = self.apply(Operation::new(&ops::sub::SUB, [ends[1], ends[0]]), span)?;
        let (sum, count) = self.align(sum, count, span)?;
        self.apply(Operation::new(&ops::div::DIV, [sum, count]), span)
            .map(Datum::Tensor)
    }

    /// Elaborates `sum(e for i in a..b)` if an end of the range depends on a counter. The reduction
    /// covers every position that can lie in the range, and uses the neutral element at positions
    /// outside.
    pub fn reduce_open(
        &mut self,
        builtin: &'static Builtin,
        c: &TypedComprehension,
        [from, to]: [Datum; 2],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        let (Some((first, _)), Some((_, last))) = (self.range_of_integer(&from), self.range_of_integer(&to))
        else {
            let text = "the ends of this range must consist of numbers, dims and loop counters".to_owned();
            return Err(limit(c.from.span.to(c.to.span), text));
        };
        let ends = [from, to];
        self.forwards(&ends, c.to.span)?;
        self.has_elements(builtin, &ends, c.from.span.to(c.to.span))?;
        let [from, to] = ends;
        let neutral = neutral(builtin);
        if first >= last {
            return Ok(Datum::Tensor(self.constant(neutral, DType::Real)));
        }
        let within = self.forms.linear(&from).zip(self.forms.linear(&to));
        let within = within.and_then(|(first, after)| Some([first, after.plus(&AffineExpr::number(1), -1)?]));
        let mapped = self.map(c.counter, [first, last], frame, span, |this, frame| {
            if let (Some(within), Some(Datum::Tensor(position))) = (within, frame.values.get(&c.counter)) {
                this.forms.narrow(*position, within);
            }
            let datum = this.expr(&c.element, frame)?;
            let element = this.real(&datum, span)?;
            let ends = [this.expr(&c.from, frame)?, this.expr(&c.to, frame)?];
            let ends = [this.tensor(&ends[0], span)?, this.tensor(&ends[1], span)?];
            let position = this.tensor(&frame.values[&c.counter], span)?;
            let inside = this.inside(ends[0], position, ends[1], span)?;
            let outside = this.constant(neutral, DType::Real);
            let [inside, element, outside] = [inside, element, outside].map(Datum::Tensor);
            let chosen = this.select(inside, element, outside, span)?;
            Ok(vec![this.tensor(&chosen, span)?])
        })?;
        let Some(value) = mapped.into_iter().next() else {
            return Err(limit(span, "an empty element"));
        };
        self.reduce_all_of(builtin, value, &[from, to], span)
    }

    /// Returns the length of a range with an end that depends on a counter, if the length is
    /// constant. Returns `None` if both ends of the range are constant.
    ///
    /// # Errors
    /// Fails if the length depends on the counter.
    pub fn width(
        &mut self,
        ty: &Ty,
        axis: usize,
        [from, to]: [&TypedExpr; 2],
        frame: &mut Frame<'a>,
    ) -> Elaborated<Option<usize>> {
        if !self.is_open(from, to, frame)? {
            return Ok(None);
        }
        let span = from.span.to(to.span);
        let width = ty
            .dims()
            .get(axis)
            .and_then(|dim| self.dim(dim, frame, span).ok());
        width.map(Some).ok_or_else(|| open_array(span))
    }

    /// Elaborates `[e for i in a..b]` with `width` elements, beginning at a position that depends on a counter.
    pub fn window(
        &mut self,
        c: &TypedComprehension,
        width: usize,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        let mapped = self.map(c.counter, [0, width as i64], frame, span, |this, frame| {
            let from = this.expr(&c.from, frame)?;
            let range = this.range_of_integer(&from);
            let form = this
                .forms
                .linear_of(BinaryOp::Add, &from, &frame.values[&c.counter]);
            let from = this.tensor(&from, span)?;
            let step = this.tensor(&frame.values[&c.counter], span)?;
            let position = this.apply(Operation::new(&ops::add::ADD, [from, step]), span)?;
            let range = range.map(|(first, last)| (first, last + width as i64 - 1));
            let position = this.integer_result(position, range, None, form);
            frame.values.insert(c.counter, position);
            let datum = this.expr(&c.element, frame)?;
            Ok(vec![this.real(&datum, span)?])
        })?;
        let first = mapped.into_iter().next();
        first.map(Datum::Tensor).ok_or_else(|| open_array(span))
    }

    /// Returns `width` elements along an axis, beginning at a position that depends on a counter.
    pub fn window_of(
        &mut self,
        value: Value,
        axis: usize,
        (ends, width): ([Datum; 2], usize),
        span: Span,
    ) -> Elaborated<Value> {
        let Some(Dim::Fixed(size)) = self.ty(value).dims().get(axis).copied() else {
            return Err(open_array(span));
        };
        self.within(&ends, size, span)?;
        let shape = Shape::fixed(&[width]);
        let steps = self.apply(Operation::iota(Dim::Fixed(width)), span)?;
        let from = self.tensor(&ends[0], span)?;
        let from = self.stretch(from, &shape, span)?;
        let index = self.apply(Operation::new(&ops::add::ADD, [from, steps]), span)?;
        let index = self.to_int(index, span)?;
        self.apply(Operation::gather(value, index, axis), span)
    }
}
