//! Reads transformations of images: `[crop(4), flip, rotate(15)]`.

use super::number;
use crate::check::session::CheckSession;
use crate::diagnostics::{count, infer as report};
use bnnc_abi::augmentation::{Augmentation, AugmentationForm};
use bnnc_grammar::ast;

/// Reads the transformations of the option `option`.
pub(super) fn augmentations(
    session: &mut CheckSession<'_>,
    option: &str,
    written: &ast::Expr,
) -> Option<Vec<Augmentation>> {
    let written = written.without_parentheses();
    let elements = match &*written.kind {
        ast::ExprKind::List(elements) => elements,
        _ => {
            let expected = "transformations in brackets, such as `[crop(4), flip]`";
            return session.wrong_value(written.span, option, expected);
        }
    };
    // All elements are read before the results are combined, so that every error is reported.
    let all = elements.iter().map(|element| one(session, option, element));
    let all: Vec<Option<Augmentation>> = all.collect();
    let all = all.into_iter().collect::<Option<Vec<Augmentation>>>()?;
    for (at, later) in all.iter().enumerate() {
        if all[..at].iter().any(|earlier| earlier.word() == later.word()) {
            let expected = format!("each transformation once, found `{}` again", later.word());
            return session.wrong_value(elements[at].span, option, &expected);
        }
    }
    match all.split_last() {
        Some((_, before)) if before.iter().any(|one| one.mixes()) => {
            let expected =
                "a list with `mixup` at its end, because rows are mixed after all other transformations";
            session.wrong_value(written.span, option, expected)
        }
        _ => Some(all),
    }
}

/// Reads one transformation.
fn one(session: &mut CheckSession<'_>, option: &str, written: &ast::Expr) -> Option<Augmentation> {
    let written = written.without_parentheses();
    let (callee, args) = written.as_call();
    let Some(word) = callee.as_name() else {
        let expected = "transformations in brackets, such as `[crop(4), flip]`";
        return session.wrong_value(written.span, option, expected);
    };
    let Some(form) = Augmentation::FORMS.iter().find(|form| form.word == &**word) else {
        let words: Vec<&str> = Augmentation::FORMS.iter().map(|form| form.word).collect();
        return session.reject(report::option_word(callee.span, option, word, &words));
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
                return session.wrong_value(only.value.span, option, &expected);
            }
            value
        }
        _ => return session.wrong_value(written.span, option, &form_of(form, args.len())),
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
