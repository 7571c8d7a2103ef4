//! Elaborates image operations. The axes of an image are channels, rows and columns.
//!
//! Note \[Convolutions\]. A convolution is a contraction of the kernel with all windows of the
//! image, `conv = contract(kernel, patches(x))`. The derivatives of a convolution result from those
//! of `contract` and `patches`, and so do its batched forms over examples and draws. Most of the
//! time is spent in the contraction, which becomes a matrix product unless it is tiny (see Note
//! \[Contractions\] in `compiler/lower`).

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, within_limits};
use crate::builtin::{Builtin, BuiltinRule, Reduction};
use crate::diagnostics::elaborate::limit;
use crate::diagnostics::types as report;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::Value;

impl Elaborator<'_> {
    /// Elaborates `conv(x, kernel, stride)`; see Note \[Convolutions\].
    pub(super) fn convolution(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (x, kernel) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let sizes = self.lengths(kernel);
        let stride = integer(&args[2], "the stride", span)?;
        let windows = self.windows("conv", x, [sizes[2], sizes[3]], stride, span)?;
        self.apply(Operation::contract(kernel, windows, "ocab,cabpq->opq"), span)
    }

    /// Elaborates `pad(x, width)`.
    pub(super) fn padded(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let Datum::Static(width) = &args[1] else {
            return Err(limit(span, "the width of a padding is not known before the run"));
        };
        let what = "the width of a padding";
        let width = usize::try_from(*width)
            .map_err(|_| report::support(span, what, "zero or more", &width.to_string()))?;
        // The sizes are checked here, because the type rule of the op adds them without checking a limit.
        let padded = |(axis, size): (usize, i64)| match axis {
            0 => size as usize,
            _ => (size as usize).saturating_add(width.saturating_mul(2)),
        };
        let sizes: Vec<usize> = self.lengths(x).into_iter().enumerate().map(padded).collect();
        within_limits(&Shape::fixed(&sizes), span)?;
        let around = [0, width, width];
        self.apply(Operation::pad(x, &around, &around, &[0; 3]), span)
    }

    /// Elaborates `max_pool(x, size, stride)` and `mean_pool(x, size, stride)`.
    pub(super) fn pooled(&mut self, builtin: &Builtin, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let size = integer(&args[1], "the size of a window", span)?;
        let stride = integer(&args[2], "the stride", span)?;
        let windows = self.windows(builtin.name, x, [size, size], stride, span)?;
        if builtin.rule == BuiltinRule::Pool(Reduction::Max) {
            return self.apply(Operation::reduce_max(windows, &[1, 2]), span);
        }
        let sum = self.apply(Operation::reduce_sum(windows, &[1, 2]), span)?;
        Ok(self.builder.scale(sum, 1.0 / (size * size) as f64))
    }

    /// Returns all windows of an image. The axes of the result are the channel, the row and column
    /// of a pixel within its window, and the row and column of the window.
    fn windows(
        &mut self,
        name: &str,
        x: Value,
        sizes: [i64; 2],
        stride: i64,
        span: Span,
    ) -> Elaborated<Value> {
        let whole = self.lengths(x);
        for (size, window) in whole[1..].iter().zip(sizes) {
            if window > *size {
                let (size, window) = (size.to_string(), window.to_string());
                return Err(Box::new(report::window(name, (&size, span), (&window, span))));
            }
        }
        let sizes = sizes.map(|size| size as usize);
        self.apply(Operation::patches(x, &sizes, &[stride as usize; 2]), span)
    }

    /// Returns the sizes of an image's axes.
    fn lengths(&self, x: Value) -> Vec<i64> {
        let ty = self.ty(x);
        let sizes = ty.dims().iter().map(|dim| dim.fixed().unwrap_or(1) as i64);
        sizes.collect()
    }
}

/// Reads a positive integer that is known at compile time.
fn integer(datum: &Datum, what: &str, span: Span) -> Elaborated<i64> {
    match datum {
        Datum::Static(number) if *number > 0 => Ok(*number),
        Datum::Static(number) => {
            let found = number.to_string();
            Err(Box::new(report::support(span, what, "one or more", &found)))
        }
        _ => Err(limit(span, format!("{what} is not a known integer"))),
    }
}
