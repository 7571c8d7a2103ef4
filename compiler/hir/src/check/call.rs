//! Calls: which argument goes where, and what the callee's dims are.

use super::body::{Body, error};
use super::expr::Want;
use super::names::Def;
use super::solve::{Solver, has_meta};
use crate::builtin::{self, Rule};
use crate::dims::{Atom, Dim};
use crate::lift;
use crate::report::{names as report_names, types as report};
use crate::show;
use crate::tree::{Binding, Expr, ExprKind, FnId, LocalId, LocalKind, Locals};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, BinaryOp};
use bnnc_graph::dist::Support;
use std::collections::HashMap;
use std::sync::Arc;

/// What a callee wants.
#[derive(Clone, Copy)]
pub struct Signature<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its parameters.
    pub params: &'s [Binding],
    /// Its variables, for names of dims in messages.
    pub locals: &'s Locals,
    /// Whether arrays may stand where scalars are wanted.
    pub lifts: Lifts<'s>,
}

/// Whether a callee works elementwise on arrays.
#[derive(Clone, Copy)]
pub enum Lifts<'s> {
    /// It does.
    Yes,
    /// It has arrays of its own.
    No,
    /// It would, but for this.
    But(Span, &'s str),
}

/// Checked arguments in declared order, and the dims over which a lifted call works.
pub struct Arguments {
    /// In declared order.
    pub values: Vec<Expr>,
    /// Empty where nothing was lifted.
    pub lifted: Vec<Dim>,
}

/// The parameter that a value is for: its name, the callee's variables, and the dims that are lifted so far.
pub struct Slot<'s> {
    /// The parameter.
    pub name: &'s str,
    /// Whose it is.
    pub signature: Signature<'s>,
    /// Dims of arrays that stand where scalars are wanted, and the first of these arrays.
    pub lifted: &'s mut Option<(Vec<Dim>, Span)>,
}

