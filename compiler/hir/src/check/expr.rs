//! Checks expressions: names, literals, lists and ranges. Operators, calls, layers and
//! distributions have their own files.

use super::body::{Checker, error};
use super::names::Def;
use super::solve::all_equal;
use crate::builtin::{self, Reduction};
use crate::diagnostics::{names as report, types as report_types};
use crate::dims::DimExpr;
use crate::show;
use crate::tree::{TypedComprehension, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use bnnc_graph::dist::Support;
use std::sync::Arc;

/// The kind of number that the context of an expression expects. If the context expects `Int`,
/// division rounds down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Any value.
    Any,
    /// A static integer, as in a dimension, the end of a range, an index or the argument of an
    /// integer parameter.
    Int,
}

const DEEPEST: usize = 200;

impl Checker<'_> {
    /// Checks an expression.
    pub fn expr(&mut self, written: &ast::Expr, want: Want) -> TypedExpr {
        if self.depth >= DEEPEST {
            return self.error(report_types::too_deep(written.span), written.span);
        }
        self.depth += 1;
        let expr = self.form(written, want);
        self.depth -= 1;
        expr
    }

    fn form(&mut self, written: &ast::Expr, want: Want) -> TypedExpr {
        let span = written.span;
        match &*written.kind {
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::Int(value) => TypedExpr::new(TypedExprKind::Int(*value), Ty::int(), span),
            ast::ExprKind::Real(value, _) => TypedExpr::new(TypedExprKind::Real(*value), Ty::real(), span),
            ast::ExprKind::Bool(value) => TypedExpr::new(TypedExprKind::Bool(*value), Ty::bool(), span),
            ast::ExprKind::Text(_) => self.error(report::out_of_place(span, "a text"), span),
            ast::ExprKind::Glob(_) => self.error(report::out_of_place(span, "a path with `*`"), span),
            ast::ExprKind::Error => error(span),
            ast::ExprKind::Paren(inner) => self.expr(inner, want),
            ast::ExprKind::Field(base, part) => self.part(base, part, None, span),
            ast::ExprKind::Call(callee, args) => self.call(callee, args, span),
            ast::ExprKind::Reduce(callee, inner) => self.reduce(callee, inner, span),
            ast::ExprKind::Index(base, indices) => self.index(base, indices, span),
            ast::ExprKind::List(elements) => {
                let elements = elements.iter().map(|element| self.expr(element, want)).collect();
                self.list(elements, span)
            }
            ast::ExprKind::Named(..) => self.error(report::out_of_place(span, "a name with `=`"), span),
            ast::ExprKind::Comprehension(inner) => {
                let (inner, length) = self.comprehension(inner, want);
                let ty = match (&inner.element.ty, length) {
                    (Ty::Tensor(elem, dims), Some(length)) => {
                        let dims = std::iter::once(length).chain(dims.iter().cloned()).collect();
                        Ty::Tensor(elem.clone(), dims)
                    }
                    (Ty::Error, _) | (_, None) => Ty::Error,
                    (_, Some(_)) => self
                        .wrong(&inner.element, "a number or an array")
                        .unwrap_or_default(),
                };
                TypedExpr::new(TypedExprKind::Comprehension(Box::new(inner)), ty, span)
            }
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span, want),
            ast::ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span, want),
            ast::ExprKind::If(condition, yes, no) => self.conditional([condition, yes, no], span, want),
        }
    }

    fn name(&mut self, name: &Arc<str>, span: Span) -> TypedExpr {
        if let Some(local) = self.find_local(name) {
            let ty = self.locals[local].ty.clone();
            return TypedExpr::new(TypedExprKind::Local(local), ty, span);
        }
        match self.find_item(name) {
            Some((None, _)) => error(span),
            Some((Some(Def::Const(id)), _)) => {
                let ty = self.module.consts[id].value.ty.clone();
                TypedExpr::new(TypedExprKind::Const(id), ty, span)
            }
            Some((Some(Def::Dist(id)), _)) => self.make_dist(id, &[], span).0,
            Some((Some(def), at)) => {
                let diagnostic = report::wrong_kind(span, name, "a value", def.kind(), at);
                self.error(diagnostic.help(format!("call it: `{name}(..)`")), span)
            }
            None if builtin::lookup(name).is_some() => {
                let diagnostic = report::wrong_kind(span, name, "a value", "a function", None);
                self.error(diagnostic.help(format!("call it: `{name}(..)`")), span)
            }
            None => self.unknown_name(name, span),
        }
    }

    /// Checks `[a, b]`: a vector of scalars or a stack of arrays.
    fn list(&mut self, elements: Vec<TypedExpr>, span: Span) -> TypedExpr {
        let mut joined: Option<(Elem, Vec<DimExpr>, Span)> = None;
        for element in &elements {
            let (elem, dims) = match &element.ty {
                Ty::Tensor(elem, dims) => (elem.clone(), dims.clone()),
                Ty::Error => return error(span),
                _ => {
                    return self
                        .wrong(element, "a number or an array")
                        .unwrap_or_else(|| error(span));
                }
            };
            joined = match joined.take() {
                None => Some((elem, dims, element.span)),
                Some((first, first_dims, at)) => {
                    if !all_equal(&first_dims, &dims) {
                        let (first, this) = ((&*first_dims, at), (&*dims, element.span));
                        return self.error(self.dims_differ(span, "a list", first, this), span);
                    }
                    match join(&first, &elem) {
                        Some(elem) => Some((elem, first_dims, at)),
                        None => {
                            let [wanted, found] = [&first, &elem].map(|elem| show::elem(elem, &self.locals));
                            let diagnostic = report_types::mismatch(element.span, &wanted, &found);
                            return self.error(diagnostic.also(at, format!("this is {wanted}")), span);
                        }
                    }
                }
            };
        }
        let Some((elem, dims, _)) = joined else {
            let diagnostic = report_types::mismatch(span, "at least one element", "an empty list");
            return self.error(diagnostic, span);
        };
        let dims = std::iter::once(DimExpr::number(elements.len() as i64))
            .chain(dims)
            .collect();
        TypedExpr::new(TypedExprKind::List(elements), Ty::Tensor(elem, dims), span)
    }

    /// Checks `e for i in a..b`. Returns the checked comprehension and its length.
    pub fn comprehension(
        &mut self,
        written: &ast::Comprehension,
        want: Want,
    ) -> (TypedComprehension, Option<DimExpr>) {
        let (from, to, length) = self.range(&written.from, &written.to);
        let counter = self.enter_counter(&written.name.name, written.name.span);
        let element = self.expr(&written.element, want);
        self.leave();
        (
            TypedComprehension {
                counter,
                from,
                to,
                element,
            },
            length,
        )
    }

    /// Checks `a..b`. Returns the checked start and end, and the length.
    pub fn range(&mut self, from: &ast::Expr, to: &ast::Expr) -> (TypedExpr, TypedExpr, Option<DimExpr>) {
        let (from, to) = (self.expr(from, Want::Int), self.expr(to, Want::Int));
        let first = self.static_dim(&from, "the start of a range");
        let last = self.static_dim(&to, "the end of a range");
        let length = first.zip(last).map(|(first, last)| last.plus(&first, -1));
        if length
            .as_ref()
            .and_then(DimExpr::as_number)
            .is_some_and(|length| length < 0)
        {
            let diagnostic =
                report_types::support(to.span, "the end of a range", "at least its start", "below it");
            self.report(diagnostic);
            return (from, to, None);
        }
        (from, to, length)
    }

    fn reduce(&mut self, callee: &ast::Expr, inner: &ast::Comprehension, span: Span) -> TypedExpr {
        let name = match &*callee.kind {
            ast::ExprKind::Name(name) => builtin::lookup(name).filter(|builtin| builtin.reduces_ranges()),
            _ => None,
        };
        let (inner, _) = self.comprehension(inner, Want::Any);
        let Some(builtin) = name else {
            let diagnostic = report_types::mismatch(
                callee.span,
                "`sum`, `prod`, `max`, `min`, `mean` or `logsumexp`",
                "another function",
            );
            return self.error(diagnostic.label("only these functions reduce a range"), span);
        };
        let ty = match &inner.element.ty {
            Ty::Tensor(elem, dims)
                if elem.is_integral() && !matches!(builtin.reduction(), Some(Reduction::Mean) | None) =>
            {
                Ty::Tensor(Elem::Int, dims.clone())
            }
            Ty::Tensor(Elem::Bool, _) => {
                let diagnostic = report_types::mismatch(inner.element.span, "a number", "bool");
                self.report(report_types::with_bool_help(diagnostic, "bool"));
                Ty::Error
            }
            Ty::Tensor(_, dims) => Ty::reals(dims.clone()),
            Ty::Error => Ty::Error,
            _ => self.wrong(&inner.element, "a number").unwrap_or_default(),
        };
        TypedExpr::new(TypedExprKind::Reduce(builtin, Box::new(inner)), ty, span)
    }
}

/// Returns an element type that contains the values of both types, if such a type exists.
pub fn join(a: &Elem, b: &Elem) -> Option<Elem> {
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Elem::Bool, _) | (_, Elem::Bool) => None,
        _ if a.is_integral() && b.is_integral() => Some(Elem::Int),
        _ => Some(Elem::Real(Support::Real)),
    }
}
