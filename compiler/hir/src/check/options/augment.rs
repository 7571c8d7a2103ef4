//! Reads transformations of images: `[crop(4), flip, rotate(15)]`.

use super::{called, number, word};
use crate::check::session::CheckSession;
use crate::diagnostics::{count, infer as report};
use bnnc_abi::augmentation::{Augmentation, AugmentationForm};
use bnnc_base::source::Span;
use bnnc_grammar::ast;

/// Reads the transformations of the option `option`.
pub(super) fn augmentations(
    session: &mut CheckSession<'_>,
    option: &str,
    written: &ast::Expr,
) -> Option<Vec<Augmentation>> {
    let written = written.without_parentheses();
    let elements = match &*written.kind {
        ast::ExprKind::List(elements) if !elements.is_empty() => elements,
        _ => {
            let expected = "transformations in brackets, such as `[crop(4), flip]`";
            return wrong(session, (written.span, option), expected);
        }
    };
    // All elements are read before the results are combined, so that every error is reported.
    let all = elements.iter().map(|element| one(session, option, element));
    let all: Vec<Option<Augmentation>> = all.collect();
    let all = all.into_iter().collect::<Option<Vec<Augmentation>>>()?;
    for (at, later) in all.iter().enumerate() {
        if all[..at].iter().any(|earlier| earlier.word() == later.word()) {
            let expected = format!("each transformation once, found `{}` again", later.word());
            return wrong(session, (elements[at].span, option), &expected);
        }
    }
    match all.split_last() {
        Some((_, before)) if before.iter().any(|one| one.mixes()) => {
            let expected =
                "a list with `mixup` at its end, because rows are mixed after all other transformations";
            wrong(session, (written.span, option), expected)
        }
        _ => Some(all),
    }
}

/// Reads one transformation.
fn one(session: &mut CheckSession<'_>, option: &str, written: &ast::Expr) -> Option<Augmentation> {
    let written = written.without_parentheses();
    let (callee, args) = called(written);
    let Some(word) = word(callee) else {
        let expected = "transformations in brackets, such as `[crop(4), flip]`";
        return wrong(session, (written.span, option), expected);
    };
    let Some(form) = Augmentation::FORMS.iter().find(|form| *form.word == *word) else {
        let words: Vec<&str> = Augmentation::FORMS.iter().map(|form| form.word).collect();
        let diagnostic = report::option_word(callee.span, option, &word, &words);
        session.diagnostics.push(diagnostic);
        return None;
    };
    let value = match (form.argument, args) {
        (None, []) => 0.0,
        (Some(argument), [only]) if is_for(only, argument.name) => {
            let expected = format!(
                "`{}` where `{}` {}",
                form.source(),
                argument.name,
                argument.expected
            );
            let value = number(session, option, &expected, &only.value)?;
            if !(argument.allows)(value) {
                return wrong(session, (only.value.span, option), &expected);
            }
            value
        }
        _ => return wrong(session, (written.span, option), &form_of(form, args.len())),
    };
    Some(form.with(value))
}

/// Returns whether an argument is without a name, or has this name.
fn is_for(argument: &ast::Arg, name: &str) -> bool {
    argument.name.as_ref().is_none_or(|own| *own.name == *name)
}

/// Describes a form that was written with another number of arguments, or with an argument of another name.
fn form_of(form: &AugmentationForm, found: usize) -> String {
    match (form.argument, found) {
        (Some(argument), 1) => format!("`{}` with the argument `{}`", form.source(), argument.name),
        _ => format!("`{}`, found {}", form.source(), count(found, "argument")),
    }
}

/// Reports a value of the option that is not as expected.
fn wrong<T>(session: &mut CheckSession<'_>, (span, option): (Span, &str), expected: &str) -> Option<T> {
    session
        .diagnostics
        .push(report::option_value(span, option, expected));
    None
}
