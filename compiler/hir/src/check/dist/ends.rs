//! The properties of the ends of its support that a distribution can declare: `lowest`, `highest`, `tails`, `low_tail`, `high_tail`.

use crate::check::body::{BodyKind, Checker};
use crate::check::expr::Want;
use crate::diagnostics::statements;
use crate::tree::{DistItem, TypedExpr};
use crate::types::Ty;
use bnnc_grammar::ast::{self, DefinitionKind, ExprKind};
use bnnc_graph::dist::TailKind;

bnnc_base::named! {
    /// A property of a support that holds at one end or at both ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum EndProperty {
        /// The lower end of the support, if a parameter determines it.
        Lowest = "lowest",
        /// The upper end of the support, if a parameter determines it.
        Highest = "highest",
        /// The decay of the density at both ends.
        Tails = "tails",
        /// The decay of the density at the lower end.
        LowTail = "low_tail",
        /// The decay of the density at the upper end.
        HighTail = "high_tail",
    }
}

/// Checks a definition that describes an end.
pub fn definition(body: &mut Checker<'_>, line: &ast::Definition, end: EndProperty, dist: &mut DistItem) {
    let form = || statements::definition_form(line.span, end.name());
    if !matches!(line.kind, DefinitionKind::Value) {
        return body.report(form());
    }
    body.place = BodyKind::Dist;
    let sides = match end {
        EndProperty::Lowest | EndProperty::Highest => {
            let value = number(body, &line.value);
            dist.ends[usize::from(end == EndProperty::Highest)].at = Some(value);
            return;
        }
        EndProperty::Tails => 0..2,
        EndProperty::LowTail => 0..1,
        EndProperty::HighTail => 1..2,
    };
    let (word, given) = match &*line.value.kind {
        ExprKind::Name(word) => (word, &[][..]),
        ExprKind::Call(word, given) => match &*word.kind {
            ExprKind::Name(word) => (word, &given[..]),
            _ => return body.report(form().help(help())),
        },
        _ => return body.report(form().help(help())),
    };
    let Some(kind) = TailKind::from_name(word) else {
        return body.report(form().help(help()));
    };
    if given.len() != kind.numbers().len() || given.iter().any(|arg| arg.name.is_some()) {
        return body.report(form().help(help()));
    }
    let numbers: Vec<TypedExpr> = given.iter().map(|arg| number(body, &arg.value)).collect();
    for side in sides {
        dist.ends[side].tail = Some((kind, numbers.clone()));
    }
}

fn number(body: &mut Checker<'_>, value: &ast::Expr) -> TypedExpr {
    let value = body.expr(value, Want::Any);
    body.expect(&value, &Ty::reals(value.ty.dims().to_vec()));
    value
}

fn help() -> String {
    let forms = TailKind::ALL.map(|kind| match kind.numbers() {
        [] => format!("`{}`", kind.name()),
        numbers => format!("`{}({})`", kind.name(), numbers.join(", ")),
    });
    format!("a density falls like {}", forms.join(", "))
}
