//! Checks calls: assigns arguments to parameters, and solves for the dims of the callee.

use super::body::{Checker, error};
use super::expr::Want;
use super::fit::ParamSlot;
use super::names::Def;
use super::solve::{Solver, has_meta};
use crate::builtin::{self, BuiltinRule};
use crate::diagnostics::{count, names as report_names, types as report};
use crate::dims::{Atom, DimExpr};
use crate::tree::{Composition, FnId, LocalId, LocalKind, Locals, ParamBinding, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use crate::{lift, show, walk};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, BinaryOp};
use std::collections::HashMap;
use std::sync::Arc;

/// The signature of a callee.
#[derive(Clone, Copy)]
pub struct Signature<'s> {
    /// The name of the callee.
    pub name: &'s str,
    /// The parameters of the callee.
    pub params: &'s [ParamBinding],
    /// The variables of the callee. Messages about its dims use their names.
    pub locals: &'s Locals,
    /// The reason why a caller may or may not pass arrays for parameters that are declared as scalars.
    pub lifts: Lifts<'s>,
}

impl<'s> Signature<'s> {
    /// Returns the signature of a callee with these parameters and variables.
    pub fn new(
        name: &'s str,
        params: &'s [ParamBinding],
        locals: &'s Locals,
        lifts: Lifts<'s>,
    ) -> Signature<'s> {
        Signature {
            name,
            params,
            locals,
            lifts,
        }
    }
}

/// The possibility to apply a callee elementwise to arrays.
#[derive(Clone, Copy)]
pub enum Lifts<'s> {
    /// The callee can be applied elementwise.
    Yes,
    /// The callee cannot be applied elementwise, because some of its parameters are arrays.
    No,
    /// The callee cannot be applied elementwise, because its body contains a construct that is not elementwise. The fields are the position of
    /// this construct in the program, and its description.
    But(Span, &'s str),
}

/// The checked arguments in declared order, and the dims over which the call is applied elementwise
/// (the lifted dims).
pub struct CheckedArguments {
    /// The values in declared order.
    pub values: Vec<TypedExpr>,
    /// The lifted dims. The list is empty if the call is not applied elementwise.
    pub lifted: Vec<DimExpr>,
}

