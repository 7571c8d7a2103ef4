//! Checks the value that selects the random weights: `all`, `last_layer`, names, or `subnetwork(size, by =
//! score)`.

use super::{infer, names, number};
use crate::check::names::Def;
use crate::check::session::CheckSession;
use crate::diagnostics::infer as report;
use crate::tree::SettingValue;
use bnnc_abi::method::OptionDef;
use bnnc_grammar::ast;

const EXPECTED: &str = "`all`, `last_layer`, names in brackets, or `subnetwork(size, by = score)`";

pub(super) fn weights(
    session: &mut CheckSession<'_>,
    (def, own): (&OptionDef, &str),
    scores: &[&str],
    written: &ast::Expr,
) -> Option<SettingValue> {
    match &*written.without_parentheses().kind {
        ast::ExprKind::Name(name) if matches!(&**name, "all" | "last_layer") => {
            return Some(SettingValue::Word(name.clone()));
        }
        ast::ExprKind::List(elements) if !elements.is_empty() => {
            if let Some(names) = names(session, written) {
                return Some(SettingValue::Names(names));
            }
        }
        ast::ExprKind::Call(callee, args) if callee.as_name().is_some_and(|word| &**word == "subnetwork") => {
            return subnetwork(session, (def, own), scores, (written, args));
        }
        _ => {}
    }
    session.wrong_value(written.span, def.name, EXPECTED)
}

fn subnetwork(
    session: &mut CheckSession<'_>,
    (def, own): (&OptionDef, &str),
    scores: &[&str],
    (written, args): (&ast::Expr, &[ast::Arg]),
) -> Option<SettingValue> {
    let wrong = |session: &mut CheckSession<'_>, expected: &str| {
        session.wrong_value(written.span, def.name, expected)
    };
    let named = |arg: &&ast::Arg| arg.name.as_ref().is_some_and(|name| &*name.name == "by");
    let (by, rest): (Vec<&ast::Arg>, Vec<&ast::Arg>) = args.iter().partition(named);
    let is_size = |arg: &ast::Arg| arg.name.as_ref().is_none_or(|name| &*name.name == "size");
    let ([size_written], [] | [_], true) = (&rest[..], &by[..], rest.iter().all(|arg| is_size(arg))) else {
        return wrong(session, "`subnetwork(size, by = score)`");
    };
    let expected = "a whole number of weights, or a fraction of them below 1";
    let size = number(session, def.name, expected, &size_written.value)?;
    // A user who writes fractions may use 1.0 to select all weights, but the size 1 selects one
    // weight.
    let is_fraction = matches!(
        &*size_written.value.without_parentheses().kind,
        ast::ExprKind::Real(..)
    );
    if is_fraction && size == 1.0 {
        return wrong(
            session,
            &format!("{expected}: `1` means one weight; for all weights write `over = all`"),
        );
    }
    let whole = size >= 1.0 && size.fract() == 0.0 && size < 1e12;
    if !(whole || size > 0.0 && size < 1.0) {
        return wrong(session, &format!("{expected}, found {size}"));
    }
    let Some(by) = by.first() else {
        return Some(SettingValue::Subnetwork(size, "diagonal".into(), None));
    };
    let Some(score) = by.value.as_name() else {
        return wrong(session, "the name of a score after `by =`");
    };
    if scores.contains(&&**score) {
        return Some(SettingValue::Subnetwork(size, score.clone(), None));
    }
    if session.find(score).is_none() {
        let infers = session.names.all(|def| matches!(def, Def::Infer(_)));
        let earlier = infers.into_iter().filter(|infer| *infer != own);
        let names: Vec<&str> = scores.iter().copied().chain(earlier).collect();
        let diagnostic = report::option_word(by.value.span, "by", score, &names);
        return session.reject(diagnostic);
    }
    match infer(session, def.name, &by.value)? {
        SettingValue::Infer(id) => Some(SettingValue::Subnetwork(size, score.clone(), Some(id))),
        _ => None,
    }
}
