//! Checks the value that selects the random weights: `all`, `last_layer`, names, or `subnetwork(size, by =
//! score)`.

use super::{infer, number, word};
use crate::check::names::Def;
use crate::check::posterior::path_text;
use crate::check::session::CheckSession;
use crate::diagnostics::infer as report;
use crate::tree::SettingValue;
use bnnc_abi::method::OptionDef;
use bnnc_grammar::ast;
use std::sync::Arc;

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
            let names = elements
                .iter()
                .map(|element| path_text(session, element).map(Arc::from));
            if let Some(names) = names.collect::<Option<Vec<_>>>() {
                return Some(SettingValue::Names(names));
            }
        }
        ast::ExprKind::Call(callee, args) if word(callee).as_deref() == Some("subnetwork") => {
            return subnetwork(session, (def, own), scores, (written, args));
        }
        _ => {}
    }
    let diagnostic = report::option_value(written.span, def.name, EXPECTED);
    session.diagnostics.push(diagnostic);
    None
}

fn subnetwork(
    session: &mut CheckSession<'_>,
    (def, own): (&OptionDef, &str),
    scores: &[&str],
    (written, args): (&ast::Expr, &[ast::Arg]),
) -> Option<SettingValue> {
    let wrong = |session: &mut CheckSession<'_>, expected: &str| {
        let diagnostic = report::option_value(written.span, def.name, expected);
        session.diagnostics.push(diagnostic);
        None
    };
    let named = |arg: &&ast::Arg| arg.name.as_ref().is_some_and(|name| &*name.name == "by");
    let (by, rest): (Vec<&ast::Arg>, Vec<&ast::Arg>) = args.iter().partition(named);
    let ([size_written], [] | [_]) = (rest.as_slice(), by.as_slice()) else {
        return wrong(session, "`subnetwork(size, by = score)`");
    };
    if size_written
        .name
        .as_ref()
        .is_some_and(|name| &*name.name != "size")
    {
        return wrong(session, "`subnetwork(size, by = score)`");
    }
    let expected = "a whole number of weights, or a fraction of them below 1";
    let size = number(session, def.name, expected, &size_written.value)?;
    // A user who writes fractions may write 1.0 to select all weights. The size 1, however, selects
    // one weight.
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
    let Some(score) = word(&by.value) else {
        return wrong(session, "the name of a score after `by =`");
    };
    if scores.contains(&&*score) {
        return Some(SettingValue::Subnetwork(size, score, None));
    }
    if session.find(&score).is_none() {
        let infers = session.names.all(|def| matches!(def, Def::Infer(_)));
        let earlier = infers.into_iter().filter(|infer| *infer != own);
        let names: Vec<&str> = scores.iter().copied().chain(earlier).collect();
        let diagnostic = report::option_word(by.value.span, "by", &score, &names);
        session.diagnostics.push(diagnostic);
        return None;
    }
    match infer(session, def.name, &by.value)? {
        SettingValue::Infer(id) => Some(SettingValue::Subnetwork(size, score, Some(id))),
        _ => None,
    }
}
