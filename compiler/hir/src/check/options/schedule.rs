//! Reads a schedule of the learning rate: `cosine`, `steps([150, 225], 0.1)`, `warmup(5, cosine)`.

use super::number;
use crate::check::session::CheckSession;
use crate::diagnostics::{count, infer as report};
use bnnc_abi::manifest::{RateSchedule, ScheduleArgument, ScheduleForm, ScheduleValue};
use bnnc_base::quoted::quoted;
use bnnc_base::source::Span;
use bnnc_grammar::ast;

/// Reads the schedule of the option `option`.
pub(super) fn schedule(
    session: &mut CheckSession<'_>,
    option: &str,
    written: &ast::Expr,
) -> Option<RateSchedule> {
    let words: Vec<&str> = RateSchedule::FORMS.iter().map(|form| form.word).collect();
    let written = written.without_parentheses();
    let (callee, args) = written.as_call();
    let Some(word) = callee.as_name() else {
        let expected = format!("one of {}", quoted(words));
        return session.wrong_value(written.span, option, &expected);
    };
    let Some(form) = RateSchedule::FORMS.iter().find(|form| *form.word == **word) else {
        return session.reject(report::option_word(callee.span, option, word, &words));
    };
    if args.len() != form.arguments.len() {
        let expected = format!("`{}`, found {}", form.source(), count(args.len(), "argument"));
        return session.wrong_value(written.span, option, &expected);
    }
    let ordered = ordered(session, (written.span, option), form, args)?;
    let arguments = form.arguments.iter().zip(ordered);
    // All arguments are read before the results are combined, so that every error is reported.
    let values: Vec<Option<ScheduleValue>> = arguments
        .map(|((name, kind), written)| {
            let expected = format!("`{word}` where `{name}` {}", kind.expected());
            argument(session, (option, &expected), *kind, written)
        })
        .collect();
    RateSchedule::of(form.word, &values.into_iter().collect::<Option<Vec<_>>>()?)
}

/// Returns the arguments in the order of the form. Unnamed arguments come first, by their place; named arguments are
/// matched by their names.
fn ordered<'a>(
    session: &mut CheckSession<'_>,
    place: (Span, &str),
    form: &ScheduleForm,
    args: &'a [ast::Arg],
) -> Option<Vec<&'a ast::Expr>> {
    let unnamed = args.iter().take_while(|arg| arg.name.is_none()).count();
    let value = |at: usize, name: &str| match at < unnamed {
        true => Some(&args[at].value),
        false => {
            let is_named = |arg: &&ast::Arg| arg.name.as_ref().is_some_and(|own| *own.name == *name);
            args[unnamed..].iter().find(is_named).map(|arg| &arg.value)
        }
    };
    let arguments = form.arguments.iter().enumerate();
    let ordered: Option<Vec<&ast::Expr>> = arguments.map(|(at, (name, _))| value(at, name)).collect();
    ordered.or_else(|| {
        let names = quoted(form.arguments.iter().map(|(name, _)| *name));
        let expected = format!("`{}` with the arguments {names}", form.word);
        session.wrong_value(place.0, place.1, &expected)
    })
}

/// Reads an argument of a schedule. `expected` describes a schedule that has an argument of this kind.
fn argument(
    session: &mut CheckSession<'_>,
    (option, expected): (&str, &str),
    kind: ScheduleArgument,
    written: &ast::Expr,
) -> Option<ScheduleValue> {
    if kind == ScheduleArgument::Schedule {
        return schedule(session, option, written).map(ScheduleValue::Schedule);
    }
    let is_list = matches!(&*written.without_parentheses().kind, ast::ExprKind::List(_));
    let elements = match (kind == ScheduleArgument::Times, is_list) {
        (true, true) => written.elements(),
        (true, false) => return session.wrong_value(written.span, option, expected),
        (false, _) => std::slice::from_ref(written),
    };
    let numbers = elements
        .iter()
        .map(|element| number(session, option, expected, element));
    let numbers: Vec<Option<f64>> = numbers.collect();
    let numbers = numbers.into_iter().collect::<Option<Vec<f64>>>()?;
    if !kind.allows(&numbers) {
        return session.wrong_value(written.span, option, expected);
    }
    match (kind, &numbers[..]) {
        (ScheduleArgument::Times, _) => Some(ScheduleValue::Numbers(numbers)),
        (_, &[number]) => Some(ScheduleValue::Number(number)),
        _ => None,
    }
}
