//! Elaborates `x[i, a..b]`.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, Frame};
use crate::diagnostics::elaborate::limit;
use crate::tree::TypedIndex;
use crate::types::Ty;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_base::source::Span;
use bnnc_graph::builder::{Operation, Window};
use bnnc_graph::function::Value;
use bnnc_graph::ops;

const FROM_ZERO: &str = "positions count from 0";

impl<'a> Elaborator<'a> {
    /// Indexes a list of layers or a tensor, axis by axis from the left.
    pub fn index(
        &mut self,
        base: Datum,
        (indices, ty): (&[TypedIndex], &Ty),
        frame: &mut Frame<'a>,
        span: Span,
    ) -> Elaborated<Datum> {
        if let Datum::List(items) = &base {
            let Some(TypedIndex::At(position)) = indices.first() else {
                return Err(limit(span, "a list needs one position"));
            };
            let position = self.static_integer(position, frame)?;
            let item = usize::try_from(position).ok().and_then(|at| items.get(at));
            return item.cloned().ok_or_else(|| {
                limit(
                    span,
                    format!("position {position} is outside a list of {}", items.len()),
                )
            });
        }
        let mut value = self.tensor(&base, span)?;
        let mut axis = 0;
        for index in indices {
            match index {
                TypedIndex::At(position) => {
                    let position = self.expr(position, frame)?;
                    value = self.at(value, axis, position, span)?;
                }
                TypedIndex::Range(from, to) => {
                    if let Some(width) = self.width(ty, axis, [from, to], frame)? {
                        let ends = [self.expr(from, frame)?, self.expr(to, frame)?];
                        value = self.window_of(value, axis, (ends, width), span)?;
                    } else {
                        let (from, to) = (self.static_integer(from, frame)?, self.static_integer(to, frame)?);
                        value = self.slice(value, axis, from, to, span)?;
                    }
                    axis += 1;
                }
            }
        }
        Ok(Datum::Tensor(value))
    }

    fn at(&mut self, value: Value, axis: usize, position: Datum, span: Span) -> Elaborated<Value> {
        let Datum::Static(at) = position else {
            let index = self.tensor(&position, span)?;
            self.check_positions(value, axis, index, span)?;
            let index = self.to_int(index, span)?;
            return self.apply(Operation::gather(value, index, axis), span);
        };
        let size = self.axis_size(value, axis);
        if at < 0 || at >= size {
            return Err(
                limit(span, format!("position {at} is outside an axis of size {size}"))
                    .note(FROM_ZERO)
                    .into(),
            );
        }
        let slice = self.slice(value, axis, at, at + 1, span)?;
        let mut dims = self.ty(slice).shape.0;
        dims.remove(axis);
        self.apply(Operation::reshape(slice, &Shape(dims)), span)
    }

    /// Converts integers that are stored as reals (counts and sums of integers) to integers.
    pub fn to_int(&mut self, value: Value, span: Span) -> Elaborated<Value> {
        match self.ty(value).dtype {
            DType::Int => Ok(value),
            DType::Real => self.apply(Operation::new(&ops::to_int::TO_INT, [value]), span),
            DType::Bool => Err(limit(span, "an integer is needed here")),
        }
    }

    fn axis_size(&self, value: Value, axis: usize) -> i64 {
        self.ty(value)
            .dims()
            .get(axis)
            .and_then(|dim| dim.fixed())
            .map_or(0, |size| size as i64)
    }

    /// Checks that an index lies inside its axis for all values of the counters in the index.
    fn check_positions(&self, value: Value, axis: usize, index: Value, span: Span) -> Elaborated<()> {
        let size = self.axis_size(value, axis);
        match self.range_here(index) {
            Some((low, high)) if low < 0 || high >= size => {
                let outside = if low < 0 { low } else { high };
                let text = match low == i64::MIN || high == i64::MAX {
                    true => "this position overflows, or has a divisor that can be zero".to_owned(),
                    false => format!(
                        "this position takes values from {low} to {high}, but {outside} is outside an axis of size {size}"
                    ),
                };
                let diagnostic = limit(span, text).note(FROM_ZERO);
                Err(Box::new(match self.forms.range_inside(index, size) {
                    Some(range) => {
                        diagnostic.help(format!("restrict the range to valid positions: `for {range}`"))
                    }
                    None => diagnostic,
                }))
            }
            _ => Ok(()),
        }
    }

    /// Returns the elements `from..to` along an axis.
    pub fn slice(&mut self, value: Value, axis: usize, from: i64, to: i64, span: Span) -> Elaborated<Value> {
        let dims = self.ty(value).shape.0;
        let size = |dim: &Dim| dim.fixed().map_or(-1, |size| size as i64);
        let limit_of_axis = dims.get(axis).map_or(0, size);
        if from < 0 || to < from || to > limit_of_axis {
            return Err(limit(
                span,
                format!("{from}..{to} is outside an axis of {limit_of_axis}"),
            ));
        }
        let mut starts = vec![0; dims.len()];
        let mut limits: Vec<i64> = dims.iter().map(size).collect();
        (starts[axis], limits[axis]) = (from, to);
        let window = Window {
            starts,
            limits,
            strides: vec![1; dims.len()],
        };
        self.apply(Operation::slice(value, window), span)
    }

    /// Elaborates an expression that must be an integer known at compile time.
    pub fn static_integer(
        &mut self,
        expr: &crate::tree::TypedExpr,
        frame: &mut Frame<'a>,
    ) -> Elaborated<i64> {
        match self.expr(expr, frame)? {
            Datum::Static(number) => Ok(number),
            _ => Err(limit(
                expr.span,
                "an integer known at compile time is needed here",
            )),
        }
    }
}
