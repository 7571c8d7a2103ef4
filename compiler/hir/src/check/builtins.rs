//! Checks calls of built-in functions and determines the types of their results, with one case for
//! each typing rule.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::images::Convolution;
use super::solve::{all_equal, equal};
use crate::builtin::{Along, Builtin, BuiltinRule};
use crate::diagnostics::types as report;
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use bnnc_graph::dist::Support;

impl Checker<'_> {
    /// Checks a call of a built-in function, such as `exp(x)` or `zeros(n)`.
    pub fn call_builtin(&mut self, builtin: &'static Builtin, args: &[ast::Arg], span: Span) -> TypedExpr {
        let before = self.errors();
        let mut values = self.builtin_arguments(builtin, args, span);
        let wrong = values.iter().any(|value| value.ty == Ty::Error) || self.errors() > before;
        let ty = match wrong {
            true => Ty::Error,
            false => self.builtin_type(builtin, &values, span).unwrap_or(Ty::Error),
        };
        if let (BuiltinRule::Pool(_), [_, size]) = (builtin.rule, values.as_slice()) {
            values.push(size.clone());
        }
        TypedExpr::new(TypedExprKind::Builtin(builtin, values), ty, span)
    }

    fn builtin_arguments(
        &mut self,
        builtin: &'static Builtin,
        args: &[ast::Arg],
        span: Span,
    ) -> Vec<TypedExpr> {
        let repeats = matches!(
            builtin.rule,
            BuiltinRule::Concat
                | BuiltinRule::Filled(_)
                | BuiltinRule::Noise(_)
                | BuiltinRule::Repeat
                | BuiltinRule::Reshape
        );
        let fewest = builtin.required();
        let mut slots: Vec<Option<&ast::Arg>> = vec![None; builtin.params.len().max(args.len())];
        for (position, arg) in args.iter().enumerate() {
            let at = match &arg.name {
                None => position,
                Some(name) => match builtin.params.iter().position(|known| *known == &*name.name) {
                    Some(at) => at,
                    None => {
                        let names = builtin.params.iter().copied();
                        self.report(report::unknown_argument(
                            name.span,
                            builtin.name,
                            &name.name,
                            names,
                        ));
                        continue;
                    }
                },
            };
            match slots[at].replace(arg) {
                None => {}
                Some(first) => {
                    let name = builtin.params.get(at).copied().unwrap_or_default();
                    self.report(report::argument_twice(name, first.value.span, arg.value.span));
                }
            }
        }
        if args.len() > builtin.params.len() && !repeats {
            self.report(report::too_many(
                span,
                builtin.name,
                builtin.params.len(),
                args.len(),
            ));
        } else if let Some(missing) = (0..fewest).find(|at| slots[*at].is_none()) {
            let names: Vec<&str> = builtin.params[missing..fewest].to_vec();
            self.report(report::missing(span, builtin.name, &names));
        }
        let want = |at: usize| match (builtin.rule, at) {
            (BuiltinRule::Filled(_) | BuiltinRule::Eye, _)
            | (BuiltinRule::Pad | BuiltinRule::Upsample, 1)
            | (BuiltinRule::Conv | BuiltinRule::ConvTranspose, 2..) => Want::Int,
            (BuiltinRule::Pool(_) | BuiltinRule::Repeat | BuiltinRule::Reshape, 1..) => Want::Int,
            (BuiltinRule::Noise(_), at) if at >= builtin.params.len() => Want::Int,
            _ => Want::Any,
        };
        let value = |(at, slot): (usize, Option<&ast::Arg>)| match slot {
            Some(arg) => Some(self.expr(&arg.value, want(at))),
            None => {
                let default = TypedExprKind::Int(builtin.default(at)?);
                Some(TypedExpr::new(default, Ty::int(), span))
            }
        };
        slots.into_iter().enumerate().filter_map(value).collect()
    }

    fn builtin_type(&mut self, builtin: &'static Builtin, values: &[TypedExpr], span: Span) -> Option<Ty> {
        match (builtin.rule, values) {
            (BuiltinRule::Extremum(..) | BuiltinRule::Reduce(_), [x]) => self.reduced(x, builtin),
            (BuiltinRule::Elementwise(_), [x]) => {
                self.array(x, None, builtin).map(|(_, dims)| Ty::reals(dims))
            }
            (BuiltinRule::Extremum(..), [a, b]) => {
                let (x, _) = self.array(a, None, builtin)?;
                let (y, _) = self.array(b, None, builtin)?;
                let dims = self.stretch(&format!("`{}`", builtin.name), a, b, span)?;
                let elem = match x.is_integral() && y.is_integral() {
                    true => Elem::Int,
                    false => Elem::Real(Support::Real),
                };
                Some(Ty::Tensor(elem, dims))
            }
            (BuiltinRule::Dot, [a, b]) => {
                let (x, y) = (
                    self.array(a, Some(1), builtin)?.1,
                    self.array(b, Some(1), builtin)?.1,
                );
                self.same_dim(builtin, (&x[0], a.span), (&y[0], b.span), span)?;
                Some(Ty::real())
            }
            (BuiltinRule::Outer, [a, b]) => {
                let (x, y) = (
                    self.array(a, Some(1), builtin)?.1,
                    self.array(b, Some(1), builtin)?.1,
                );
                Some(Ty::reals([x, y].concat()))
            }
            (BuiltinRule::Transpose, [a]) => {
                let (elem, mut dims) = self.array(a, Some(2), builtin)?;
                dims.reverse();
                Some(Ty::Tensor(elem, dims))
            }
            (BuiltinRule::LastAxis(along), [x]) => {
                let dims = self.some_axes(x, builtin)?;
                let support = match along {
                    Along::Softmax => Support::Simplex,
                    Along::Cumsum | Along::LogSoftmax => Support::Real,
                };
                Some(Ty::Tensor(Elem::Real(support), dims))
            }
            (BuiltinRule::LogSumExp, [x]) => {
                let mut dims = self.some_axes(x, builtin)?;
                dims.pop();
                Some(Ty::reals(dims))
            }
            _ => self.array_type(builtin, values, span),
        }
    }

    /// Returns the type of the result of a function that builds or transforms arrays: matrices,
    /// joined arrays, filled arrays, noise and images.
    fn array_type(&mut self, builtin: &'static Builtin, values: &[TypedExpr], span: Span) -> Option<Ty> {
        match (builtin.rule, values) {
            (BuiltinRule::Cholesky(_), [a]) => {
                let dims = self.array(a, Some(2), builtin)?.1;
                self.same_dim(builtin, (&dims[0], a.span), (&dims[1], a.span), span)?;
                Some(Ty::reals(dims))
            }
            (BuiltinRule::SolveLower, [l, b]) => {
                let matrix = self.array(l, Some(2), builtin)?.1;
                let vector = self.array(b, Some(1), builtin)?.1;
                self.same_dim(builtin, (&matrix[0], l.span), (&matrix[1], l.span), span)?;
                self.same_dim(builtin, (&matrix[0], l.span), (&vector[0], b.span), span)?;
                Some(Ty::reals(vector))
            }
            (BuiltinRule::Concat, parts) => self.concatenated(parts, builtin, span),
            (BuiltinRule::Fold, [layers, x]) => self.fold(layers, x, span),
            (BuiltinRule::Length, [x]) => match &x.ty {
                Ty::Tensor(_, dims) if !dims.is_empty() => Some(Ty::int()),
                Ty::List(..) => Some(Ty::int()),
                _ => self.wrong(x, "an array"),
            },
            (BuiltinRule::Filled(_), sizes) => Some(Ty::reals(self.sizes(sizes)?)),
            (BuiltinRule::Eye, [n]) => {
                let n = self.static_dim(n, "a dimension")?;
                Some(Ty::reals(vec![n.clone(), n]))
            }
            (BuiltinRule::Diag, [v]) => {
                let dims = self.array(v, Some(1), builtin)?.1;
                Some(Ty::reals(vec![dims[0].clone(), dims[0].clone()]))
            }
            (BuiltinRule::Noise(_), values) => self.noise(builtin, values, span),
            (BuiltinRule::RunningMean, [x, momentum, start]) => {
                self.running_mean([x, momentum, start], builtin, span)
            }
            (BuiltinRule::Same(_), [x]) => self
                .array(x, None, builtin)
                .map(|(elem, dims)| Ty::Tensor(elem, dims)),
            (BuiltinRule::Conv, [x, kernel, stride, groups]) => {
                let call = Convolution {
                    builtin,
                    x,
                    kernel,
                    stride,
                    groups,
                };
                self.convolution(&call, span)
            }
            (BuiltinRule::ConvTranspose, [x, kernel, stride, padding, output_padding, groups]) => {
                let call = Convolution {
                    builtin,
                    x,
                    kernel,
                    stride,
                    groups,
                };
                self.transposed_convolution(&call, [padding, output_padding])
            }
            (BuiltinRule::Pad, [x, width]) => self.padded(x, width, builtin),
            (BuiltinRule::Pool(_), [x, size, stride @ ..]) => self.pooled(x, size, stride.first(), builtin),
            (BuiltinRule::Upsample, [x, factor]) => self.upsampled(x, factor, builtin),
            (BuiltinRule::Repeat, [x, sizes @ ..]) => {
                let (elem, dims) = self.array(x, None, builtin)?;
                Some(Ty::Tensor(elem, [dims, self.sizes(sizes)?].concat()))
            }
            (BuiltinRule::Reshape, [x, sizes @ ..]) => self.reshaped(x, sizes, span),
            // The caller has already checked the number of arguments.
            _ => None,
        }
    }

    fn running_mean(
        &mut self,
        [x, momentum, start]: [&TypedExpr; 3],
        builtin: &'static Builtin,
        span: Span,
    ) -> Option<Ty> {
        if self.named_call != Some(span) {
            self.report(crate::diagnostics::running::unnamed_mean(span, builtin.name));
            return None;
        }
        let unit = Ty::Tensor(Elem::Real(Support::Interval(0.0, 1.0)), Vec::new());
        self.expect(momentum, &unit);
        self.expect(start, &Ty::real());
        self.array(x, None, builtin).map(|(_, dims)| Ty::reals(dims))
    }

    /// Returns the element type and dims of an array of numbers. If `rank` is given and the array
    /// has another rank, reports a mismatch.
    pub(super) fn array(
        &mut self,
        value: &TypedExpr,
        rank: Option<usize>,
        builtin: &Builtin,
    ) -> Option<(Elem, Vec<DimExpr>)> {
        let expected = match rank {
            None => "a number or an array of numbers",
            Some(1) => "a vector",
            Some(_) => "a matrix",
        };
        self.numbers(value, expected, builtin, |found| {
            rank.is_none_or(|rank| rank == found)
        })
    }

    /// Returns the element type and dims of an array of numbers. If `fits` rejects its rank, reports that `expected` is needed.
    pub(super) fn numbers(
        &mut self,
        value: &TypedExpr,
        expected: &str,
        builtin: &Builtin,
        fits: impl Fn(usize) -> bool,
    ) -> Option<(Elem, Vec<DimExpr>)> {
        match &value.ty {
            Ty::Tensor(elem, dims) if *elem != Elem::Bool && fits(dims.len()) => {
                Some((elem.clone(), dims.clone()))
            }
            found => {
                let found = show::ty(found, &self.locals);
                let diagnostic = report::argument_mismatch(value.span, builtin.name, expected, &found);
                self.report(report::with_bool_help(diagnostic, &found));
                None
            }
        }
    }

    fn some_axes(&mut self, value: &TypedExpr, builtin: &Builtin) -> Option<Vec<DimExpr>> {
        let (_, dims) = self.array(value, None, builtin)?;
        if dims.is_empty() {
            return self.wrong(value, "an array");
        }
        Some(dims)
    }

    fn reduced(&mut self, value: &TypedExpr, builtin: &Builtin) -> Option<Ty> {
        self.some_axes(value, builtin).map(|_| Ty::real())
    }

    pub(super) fn same_dim(
        &mut self,
        builtin: &Builtin,
        a: (&DimExpr, Span),
        b: (&DimExpr, Span),
        span: Span,
    ) -> Option<()> {
        if equal(a.0, b.0) {
            return Some(());
        }
        let (a, b) = ((std::slice::from_ref(a.0), a.1), (std::slice::from_ref(b.0), b.1));
        self.report(self.dims_differ(span, &format!("`{}`", builtin.name), a, b));
        None
    }

    fn concatenated(&mut self, parts: &[TypedExpr], builtin: &Builtin, span: Span) -> Option<Ty> {
        let (first, rest) = parts.split_first()?;
        let mut dims = self.some_axes(first, builtin)?;
        for part in rest {
            let other = self.some_axes(part, builtin)?;
            if !all_equal(&dims[1..], &other[1..]) {
                let diagnostic = self.dims_differ(span, "`concat`", (&dims, first.span), (&other, part.span));
                self.report(diagnostic.note("only the first dims may differ"));
                return None;
            }
            dims[0] = dims[0].plus(&other[0], 1);
        }
        Some(Ty::reals(dims))
    }

    pub(super) fn sizes(&mut self, values: &[TypedExpr]) -> Option<Vec<DimExpr>> {
        values
            .iter()
            .map(|value| self.static_dim(value, "a dimension"))
            .collect()
    }

    fn noise(&mut self, builtin: &'static Builtin, values: &[TypedExpr], span: Span) -> Option<Ty> {
        if !matches!(self.place, BodyKind::Draw | BodyKind::Prompt) {
            self.report(report::noise(span, builtin.name));
            return None;
        }
        let (own, sizes) = values.split_at(builtin.params.len().min(values.len()));
        let positive = Ty::Tensor(Elem::Real(Support::Interval(0.0, f64::INFINITY)), Vec::new());
        for value in own {
            self.expect(value, &positive);
        }
        Some(Ty::reals(self.sizes(sizes)?))
    }
}
