//! Checks operators, `if` and indices.

use super::body::{Checker, error};
use super::expr::{Want, join};
use super::solve::{all_equal, equal};
use crate::constant::constant;
use crate::diagnostics::{count, types as report};
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{TypedExpr, TypedExprKind, TypedIndex};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;

impl Checker<'_> {
    /// Checks `-x` and `!x`.
    pub fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span, want: Want) -> TypedExpr {
        let operand = self.expr(operand, want);
        let ty = match (op, &operand.ty) {
            (_, Ty::Error) => Ty::Error,
            (UnaryOp::Not, Ty::Tensor(Elem::Bool, dims)) => Ty::Tensor(Elem::Bool, dims.clone()),
            (UnaryOp::Neg, Ty::Tensor(elem, dims)) if elem.is_integral() => {
                Ty::Tensor(Elem::Int, dims.clone())
            }
            (UnaryOp::Neg, Ty::Tensor(Elem::Real(_), dims)) => Ty::reals(dims.clone()),
            (op, _) => {
                let wanted = if op == UnaryOp::Not { "bool" } else { "a number" };
                self.wrong(&operand, wanted).unwrap_or_default()
            }
        };
        TypedExpr::new(TypedExprKind::Unary(op, Box::new(operand)), ty, span)
    }

    /// Checks a binary operator such as `a + b`.
    pub fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
        want: Want,
    ) -> TypedExpr {
        let inner = if is_arithmetic(op) { want } else { Want::Any };
        let text = match (&*left.kind, &*right.kind) {
            (ast::ExprKind::Name(a), ast::ExprKind::Name(b)) => format!("{a} {op} {b}"),
            _ => op.to_string(),
        };
        let (left, right) = (self.expr(left, inner), self.expr(right, inner));
        let ty = match (&left.ty, &right.ty) {
            (Ty::Error, _) | (_, Ty::Error) => Ty::Error,
            _ if op == BinaryOp::MatMul => self.matrix_product(&left, &right, &text, span),
            (Ty::Tensor(a, _), Ty::Tensor(b, _)) => match result_elem(op, a, b, want) {
                Ok(elem) => {
                    let dims = self.stretch(&format!("`{text}`"), &left, &right, span);
                    dims.map_or(Ty::Error, |dims| Ty::Tensor(elem, dims))
                }
                Err(wanted) => {
                    let bad = if fits(wanted, a) { &right } else { &left };
                    let found = show::ty(&bad.ty, &self.locals);
                    let diagnostic = report::mismatch(bad.span, wanted, &found);
                    self.report(report::with_bool_help(diagnostic, &found));
                    Ty::Error
                }
            },
            (Ty::Tensor(..), _) => self.wrong(&right, "a number").unwrap_or_default(),
            _ => self.wrong(&left, "a number").unwrap_or_default(),
        };
        TypedExpr::new(
            TypedExprKind::Binary(op, Box::new(left), Box::new(right)),
            ty,
            span,
        )
    }

    /// Returns the dims of an elementwise operation. Both sides must have equal dims, or one side must be a
    /// scalar.
    pub fn stretch(
        &mut self,
        op: &str,
        left: &TypedExpr,
        right: &TypedExpr,
        span: Span,
    ) -> Option<Vec<DimExpr>> {
        let (Ty::Tensor(_, a), Ty::Tensor(_, b)) = (&left.ty, &right.ty) else {
            return None;
        };
        if a.is_empty() || b.is_empty() {
            return Some(if a.is_empty() { b.clone() } else { a.clone() });
        }
        if all_equal(a, b) {
            return Some(a.clone());
        }
        let diagnostic = self.dims_differ(span, op, (a, left.span), (b, right.span));
        self.report(diagnostic.help_if(column_hint(a, b)));
        None
    }

    fn wrong_ranks(&mut self, left: &TypedExpr, right: &TypedExpr, span: Span, help: &str) -> Ty {
        let [l, r] = [left, right].map(|operand| show::ty(&operand.ty, &self.locals));
        self.report(report::matrix_ranks(
            span,
            (&l, left.span),
            (&r, right.span),
            help,
        ));
        Ty::Error
    }

    fn matrix_product(&mut self, left: &TypedExpr, right: &TypedExpr, text: &str, span: Span) -> Ty {
        let (Ty::Tensor(a, left_dims), Ty::Tensor(b, right_dims)) = (&left.ty, &right.ty) else {
            return self.wrong_ranks(left, right, span, "use arrays of numbers");
        };
        let (inner, dims) = match (left_dims.as_slice(), right_dims.as_slice()) {
            ([m, k], [l]) => ((k, l), vec![m.clone()]),
            ([k], [l, n]) => ((k, l), vec![n.clone()]),
            ([m, k], [l, n]) => ((k, l), vec![m.clone(), n.clone()]),
            (l, r) => {
                let help = match (l, r) {
                    ([_], [_]) => "for two vectors write `dot(a, b)` or `outer(a, b)`",
                    ([], _) | (_, []) => "for a scalar write `*`",
                    _ => "select a matrix of the array by an index first",
                };
                return self.wrong_ranks(left, right, span, help);
            }
        };
        if *a == Elem::Bool || *b == Elem::Bool {
            self.report(report::mismatch(span, "numbers", "bool"));
            return Ty::Error;
        }
        if !equal(inner.0, inner.1) {
            let [columns, rows] = [inner.0, inner.1].map(|dim| show::dim(dim, &self.locals));
            let (columns, rows) = ((&*columns, left.span), (&*rows, right.span));
            self.report(report::matrix_product(span, text, columns, rows));
            return Ty::Error;
        }
        Ty::reals(dims)
    }

    /// Checks `if c { a } else { b }`. The choice is applied elementwise.
    pub fn conditional(&mut self, parts: [&ast::Expr; 3], span: Span, want: Want) -> TypedExpr {
        let [condition, yes, no] = parts;
        let (condition, yes, no) = (
            self.expr(condition, Want::Any),
            self.expr(yes, want),
            self.expr(no, want),
        );
        let ty = self.conditional_type(&condition, &yes, &no, span);
        TypedExpr::new(
            TypedExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)),
            ty,
            span,
        )
    }

    fn conditional_type(&mut self, condition: &TypedExpr, yes: &TypedExpr, no: &TypedExpr, span: Span) -> Ty {
        let (Ty::Tensor(kind, _), Ty::Tensor(a, _), Ty::Tensor(b, _)) = (&condition.ty, &yes.ty, &no.ty)
        else {
            for part in [condition, yes, no] {
                if !matches!(part.ty, Ty::Error | Ty::Tensor(..)) {
                    self.wrong::<Ty>(part, "a number or a Boolean");
                }
            }
            return Ty::Error;
        };
        if *kind != Elem::Bool {
            let found = show::ty(&condition.ty, &self.locals);
            self.report(report::mismatch(condition.span, "bool", &found).help("compare it: `x == 1`"));
            return Ty::Error;
        }
        let Some(elem) = join(a, b) else {
            let (wanted, found) = (show::elem(a, &self.locals), show::elem(b, &self.locals));
            self.report(
                report::mismatch(no.span, &wanted, &found).also(yes.span, format!("this is {wanted}")),
            );
            return Ty::Error;
        };
        let Some(dims) = self.stretch("`if`", yes, no, span) else {
            return Ty::Error;
        };
        let value = TypedExpr::new(
            TypedExprKind::Error,
            Ty::Tensor(elem.clone(), dims),
            yes.span.to(no.span),
        );
        let dims = self.stretch("`if`", condition, &value, span);
        dims.map_or(Ty::Error, |dims| Ty::Tensor(elem, dims))
    }

    /// Checks `x[i, a..b]`.
    pub fn index(&mut self, base: &ast::Expr, written: &[ast::Index], span: Span) -> TypedExpr {
        let base = self.expr(base, Want::Any);
        let (elem, dims) = match &base.ty {
            Ty::Tensor(elem, dims) => (elem.clone(), dims.clone()),
            Ty::List(element, length) => {
                return self.list_element((**element).clone(), length.clone(), base, written, span);
            }
            _ => {
                self.indices(written);
                if base.ty != Ty::Error {
                    self.wrong::<Ty>(&base, "an array");
                }
                return error(span);
            }
        };
        if written.len() > dims.len() {
            let found = show::ty(&base.ty, &self.locals);
            let most = count(dims.len(), "index").replace("indexs", "indices");
            let message = format!("expected at most {most}, found {}", written.len());
            self.indices(written);
            let diagnostic = report::index(span, message, (base.span, format!("this is {found}")));
            return self.error(diagnostic, span);
        }
        let mut kept = Vec::new();
        let mut indices = Vec::new();
        let mut fine = true;
        for (index, dim) in written.iter().zip(&dims) {
            match index {
                ast::Index::At(at) => {
                    let at = self.expr(at, Want::Int);
                    fine &= self.position(&at, dim, base.span);
                    indices.push(TypedIndex::At(at));
                }
                ast::Index::Range(from, to) => {
                    let (from, to, length) = self.range(from, to);
                    match length {
                        Some(length) => {
                            fine &= self.range_end(&to, dim, base.span);
                            kept.push(length);
                        }
                        None => fine = false,
                    }
                    indices.push(TypedIndex::Range(from, to));
                }
            }
        }
        kept.extend_from_slice(&dims[written.len()..]);
        // A part of a simplex is not a simplex, so its elements are reals between 0 and 1. A part
        // of an ordered vector becomes an array of plain reals.
        let elem = match elem {
            Elem::Real(Support::Simplex) => Elem::Real(Support::Interval(0.0, 1.0)),
            Elem::Real(Support::Ordered) => Elem::Real(Support::Real),
            other => other,
        };
        let ty = if fine { Ty::Tensor(elem, kept) } else { Ty::Error };
        TypedExpr::new(TypedExprKind::Index(Box::new(base), indices), ty, span)
    }

    /// Checks the indices of a base that has an error, so that errors in the indices are reported too.
    fn indices(&mut self, written: &[ast::Index]) {
        for index in written {
            match index {
                ast::Index::At(at) => {
                    self.expr(at, Want::Int);
                }
                ast::Index::Range(from, to) => {
                    self.range(from, to);
                }
            }
        }
    }

    /// Returns whether a position lies inside its axis. Returns `true` if the position or the size
    /// of the axis is not known.
    fn position(&mut self, at: &TypedExpr, axis: &DimExpr, array: Span) -> bool {
        let size = show::dim(axis, &self.locals);
        match &at.ty {
            Ty::Error => return false,
            Ty::Tensor(Elem::Index(range), dims) if dims.is_empty() => {
                if !equal(range, axis) {
                    let range = show::dim(range, &self.locals);
                    let message = format!("expected index({size}), found index({range})");
                    self.report(report::outside_axis(at.span, message, array, &size));
                    return false;
                }
            }
            Ty::Tensor(Elem::Int | Elem::Count, dims) if dims.is_empty() => {}
            other => {
                let found = show::ty(other, &self.locals);
                self.report(report::not_a_position(at.span, &found));
                return false;
            }
        }
        let number = self
            .dim_of(at)
            .or_else(|| constant(self.module, at).map(|value| DimExpr::number(value as i64)));
        let outside = number.as_ref().is_some_and(|at| {
            at.as_number().is_some_and(|at| at < 0)
                || at
                    .plus(axis, -1)
                    .as_number()
                    .is_some_and(|difference| difference >= 0)
        });
        if outside {
            let message = format!("this index lies outside an axis of size {size}");
            let diagnostic =
                report::outside_axis(at.span, message, array, &size).note("indices count from 0");
            let counted_from_end = number
                .filter(|at| at.as_number().is_some_and(|at| at < 0))
                .map(|at| axis.plus(&at, 1))
                .filter(|at| at.as_number().is_none_or(|at| at >= 0));
            let help = counted_from_end.map(|at| {
                let at = show::dim(&at, &self.locals);
                format!("an index cannot count from the end: write `{at}`")
            });
            self.report(diagnostic.help_if(help));
        }
        !outside
    }

    fn range_end(&mut self, to: &TypedExpr, axis: &DimExpr, array: Span) -> bool {
        let beyond = self
            .dim_of(to)
            .and_then(|to| to.plus(axis, -1).as_number())
            .is_some_and(|difference| difference > 0);
        if beyond {
            let size = show::dim(axis, &self.locals);
            let message = format!("this range ends beyond an axis of size {size}");
            self.report(report::outside_axis(to.span, message, array, &size));
        }
        !beyond
    }

    fn list_element(
        &mut self,
        element: Ty,
        length: DimExpr,
        base: TypedExpr,
        written: &[ast::Index],
        span: Span,
    ) -> TypedExpr {
        let [ast::Index::At(at)] = written else {
            self.indices(written);
            return self.error(report::mismatch(span, "one index", "another form"), span);
        };
        let at = self.expr(at, Want::Int);
        if !self.position(&at, &length, base.span) {
            return error(span);
        }
        if constant(self.module, &at).is_none() {
            let diagnostic = report::not_static(at.span, "the index that selects a layer of a list");
            return self.error(diagnostic, span);
        }
        let mut found = TypedExpr::new(
            TypedExprKind::Index(Box::new(base), vec![TypedIndex::At(at)]),
            element,
            span,
        );
        // The lists of a list can have different lengths.
        if let Some((_, _, made)) = self.made(&found)
            && let (Some(length), Ty::List(_, of)) = (made.length(), &mut found.ty)
        {
            *of = length;
        }
        found
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
}

