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
            match datum {
                Datum::Static(size) if *size > 0 => {}
                Datum::Static(size) => {
                    let text = print::expression(self.module, arg, frame.locals);
                    return Err(no_size(arg.span, &text, *size));
                }
                _ => return Err(self.unknown_size(arg, frame)?),
            }
        }
        Ok(())
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

    /// Returns the diagnostic for a size that is not a known integer. The usual reason is a division that is not exact.
    fn unknown_size(
        &mut self,
        arg: &TypedExpr,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Box<bnnc_base::diagnostic::Diagnostic>> {
        let text = |part: &TypedExpr| print::expression(self.module, part, frame.locals);
        let (whole, span) = (text(arg), arg.span);
        let TypedExprKind::Binary(BinaryOp::Div, left, right) = &arg.kind else {
            return Ok(limit(
                span,
                format!("the size `{whole}` is not known before the run"),
            ));
        };
        let divisor = matches!(right.kind, TypedExprKind::Local(_)).then(|| text(right));
        let parts = [self.expr(left, frame)?, self.expr(right, frame)?];
        Ok(match parts {
            [Datum::Static(i64::MIN), Datum::Static(-1)] => {
                limit(span, format!("the size `{whole}` does not fit into 64 bits"))
            }
            [Datum::Static(dividend), Datum::Static(by)] => not_whole(
                span,
                Quotient {
                    text: &whole,
                    values: [dividend, by],
                    divisor: divisor.as_deref(),
                },
            ),
            _ => limit(span, format!("the size `{whole}` is not known before the run")),
        })
    }
}
