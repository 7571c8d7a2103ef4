//! Checks the options for test rows that differ from the training rows: rotated images, corrupted images, and outliers.

use super::{file, integer};
use crate::check::options::within;
use crate::check::session::CheckSession;
use crate::diagnostics::infer as report;
use bnnc_abi::corruption::{Corruption, Shift};
use bnnc_abi::data::{Contents, DataSpec, Format, Outliers, Test};
use bnnc_base::quoted::quoted;
use bnnc_base::source::Span;
use bnnc_grammar::ast;

/// Reads one angle in degrees, such as `45`, or a list of angles in brackets.
pub fn degrees(session: &mut CheckSession<'_>, written: &ast::Expr) -> Vec<f64> {
    let mut degrees = Vec::new();
    for one in written.elements() {
        let is_turn = |value: f64| value.abs() <= 360.0;
        degrees.extend(within(
            session,
            "rotate",
            one,
            "degrees between -360 and 360",
            is_turn,
        ));
    }
    degrees
}

/// Reads the value of `shifts`: `all`, or a list such as `[fog(3), jpeg]`.
pub fn shifts(session: &mut CheckSession<'_>, written: &ast::Expr) -> Vec<Shift> {
    if written
        .without_parentheses()
        .as_name()
        .is_some_and(|word| &**word == "all")
    {
        let all = Corruption::FORMS.iter();
        return all.flat_map(|form| Shift::severities(form.corruption)).collect();
    }
    let mut shifts: Vec<Shift> = Vec::new();
    for one in written.elements() {
        for shift in severities(session, one) {
            if shifts.contains(&shift) {
                let expected = format!("a list with each shift once, found `{shift}` again");
                session.report(report::option_value(one.span, "shifts", &expected));
                break;
            }
            shifts.push(shift);
        }
    }
    shifts
}

/// Reads one corruption: `fog(3)`, or `fog` for all severities.
fn severities(session: &mut CheckSession<'_>, written: &ast::Expr) -> Vec<Shift> {
    let (callee, args) = written.as_call();
    let expected = "corruptions in brackets, such as `[fog(3), jpeg]`, or `all`";
    let Some(word) = callee.as_name() else {
        session.report(report::option_value(written.span, "shifts", expected));
        return Vec::new();
    };
    let Some(corruption) = Corruption::find(word) else {
        let words: Vec<&str> = Corruption::FORMS.iter().map(|form| form.name).collect();
        session.report(report::option_word(callee.span, "shifts", word, &words));
        return Vec::new();
    };
    match args {
        [] => Shift::severities(corruption).collect(),
        [severity] => {
            let is_severity =
                |value: f64| Shift::severities(corruption).any(|shift| f64::from(shift.severity) == value);
            let severity = within(
                session,
                word,
                &severity.value,
                "given a severity, an integer from 1 to 5",
                is_severity,
            );
            let shift = severity.map(|severity| Shift {
                corruption,
                severity: severity as u8,
            });
            shift.into_iter().collect()
        }
        _ => {
            session.report(report::option_value(
                written.span,
                word,
                "given one severity, an integer from 1 to 5",
            ));
            Vec::new()
        }
    }
}

/// Reads the value of `outliers`. The value is `shuffled(7)`, or a file of inputs in the format of
/// the data, such as `csv("far.csv")` or `idx("file")`.
pub fn outliers(session: &mut CheckSession<'_>, written: &ast::Expr, format: Format) -> Option<Outliers> {
    let own = format.word();
    if let ast::ExprKind::Call(callee, args) = &*written.without_parentheses().kind
        && let ast::ExprKind::Name(word) = &*callee.kind
        && let [arg] = args.as_slice()
    {
        match &**word {
            "shuffled" => return integer(session, "shuffled", &arg.value, 1).map(Outliers::Shuffled),
            word if word == own => return file(session, &arg.value).map(Outliers::File),
            _ => {}
        }
    }
    let expected =
        format!("`{own}(\"file\")`, one file of inputs, or `shuffled(pixels)`, the test images in pieces");
    session.wrong_value(written.span, "outliers", &expected)
}

/// Checks that `rotate`, `shifts` and `outliers = shuffled(..)` are used with images and together with `test`. Also checks that `normalise` is not
/// used together with `standardise`.
pub fn check(session: &mut CheckSession<'_>, spec: &DataSpec, span: Span) {
    let asked = [
        ("rotate", !spec.rotate.is_empty()),
        ("shifts", !spec.shifts.is_empty()),
        (
            "outliers = shuffled(..)",
            matches!(spec.outliers, Some(Outliers::Shuffled(_))),
        ),
    ];
    if spec.normalise_channels && spec.standardise_inputs {
        let expected = "used without `standardise = inputs`, because both scale the inputs";
        session.report(report::option_value(span, "normalise", expected));
    }
    for (name, _) in asked.into_iter().filter(|(_, asked)| *asked) {
        if spec.format.contents() != Contents::Pair {
            let images = quoted(Format::with_contents(Contents::Pair));
            let expected = format!("used with images ({images}), not `{}`", spec.format.word());
            session.report(report::option_value(span, name, &expected));
        } else if spec.test == Test::None {
            let expected = "given together with `test`, because it changes test images";
            session.report(report::option_value(span, name, expected));
        }
    }
}