/// Returns the element type of a result. If the operands have wrong types, the error describes the
/// type that the operator requires.
fn result_elem(op: BinaryOp, a: &Elem, b: &Elem, want: Want) -> Result<Elem, &'static str> {
    let both_integral = a.is_integral() && b.is_integral();
    let numbers = *a != Elem::Bool && *b != Elem::Bool;
    match op {
        BinaryOp::Or | BinaryOp::And if *a == Elem::Bool && *b == Elem::Bool => Ok(Elem::Bool),
        BinaryOp::Or | BinaryOp::And => Err("bool"),
        BinaryOp::Eq | BinaryOp::Ne if a == b => Ok(Elem::Bool),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
            if numbers =>
        {
            Ok(Elem::Bool)
        }
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if both_integral => Ok(Elem::Int),
        BinaryOp::Div if both_integral && want == Want::Int => Ok(Elem::Int),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow | BinaryOp::MatMul
            if numbers =>
        {
            Ok(Elem::Real(Support::Real))
        }
        _ => Err("a number"),
    }
}

fn fits(wanted: &str, elem: &Elem) -> bool {
    (wanted == "bool") == (*elem == Elem::Bool)
}

/// Suggests a correction for an operation on arrays with the dims `(n)` and `(n, 1)`.
pub fn column_hint(a: &[DimExpr], b: &[DimExpr]) -> Option<&'static str> {
    let one = DimExpr::number(1);
    let column = |long: &[DimExpr], short: &[DimExpr]| {
        long.len() == short.len() + 1
            && (long.last() == Some(&one) || long.first() == Some(&one))
            && short.iter().all(|dim| long.contains(dim))
    };
    match (column(a, b), column(b, a)) {
        (true, _) => Some(
            "select the column or row of the left side by an index: `x[i, 0]`, `x[0]`, or `[x[i, 0] for i in 0..n]`",
        ),
        (_, true) => Some(
            "select the column or row of the right side by an index: `x[i, 0]`, `x[0]`, or `[x[i, 0] for i in 0..n]`",
        ),
        (false, false) => None,
    }
}
