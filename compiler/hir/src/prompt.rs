//! Checks REPL entries. An entry may use the variables of earlier entries.

use crate::check::body::{BodyKind, Calls, Checker, DistValue};
use crate::check::made::Made;
use crate::check::names::ItemNames;
use crate::dims::DimExpr;
use crate::tree::{Local, LocalId, LocalKind, Locals, Module, TypedExpr, TypedStmt};
use crate::types::Ty;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use std::collections::HashMap;
use std::sync::Arc;

/// The variables of a REPL session. A later variable hides an earlier one with the same name.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// All variables, including hidden ones.
    pub locals: Locals,
    /// The variable to which each name currently refers.
    pub scope: HashMap<Arc<str>, LocalId>,
    statics: HashMap<LocalId, DimExpr>,
    dist_values: HashMap<LocalId, DistValue>,
    made: HashMap<LocalId, Made>,
    calls: Calls,
}

impl Environment {
    /// Adds a variable that the session computes itself, such as the draws of a posterior's parameter.
    pub fn define(&mut self, name: Arc<str>, ty: Ty, span: Span) -> LocalId {
        let local = self.locals.push(Local {
            name: name.clone(),
            ty,
            span,
            kind: LocalKind::Param,
        });
        self.scope.insert(name, local);
        local
    }
}

/// Checks an expression. Also returns the variables of the session and the counters of the
/// expression.
pub fn check_expr(
    module: &Module,
    environment: &Environment,
    written: &ast::Expr,
) -> (TypedExpr, Locals, Vec<Diagnostic>) {
    let names = ItemNames::of(module);
    let mut body = enter(module, &names, environment);
    let expr = body.argument_value(&Ty::Error, written);
    (expr, body.locals, body.diagnostics)
}

/// Checks a statement, `x = 1` or `w ~ Normal(0, 1)`. If the statement does not have errors, its
/// variable is added to the environment.
pub fn check_entry(
    module: &Module,
    environment: &mut Environment,
    written: &ast::Stmt,
) -> (Option<TypedStmt>, Vec<Diagnostic>) {
    let names = ItemNames::of(module);
    let mut body = enter(module, &names, environment);
    let stmt = body.stmt(written, None);
    if body.diagnostics.iter().any(Diagnostic::is_error) {
        return (None, body.diagnostics);
    }
    let next = Environment {
        scope: body.scopes.into_iter().next().unwrap_or_default(),
        locals: body.locals,
        statics: body.statics,
        dist_values: body.dist_values,
        made: body.made,
        calls: body.calls,
    };
    *environment = next;
    (stmt, body.diagnostics)
}

fn enter<'a>(module: &'a Module, names: &'a ItemNames, environment: &Environment) -> Checker<'a> {
    let mut body = Checker::new(module, names, false, BodyKind::Prompt, &"prompt".into());
    body.locals = environment.locals.clone();
    body.scopes = vec![environment.scope.clone()];
    body.statics = environment.statics.clone();
    body.dist_values = environment.dist_values.clone();
    body.made = environment.made.clone();
    body.calls = environment.calls.clone();
    body
}
