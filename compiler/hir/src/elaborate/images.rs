//! Elaborates image operations. The first axis of an image has its channels. One, two or three spatial axes follow it.
//!
//! Note \[Convolutions\]. A convolution is a contraction of the kernel with all windows of the
//! image, `conv = contract(kernel, patches(x))`. The derivatives of a convolution result from those
//! of `contract` and `patches`, and so do its batched forms over examples and draws. Most of the
//! time is spent in the contraction, which becomes a matrix product unless it is tiny (see Note
//! \[Contractions\] in `compiler/lower`). With groups, the axis of channels is split into one of groups and one of the channels of a group,
//! and the groups are a batch axis of the contraction. A transposed convolution is the derivative with respect to the image,
//! `conv_transpose = overlap_add(contract(kernel, x))`, and its derivative is a convolution.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, within_limits};
use crate::builtin::{Builtin, BuiltinRule, Reduction};
use crate::diagnostics::elaborate::limit;
use crate::diagnostics::types as report;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_graph::builder::{Operation, Window};
use bnnc_graph::function::Value;

/// The letters of the axes of a window, and of those that number the windows, in the labels of a contraction.
const LETTERS: [&str; 2] = ["abd", "pqr"];

impl Elaborator<'_> {
    /// Elaborates `conv(x, kernel, stride, groups)`; see Note \[Convolutions\].
    pub(super) fn convolution(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (x, kernel) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let (image, weights) = (self.lengths(x), self.lengths(kernel));
        let stride = positive(&args[2], "the stride", span)?;
        let groups = positive(&args[3], "the number of groups", span)?;
        divides(groups, "conv", &[image[0], weights[0]], span)?;
        let per_group = image[0] / groups;
        if per_group != weights[1] {
            let [wanted, found] = [per_group, weights[1]].map(|count| count.to_string());
            return Err(Box::new(report::channels_of_group(span, "conv", &wanted, &found)));
        }
        let grouped = Grouped::new(groups, [weights[0] / groups, per_group]);
        let x = self.reshaped(x, &grouped.sizes("gc", &image[1..]), span)?;
        let kernel = self.reshaped(kernel, &grouped.sizes("goc", &weights[2..]), span)?;
        let windows = self.windows("conv", x, &weights[2..], stride, span)?;
        let [window, position] = LETTERS.map(|letters| &letters[..image.len() - 1]);
        let labels = format!(
            "{}{window},{}{window}{position}->{}{position}",
            grouped.letters("goc"),
            grouped.letters("gc"),
            grouped.letters("go")
        );
        let result = self.apply(Operation::contract(kernel, windows, &labels), span)?;
        let mut sizes = self.lengths(result)[grouped.letters("go").len()..].to_vec();
        sizes.insert(0, weights[0]);
        self.reshaped(result, &sizes, span)
    }

    /// Elaborates `conv_transpose(x, kernel, stride, padding, output_padding, groups)`; see Note \[Convolutions\].
    pub(super) fn transposed_convolution(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let (x, kernel) = (self.real(&args[0], span)?, self.real(&args[1], span)?);
        let (image, weights) = (self.lengths(x), self.lengths(kernel));
        let stride = positive(&args[2], "the stride", span)?;
        let padding = integer(&args[3], "the padding", span)?;
        let more = integer(&args[4], "the output padding", span)?;
        let groups = positive(&args[5], "the number of groups", span)?;
        divides(groups, "conv_transpose", &[image[0]], span)?;
        if more >= stride {
            return Err(Box::new(report::output_padding(span, stride as i64, more as i64)));
        }
        let whole =
            |(count, size): (&usize, &usize)| (count - 1).saturating_mul(stride).saturating_add(size + more);
        let wholes: Vec<usize> = image[1..].iter().zip(&weights[2..]).map(whole).collect();
        let out = weights[1].saturating_mul(groups);
        within_limits(&Shape::fixed(&[&[out], wholes.as_slice()].concat()), span)?;
        if let Some(whole) = wholes.iter().find(|whole| padding.saturating_mul(2) >= **whole) {
            return Err(Box::new(report::whole_padding(span, &whole.to_string())));
        }
        let grouped = Grouped::new(groups, [weights[1], image[0] / groups]);
        let x = self.reshaped(x, &grouped.sizes("gc", &image[1..]), span)?;
        let kernel = self.reshaped(kernel, &grouped.sizes("gco", &weights[2..]), span)?;
        let [window, position] = LETTERS.map(|letters| &letters[..image.len() - 1]);
        let labels = format!(
            "{}{window},{}{position}->{}{window}{position}",
            grouped.letters("gco"),
            grouped.letters("gc"),
            grouped.letters("go")
        );
        let windows = self.apply(Operation::contract(kernel, x, &labels), span)?;
        let strides = vec![stride; wholes.len()];
        let sum = self.apply(Operation::overlap_add(windows, &wholes, &strides), span)?;
        let sum = self.cropped(sum, wholes.len(), padding, span)?;
        let mut sizes = self.lengths(sum)[grouped.letters("go").len()..].to_vec();
        sizes.insert(0, out);
        self.reshaped(sum, &sizes, span)
    }

    /// Removes `width` elements at both ends of each of the last `count` axes.
    fn cropped(&mut self, x: Value, count: usize, width: usize, span: Span) -> Elaborated<Value> {
        if width == 0 {
            return Ok(x);
        }
        let sizes = self.lengths(x);
        let first = sizes.len() - count;
        let end = |(axis, size): (usize, usize)| if axis < first { -1 } else { (size - width) as i64 };
        let window = Window {
            starts: (0..sizes.len())
                .map(|axis| if axis < first { 0 } else { width as i64 })
                .collect(),
            strides: vec![1; sizes.len()],
            limits: sizes.into_iter().enumerate().map(end).collect(),
        };
        self.apply(Operation::slice(x, window), span)
    }

    fn reshaped(&mut self, x: Value, sizes: &[usize], span: Span) -> Elaborated<Value> {
        match self.lengths(x) == sizes {
            true => Ok(x),
            false => self.apply(Operation::reshape(x, &Shape::fixed(sizes)), span),
        }
    }

    /// Elaborates `upsample(x, factor)`.
    pub(super) fn upsampled(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let factor = positive(&args[1], "the factor of `upsample`", span)?;
        let sizes = self.lengths(x);
        let mut repeated = vec![sizes[0]];
        let mut result = vec![sizes[0]];
        for size in &sizes[1..] {
            repeated.extend([*size, factor]);
            result.push(size.saturating_mul(factor));
        }
        within_limits(&Shape::fixed(&result), span)?;
        let axes: Vec<usize> = (0..sizes.len())
            .map(|axis| (2 * axis).saturating_sub(1))
            .collect();
        let x = self.apply(Operation::broadcast(x, &Shape::fixed(&repeated), &axes), span)?;
        self.reshaped(x, &result, span)
    }

    /// Elaborates `pad(x, width)`.
    pub(super) fn padded(&mut self, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let width = integer(&args[1], "the width of a padding", span)?;
        // The sizes are checked here, because the type rule of the op adds them without checking a limit.
        let padded = |(axis, size): (usize, usize)| match axis {
            0 => size,
            _ => size.saturating_add(width.saturating_mul(2)),
        };
        let sizes: Vec<usize> = self.lengths(x).into_iter().enumerate().map(padded).collect();
        within_limits(&Shape::fixed(&sizes), span)?;
        let mut around = vec![width; sizes.len()];
        around[0] = 0;
        let between = vec![0; sizes.len()];
        self.apply(Operation::pad(x, &around, &around, &between), span)
    }

    /// Elaborates `max_pool(x, size, stride)` and `mean_pool(x, size, stride)`.
    pub(super) fn pooled(&mut self, builtin: &Builtin, args: &[Datum], span: Span) -> Elaborated<Value> {
        let x = self.real(&args[0], span)?;
        let size = positive(&args[1], "the size of a window", span)?;
        let stride = positive(&args[2], "the stride", span)?;
        let sizes = vec![size; self.lengths(x).len() - 1];
        let windows = self.windows(builtin.name, x, &sizes, stride, span)?;
        let axes: Vec<usize> = (1..=sizes.len()).collect();
        if builtin.rule == BuiltinRule::Pool(Reduction::Max) {
            return self.apply(Operation::reduce_max(windows, &axes), span);
        }
        let sum = self.apply(Operation::reduce_sum(windows, &axes), span)?;
        let count = sizes.iter().product::<usize>();
        Ok(self.builder.scale(sum, 1.0 / count as f64))
    }

    /// Returns all windows over the last axes of an image. The result has the other axes, then the axes of the positions within a window, and
    /// then those of the windows.
    fn windows(
        &mut self,
        name: &str,
        x: Value,
        sizes: &[usize],
        stride: usize,
        span: Span,
    ) -> Elaborated<Value> {
        let whole = self.lengths(x);
        for (size, window) in whole[whole.len() - sizes.len()..].iter().zip(sizes) {
            if window > size {
                let (size, window) = (size.to_string(), window.to_string());
                return Err(Box::new(report::window(name, (&size, span), (&window, span))));
            }
        }
        self.apply(Operation::patches(x, sizes, &vec![stride; sizes.len()]), span)
    }

    /// Returns the sizes of an image's axes.
    fn lengths(&self, x: Value) -> Vec<usize> {
        let ty = self.ty(x);
        let sizes = ty.dims().iter().map(|dim| dim.fixed().unwrap_or(1));
        sizes.collect()
    }
}

