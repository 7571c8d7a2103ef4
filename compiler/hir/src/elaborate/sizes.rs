//! Checks the sizes that are arguments of built-in functions, such as those in `reshape(x, groups, channels / groups)`.

use super::datum::Datum;
use super::frame::{Elaborated, Elaborator, Frame};
use super::images::divides;
use crate::builtin::{Builtin, BuiltinRule};
use crate::diagnostics::elaborate::{Quotient, limit, no_size, not_whole};
use crate::dims::DimExpr;
use crate::print;
use crate::tree::{TypedExpr, TypedExprKind};
use crate::types::Ty;
use crate::walk;
use bnnc_abi::symbols::NoiseKind;
use bnnc_grammar::ast::BinaryOp;

/// Returns the position of the first argument that is a size, or `None` if the function does not take sizes.
fn first_size(builtin: &Builtin) -> Option<usize> {
    match builtin.rule {
        BuiltinRule::Filled(_) | BuiltinRule::Eye => Some(0),
        BuiltinRule::Noise(kind) => Some(usize::from(NoiseKind::has_shape(kind))),
        BuiltinRule::Repeat | BuiltinRule::Reshape => Some(1),
        _ => None,
    }
}

impl<'a> Elaborator<'a> {
    /// Checks the sizes among the arguments of a built-in function. `found` are the elaborated arguments.
    ///
    /// # Errors
    /// Fails if a size is not a positive integer. The diagnostic describes the first such size and shows the values of its parts.
    pub(super) fn check_sizes(
        &mut self,
        builtin: &Builtin,
        args: &[TypedExpr],
        found: &[Datum],
        frame: &mut Frame<'a>,
    ) -> Elaborated<()> {
        if let (BuiltinRule::ConvTranspose, [_, kernel, ..]) = (builtin.rule, args) {
            return self.check_exact_channels(kernel, frame);
        }
        let Some(first) = first_size(builtin) else {
            return Ok(());
        };
        for (arg, datum) in args.iter().zip(found).skip(first) {
            self.check_size(arg, datum, frame)?;
        }
        Ok(())
    }

    /// Checks that an elaborated size is a positive integer that is known before the run.
    fn check_size(&self, size: &TypedExpr, found: &Datum, frame: &Frame<'a>) -> Elaborated<()> {
        let text = print::expression(self.module, size, frame.locals);
        match found {
            Datum::Static(number) if *number > 0 => Ok(()),
            Datum::Static(number) => Err(no_size(size.span, &text, *number)),
            _ => Err(limit(
                size.span,
                format!("the size `{text}` is not known before the run"),
            )),
        }
    }

    /// Rejects a kernel of `conv_transpose` whose output channels are a quotient that is not exact, such as `out / groups`. The result would have
    /// fewer than `out` channels.
    fn check_exact_channels(&self, kernel: &TypedExpr, frame: &Frame<'a>) -> Elaborated<()> {
        let quotient = match &kernel.ty {
            Ty::Tensor(_, dims) => dims.get(1).and_then(DimExpr::as_quotient),
            _ => None,
        };
        let Some((channels, groups)) = quotient else {
            return Ok(());
        };
        let channels = self.dim(channels, frame, kernel.span)?;
        let groups = self.dim(groups, frame, kernel.span)?;
        divides(groups, "conv_transpose", &[channels], kernel.span)
    }

    /// Checks the sizes of a `reshape` in order, whose quotients must be exact. The other functions round down. This check comes before the
    /// elaboration of the arguments, where a quotient is rounded down and a division by zero has another error.
    pub(super) fn check_exact_sizes(
        &mut self,
        builtin: &Builtin,
        args: &[TypedExpr],
        frame: &mut Frame<'a>,
    ) -> Elaborated<()> {
        if let BuiltinRule::Reshape = builtin.rule {
            for size in args.iter().skip(1) {
                self.check_quotients(size, frame)?;
                let found = self.expr(size, frame)?;
                self.check_size(size, &found, frame)?;
            }
        }
        Ok(())
    }

    /// Checks that all quotients of known integers in a size are exact. A size such as `channels / groups` with a remainder would silently
    /// leave out elements of the array.
    fn check_quotients(&mut self, size: &TypedExpr, frame: &mut Frame<'a>) -> Elaborated<()> {
        if let TypedExprKind::Binary(BinaryOp::Div, left, right) = &size.kind
            && let (Datum::Static(dividend), Datum::Static(by)) =
                (self.expr(left, frame)?, self.expr(right, frame)?)
            && dividend.checked_rem(by) != Some(0)
        {
            let text = |part: &TypedExpr| print::expression(self.module, part, frame.locals);
            let divisor = matches!(right.kind, TypedExprKind::Local(_)).then(|| text(right));
            if (dividend, by) == (i64::MIN, -1) {
                let text = format!("the size `{}` does not fit into 64 bits", text(size));
                return Err(limit(size.span, text));
            }
            let quotient = Quotient {
                text: &text(size),
                values: [dividend, by],
                divisor: divisor.as_deref(),
            };
            return Err(not_whole(size.span, quotient));
        }
        for part in walk::children(size) {
            self.check_quotients(part, frame)?;
        }
        Ok(())
    }
}
