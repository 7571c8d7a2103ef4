//! Checks image operations and determines the types of their results. The first axis of an image has its channels. One, two or
//! three spatial axes follow it.

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

/// The arguments that `conv` and `conv_transpose` share.
pub(super) struct Convolution<'a> {
    /// The called function.
    pub(super) builtin: &'static Builtin,
    /// The image.
    pub(super) x: &'a TypedExpr,
    /// The kernel.
    pub(super) kernel: &'a TypedExpr,
    /// The distance between neighbouring windows.
    pub(super) stride: &'a TypedExpr,
    /// The number of groups of channels.
    pub(super) groups: &'a TypedExpr,
}

/// The sizes of a convolution.
struct ConvolutionSizes {
    image: Vec<DimExpr>,
    kernel: Vec<DimExpr>,
    stride: DimExpr,
    groups: DimExpr,
}

impl Checker<'_> {
    /// Returns the type of `conv(x, kernel, stride, groups)`.
    pub(super) fn convolution(&mut self, call: &Convolution<'_>, span: Span) -> Option<Ty> {
        let sizes = self.convolution_sizes(call)?;
        self.divided_channels(call, (&sizes.kernel[0], call.kernel.span), &sizes.groups)?;
        let per_group = sizes.image[0].divided(&sizes.groups);
        if sizes.groups.as_number() == Some(1) {
            let channels = (&sizes.image[0], call.x.span);
            self.same_dim(call.builtin, channels, (&sizes.kernel[1], call.kernel.span), span)?;
        } else if !equal(&per_group, &sizes.kernel[1]) {
            let [wanted, found] = [&per_group, &sizes.kernel[1]].map(|dim| show::dim(dim, &self.locals));
            self.report(report::channels_of_group(
                call.kernel.span,
                call.builtin.name,
                &wanted,
                &found,
            ));
            return None;
        }
        let mut dims = vec![sizes.kernel[0].clone()];
        for (whole, window) in sizes.image[1..].iter().zip(&sizes.kernel[2..]) {
            let spans = [call.x.span, call.kernel.span];
            let axis = AlongAxis { whole, window, spans };
            dims.push(self.windows(&axis, &sizes.stride, call.builtin)?);
        }
        Some(Ty::reals(dims))
    }

    /// Returns the type of `conv_transpose(x, kernel, stride, padding, output_padding, groups)`. The arguments `padding` and
    /// `output_padding` are in `paddings`.
    pub(super) fn transposed_convolution(
        &mut self,
        call: &Convolution<'_>,
        paddings: [&TypedExpr; 2],
    ) -> Option<Ty> {
        let sizes = self.convolution_sizes(call)?;
        let channels = (&sizes.image[0], call.x.span);
        self.same_dim(
            call.builtin,
            channels,
            (&sizes.kernel[0], call.kernel.span),
            call.kernel.span,
        )?;
        let padding = self.static_dim(paddings[0], "the padding")?;
        let more = self.static_dim(paddings[1], "the output padding")?;
        if let (Some(more), Some(stride)) = (more.as_number(), sizes.stride.as_number())
            && more >= stride
        {
            self.report(report::output_padding(paddings[1].span, stride, more));
            return None;
        }
        let mut dims = vec![sizes.kernel[1].times(&sizes.groups)];
        for (count, window) in sizes.image[1..].iter().zip(&sizes.kernel[2..]) {
            let between = count.plus(&DimExpr::number(1), -1).times(&sizes.stride);
            let whole = between.plus(window, 1).plus(&more, 1);
            let left = whole.plus(&padding, -2);
            if left.as_number().is_some_and(|left| left < 1) {
                let whole = show::dim(&whole, &self.locals);
                self.report(report::whole_padding(paddings[0].span, &whole));
                return None;
            }
            dims.push(left);
        }
        Some(Ty::reals(dims))
    }

    /// Checks the arguments that `conv` and `conv_transpose` share, and that the groups divide the channels of the image.
    fn convolution_sizes(&mut self, call: &Convolution<'_>) -> Option<ConvolutionSizes> {
        let image = self.image(call.x, call.builtin)?;
        let expected = match image.len() {
            2 => "an array with three axes",
            3 => "an array with four axes",
            _ => "an array with five axes",
        };
        let kernel = match &call.kernel.ty {
            Ty::Tensor(_, dims) if dims.len() == image.len() + 1 => dims.clone(),
            _ => return self.wrong(call.kernel, expected),
        };
        let stride = self.positive(call.stride, "the stride")?;
        let groups = self.positive(call.groups, "the number of groups")?;
        self.divided_channels(call, (&image[0], call.x.span), &groups)?;
        Some(ConvolutionSizes {
            image,
            kernel,
            stride,
            groups,
        })
    }

    /// Checks that the groups divide a number of channels, if both are known.
    fn divided_channels(
        &mut self,
        call: &Convolution<'_>,
        (channels, span): (&DimExpr, Span),
        groups: &DimExpr,
    ) -> Option<()> {
        if let (Some(channels), Some(groups)) = (channels.as_number(), groups.as_number())
            && channels % groups != 0
        {
            let found = (call.groups.span, groups);
            self.report(report::groups(call.builtin.name, (span, channels), found));
            return None;
        }
        Some(())
    }

    /// Returns the dims of an image.
    fn image(&mut self, x: &TypedExpr, builtin: &Builtin) -> Option<Vec<DimExpr>> {
        let expected = "an array of channels with one, two or three more axes";
        let image = self.numbers(x, expected, builtin, |rank| (2..=4).contains(&rank))?;
        Some(image.1)
    }

    /// Returns the type of `pad(x, width)`.
    pub(super) fn padded(&mut self, x: &TypedExpr, width: &TypedExpr, builtin: &Builtin) -> Option<Ty> {
        let mut dims = self.image(x, builtin)?;
        let width = self.static_dim(width, "the width of a padding")?;
        for dim in &mut dims[1..] {
            *dim = dim.plus(&width, 2);
        }
        Some(Ty::reals(dims))
    }

    /// Returns the type of `upsample(x, factor)`.
    pub(super) fn upsampled(&mut self, x: &TypedExpr, factor: &TypedExpr, builtin: &Builtin) -> Option<Ty> {
        let mut dims = self.image(x, builtin)?;
        let factor = self.positive(factor, "the factor of `upsample`")?;
        for dim in &mut dims[1..] {
            *dim = dim.times(&factor);
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
        let image = self.image(x, builtin)?;
        let window = self.positive(size, "the size of a window")?;
        let stride = match stride {
            Some(stride) => self.positive(stride, "the stride")?,
            None => window.clone(),
        };
        let mut dims = vec![image[0].clone()];
        for whole in &image[1..] {
            let spans = [x.span, size.span];
            let axis = AlongAxis {
                whole,
                window: &window,
                spans,
            };
            dims.push(self.windows(&axis, &stride, builtin)?);
        }
        Some(Ty::reals(dims))
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
