//! What is done to images: arrays of channels, rows and columns.
//!
//! Note \[Convolutions\]. A convolution is a contraction of the kernel with all windows of the image, `conv = contract(kernel, patches(x))`:
//! derivatives, batches and draws are those of the two, and the matrix product does the work.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator};
use super::model::limit;
use crate::report::types as report;
use bnnc_base::source::Span;
use bnnc_graph::attr::Attr;
use bnnc_graph::function::Value;

impl Elaborator<'_> {
    /// `conv(x, kernel, stride)`; see Note \[Convolutions\].
    pub(super) fn convolution(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (x, kernel) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let sizes = self.lengths(kernel);
        let stride = integer(&args[2], "the stride", span)?;
        let windows = self.windows("conv", x, [sizes[2], sizes[3]], stride, span)?;
        let attrs = vec![Attr::name("ocab,cabpq->opq")];
        self.apply("contract", &[kernel, windows], attrs, span)
    }

    /// `pad(x, width)`.
    pub(super) fn padded(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let width = match &args[1] {
            Datum::Static(width) if *width >= 0 => *width,
            _ => {
                return Err(limit(
                    span,
                    "the width of a padding is not a known integer from 0".to_owned(),
                ));
            }
        };
        let around = Attr::Ints(vec![0, width, width]);
        let attrs = vec![around.clone(), around, Attr::Ints(vec![0; 3])];
        self.apply("pad", &[x], attrs, span)
    }

    /// `max_pool(x, size, stride)`, `mean_pool(x, size, stride)`.
    pub(super) fn pooled(&mut self, name: &str, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let size = integer(&args[1], "the size of a window", span)?;
        let stride = integer(&args[2], "the stride", span)?;
        let windows = self.windows(name, x, [size, size], stride, span)?;
        let inside = vec![Attr::Ints(vec![1, 2])];
        if name == "max_pool" {
            return self.apply("reduce_max", &[windows], inside, span);
        }
        let sum = self.apply("reduce_sum", &[windows], inside, span)?;
        Ok(self.builder.scale(sum, 1.0 / (size * size) as f64))
    }

    /// All windows of an image, as an array of channels, rows and columns of a window, and rows and columns of windows.
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
        let attrs = vec![Attr::Ints(sizes.to_vec()), Attr::Ints(vec![stride; 2])];
        self.apply("patches", &[x], attrs, span)
    }

    /// The sizes of the axes.
    fn lengths(&self, x: Value) -> Vec<i64> {
        let ty = self.ty(x);
        let sizes = ty.dims().iter().map(|dim| dim.fixed().unwrap_or(1) as i64);
        sizes.collect()
    }
}

/// An integer above zero that is known when the program is compiled.
fn integer(datum: &Datum, what: &str, span: Span) -> Elaborated<i64> {
    match datum {
        Datum::Static(number) if *number > 0 => Ok(*number),
        Datum::Static(number) => Err(Box::new(report::support(
            span,
            what,
            "one or more",
            &number.to_string(),
        ))),
        _ => Err(limit(span, format!("{what} is not a known integer"))),
    }
}
