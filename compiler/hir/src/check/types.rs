//! Checks types in the program, lists of parameters, and the dims that these bind.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::names::Def;
use super::solve::Solver;
use crate::constant::constant;
use crate::diagnostics::{names as report, types as report_types};
use crate::dims::{Atom, DimExpr};
use crate::tree::{LocalId, LocalKind, ParamBinding, TypedExpr, TypedExprKind};
use crate::types::{Elem, NAMES, Ty, TypedParam};
use crate::walk;
use bnnc_grammar::ast;
use bnnc_graph::dist::Support;

impl Checker<'_> {
    /// Declares the parameters of several lists. All names are declared before any type is read, so
    /// that a type may use a name from any list, even from a later one. Only the first list of a layer
    /// may contain parameters of type `layer`.
    pub fn params(&mut self, lists: &[&[ast::Param]], static_integers: bool) -> Vec<Vec<ParamBinding>> {
        let declared: Vec<Vec<LocalId>> = lists
            .iter()
            .map(|list| {
                list.iter()
                    .map(|param| self.declare_param(param, static_integers))
                    .collect()
            })
            .collect();
        let typed = lists
            .iter()
            .zip(declared)
            .enumerate()
            .map(|(at, (list, locals))| {
                let may_be_layers = at == 0 && self.place == BodyKind::Layer;
                let bindings = list.iter().zip(locals).map(|(param, local)| {
                    let mut binding = self.type_param(param, local);
                    if binding.param.ty == Ty::ShapedLayer && !may_be_layers {
                        self.report(report::layer_type(param.ty.span));
                        self.locals[local].ty = Ty::Error;
                        binding.param.ty = Ty::Error;
                    }
                    binding
                });
                bindings.collect()
            });
        typed.collect()
    }

    fn declare_param(&mut self, param: &ast::Param, static_integers: bool) -> LocalId {
        let name = &param.name;
        let local = self.declare(&name.name, name.span, Ty::Error, LocalKind::Param);
        if static_integers && &*param.ty.name.name == "int" && param.ty.dims.is_none() {
            self.locals[local].ty = Ty::int();
            self.statics.insert(local, DimExpr::atom(Atom::Local(local)));
        } else {
            self.untyped.insert(local);
        }
        local
    }

    fn type_param(&mut self, param: &ast::Param, local: LocalId) -> ParamBinding {
        let ty = self.ty(&param.ty, true);
        self.untyped.remove(&local);
        self.locals[local].ty = ty.clone();
        ParamBinding {
            local,
            param: TypedParam {
                name: param.name.name.clone(),
                ty,
            },
            default: None,
        }
    }

    /// Checks the default values of parameters. A default value may refer to other parameters.
    pub fn defaults(&mut self, params: &[ast::Param], bindings: &mut [ParamBinding]) {
        for (param, binding) in params.iter().zip(bindings) {
            if let Some(default) = &param.default {
                let value = self.argument_value(&binding.param.ty, default);
                self.expect(&value, &binding.param.ty);
                binding.default = Some(value);
            }
        }
    }

    /// Checks a written type. If `bind` is true, an undeclared name in brackets becomes a new dim
    /// name.
    pub fn ty(&mut self, written: &ast::TypeExpr, bind: bool) -> Ty {
        if bind {
            let dims = written.dims.iter().flatten();
            let sizes = match &*written.name.name {
                "index" | "simplex" | "ordered" => written.args.as_slice(),
                _ => &[],
            };
            sizes.iter().chain(dims).for_each(|dim| self.bind_dims(dim));
        }
        let mut dims: Vec<DimExpr> = Vec::new();
        for dim in written.dims.iter().flatten() {
            match self.dim(dim) {
                Some(dim) => dims.push(dim),
                None => return Ty::Error,
            }
        }
        let name = &*written.name.name;
        let tensor = |elem: Elem, dims: Vec<DimExpr>| Ty::Tensor(elem, dims);
        match (name, written.args.as_slice()) {
            ("real", []) => tensor(Elem::Real(Support::Real), dims),
            ("positive", []) => tensor(Elem::Real(Support::Interval(0.0, f64::INFINITY)), dims),
            ("unit", []) => tensor(Elem::Real(Support::Interval(0.0, 1.0)), dims),
            ("int", []) => tensor(Elem::Int, dims),
            ("count", []) => tensor(Elem::Count, dims),
            ("bool", []) => tensor(Elem::Bool, dims),
            ("real", [low, high]) => self.interval(low, high, dims),
            ("index", [size]) => self
                .dim(size)
                .map_or(Ty::Error, |size| tensor(Elem::Index(size), dims)),
            ("simplex" | "ordered", [size]) => {
                let support = if name == "simplex" {
                    Support::Simplex
                } else {
                    Support::Ordered
                };
                let Some(size) = self.dim(size) else {
                    return Ty::Error;
                };
                dims.push(size);
                tensor(Elem::Real(support), dims)
            }
            ("dist", []) if dims.is_empty() => Ty::Dist(Elem::Real(Support::Real)),
            ("fn", []) if dims.is_empty() => Ty::Function(1),
            ("layer", []) if dims.is_empty() => Ty::ShapedLayer,
            _ => {
                self.report(match name {
                    "dist" | "fn" | "layer" => {
                        report::malformed_type(written.span, &format!("`{name}` alone"))
                    }
                    "index" | "simplex" | "ordered" => {
                        report::malformed_type(written.span, &format!("`{name}(k)` with one size"))
                    }
                    "real" => report::malformed_type(written.span, "`real` or `real(lo, hi)`"),
                    _ if NAMES.contains(&name) => {
                        report::malformed_type(written.span, &format!("`{name}` without parentheses"))
                    }
                    _ => report::unknown_type(written.name.span, name),
                });
                Ty::Error
            }
        }
    }

    fn interval(&mut self, low: &ast::Expr, high: &ast::Expr, dims: Vec<DimExpr>) -> Ty {
        match (self.number(low, "a bound"), self.number(high, "a bound")) {
            (Some(low), Some(high)) if low < high => {
                let support = match (low, high) {
                    (f64::NEG_INFINITY, f64::INFINITY) => Support::Real,
                    _ => Support::Interval(low, high),
                };
                Ty::Tensor(Elem::Real(support), dims)
            }
            (Some(_), Some(_)) => {
                self.report(report::malformed_type(
                    low.span.to(high.span),
                    "a lower bound below the upper bound",
                ));
                Ty::Error
            }
            (None, _) | (_, None) => Ty::Error,
        }
    }

    /// Reads a constant number.
    pub fn number(&mut self, written: &ast::Expr, what: &str) -> Option<f64> {
        let value = self.expr(written, Want::Any);
        if value.ty == Ty::Error {
            return None;
        }
        let found = constant(self.module, &value);
        if found.is_none() {
            self.report(report_types::not_constant(written.span, what));
        }
        found
    }

    /// Declares each undeclared name in a dimension as a new dim name.
    fn bind_dims(&mut self, written: &ast::Expr) {
        match &*written.kind {
            ast::ExprKind::Name(name)
                if self.peek_local(name).is_none() && (self.is_unread(name) || !self.is_constant(name)) =>
            {
                let local = self.declare(name, written.span, Ty::int(), LocalKind::Dim);
                self.statics.insert(local, DimExpr::atom(Atom::Local(local)));
            }
            ast::ExprKind::Binary(_, left, right) => {
                self.bind_dims(left);
                self.bind_dims(right);
            }
            ast::ExprKind::Paren(inner) | ast::ExprKind::Unary(_, inner) => self.bind_dims(inner),
            _ => {}
        }
    }

    fn is_constant(&self, name: &str) -> bool {
        matches!(self.find_item(name), Some((Some(Def::Const(_)) | None, _)))
    }

    /// Checks a written dimension.
    pub fn dim(&mut self, written: &ast::Expr) -> Option<DimExpr> {
        if let ast::ExprKind::Name(name) = &*written.kind
            && self.peek_local(name).is_none()
            && !self.is_constant(name)
        {
            let known: Vec<std::sync::Arc<str>> = self
                .statics
                .keys()
                .map(|local| self.locals[*local].name.clone())
                .collect();
            let mut known: Vec<&str> = known.iter().map(|name| &**name).collect();
            known.sort_unstable();
            self.report(report::unknown_dim(written.span, name, known));
            return None;
        }
        let value = self.expr(written, Want::Int);
        let untyped = |part: &TypedExpr| matches!(part.kind, TypedExprKind::Local(local) if self.untyped.contains(&local));
        if value.ty == Ty::Error && walk::any(&value, &mut |part| untyped(part)) {
            self.report(report_types::not_static(written.span, "a dimension"));
            return None;
        }
        self.static_dim(&value, "a dimension")
    }

    /// Returns the dimension that an expression equals. Reports an expression that is not static.
    pub fn static_dim(&mut self, value: &TypedExpr, what: &str) -> Option<DimExpr> {
        if value.ty == Ty::Error {
            return None;
        }
        if value.ty != Ty::int() {
            if self.expect(value, &Ty::int()) {
                self.report(report_types::not_static(value.span, what));
            }
            return None;
        }
        match self.dim_of(value) {
            Some(dim) if dim.as_number().is_some_and(|number| number < 0) => {
                let number = dim.to_string();
                self.report(report_types::support(value.span, what, "zero or more", &number));
                None
            }
            Some(dim) => Some(dim),
            None => {
                self.report(report_types::not_static(value.span, what));
                None
            }
        }
    }

    /// Checks a value against a type of the same item.
    pub fn expect(&mut self, value: &TypedExpr, wanted: &Ty) -> bool {
        let mut solver = Solver::rigid();
        self.fit(value, wanted, &mut solver, None)
    }
}