/// The channels of a convolution with groups. A group has `o` output channels and `c` input channels. Axes of size one are left out.
struct Grouped {
    sizes: Vec<(char, usize)>,
}

impl Grouped {
    /// `per_group` has the numbers of output and input channels of a group.
    fn new(groups: usize, per_group: [usize; 2]) -> Grouped {
        let mut sizes = vec![('o', per_group[0]), ('c', per_group[1])];
        if groups > 1 {
            sizes.retain(|(_, size)| *size > 1);
            sizes.push(('g', groups));
        }
        Grouped { sizes }
    }

    /// Returns the letters of the axes that are not left out.
    fn letters(&self, letters: &str) -> String {
        letters
            .chars()
            .filter(|letter| self.size(*letter).is_some())
            .collect()
    }

    /// Returns the sizes of the axes that are not left out, and then the sizes `rest`.
    fn sizes(&self, letters: &str, rest: &[usize]) -> Vec<usize> {
        let sizes = letters.chars().filter_map(|letter| self.size(letter));
        sizes.chain(rest.iter().copied()).collect()
    }

    fn size(&self, letter: char) -> Option<usize> {
        let found = self.sizes.iter().find(|(known, _)| *known == letter);
        found.map(|(_, size)| *size)
    }
}

/// Checks that the groups divide all these numbers of channels.
pub(super) fn divides(groups: usize, name: &str, channels: &[usize], span: Span) -> Elaborated<()> {
    match channels.iter().find(|count| *count % groups != 0) {
        None => Ok(()),
        Some(count) => {
            let found = (span, groups as i64);
            Err(Box::new(report::groups(name, (span, *count as i64), found)))
        }
    }
}

/// Reads a positive integer that is known at compile time.
fn positive(datum: &Datum, what: &str, span: Span) -> Elaborated<usize> {
    match integer(datum, what, span)? {
        0 => Err(Box::new(report::support(span, what, "one or more", "0"))),
        number => Ok(number),
    }
}

/// Reads an integer that is known at compile time and not negative.
fn integer(datum: &Datum, what: &str, span: Span) -> Elaborated<usize> {
    let Datum::Static(number) = datum else {
        return Err(limit(span, format!("{what} is not a known integer")));
    };
    let outside = |_| report::support(span, what, "zero or more", &number.to_string());
    usize::try_from(*number).map_err(|error| Box::new(outside(error)))
}
