//! Elaborates repetition: comprehensions, reductions over ranges, and `for` over the elements of an output.
//!
//! A comprehension of tensors becomes a single `map`. Its body is elaborated only once. A list of layers is
//! unrolled instead, because each element is a separate layer instance.

use super::datum::Datum;
use super::dist::Each;
use super::frame::{Elaborated, Elaborator, Frame, NoiseContext};
use super::linear::AffineExpr;
use super::model::declared;
use super::observed_range::ObservedRange;
use crate::builtin::{Builtin, Reduction};
use crate::diagnostics::elaborate::{limit, too_many_layers};
use crate::diagnostics::model as report;
use crate::diagnostics::types::support;
use crate::tree::{LocalId, SampleStmt, TypedComprehension, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{MOST_LAYERS, Ty};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_base::source::Span;
use bnnc_graph::builder::{Builder, Operation};
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The maximum length of a range. Single precision represents all positions up to this one exactly.
const MOST_POSITIONS: usize = 1 << 24;

impl<'a> Elaborator<'a> {
    /// Elaborates `[e for i in a..b]`.
    pub fn comprehension(
        &mut self,
        c: &TypedComprehension,
        ty: &Ty,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        if let Some(width) = self.width(ty, 0, [&c.from, &c.to], frame)? {
            return self.window(c, width, frame, span);
        }
        let (from, to) = self.range(c, frame)?;
        self.forms.write_end(written(&c.to, frame));
        if makes_layers(&c.element) {
            if to < from {
                let (what, wanted) = ("the end of a range", "at least its start");
                return Err(Box::new(support(c.to.span, what, wanted, "below it")));
            }
            let count = to.saturating_sub(from);
            let mut items = Vec::new();
            for at in from..to {
                let layers = items.first().map_or(1, layers_in).saturating_mul(count);
                if layers > MOST_LAYERS {
                    return Err(too_many_layers(span, layers));
                }
                frame.values.insert(c.counter, Datum::Static(at));
                items.push(self.expr(&c.element, frame)?);
            }
            frame.values.remove(&c.counter);
            return Ok(Datum::List(Rc::new(items)));
        }
        let mapped = self.map(c.counter, [from, to], frame, span, |this, frame| {
            let datum = this.expr(&c.element, frame)?;
            Ok(vec![this.real(&datum, span)?])
        })?;
        mapped
            .into_iter()
            .next()
            .map(Datum::Tensor)
            .ok_or_else(|| limit(span, "an empty element"))
    }

    /// Elaborates `sum(e for i in a..b)`.
    pub fn reduce(
        &mut self,
        builtin: &'static Builtin,
        c: &TypedComprehension,
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        let is_known = |datum: &Datum| matches!(datum, Datum::Static(_));
        let ends = [self.expr(&c.from, frame)?, self.expr(&c.to, frame)?];
        if !ends.iter().all(is_known) {
            return self.reduce_open(builtin, c, ends, frame, span);
        }
        let all = self.comprehension(c, &Ty::Error, frame, span)?;
        let value = self.tensor(&all, span)?;
        self.reduced(builtin, value, span)
    }

    /// Reduces the first axis of an array that was computed by a `map` over a range.
    pub fn reduced(&mut self, builtin: &'static Builtin, value: Value, span: Span) -> Elaborated<Datum> {
        if self.ty(value).rank() > 1 && builtin.reduction() == Some(Reduction::Sum) {
            return self
                .apply(Operation::reduce_sum(value, &[0]), span)
                .map(Datum::Tensor);
        }
        match builtin.reduction() {
            Some(reduction) => self.reduce_all(reduction, &Datum::Tensor(value), span),
            None => self.apply_builtin(builtin, vec![Datum::Tensor(value)], span),
        }
    }

    fn range(&mut self, c: &TypedComprehension, frame: &mut Frame<'a>) -> Elaborated<(i64, i64)> {
        Ok((
            self.static_integer(&c.from, frame)?,
            self.static_integer(&c.to, frame)?,
        ))
    }

    /// Elaborates `body` once, as the function of a `map` over `from..to`, and returns the results
    /// of the `map`. `counter` may be `None` if the range has a single position.
    pub fn map(
        &mut self,
        counter: impl Into<Option<LocalId>>,
        [from, to]: [i64; 2],
        frame: &mut Frame<'a>,
        span: Span,
        body: impl FnOnce(&mut Self, &mut Frame<'a>) -> Elaborated<Vec<Value>>,
    ) -> Elaborated<Vec<Value>> {
        let count = positions(from, to, span)?;
        let outer = std::mem::replace(&mut self.builder, Builder::new("body"));
        let outer_ranges = std::mem::take(&mut self.ranges);
        let outer_forms = self.forms.take_values();
        let index = self.builder.param("index", Type::int(Shape::scalar()));
        let start = self.constant(from as f64, DType::Int);
        let position = self.apply(Operation::new(&ops::add::ADD, [index, start]), span)?;
        // Every tensor in scope becomes a parameter of the body. Later passes remove the parameters
        // that the body does not use.
        let mut captured: Vec<Value> = Vec::new();
        let mut inner_of: HashMap<Value, Value> = HashMap::new();
        let mut inner = frame.clone();
        let mut locals: Vec<LocalId> = inner.values.keys().copied().collect();
        locals.sort();
        let mut capture = |builder: &mut Builder, value: Value| {
            *inner_of.entry(value).or_insert_with(|| {
                captured.push(value);
                builder.param(&format!("captured{}", captured.len()), outer.ty(value).clone())
            })
        };
        for local in locals {
            let datum = inner.values[&local].map_values(&mut |value| capture(&mut self.builder, value));
            inner.values.insert(local, datum);
        }
        let outer_noise = self.noise.clone();
        let noise = outer_noise.as_ref().map(|noise| noise.coordinates);
        let noise = noise.map(|noise| noise.map(|value| capture(&mut self.builder, value)));
        let counter = counter.into();
        if let Some(counter) = counter {
            inner.values.insert(counter, Datum::Tensor(position));
        }
        let known = inner_of
            .iter()
            .filter_map(|(outer, inner)| Some((*inner, *outer_ranges.get(outer)?)));
        self.ranges = known.chain([(position, (from, to - 1))]).collect();
        let known = inner_of
            .iter()
            .filter_map(|(outer, inner)| Some((*inner, outer_forms.get(outer)?.clone())));
        self.forms.set_values(known.collect());
        if let Some(counter) = counter {
            let name = &frame.locals[counter].name;
            self.forms
                .count((position, name), [from, to - 1].map(AffineExpr::number));
        }
        if let (Some(noise), Some([draw, example, step])) = (&mut self.noise, noise) {
            // The number of the example is replaced by `example * count + index`, so that each
            // position has its own noise.
            let positions = self.builder.int(count as i64);
            let first = self.builder.mul(example, positions);
            noise.coordinates = [draw, self.builder.add(first, index), step];
        }
        self.ranges_open += 1;
        let results = body(self, &mut inner);
        self.ranges_open -= 1;
        let function = std::mem::replace(&mut self.builder, outer);
        self.ranges = outer_ranges;
        self.forms.set_values(outer_forms);
        let streams = self.noise.as_ref().map_or(0, |noise| noise.count);
        self.noise = outer_noise.map(|noise| NoiseContext {
            count: streams,
            ..noise
        });
        let results = results?;
        let mut mapped = Vec::new();
        for result in results {
            let function = function.function().clone();
            let function = bnnc_graph::function::Function {
                results: vec![("element".into(), result)],
                ..function
            };
            let iota = self.apply(Operation::iota(Dim::Fixed(count)), span)?;
            let args: Vec<Value> = std::iter::once(iota).chain(captured.iter().copied()).collect();
            mapped.push(self.apply(Operation::map(Arc::new(function), &args, 1), span)?);
        }
        Ok(mapped)
    }

    /// Elaborates `for t in a..b { y[t] ~ D(..) }`. The parameters of `D` are computed by a `map`
    /// over the range. Then all elements are observed together.
    pub fn repeat(
        &mut self,
        counter: LocalId,
        range: [&TypedExpr; 2],
        body: &[TypedStmt],
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<()> {
        let from = self.static_integer(range[0], frame)?;
        let to = self.static_integer(range[1], frame)?;
        for stmt in body {
            let TypedStmt::Sample(sample) = stmt else { continue };
            let Some(index) = sample.index.as_ref().filter(|_| sample.observed) else {
                let text = "inside `for`, only elements of an output can be observed".to_owned();
                return Err(limit(sample.span, text));
            };
            self.forms.write_end(written(range[1], frame));
            let elements = Elements {
                counter: Some((counter, index)),
                from,
                to,
                lets: body,
                span,
            };
            self.elements(sample, elements, frame)?;
        }
        Ok(())
    }

    /// Elaborates `y[k] ~ D(..)` outside a `for`. The statement is treated as a range of one element.
    pub fn element(
        &mut self,
        sample: &SampleStmt,
        index: &TypedExpr,
        frame: &mut Frame<'a>,
    ) -> Elaborated<()> {
        let from = self.static_integer(index, frame)?;
        let elements = Elements {
            counter: None,
            from,
            to: from + 1,
            lets: &[],
            span: sample.span,
        };
        self.elements(sample, elements, frame)
    }

    /// Observes some elements of an output, each with the distribution for its position.
    fn elements(
        &mut self,
        sample: &SampleStmt,
        elements: Elements<'_>,
        frame: &mut Frame<'a>,
    ) -> Elaborated<()> {
        let Elements {
            counter,
            from,
            to,
            lets,
            span,
        } = elements;
        let (mut found, mut place) = (None, (0, 1));
        let parameters = self.map(
            counter.map(|(at, _)| at),
            [from, to],
            frame,
            span,
            |this, inner| {
                for stmt in lets {
                    if let TypedStmt::Let(local, value) = stmt {
                        let datum = this.expr(value, inner)?;
                        inner.values.insert(*local, datum);
                    }
                }
                if let Some((counter, index)) = counter {
                    place = this.place(counter, index, inner)?;
                }
                let Datum::Dist(dist) = this.expr(&sample.dist, inner)? else {
                    return Err(limit(sample.span, "a distribution is needed here"));
                };
                let arguments = this.arguments(&dist, sample.span)?;
                let values = arguments.values.iter().map(|(_, value)| *value).collect();
                let types = arguments.values.iter();
                let types = types
                    .map(|(name, value)| (name.clone(), this.ty(*value)))
                    .collect();
                found = Some((arguments.dist, types));
                Ok(values)
            },
        )?;
        let Some((dist, params)) = found else {
            return Ok(());
        };
        let output = TypedExpr::new(TypedExprKind::Local(sample.local), sample.ty.clone(), sample.span);
        let output = self.expr(&output, frame)?;
        let output = self.tensor(&output, sample.span)?;
        let count = to - from;
        let range = ObservedRange {
            output,
            first: place.0.saturating_add(place.1.saturating_mul(from)),
            step: place.1,
            count,
            span: sample.span,
        };
        let name = frame.locals[sample.local].name.to_string();
        if range.step == 0 && count > 1 {
            return Err(report::observed_twice(&name, sample.span, sample.span).into());
        }
        let observed = self.observed_elements(&range)?;
        if let Some(first) = self.observed_ranges.iter().find(|other| other.overlaps(&range)) {
            return Err(report::observed_twice(&name, first.span, sample.span).into());
        }
        self.observed_ranges.push(range);
        let whole = self.ty(observed);
        let each = Each {
            dist,
            params,
            value: Type::new(whole.dtype, Shape(whole.dims()[1..].to_vec())),
            count: usize::try_from(count).unwrap_or(0),
        };
        let instance = self.instance_of_each(each, declared(&sample.ty), sample.span)?;
        let args = parameters.into_iter().chain([observed]).collect();
        self.observed_by(instance, args, &name, sample.span)
    }

    /// Returns the position of the observed element for the counter zero, and the coefficient of
    /// the counter. The position must be linear in the counter.
    fn place(
        &mut self,
        counter: LocalId,
        index: &TypedExpr,
        inner: &mut Frame<'a>,
    ) -> Elaborated<(i64, i64)> {
        let datum = self.expr(index, inner)?;
        let form = self.forms.linear(&datum);
        let own = inner
            .values
            .get(&counter)
            .and_then(|counter| self.forms.linear(counter));
        let place = form.zip(own).and_then(|(form, own)| form.in_counter(&own));
        place.ok_or_else(|| {
            let text =
                "the position of an observed element must be a multiple of the loop counter plus a constant";
            Box::new(
                limit(index.span, text.to_owned())
                    .help("write it in one of these forms: `y[t]`, `y[2 * t + 1]` or `y[n - 1 - t]`"),
            )
        })
    }

    /// Returns, in the order of the counter, the elements of an output that a range observes.
    fn observed_elements(&mut self, range: &ObservedRange) -> Elaborated<Value> {
        let ObservedRange {
            output,
            first,
            step,
            count,
            span,
        } = *range;
        let last = first.saturating_add(step.saturating_mul(count - 1));
        let (low, high) = (first.min(last), first.max(last));
        if step == 1 || count == 1 {
            return self.slice(output, 0, low, high.saturating_add(1), span);
        }
        // If the range leaves the axis, this slice causes an error with the bounds from the
        // program.
        self.slice(output, 0, low, high.saturating_add(1), span)?;
        let size = usize::try_from(count).unwrap_or(0);
        let steps = self.apply(Operation::iota(Dim::Fixed(size)), span)?;
        let shape = Shape::fixed(&[size]);
        let [first, step] = [first, step].map(|number| self.constant(number as f64, DType::Int));
        let (first, step) = (
            self.stretch(first, &shape, span)?,
            self.stretch(step, &shape, span)?,
        );
        let steps = self.apply(Operation::new(&ops::mul::MUL, [steps, step]), span)?;
        let index = self.apply(Operation::new(&ops::add::ADD, [first, steps]), span)?;
        self.apply(Operation::gather(output, index, 0), span)
    }
}

/// The range of output elements that a statement observes.
#[derive(Clone, Copy)]
struct Elements<'s> {
    /// The counter, and the index of the observed element as a function of the counter.
    counter: Option<(LocalId, &'s TypedExpr)>,
    from: i64,
    to: i64,
    lets: &'s [TypedStmt],
    /// The span of the range.
    span: Span,
}

/// Returns the number of positions of a range. Fails if the range is empty or too long.
fn positions(from: i64, to: i64, span: Span) -> Elaborated<usize> {
    let count = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
    if count == 0 {
        return Err(limit(span, format!("the range {from}..{to} is empty")));
    }
    if count > MOST_POSITIONS {
        let text = format!("the range {from}..{to} has more than {MOST_POSITIONS} positions");
        return Err(limit(span, text));
    }
    Ok(count)
}

/// If the end of a range is a name, returns this name.
fn written(end: &TypedExpr, frame: &Frame<'_>) -> Option<String> {
    match &end.kind {
        TypedExprKind::Local(local) => Some(frame.locals[*local].name.to_string()),
        _ => None,
    }
}

fn makes_layers(element: &TypedExpr) -> bool {
    matches!(
        element.ty,
        Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::List(..)
    )
}

/// Returns the number of layers in a datum: a layer or a list of layers.
fn layers_in(datum: &Datum) -> i64 {
    match datum {
        Datum::List(items) | Datum::Composed(_, items) => items.iter().map(layers_in).sum(),
        _ => 1,
    }
}