impl Checker<'_> {
    /// Checks a call: `f(..)`, `Layer(..)`, `Dist(..)`, `h(x)` or `prior.log_density(x)`.
    pub fn call(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> TypedExpr {
        match &*callee.kind {
            ast::ExprKind::Paren(inner) => self.call(inner, args, span),
            ast::ExprKind::Field(base, part) => self.part(base, part, Some(args), span),
            ast::ExprKind::Name(name) => self.call_name(name, callee.span, args, span),
            _ => {
                let callee = self.expr(callee, Want::Any);
                self.call_value(callee, args, span)
            }
        }
    }

    fn call_name(&mut self, name: &Arc<str>, at: Span, args: &[ast::Arg], span: Span) -> TypedExpr {
        if let Some(local) = self.peek_local(name) {
            let ty = self.locals[local].ty.clone();
            let item = self.find_item(name).is_some() || builtin::lookup(name).is_some();
            // In a call, a variable hides an item only if the variable can be called. For example, a parameter `cholesky` does not hide
            // the function `cholesky(a)`.
            let is_callable = matches!(
                ty,
                Ty::Function(_) | Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::Error
            );
            if is_callable || !item {
                self.used.insert(local);
                let callee = TypedExpr::new(TypedExprKind::Local(local), ty, at);
                return self.call_value(callee, args, span);
            }
        }
        match self.find_item(name) {
            Some((None, _)) => self.skip(args, span),
            Some((Some(Def::Fn(id)), _)) => self.call_fn(id, args, span),
            Some((Some(Def::Dist(id)), _)) => self.make_dist(id, args, span).0,
            Some((Some(Def::Layer(_)), _)) => {
                self.skip(args, span);
                self.error(crate::diagnostics::model::unnamed_layer(span), span)
            }
            Some((Some(def), declared)) => {
                self.skip(args, span);
                let expected = "a function, a layer or a distribution";
                let diagnostic = report_names::wrong_kind(at, name, expected, def.kind(), declared);
                self.error(diagnostic, span)
            }
            None => match builtin::lookup(name) {
                Some(builtin) => self.call_builtin(builtin, args, span),
                None if Composition::lookup(name).is_some() => {
                    self.skip(args, span);
                    self.error(crate::diagnostics::model::unnamed_layer(span), span)
                }
                None => {
                    self.skip(args, span);
                    self.unknown_name(name, at)
                }
            },
        }
    }

    fn call_value(&mut self, callee: TypedExpr, args: &[ast::Arg], span: Span) -> TypedExpr {
        match (&callee.ty, &callee.kind) {
            (Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer, _) => self.call_layer(callee, args, span),
            (Ty::Function(_), TypedExprKind::Local(local)) => self.call_function_value(*local, args, span),
            (Ty::Error, _) => self.skip(args, span),
            (found, _) => {
                let found = show::ty(found, &self.locals);
                self.skip(args, span);
                self.error(report::not_callable(callee.span, &found), span)
            }
        }
    }

    /// Checks the arguments of a call that already has an error, and returns an error node.
    pub fn skip(&mut self, args: &[ast::Arg], span: Span) -> TypedExpr {
        for arg in args {
            self.argument_value(&Ty::Error, &arg.value);
        }
        error(span)
    }

    fn call_function_value(&mut self, local: LocalId, args: &[ast::Arg], span: Span) -> TypedExpr {
        let name = self.locals[local].name.clone();
        let values: Vec<TypedExpr> = args.iter().map(|arg| self.expr(&arg.value, Want::Any)).collect();
        if values.len() != 1 {
            return self.error(report::too_many(span, &name, 1, values.len()), span);
        }
        let ty = self.real_like(&values[0], &name);
        TypedExpr::new(TypedExprKind::CallLocal(local, values), ty, span)
    }

    /// Returns the type that results from applying a function of one real to a value elementwise.
    fn real_like(&mut self, value: &TypedExpr, name: &str) -> Ty {
        match &value.ty {
            Ty::Error => Ty::Error,
            Ty::Tensor(elem, dims) if *elem != Elem::Bool => Ty::reals(dims.clone()),
            found => {
                let found = show::ty(found, &self.locals);
                self.report(report::argument_mismatch(value.span, name, "a number", &found));
                Ty::Error
            }
        }
    }

    fn call_fn(&mut self, id: FnId, args: &[ast::Arg], span: Span) -> TypedExpr {
        let item = &self.module.fns[id];
        let obstacle = lift::obstacle(item);
        let is_scalar = item.params.iter().all(|param| param.param.ty.is_scalar()) && item.result.is_scalar();
        let lifts = match (&obstacle, is_scalar) {
            (_, false) => Lifts::No,
            (None, true) => Lifts::Yes,
            (Some((at, what)), true) => Lifts::But(*at, what),
        };
        let signature = Signature::new(&item.name, &item.params, &item.locals, lifts);
        let mut solver = Solver::default();
        let Some(arguments) = self.valid_arguments(signature, args, span, &mut solver) else {
            return error(span);
        };
        let ty = self.result(&solver.ty(&item.result), signature, span);
        let ty = lifted(ty, &arguments.lifted);
        TypedExpr::new(TypedExprKind::CallFn(id, arguments.values), ty, span)
    }

    /// Expresses the type of the callee's result in terms of the caller's variables. Reports a dimension that the arguments do not
    /// determine.
    pub fn result(&mut self, ty: &Ty, signature: Signature<'_>, span: Span) -> Ty {
        let Ty::Tensor(elem, dims) = ty else {
            return ty.clone();
        };
        let sizes = dims.iter().chain(match elem {
            Elem::Index(size) => Some(size),
            _ => None,
        });
        for dim in sizes {
            if let Some(meta) = first_meta(dim) {
                let name = show::name(LocalId(meta), signature.locals);
                // An integer parameter whose argument is not static leaves its dimension unsolved.
                self.report(report::dim_unsolved(span, signature.name, &name));
                return Ty::Error;
            }
        }
        ty.clone()
    }

    /// Like [`arguments`](Self::arguments), but returns `None` if an argument has an error.
    pub fn valid_arguments(
        &mut self,
        signature: Signature<'_>,
        args: &[ast::Arg],
        span: Span,
        solver: &mut Solver,
    ) -> Option<CheckedArguments> {
        let before = self.errors();
        let arguments = self.arguments(signature, args, span, solver)?;
        let has_errors = arguments.values.iter().any(|value| value.ty == Ty::Error);
        (self.errors() == before && !has_errors).then_some(arguments)
    }

    /// Sorts the arguments in declared order, checks them, and fills in default values. Returns `None` if an argument is missing.
    pub fn arguments(
        &mut self,
        signature: Signature<'_>,
        args: &[ast::Arg],
        span: Span,
        solver: &mut Solver,
    ) -> Option<CheckedArguments> {
        let before = self.errors();
        let slots = self.slots(signature, args, span);
        let misplaced = self.errors() > before;
        let params = signature.params;
        let mut values: Vec<Option<TypedExpr>> = slots
            .iter()
            .zip(params)
            .map(|(slot, param)| slot.map(|arg| self.argument_value(&param.param.ty, &arg.value)))
            .collect();
        // Integers are checked first, because dims of arrays depend on them.
        for (value, param) in values.iter().zip(params) {
            if let Some(value) = value
                && param.param.ty == Ty::int()
                && let Some(dim) = self.dim_of(value)
            {
                solver.set(param.local, dim, value.span);
            }
        }
        let mut lifts = None;
        for (value, param) in values.iter().zip(params) {
            if let Some(value) = value {
                let slot = ParamSlot {
                    name: &param.param.name,
                    signature,
                    lifted: &mut lifts,
                };
                self.fit(value, &param.param.ty, solver, Some(slot));
            }
        }
        let mut missing: Vec<&str> = Vec::new();
        for (at, param) in params.iter().enumerate() {
            if values[at].is_some() {
                continue;
            }
            let found = match &param.default {
                Some(default) => {
                    let known = params
                        .iter()
                        .zip(&values)
                        .filter_map(|(p, v)| Some((p.local, v.clone()?)))
                        .collect();
                    let value = self.instantiate(default, &known, solver, span);
                    if let Some(dim) = self.dim_of(&value).filter(|_| param.param.ty == Ty::int()) {
                        solver.set(param.local, dim, span);
                    }
                    Some(value)
                }
                None => solver.get(param.local).map(|(dim, _)| dim_expr(dim, span)),
            };
            match found {
                Some(value) => values[at] = Some(value),
                None => missing.push(&param.param.name),
            }
        }
        if !missing.is_empty() {
            // If a misspelt argument name has already been reported, a parameter is not also reported as
            // missing.
            if !misplaced {
                self.report(report::missing(span, signature.name, &missing));
            }
            return None;
        }
        let lifted = lifts.map(|(dims, _)| dims).unwrap_or_default();
        Some(CheckedArguments {
            values: values.into_iter().flatten().collect(),
            lifted,
        })
    }

    /// Returns the argument for each parameter.
    pub fn slots<'w>(
        &mut self,
        signature: Signature<'_>,
        args: &'w [ast::Arg],
        span: Span,
    ) -> Vec<Option<&'w ast::Arg>> {
        let names = || signature.params.iter().map(|param| &*param.param.name);
        let mut slots: Vec<Option<&ast::Arg>> = vec![None; signature.params.len()];
        for (position, arg) in args.iter().enumerate() {
            let at = match &arg.name {
                Some(name) => names().position(|known| *known == *name.name),
                None => Some(position),
            };
            match at.and_then(|at| slots.get_mut(at)) {
                Some(slot @ None) => *slot = Some(arg),
                Some(Some(first)) => {
                    let second = arg.name.as_ref().map_or(arg.value.span, |name| name.span);
                    let name = at.and_then(|at| names().nth(at)).unwrap_or_default();
                    self.report(report::argument_twice(name, first.value.span, second));
                }
                None => {
                    self.argument_value(&Ty::Error, &arg.value);
                    self.report(match &arg.name {
                        Some(name) => {
                            report::unknown_argument(name.span, signature.name, &name.name, names())
                        }
                        None => report::too_many(span, signature.name, signature.params.len(), args.len()),
                    });
                    if arg.name.is_none() {
                        break;
                    }
                }
            }
        }
        slots
    }

    /// Checks one argument. An argument can be the name of a function or of a distribution.
    pub fn argument_value(&mut self, wanted: &Ty, written: &ast::Expr) -> TypedExpr {
        let name = match &*written.kind {
            ast::ExprKind::Name(name) if self.peek_local(name).is_none() => Some(name),
            _ => None,
        };
        match (wanted, name) {
            (Ty::Function(_) | Ty::Error, Some(name)) => {
                match (self.find_item(name), builtin::lookup(name)) {
                    (Some((Some(Def::Fn(id)), _)), _) => self.function_value(id, written.span),
                    (None, Some(builtin)) if matches!(builtin.rule, BuiltinRule::Elementwise(_)) => {
                        TypedExpr::new(
                            TypedExprKind::BuiltinValue(builtin),
                            Ty::Function(1),
                            written.span,
                        )
                    }
                    _ => self.expr(written, Want::Any),
                }
            }
            _ if *wanted == Ty::int() => self.expr(written, Want::Int),
            (Ty::ShapedLayer, _) => self.layer_argument(written),
            _ => self.expr(written, Want::Any),
        }
    }

    fn function_value(&mut self, id: FnId, span: Span) -> TypedExpr {
        let item = &self.module.fns[id];
        let fits = matches!(&item.params[..], [param] if param.param.ty.is_scalar());
        if !fits || !item.result.is_scalar() {
            let found = format!("a function of {}", count(item.params.len(), "parameter"));
            return self.error(report::mismatch(span, "a function of one real", &found), span);
        }
        if let Some((at, what)) = lift::obstacle(item) {
            let diagnostic = report::does_not_lift(span, &item.name, "it as an argument", at, &what);
            return self.error(diagnostic, span);
        }
        TypedExpr::new(TypedExprKind::FnValue(id), Ty::Function(1), span)
    }

    /// Rewrites a default value of a callee as an expression of the caller.
    fn instantiate(
        &mut self,
        default: &TypedExpr,
        known: &HashMap<LocalId, TypedExpr>,
        solver: &Solver,
        span: Span,
    ) -> TypedExpr {
        if let TypedExprKind::Local(local) = &default.kind {
            if let Some(value) = known.get(local) {
                return value.clone();
            }
            if let Some((dim, _)) = solver.get(*local) {
                return dim_expr(dim, span);
            }
        }
        let mut expr = default.clone();
        expr.ty = solver.ty(&expr.ty);
        let mut inner = known.clone();
        if let TypedExprKind::Comprehension(comprehension) | TypedExprKind::Reduce(_, comprehension) =
            &mut expr.kind
        {
            let name: Arc<str> = format!("_{}", comprehension.counter.0).into();
            let local = crate::tree::Local {
                name,
                ty: Ty::int(),
                span,
                kind: LocalKind::Counter,
            };
            let fresh = self.locals.push(local);
            self.statics.insert(fresh, DimExpr::atom(Atom::Local(fresh)));
            let value = TypedExpr::new(TypedExprKind::Local(fresh), Ty::int(), span);
            inner.insert(comprehension.counter, value);
            comprehension.counter = fresh;
        }
        for part in walk::children_mut(&mut expr) {
            *part = self.instantiate(part, &inner, solver, span);
        }
        expr
    }
}

