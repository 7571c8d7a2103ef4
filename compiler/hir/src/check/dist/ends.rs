//! The properties that a distribution declares about the ends of its support: `lowest`, `highest`, `tails`, `low_tail`, `high_tail`.

use crate::check::body::{BodyKind, Checker};
use crate::check::expr::Want;
use crate::diagnostics::statements;
use crate::tree::{DistItem, TypedExpr};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{self, DefinitionKind, ExprKind};
use bnnc_graph::dist::{Support, TailKind};

/// The lower end of the support, if a parameter determines it.
pub const LOWEST: &str = "lowest";
/// The upper end of the support, if a parameter determines it.
pub const HIGHEST: &str = "highest";
/// The decay of the density at both ends.
pub const TAILS: &str = "tails";
/// The decay of the density at the lower end.
pub const LOW_TAIL: &str = "low_tail";
/// The decay of the density at the upper end.
pub const HIGH_TAIL: &str = "high_tail";

/// Returns whether a definition describes an end.
pub fn is_of_end(name: &str) -> bool {
    [LOWEST, HIGHEST, TAILS, LOW_TAIL, HIGH_TAIL].contains(&name)
}

/// Checks a definition that describes an end.
pub fn definition(body: &mut Checker<'_>, line: &ast::Definition, dist: &mut DistItem) {
    let name = &*line.name.name;
    let form = || statements::definition_form(line.span, name);
    if !matches!(line.kind, DefinitionKind::Value) {
        return body.report(form());
    }
    body.place = BodyKind::Dist;
    if name == LOWEST || name == HIGHEST {
        let value = number(body, &line.value);
        dist.ends[usize::from(name == HIGHEST)].at = Some(value);
        return;
    }
    let (word, given) = match &*line.value.kind {
        ExprKind::Name(word) => (word, &[][..]),
        ExprKind::Call(word, given) => match &*word.kind {
            ExprKind::Name(word) => (word, &given[..]),
            _ => return body.report(form().help(help())),
        },
        _ => return body.report(form().help(help())),
    };
    let Some(kind) = TailKind::ALL.into_iter().find(|kind| kind.name() == &**word) else {
        return body.report(form().help(help()));
    };
    if given.len() != kind.numbers().len() || given.iter().any(|arg| arg.name.is_some()) {
        return body.report(form().help(help()));
    }
    let numbers: Vec<TypedExpr> = given.iter().map(|arg| number(body, &arg.value)).collect();
    for (side, own) in [LOW_TAIL, HIGH_TAIL].into_iter().enumerate() {
        if name == TAILS || name == own {
            dist.ends[side].tail = Some((kind, numbers.clone()));
        }
    }
}

fn number(body: &mut Checker<'_>, value: &ast::Expr) -> TypedExpr {
    let value = body.expr(value, Want::Any);
    let dims = match &value.ty {
        Ty::Tensor(_, dims) => dims.clone(),
        _ => Vec::new(),
    };
    body.expect(&value, &Ty::Tensor(Elem::Real(Support::Real), dims));
    value
}

fn help() -> String {
    let forms = TailKind::ALL.map(|kind| match kind.numbers() {
        [] => format!("`{}`", kind.name()),
        numbers => format!("`{}({})`", kind.name(), numbers.join(", ")),
    });
    format!("a density falls like {}", forms.join(", "))
}
