//! Checks `~` statements: sites and observed outputs.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::names::Def;
use super::operators::column_hint;
use super::outputs::OutputDist;
use super::solve::{Solver, all_equal};
use crate::diagnostics::{
    model as report_model, names as report_names, statements as report, types as report_types,
};
use crate::dims::DimExpr;
use crate::tree::{LocalKind, SampleStmt, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use crate::{show, walk};
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, BinaryOp};
use bnnc_graph::dist::Support;
use std::sync::Arc;

/// All parts of a `~` statement except its left-hand side.
#[derive(Clone, Copy)]
pub struct Tilde<'w> {
    /// The declared type.
    pub ty: Option<&'w ast::TypeExpr>,
    /// The distribution.
    pub dist: &'w ast::Expr,
    /// True if the statement contains `local`.
    pub local: bool,
    /// The counter of the innermost enclosing `for`.
    pub counter: Option<&'w str>,
    /// The whole statement.
    pub span: Span,
}

impl Checker<'_> {
    /// Checks a `~` statement.
    pub fn sample(&mut self, targets: &[ast::Expr], tilde: Tilde<'_>) -> Option<TypedStmt> {
        if !matches!(self.place, BodyKind::Model | BodyKind::Layer | BodyKind::Prompt) {
            let help = "random quantities belong in models and layers";
            self.report(report::wrong_place(tilde.span, "`~`", self.place.name(), help));
            self.expr(tilde.dist, Want::Any);
            if let [target] = targets
                && let ast::ExprKind::Name(name) = &*target.without_parentheses().kind
            {
                self.declare(name, target.span, Ty::Error, LocalKind::Site);
            }
            return None;
        }
        let [target] = targets else {
            return self.bad_target(tilde.span, "one name");
        };
        let target = target.without_parentheses();
        match &*target.kind {
            ast::ExprKind::Name(name) if self.outputs.contains_key(&**name) => {
                self.observe((name, target.span), None, tilde)
            }
            ast::ExprKind::Name(name) => {
                if tilde.counter.is_some() {
                    let what = format!("the parameter `{name}`");
                    self.report(report_model::site_in_for(tilde.span, &what));
                }
                Some(self.site((name, target.span), tilde))
            }
            ast::ExprKind::Index(base, indices) => {
                match (&*base.without_parentheses().kind, indices.as_slice()) {
                    (ast::ExprKind::Name(name), [ast::Index::At(at)])
                        if self.outputs.contains_key(&**name) =>
                    {
                        self.observe((name, base.span), Some(at), tilde)
                    }
                    _ => self.bad_target(target.span, "a name, or one element of an output,"),
                }
            }
            _ => self.bad_target(target.span, "a name, or one element of an output,"),
        }
    }

    /// Checks a site, such as `w: real[n] ~ prior`.
    fn site(&mut self, target: (&Arc<str>, Span), tilde: Tilde<'_>) -> TypedStmt {
        let (name, at) = target;
        let Tilde {
            ty,
            dist,
            local: per_example,
            span,
            ..
        } = tilde;
        let declared = ty.map(|ty| (self.ty(ty, false), ty.span));
        let before = self.diagnostics.len();
        let dist = self.dist_expr(dist);
        let ty = self.sampled_type(name, declared, &dist);
        // Inference needs gradients with respect to sites, so a discrete site is an error. The REPL
        // accepts it, because statements in the REPL do not run inference.
        if self.place != BodyKind::Prompt
            && let Ty::Tensor(elem @ (Elem::Bool | Elem::Count | Elem::Int | Elem::Index(_)), _) = &ty
        {
            let found = show::elem(elem, &self.locals);
            self.report(report_model::discrete_latent(dist.span, name, &found));
        }
        self.keep_discrete(before);
        if let Some(on) = self.dependence(&dist).filter(|_| !per_example) {
            let on = (self.locals[on].name.clone(), self.locals[on].span);
            let in_layer = self.place == BodyKind::Layer;
            self.report(report_model::global_depends(
                dist.span,
                name,
                (&on.0, on.1),
                in_layer,
            ));
        }
        let range = self.range_of_values(&dist);
        let local = self.declare(name, at, ty.clone(), LocalKind::Site);
        self.ranges.extend(range.map(|range| (local, range)));
        if per_example {
            self.per_example.insert(local);
        }
        self.later.remove(name);
        TypedStmt::Sample(SampleStmt {
            local,
            observed: false,
            index: None,
            ty,
            dist,
            per_example,
            span,
        })
    }

    /// Drops warnings about the arguments of a distribution if an error reports its site as
    /// discrete. Only diagnostics from index `since` on are considered.
    fn keep_discrete(&mut self, since: usize) {
        let is_of = |found: &Diagnostic, code: &'static Code| found.code.id == code.id;
        let recent = &self.diagnostics[since..];
        if !recent
            .iter()
            .any(|found| is_of(found, &report_model::DISCRETE_LATENT))
        {
            return;
        }
        let mut recent = self.diagnostics.split_off(since);
        recent.retain(|found| !is_of(found, &report_types::APPLIED_TWICE));
        self.diagnostics.append(&mut recent);
    }

    /// Checks the distribution on the right of `~`.
    pub fn dist_expr(&mut self, written: &ast::Expr) -> TypedExpr {
        let dist = match &*written.without_parentheses().kind {
            ast::ExprKind::Name(name) if self.peek_local(name).is_none() => match self.find_item(name) {
                Some((Some(def), at)) if !matches!(def, Def::Dist(_)) => {
                    let diagnostic =
                        report_names::wrong_kind(written.span, name, "a distribution", def.kind(), at);
                    return self.error(diagnostic, written.span);
                }
                _ => self.expr(written, Want::Any),
            },
            _ => self.expr(written, Want::Any),
        };
        if !matches!(dist.ty, Ty::Dist(_) | Ty::Error) {
            let found = show::ty(&dist.ty, &self.locals);
            let diagnostic = report_types::mismatch(dist.span, "a distribution", &found);
            let help = "`=` defines a value, `~` gives a distribution";
            return self.error(diagnostic.help(help), dist.span);
        }
        dist
    }

    /// Returns the type of a site. A declared type must lie within the type on which the
    /// distribution is defined. Without a declared type, the site has the type of the distribution's
    /// values, narrowed to the ends that the distribution declares.
    fn sampled_type(&mut self, name: &str, declared: Option<(Ty, Span)>, dist: &TypedExpr) -> Ty {
        let Some(value) = self.dist_value(dist) else {
            return declared.map_or(Ty::Error, |(ty, _)| ty);
        };
        let Some((declared, at)) = declared else {
            self.has_values(name, &value.elem, dist.span, dist);
            self.has_fixed_ends(name, dist);
            let elem = self.ended(value.elem, dist);
            return Ty::Tensor(elem, value.dims);
        };
        let Ty::Tensor(elem, dims) = &declared else {
            if declared != Ty::Error {
                let found = show::ty(&declared, &self.locals);
                self.report(report_types::mismatch(at, "a type of numbers", &found));
            }
            return Ty::Error;
        };
        let is_real = |elem: &Elem| matches!(elem, Elem::Real(_));
        if is_real(elem) && !is_real(&value.elem) && self.place != BodyKind::Prompt {
            let found = show::elem(&value.elem, &self.locals);
            self.report(report_model::discrete_latent(dist.span, name, &found));
            return declared;
        }
        if !covers(&value.elem, elem) {
            let (narrow, wide) = (
                show::ty(&declared, &self.locals),
                show::elem(&value.elem, &self.locals),
            );
            self.report(report_model::wider(at, name, &narrow, &wide, dist.span));
            return declared;
        }
        let free = value.elementwise && value.dims.is_empty();
        // If the values of a distribution are simplices or ordered vectors, a site may be an array
        // of several independent vectors.
        let own = match &value.elem {
            Elem::Real(support) if support.is_of_vectors() && !value.elementwise => {
                &dims[dims.len().saturating_sub(value.dims.len())..]
            }
            _ => dims.as_slice(),
        };
        if !free && !all_equal(own, &value.dims) {
            let found = show::ty(&Ty::Tensor(value.elem.clone(), value.dims.clone()), &self.locals);
            let wanted = show::ty(&Ty::Tensor(value.elem, dims.clone()), &self.locals);
            let help = column_hint(dims, &value.dims);
            self.wrong_dims(name, (&wanted, at), (&found, dist.span), help);
        }
        if self.has_values(name, elem, at, dist) && self.has_fixed_ends(name, dist) {
            self.within_prior(name, &declared, at, dist);
        }
        declared
    }

    /// Checks an observation: `y ~ ..` or `y[t] ~ ..`.
    fn observe(
        &mut self,
        target: (&Arc<str>, Span),
        index: Option<&ast::Expr>,
        tilde: Tilde<'_>,
    ) -> Option<TypedStmt> {
        let (name, at) = target;
        let Tilde {
            ty,
            dist,
            counter,
            span,
            ..
        } = tilde;
        let local = self.outputs.get(name)?.0;
        if let Some(ty) = ty {
            let expected = format!("`{name}` without a type, because the model declares it");
            self.report(report::target(ty.span, &expected));
        }
        let index = index.map(|index| self.expr(index, Want::Int));
        let declared = self.locals[local].ty.clone();
        let wanted = match (&index, &declared) {
            (Some(_), Ty::Tensor(elem, dims)) if !dims.is_empty() => {
                Ty::Tensor(elem.clone(), dims[1..].to_vec())
            }
            (Some(_), Ty::Tensor(..)) => {
                let found = show::ty(&declared, &self.locals);
                self.report(report_types::mismatch(at, "an array", &found));
                Ty::Error
            }
            _ => declared,
        };
        if let (None, Some(counter)) = (&index, counter) {
            self.report(report_model::observed_in_for(name, span, counter));
        }
        let element = index.as_ref().and_then(|index| self.dim_of(index));
        let dist = self.dist_expr(dist);
        let at_output = self.locals[local].span;
        self.observed_type(name, &wanted, at_output, &dist);
        self.needs(OutputDist {
            output: local,
            counter: element.as_ref(),
            dist: &dist,
        });
        let whole = index.is_none();
        let clash = self.outputs.get(name).and_then(|(_, seen)| {
            let clashes =
                |(other, _): &&(Option<DimExpr>, Span)| whole || other.is_none() || *other == element;
            seen.iter().find(clashes).map(|(_, span)| *span)
        });
        match clash {
            Some(first) => self.report(report_model::observed_twice(name, first, span)),
            None => {
                if let Some((_, seen)) = self.outputs.get_mut(name) {
                    seen.push((if whole { None } else { element }, span));
                }
            }
        }
        let ty = wanted;
        Some(TypedStmt::Sample(SampleStmt {
            local,
            observed: true,
            index,
            ty,
            dist,
            per_example: true,
            span,
        }))
    }

    fn observed_type(&mut self, name: &str, wanted: &Ty, at: Span, dist: &TypedExpr) {
        let (Some(value), Ty::Tensor(elem, dims)) = (self.dist_value(dist), wanted) else {
            return;
        };
        let mut solver = Solver::rigid();
        let fits = match (&value.elem, elem) {
            (Elem::Index(a), Elem::Index(b)) => solver.meet(b, a, dist.span),
            (found, wanted) => covers(found, wanted),
        };
        if !fits {
            let [wanted, found] = [elem, &value.elem].map(|elem| show::elem(elem, &self.locals));
            let [expected, actual] = [&wanted, &found].map(|elem| format!("a distribution on {elem}"));
            let diagnostic = report_types::mismatch(dist.span, &expected, &actual);
            self.report(diagnostic.also(at, format!("`{name}` is {wanted}")));
            return;
        }
        let free = value.elementwise && value.dims.is_empty();
        if !free && !all_equal(dims, &value.dims) {
            let found = show::ty(&Ty::Tensor(value.elem.clone(), value.dims.clone()), &self.locals);
            let wanted = show::ty(wanted, &self.locals);
            let hint = match (dims.as_slice(), value.dims.as_slice()) {
                ([], [_]) => Some(self.of_one_element(dist)),
                (a, b) => column_hint(a, b).map(str::to_owned),
            };
            self.wrong_dims(name, (&wanted, at), (&found, dist.span), hint.as_deref());
        }
    }

    /// Suggests replacing a vector argument of the distribution by one of its elements.
    fn of_one_element(&self, dist: &TypedExpr) -> String {
        let is_vector = |part: &&TypedExpr| matches!(&part.ty, Ty::Tensor(_, dims) if dims.len() == 1);
        let name_of = |part: &TypedExpr| match &part.kind {
            TypedExprKind::Local(local) => Some(self.locals[*local].name.clone()),
            _ => None,
        };
        let args = walk::children(dist);
        let argument = args.into_iter().find(is_vector);
        match argument.map(|argument| &argument.kind) {
            Some(TypedExprKind::Binary(BinaryOp::Mul, a, b)) if is_vector(&&**a) && is_vector(&&**b) => {
                let names = name_of(a).zip(name_of(b));
                let (a, b) = names.unwrap_or(("a".into(), "b".into()));
                format!("a sum of products is written `dot({a}, {b})`")
            }
            Some(TypedExprKind::CallLayer(callee, ..)) => {
                let name = name_of(callee).unwrap_or("layer".into());
                format!("the model is written for one example: take an element, `{name}(..)[0]`")
            }
            Some(TypedExprKind::Local(local)) => {
                let name = &self.locals[*local].name;
                format!("the model is written for one example: take an element, `{name}[0]`")
            }
            _ => "the model is written for one example: take an element, `(..)[0]`".to_owned(),
        }
    }

    fn wrong_dims(&mut self, name: &str, wanted: (&str, Span), found: (&str, Span), help: Option<&str>) {
        let [expected, actual] = [wanted.0, found.0].map(|ty| format!("a distribution over {ty}"));
        let diagnostic = report_types::mismatch(found.1, &expected, &actual);
        let diagnostic = diagnostic.also(wanted.1, format!("`{name}` is {}", wanted.0));
        self.report(diagnostic.help_if(help));
    }
}

/// Returns whether a distribution over `found` can be restricted to the type `declared`.
fn covers(found: &Elem, declared: &Elem) -> bool {
    match (found, declared) {
        (Elem::Real(found), Elem::Real(declared)) => match (found, declared) {
            (Support::Real, _) => true,
            (Support::Interval(a, b), Support::Interval(c, d)) => a <= c && d <= b,
            (found, declared) => found == declared,
        },
        (found, declared) => found == declared,
    }
}
