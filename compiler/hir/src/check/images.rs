//! Checks image operations and determines the types of their results. The axes of an image are
//! channels, rows and columns.

use super::body::Checker;
use super::solve::equal;
use crate::builtin::Builtin;
use crate::diagnostics::types as report;
use crate::dims::DimExpr;
use crate::show;
use crate::tree::TypedExpr;
use crate::types::Ty;
use bnnc_base::source::Span;

/// The windows along one axis of an image.
struct AlongAxis<'a> {
    /// The size of the axis.
    whole: &'a DimExpr,
    /// The size of a window.
    window: &'a DimExpr,
    /// The positions of the two sizes in the program.
    spans: [Span; 2],
}

impl Checker<'_> {
    /// Returns the type of `conv(x, kernel, stride)`.
    pub(super) fn convolution(
        &mut self,
        x: &TypedExpr,
        kernel: &TypedExpr,
        stride: Option<&TypedExpr>,
        builtin: &Builtin,
        span: Span,
    ) -> Option<Ty> {
        let image = self.array(x, Some(3), builtin)?.1;
        let Ty::Tensor(_, weights) = &kernel.ty else {
            return self.wrong(kernel, "an array with four axes");
        };
        let [out, channels, height, width] = weights.as_slice() else {
            return self.wrong(kernel, "an array with four axes");
        };
        self.same_dim(builtin, (&image[0], x.span), (channels, kernel.span), span)?;
        let stride = match stride {
            Some(stride) => self.positive(stride, "the stride")?,
            None => DimExpr::number(1),
        };
        let along = |whole, window| AlongAxis {
            whole,
            window,
            spans: [x.span, kernel.span],
        };
        let rows = self.windows(&along(&image[1], height), &stride, builtin)?;
        let columns = self.windows(&along(&image[2], width), &stride, builtin)?;
        Some(Ty::reals(vec![out.clone(), rows, columns]))
    }

    /// Returns the type of `pad(x, width)`.
    pub(super) fn padded(&mut self, x: &TypedExpr, width: &TypedExpr, builtin: &Builtin) -> Option<Ty> {
        let mut dims = self.array(x, Some(3), builtin)?.1;
        let width = self.static_dim(width, "the width of a padding")?;
        for dim in &mut dims[1..] {
            *dim = dim.plus(&width, 2);
        }
        Some(Ty::reals(dims))
    }

    /// Returns the type of `max_pool(x, size, stride)` or `mean_pool(x, size, stride)`.
    pub(super) fn pooled(
        &mut self,
        x: &TypedExpr,
        size: &TypedExpr,
        stride: Option<&TypedExpr>,
        builtin: &Builtin,
    ) -> Option<Ty> {
        let image = self.array(x, Some(3), builtin)?.1;
        let window = self.positive(size, "the size of a window")?;
        let stride = match stride {
            Some(stride) => self.positive(stride, "the stride")?,
            None => window.clone(),
        };
        let along = |whole| AlongAxis {
            whole,
            window: &window,
            spans: [x.span, size.span],
        };
        let rows = self.windows(&along(&image[1]), &stride, builtin)?;
        let columns = self.windows(&along(&image[2]), &stride, builtin)?;
        Some(Ty::reals(vec![image[0].clone(), rows, columns]))
    }

    /// Returns the type of `reshape(x, n, ..)`.
    pub(super) fn reshaped(&mut self, x: &TypedExpr, sizes: &[TypedExpr], span: Span) -> Option<Ty> {
        let Ty::Tensor(elem, dims) = &x.ty else {
            return self.wrong(x, "an array");
        };
        let wanted = self.sizes(sizes)?;
        let count = |dims: &[DimExpr]| {
            dims.iter()
                .fold(DimExpr::number(1), |product, dim| product.times(dim))
        };
        if !equal(&count(dims), &count(&wanted)) {
            let [from, to] = [dims, &wanted].map(|dims| show::dims(dims, &self.locals));
            self.report(report::reshape(span, (&from, x.span), &to));
            return None;
        }
        Some(Ty::Tensor(elem.clone(), wanted))
    }

    /// Checks that an integer is known at compile time and not zero.
    fn positive(&mut self, value: &TypedExpr, what: &str) -> Option<DimExpr> {
        let dim = self.static_dim(value, what)?;
        if dim.as_number() == Some(0) {
            self.report(report::support(value.span, what, "one or more", "0"));
            return None;
        }
        Some(dim)
    }

    /// Returns the number of windows that fit into an axis.
    fn windows(&mut self, axis: &AlongAxis<'_>, stride: &DimExpr, builtin: &Builtin) -> Option<DimExpr> {
        let AlongAxis { whole, window, spans } = *axis;
        let room = whole.plus(window, -1);
        if room.as_number().is_some_and(|room| room < 0) || window.as_number() == Some(0) {
            let (size, window) = (show::dim(whole, &self.locals), show::dim(window, &self.locals));
            self.report(report::window(
                builtin.name,
                (&size, spans[0]),
                (&window, spans[1]),
            ));
            return None;
        }
        Some(room.divided(stride).plus(&DimExpr::number(1), 1))
    }
}
