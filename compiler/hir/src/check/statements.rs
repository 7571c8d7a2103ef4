//! Checks the statements of functions, layers and models.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::sample::Tilde;
use crate::diagnostics::{model as report_model, names, statements as report};
use crate::sign;
use crate::tree::{LocalKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, StmtKind};
use std::sync::Arc;

impl Checker<'_> {
    /// Checks the statements of a body. `result` is the declared type of the returned value, if the body returns one.
    pub fn block(&mut self, body: &[ast::Stmt], result: Option<(&Ty, Span)>, name: Span) -> Vec<TypedStmt> {
        self.later = declared_names(body);
        let mut statements = Vec::new();
        let mut returned: Option<Span> = None;
        let mut unreadable = false;
        for stmt in body {
            if let Some(at) = returned {
                self.report(report::after_return(stmt.span, at));
                break;
            }
            match &stmt.kind {
                StmtKind::Return(value) => {
                    returned = Some(stmt.span);
                    let value = self.expr(value, Want::Any);
                    match result {
                        Some((result, at)) => {
                            let before = self.diagnostics.len();
                            if !self.expect(&value, result)
                                && let Some(last) = self.diagnostics[before..].last_mut()
                            {
                                *last = last.clone().also(at, "the result is declared here");
                            }
                        }
                        None => {
                            let help =
                                "a model has no result; give its outputs distributions: `y ~ Normal(..)`";
                            self.report(report::wrong_place(
                                stmt.span,
                                "`return`",
                                self.place.name(),
                                help,
                            ));
                        }
                    }
                    statements.push(TypedStmt::Return(value));
                }
                StmtKind::Error => unreadable = true,
                _ => statements.extend(self.stmt(stmt, None)),
            }
        }
        if result.is_some() && returned.is_none() && !unreadable {
            let owner = self.owner.clone();
            self.report(report::no_return(name, &owner));
        }
        statements
    }

    /// Checks a statement. `counter` is the name of the innermost enclosing `for` counter.
    pub fn stmt(&mut self, stmt: &ast::Stmt, counter: Option<&str>) -> Option<TypedStmt> {
        match &stmt.kind {
            StmtKind::Assign { targets, ty, value } => {
                self.assign(targets, ty.as_ref(), value, counter.is_some())
            }
            StmtKind::Sample {
                targets,
                ty,
                dist,
                local,
            } => {
                let tilde = Tilde {
                    ty: ty.as_ref(),
                    dist,
                    local: *local,
                    counter,
                    span: stmt.span,
                };
                self.sample(targets, tilde)
            }
            StmtKind::For { name, from, to, body } => self.repeat(name, (from, to), body, stmt.span),
            StmtKind::Return(value) => {
                self.expr(value, Want::Any);
                self.report(report::wrong_place(
                    stmt.span,
                    "`return`",
                    "a `for`",
                    "move the `return` after the loop",
                ));
                None
            }
            StmtKind::Error => None,
        }
    }

    /// Reports a left-hand side that is not allowed.
    pub fn bad_target(&mut self, span: Span, expected: &str) -> Option<TypedStmt> {
        self.report(report::target(span, expected));
        None
    }

    fn assign(
        &mut self,
        targets: &[ast::Expr],
        ty: Option<&ast::TypeExpr>,
        value: &ast::Expr,
        in_for: bool,
    ) -> Option<TypedStmt> {
        let name = match targets {
            [target] => match &*target.without_parentheses().kind {
                ast::ExprKind::Name(name) => Some((name.clone(), target.span)),
                _ => None,
            },
            _ => None,
        };
        if let Some((target, span)) = &name
            && ty.is_none()
            && self.starts_weights(target, *span, value)
        {
            return None;
        }
        let declared = ty.map(|ty| self.ty(ty, false));
        let makes = self.makes_layer(value);
        if makes && in_for {
            self.report(report_model::site_in_for(value.span, "a layer"));
        }
        let is_once = matches!(self.place, BodyKind::Layer | BodyKind::Model) && !in_for;
        self.named_call = is_once.then(|| value.without_parentheses().span);
        let (value, made) = match makes {
            true => self.layers(value),
            false => {
                let want = match declared {
                    Some(Ty::Tensor(Elem::Int, _)) => Want::Int,
                    _ => Want::Any,
                };
                (self.expr(value, want), None)
            }
        };
        self.named_call = None;
        let Some((name, span)) = name else {
            let at = targets.first().map_or(value.span, |target| target.span);
            return self.bad_target(at, "one new name");
        };
        let ty = match declared {
            Some(declared) if declared != Ty::Error => {
                self.expect(&value, &declared);
                declared
            }
            _ => value.ty.clone(),
        };
        let output = self.outputs.contains_key(&name);
        let dist = self.dist_value(&value);
        let dim = if ty == Ty::int() {
            self.dim_of(&value)
        } else {
            None
        };
        let depends = self.depends(&value);
        let uses = self.distinct_uses(&value);
        let range = self.range_of(&value);
        let is_signed = sign::is_signed(self.module, &self.locals, &self.signed, &value);
        let local = self.declare(&name, span, ty, LocalKind::Assigned);
        self.ranges.insert(local, range);
        self.uses.insert(local, uses);
        if is_signed {
            self.signed.insert(local);
        }
        if output {
            // An error has already reported that this name is bound twice. It keeps its first
            // meaning.
            return None;
        }
        self.statics.extend(dim.map(|dim| (local, dim)));
        self.dist_values.extend(dist.map(|dist| (local, dist)));
        self.made.extend(made.map(|made| (local, made)));
        if depends {
            self.per_example.insert(local);
        }
        self.later.remove(&name);
        Some(TypedStmt::Let(local, value))
    }

    /// Reads the line `start = he` of a layer: the rule for the starts of its weights. Returns whether the line is one.
    fn starts_weights(&mut self, target: &str, span: Span, value: &ast::Expr) -> bool {
        let is_variable = value
            .as_name()
            .is_some_and(|name| self.peek_local(name).is_some());
        let rule = match self.place == BodyKind::Layer && target == "start" && !is_variable {
            true => self.scaled_start(value),
            false => None,
        };
        let Some(rule) = rule else { return false };
        self.later.remove(target);
        match self.start {
            Some((_, first)) => self.report(names::rebound(target, first, span)),
            None => self.start = Some((rule, span)),
        }
        true
    }

    fn repeat(
        &mut self,
        name: &ast::Ident,
        range: (&ast::Expr, &ast::Expr),
        body: &[ast::Stmt],
        span: Span,
    ) -> Option<TypedStmt> {
        if self.place != BodyKind::Model {
            let help = "a `for` cannot change outer variables, so it has no effect here: write `[.. for i in a..b]` or `sum(.. for i in a..b)`";
            self.report(report::wrong_place(span, "`for`", self.place.name(), help));
        }
        let (from, to, _) = self.range(range.0, range.1);
        let counter = self.enter_counter(&name.name, name.span);
        if self.place == BodyKind::Model {
            // Names that the block declares are not visible outside it.
            let later = std::mem::replace(&mut self.later, declared_names(body));
            let body = body
                .iter()
                .filter_map(|stmt| self.stmt(stmt, Some(&name.name)))
                .collect();
            self.later = later;
            self.leave();
            return Some(TypedStmt::For {
                counter,
                from,
                to,
                body,
            });
        }
        self.leave();
        None
    }
}

/// Returns the names that the statements of a block declare, with their first positions.
fn declared_names(body: &[ast::Stmt]) -> std::collections::HashMap<Arc<str>, Span> {
    let mut names = std::collections::HashMap::new();
    for stmt in body {
        if let StmtKind::Assign { targets, .. } | StmtKind::Sample { targets, .. } = &stmt.kind
            && let [target] = targets.as_slice()
            && let ast::ExprKind::Name(name) = &*target.kind
        {
            names.entry(name.clone()).or_insert(target.span);
        }
    }
    names
}