impl Body<'_> {
    /// `f(..)`, `Layer(..)`, `Dist(..)`, `h(x)`, `prior.log_density(x)`.
    pub fn call(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Expr {
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

    fn call_name(&mut self, name: &Arc<str>, at: Span, args: &[ast::Arg], span: Span) -> Expr {
        if let Some(local) = self.peek_local(name) {
            let ty = self.locals[local].ty.clone();
            let item = self.find_item(name).is_some() || builtin::lookup(name).is_some();
            // A parameter called `cholesky` does not hide the function `cholesky(a)`.
            if matches!(ty, Ty::Function(_) | Ty::Layer(_) | Ty::Error) || !item {
                self.used.insert(local);
                let callee = Expr { kind: ExprKind::Local(local), ty, span: at };
                return self.call_value(callee, args, span);
            }
        }
        match self.find_item(name) {
            Some((None, _)) => self.skip(args, span),
            Some((Some(Def::Fn(id)), _)) => self.call_fn(id, args, span),
            Some((Some(Def::Dist(id)), _)) => self.make_dist(id, args, span).0,
            Some((Some(Def::Layer(_)), _)) => {
                self.skip(args, span);
                self.error(crate::report::model::unnamed_layer(span), span)
            }
            Some((Some(def), declared)) => {
                self.skip(args, span);
                let expected = "a function, a layer or a distribution";
                self.error(report_names::wrong_kind(at, name, expected, def.kind(), declared), span)
            }
            None => match builtin::lookup(name) {
                Some(builtin) => self.call_builtin(builtin, args, span),
                None => {
                    self.skip(args, span);
                    self.unknown_name(name, at)
                }
            },
        }
    }

    fn call_value(&mut self, callee: Expr, args: &[ast::Arg], span: Span) -> Expr {
        match (&callee.ty, &callee.kind) {
            (Ty::Layer(layer), _) => {
                let layer = *layer;
                self.call_layer(callee, layer, args, span)
            }
            (Ty::Function(_), ExprKind::Local(local)) => self.call_function_value(*local, args, span),
            (Ty::Error, _) => self.skip(args, span),
            (found, _) => {
                let found = show::ty(found, &self.locals);
                self.skip(args, span);
                self.error(report::not_callable(callee.span, &found), span)
            }
        }
    }

    /// Checks arguments of a call that is already wrong.
    pub fn skip(&mut self, args: &[ast::Arg], span: Span) -> Expr {
        for arg in args {
            self.argument_value(&Ty::Error, &arg.value);
        }
        error(span)
    }

    fn call_function_value(&mut self, local: LocalId, args: &[ast::Arg], span: Span) -> Expr {
        let name = self.locals[local].name.clone();
        let values: Vec<Expr> = args.iter().map(|arg| self.expr(&arg.value, Want::Any)).collect();
        if values.len() != 1 {
            return self.error(report::too_many(span, &name, 1, values.len()), span);
        }
        let ty = self.real_like(&values[0], &name);
        Expr { kind: ExprKind::CallLocal(local, values), ty, span }
    }

    /// The type of an elementwise function of one real.
    fn real_like(&mut self, value: &Expr, name: &str) -> Ty {
        match &value.ty {
            Ty::Error => Ty::Error,
            Ty::Tensor(elem, dims) if *elem != Elem::Bool => Ty::Tensor(Elem::Real(Support::Real), dims.clone()),
            found => {
                let found = show::ty(found, &self.locals);
                self.report(report::argument_mismatch(value.span, name, "a number", &found));
                Ty::Error
            }
        }
    }

    fn call_fn(&mut self, id: FnId, args: &[ast::Arg], span: Span) -> Expr {
        let item = &self.module.fns[id];
        let scalar = |ty: &Ty| matches!(ty, Ty::Tensor(_, dims) if dims.is_empty());
        let obstacle = lift::obstacle(item);
        let lifts = match (&obstacle, item.params.iter().all(|param| scalar(&param.param.ty)) && scalar(&item.result)) {
            (_, false) => Lifts::No,
            (None, true) => Lifts::Yes,
            (Some((at, what)), true) => Lifts::But(*at, what),
        };
        let signature = Signature { name: &item.name, params: &item.params, locals: &item.locals, lifts };
        let mut solver = Solver::default();
        let before = self.diagnostics.len();
        let Some(arguments) = self.arguments(signature, args, span, &mut solver) else { return error(span) };
        if self.diagnostics.len() > before {
            return error(span);
        }
        let ty = self.result(&solver.ty(&item.result), signature, span);
        let ty = lifted(ty, &arguments.lifted);
        Expr { kind: ExprKind::CallFn(id, arguments.values), ty, span }
    }

    /// A result type in the caller's names; reports dims that nothing determines.
    pub fn result(&mut self, ty: &Ty, signature: Signature<'_>, span: Span) -> Ty {
        let Ty::Tensor(elem, dims) = ty else { return ty.clone() };
        let sizes = dims.iter().chain(match elem {
            Elem::Index(size) => Some(size),
            _ => None,
        });
        for dim in sizes {
            if let Some(meta) = first_meta(dim) {
                let name = show::name(LocalId(meta), signature.locals);
                // An integer parameter whose argument is not static.
                self.report(report::dim_unsolved(span, signature.name, &name));
                return Ty::Error;
            }
        }
        ty.clone()
    }

    /// Puts arguments in order, checks them, fills in defaults. `None` where an argument is missing.
    pub fn arguments(
        &mut self,
        signature: Signature<'_>,
        args: &[ast::Arg],
        span: Span,
        solver: &mut Solver,
    ) -> Option<Arguments> {
        let before = self.diagnostics.len();
        let slots = self.slots(signature, args, span);
        let misplaced = self.diagnostics.len() > before;
        let params = signature.params;
        let mut values: Vec<Option<Expr>> = slots
            .iter()
            .zip(params)
            .map(|(slot, param)| slot.map(|arg| self.argument_value(&param.param.ty, &arg.value)))
            .collect();
        // Integers first: the dims of arrays are made of them.
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
                let slot = Slot { name: &param.param.name, signature, lifted: &mut lifts };
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
                    let known = params.iter().zip(&values).filter_map(|(p, v)| Some((p.local, v.clone()?))).collect();
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
            // A misspelt argument is not missing as well.
            if !misplaced {
                self.report(report::missing(span, signature.name, &missing));
            }
            return None;
        }
        let lifted = lifts.map(|(dims, _)| dims).unwrap_or_default();
        Some(Arguments { values: values.into_iter().flatten().collect(), lifted })
    }

    /// The argument for each parameter.
    pub fn slots<'w>(&mut self, signature: Signature<'_>, args: &'w [ast::Arg], span: Span) -> Vec<Option<&'w ast::Arg>> {
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
                        Some(name) => report::unknown_argument(name.span, signature.name, &name.name, names()),
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

    /// Checks one argument: functions and distributions can be given by name.
    pub fn argument_value(&mut self, wanted: &Ty, written: &ast::Expr) -> Expr {
        let name = match &*written.kind {
            ast::ExprKind::Name(name) if self.peek_local(name).is_none() => Some(name),
            _ => None,
        };
        match (wanted, name) {
            (Ty::Function(_) | Ty::Error, Some(name)) => match (self.find_item(name), builtin::lookup(name)) {
                (Some((Some(Def::Fn(id)), _)), _) => self.function_value(id, written.span),
                (None, Some(builtin)) if builtin.rule == Rule::Elementwise && builtin.params.len() == 1 => {
                    Expr { kind: ExprKind::BuiltinValue(builtin), ty: Ty::Function(1), span: written.span }
                }
                _ => self.expr(written, Want::Any),
            },
            _ => self.expr(written, if *wanted == Ty::int() { Want::Int } else { Want::Any }),
        }
    }

    fn function_value(&mut self, id: FnId, span: Span) -> Expr {
        let item = &self.module.fns[id];
        let scalar = |ty: &Ty| matches!(ty, Ty::Tensor(_, dims) if dims.is_empty());
        let fits = item.params.len() == 1 && scalar(&item.params[0].param.ty) && scalar(&item.result);
        if !fits {
            let found = format!("a function of {}", crate::report::count(item.params.len(), "parameter"));
            return self.error(report::mismatch(span, "a function of one real", &found), span);
        }
        if let Some((at, what)) = lift::obstacle(item) {
            return self.error(report::does_not_lift(span, &item.name, "it as an argument", at, &what), span);
        }
        Expr { kind: ExprKind::FnValue(id), ty: Ty::Function(1), span }
    }

    /// Checks a value against a wanted type; with a slot, messages name the parameter and scalars may be lifted.
    pub fn fit(&mut self, value: &Expr, wanted: &Ty, solver: &mut Solver, slot: Option<Slot<'_>>) -> bool {
        let what = slot.as_ref().map(|slot| slot.name.to_owned());
        let fits = match (wanted, &value.ty) {
            (Ty::Error, _) | (_, Ty::Error) => return true,
            (Ty::Tensor(elem, dims), Ty::Tensor(found, found_dims)) => {
                let fits = elem_fits(elem, found, solver, value.span);
                match slot {
                    Some(slot) if fits && dims.is_empty() && !found_dims.is_empty() => {
                        return self.lift(value, found_dims, slot)
                            && self.check_support(value, elem, what.as_deref(), solver);
                    }
                    _ => {
                        fits && dims.len() == found_dims.len()
                            && dims.iter().zip(found_dims).all(|(dim, found)| solver.meet(dim, found, value.span))
                    }
                }
            }
            (Ty::Dist(Elem::Real(Support::Real)), Ty::Dist(found)) => {
                return self.fit_dist(value, found, slot);
            }
            (wanted, found) => wanted == found,
        };
        if fits {
            let Ty::Tensor(elem, _) = wanted else { return true };
            return self.check_support(value, elem, what.as_deref(), solver);
        }
        let expected = match wanted {
            Ty::Dist(_) => "a distribution on real".to_owned(),
            Ty::Function(_) => "a function of one real".to_owned(),
            wanted => show::ty(&solver.ty(wanted), &self.locals),
        };
        let found = show::ty(&value.ty, &self.locals);
        let mut diagnostic = match &what {
            Some(name) => report::argument_mismatch(value.span, name, &expected, &found),
            None => report::mismatch(value.span, &expected, &found),
        };
        if let (Ty::Tensor(elem, dims), Ty::Tensor(found, found_dims)) = (&solver.ty(wanted), &value.ty) {
            if let Some(hint) = super::operators::column_hint(found_dims, dims) {
                diagnostic = diagnostic.help(hint);
            }
            if *found == Elem::Bool && *elem != Elem::Bool {
                diagnostic = diagnostic.help("write `if c { 1 } else { 0 }`");
            }
        }
        if let Ty::Tensor(_, dims) = wanted {
            let at = dims.iter().find_map(|dim| bound_by(dim, solver));
            if let Some((dim, span)) = at.filter(|(_, span)| *span != value.span) {
                diagnostic = diagnostic.also(span, format!("{} comes from here", show::dim(&dim, &self.locals)));
            }
        }
        self.report(diagnostic);
        false
    }

    fn fit_dist(&mut self, value: &Expr, found: &Elem, slot: Option<Slot<'_>>) -> bool {
        let known = self.dist_value(value);
        let joint = known.as_ref().is_some_and(|known| !known.elementwise);
        if joint || *found != Elem::Real(Support::Real) {
            let found = match joint {
                true => "a joint distribution".to_owned(),
                false => format!("a distribution on {}", show::elem(found, &self.locals)),
            };
            let expected = "a distribution on real";
            self.report(match slot {
                Some(slot) => report::argument_mismatch(value.span, slot.name, expected, &found),
                None => report::mismatch(value.span, expected, &found),
            });
            return false;
        }
        match (slot, known) {
            (Some(slot), Some(known)) if !known.dims.is_empty() => self.lift(value, &known.dims, slot),
            _ => true,
        }
    }

    /// An array where a scalar is wanted.
    fn lift(&mut self, value: &Expr, dims: &[Dim], slot: Slot<'_>) -> bool {
        let found = match &value.ty {
            Ty::Dist(_) => format!("a distribution over {}", show::brackets(dims, &self.locals)),
            ty => show::ty(ty, &self.locals),
        };
        match slot.signature.lifts {
            Lifts::Yes => {}
            Lifts::No => {
                self.report(report::argument_mismatch(value.span, slot.name, "a scalar", &found));
                return false;
            }
            Lifts::But(at, what) => {
                self.report(report::does_not_lift(value.span, slot.signature.name, &found, at, what));
                return false;
            }
        }
        match slot.lifted {
            None => {
                *slot.lifted = Some((dims.to_vec(), value.span));
                true
            }
            Some((first, at)) => {
                let same = first.len() == dims.len() && first.iter().zip(dims).all(|(a, b)| super::solve::equal(a, b));
                if !same {
                    let (a, b) = (format!("({})", show::list(first, &self.locals)), format!("({})", show::list(dims, &self.locals)));
                    let op = format!("`{}`", slot.signature.name);
                    let diagnostic = report::dims(value.span, &op, (&a, *at), (&b, value.span));
                    self.report(match super::operators::column_hint(first, dims) {
                        Some(help) => diagnostic.help(help),
                        None => diagnostic,
                    });
                }
                same
            }
        }
    }

    /// Whether a value can lie in the support of its place: what cannot be refuted is checked when it runs.
    pub fn check_support(&mut self, value: &Expr, wanted: &Elem, what: Option<&str>, solver: &Solver) -> bool {
        let (low, high) = crate::range::range(self.module, &self.locals, value);
        let refuted = match wanted {
            Elem::Real(support) => crate::range::refuted((low, high), *support),
            Elem::Count => high < 0.0,
            Elem::Index(size) => {
                let size = solver.dim(size).as_number().unwrap_or(i64::MAX) as f64;
                high < 0.0 || low >= size
            }
            Elem::Int | Elem::Bool => false,
        };
        if refuted {
            let expected = match wanted {
                Elem::Real(Support::Interval(low, high)) if low.is_finite() && high.is_finite() => {
                    format!("between {low} and {high}")
                }
                Elem::Real(support) => show::support(*support),
                other => show::elem(&solver.elem(other), &self.locals),
            };
            let what = what.map_or("this".to_owned(), |name| format!("`{name}`"));
            self.report(report::support(value.span, &what, &expected, &range_text(low, high)));
        }
        !refuted
    }

    /// A default of a callee as an expression of the caller.
    fn instantiate(&mut self, default: &Expr, known: &HashMap<LocalId, Expr>, solver: &Solver, span: Span) -> Expr {
        if let ExprKind::Local(local) = &default.kind {
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
        if let ExprKind::Comprehension(comprehension) | ExprKind::Reduce(_, comprehension) = &mut expr.kind {
            let name: Arc<str> = format!("_{}", comprehension.counter.0).into();
            let local = crate::tree::Local { name, ty: Ty::int(), span, kind: LocalKind::Counter };
            let fresh = self.locals.push(local);
            self.statics.insert(fresh, Dim::atom(Atom::Local(fresh)));
            let value = Expr { kind: ExprKind::Local(fresh), ty: Ty::int(), span };
            inner.insert(comprehension.counter, value);
            comprehension.counter = fresh;
        }
        for part in walk::children_mut(&mut expr) {
            *part = self.instantiate(part, &inner, solver, span);
        }
        expr
    }
}

/// A dimension as an expression.
pub fn dim_expr(dim: &Dim, span: Span) -> Expr {
    let expr = |kind: ExprKind| Expr { kind, ty: Ty::int(), span };
    let binary = |op: BinaryOp, a: Expr, b: Expr| expr(ExprKind::Binary(op, Box::new(a), Box::new(b)));
    let mut sum: Option<Expr> = None;
    for (atoms, coefficient) in &dim.terms {
        let mut term = (*coefficient != 1 || atoms.is_empty()).then(|| expr(ExprKind::Int(*coefficient)));
        for atom in atoms {
            let factor = match atom {
                Atom::Local(local) => expr(ExprKind::Local(*local)),
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
    sum.unwrap_or_else(|| expr(ExprKind::Int(0)))
}

/// A scalar result over lifted dims.
pub fn lifted(ty: Ty, dims: &[Dim]) -> Ty {
    match ty {
        Ty::Tensor(elem, own) if own.is_empty() => Ty::Tensor(elem, dims.to_vec()),
        other => other,
    }
}

/// Whether a value of one element type may stand where another is wanted.
fn elem_fits(wanted: &Elem, found: &Elem, solver: &mut Solver, span: Span) -> bool {
    match (wanted, found) {
        (Elem::Real(_), found) => *found != Elem::Bool,
        (Elem::Int | Elem::Count, Elem::Int | Elem::Count | Elem::Index(_)) => true,
        (Elem::Index(wanted), Elem::Index(found)) => solver.meet(wanted, found, span),
        (Elem::Index(_), Elem::Int | Elem::Count) => true,
        (Elem::Bool, Elem::Bool) => true,
        (Elem::Int | Elem::Count | Elem::Index(_), Elem::Real(_) | Elem::Bool) => false,
        (Elem::Bool, Elem::Real(_) | Elem::Int | Elem::Count | Elem::Index(_)) => false,
    }
}

fn first_meta(dim: &Dim) -> Option<u32> {
    if !has_meta(dim) {
        return None;
    }
    dim.terms.keys().flatten().find_map(|atom| match atom {
        Atom::Meta(meta) => Some(meta.0),
        Atom::Local(_) => None,
        Atom::Div(a, b) => first_meta(a).or_else(|| first_meta(b)),
    })
}

/// The argument that determined a callee's dimension.
fn bound_by(dim: &Dim, solver: &Solver) -> Option<(Dim, Span)> {
    dim.terms.keys().flatten().find_map(|atom| match atom {
        Atom::Local(local) => solver.get(*local).cloned(),
        Atom::Meta(_) | Atom::Div(..) => None,
    })
}

fn range_text(low: f64, high: f64) -> String {
    // No negative zero in messages.
    let (low, high) = (low + 0.0, high + 0.0);
    match (low, high) {
        (low, high) if low == high => format!("{low}"),
        (f64::NEG_INFINITY, high) => format!("at most {high}"),
        (low, f64::INFINITY) => format!("at least {low}"),
        (low, high) => format!("between {low} and {high}"),
    }
}