/// Converts a dimension into an expression.
pub fn dim_expr(dim: &DimExpr, span: Span) -> TypedExpr {
    let expr = |kind: TypedExprKind| TypedExpr::new(kind, Ty::int(), span);
    let binary =
        |op: BinaryOp, a: TypedExpr, b: TypedExpr| expr(TypedExprKind::Binary(op, Box::new(a), Box::new(b)));
    let mut sum: Option<TypedExpr> = None;
    for (atoms, coefficient) in &dim.terms {
        let mut term =
            (*coefficient != 1 || atoms.is_empty()).then(|| expr(TypedExprKind::Int(*coefficient)));
        for atom in atoms {
            let factor = match atom {
                Atom::Local(local) => expr(TypedExprKind::Local(*local)),
                Atom::Meta(_) => error(span),
                Atom::Div(a, b) => binary(BinaryOp::Div, dim_expr(a, span), dim_expr(b, span)),
            };
            term = Some(match term {
                Some(term) => binary(BinaryOp::Mul, term, factor),
                None => factor,
            });
        }
        sum = match (sum, term) {
            (Some(sum), Some(term)) => Some(binary(BinaryOp::Add, sum, term)),
            (sum, term) => sum.or(term),
        };
    }
    sum.unwrap_or_else(|| expr(TypedExprKind::Int(0)))
}

/// Adds the lifted dims to a scalar result type.
pub fn lifted(ty: Ty, dims: &[DimExpr]) -> Ty {
    match ty {
        Ty::Tensor(elem, own) if own.is_empty() => Ty::Tensor(elem, dims.to_vec()),
        other => other,
    }
}

fn first_meta(dim: &DimExpr) -> Option<u32> {
    if !has_meta(dim) {
        return None;
    }
    dim.terms.keys().flatten().find_map(|atom| match atom {
        Atom::Meta(meta) => Some(meta.0),
        Atom::Local(_) => None,
        Atom::Div(a, b) => first_meta(a).or_else(|| first_meta(b)),
    })
}
