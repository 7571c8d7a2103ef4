//! Checks the options of inference blocks against the schemas of their methods.

mod schedule;
mod weights;

use super::call::{Lifts, Signature};
use super::names::Def;
use super::posterior::path_text;
use super::session::CheckSession;
use crate::constant::constant;
use crate::diagnostics::{infer as report, names as report_names};
use crate::tree::{CheckedSetting, SettingValue, TypedExpr};
use crate::types::Ty;
use bnnc_abi::method::{CallForm, MethodDef, OptionDef, OptionKind};
use bnnc_base::number::exact;
use bnnc_base::source::Span;
use bnnc_base::spellings;
use bnnc_grammar::ast;
use std::collections::HashMap;
use std::sync::Arc;

/// Checks the options of an inference block. The checker reads options from the command line last,
/// so these options take precedence.
pub fn check(
    session: &mut CheckSession<'_>,
    method: &'static MethodDef,
    infer: &str,
    written: &[ast::Setting],
) -> Vec<CheckedSetting> {
    let mut settings: Vec<CheckedSetting> = Vec::new();
    let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
    for setting in written {
        let word = spellings::word(&setting.name.name);
        if let Some(first) = seen.insert(word.into(), setting.name.span) {
            session
                .diagnostics
                .push(report::option_twice(&setting.name.name, first, setting.name.span));
            continue;
        }
        settings.extend(option(
            session,
            (method, infer),
            &setting.name.name,
            setting.name.span,
            &setting.value,
        ));
    }
    let overrides = session.context.overrides.iter().filter(|one| one.item == infer);
    for one in overrides {
        if let Some(setting) = option(
            session,
            (method, infer),
            &one.key.as_str().into(),
            one.value.span,
            &one.value,
        ) {
            settings.retain(|other| other.name != setting.name);
            settings.push(setting);
        }
    }
    settings
}

fn option(
    session: &mut CheckSession<'_>,
    (method, infer): (&MethodDef, &str),
    name: &Arc<str>,
    span: Span,
    written: &ast::Expr,
) -> Option<CheckedSetting> {
    let Some(def) = method.option(name) else {
        let unknown = report::unknown_option_of(span, method, name);
        session.diagnostics.push(unknown);
        return None;
    };
    let setting = |value: SettingValue| CheckedSetting {
        name: def.name.into(),
        value,
        span: written.span,
    };
    value(session, (def, infer), written).map(setting)
}

/// Reads the value of an option. `own` is the name of the inference block.
fn value(
    session: &mut CheckSession<'_>,
    (def, own): (&OptionDef, &str),
    written: &ast::Expr,
) -> Option<SettingValue> {
    let wrong = |session: &mut CheckSession<'_>, expected: &str| {
        session
            .diagnostics
            .push(report::option_value(written.span, def.name, expected));
        None
    };
    match def.kind {
        OptionKind::Int(..) => Some(SettingValue::Int(limited(session, def, written)? as i64)),
        OptionKind::Real(..) | OptionKind::AtLeast(_) => {
            limited(session, def, written).map(SettingValue::Real)
        }
        OptionKind::Bool => match &*written.without_parentheses().kind {
            ast::ExprKind::Bool(value) => Some(SettingValue::Bool(*value)),
            _ => wrong(session, "`true` or `false`"),
        },
        OptionKind::Word(words) => match &*written.without_parentheses().kind {
            ast::ExprKind::Name(word) if words.contains(&spellings::word(word)) => {
                Some(SettingValue::Word(spellings::word(word).into()))
            }
            ast::ExprKind::Name(word) => {
                session
                    .diagnostics
                    .push(report::option_word(written.span, def.name, word, words));
                None
            }
            _ => wrong(
                session,
                &format!("one of {}", crate::diagnostics::quoted(words.iter().copied())),
            ),
        },
        OptionKind::Optimiser => optimiser(session, def.name, written),
        OptionKind::Infer => infer(session, def.name, written),
        OptionKind::Fractions => match &*written.without_parentheses().kind {
            ast::ExprKind::List(elements) if !elements.is_empty() => {
                let values = elements.iter().map(|element| fraction(session, def, element));
                // All elements are read first, so that every erroneous element is reported.
                let values: Vec<Option<f64>> = values.collect();
                let values = values.into_iter().collect::<Option<Vec<f64>>>();
                values.map(SettingValue::Reals)
            }
            _ => wrong(session, "fractions in brackets, such as `[0.5, 0.9]`"),
        },
        OptionKind::Names => {
            let names = match &*written.without_parentheses().kind {
                ast::ExprKind::List(elements) => elements
                    .iter()
                    .map(|element| path_text(session, element).map(Arc::from))
                    .collect::<Option<Vec<_>>>(),
                _ => None,
            };
            match names {
                Some(names) => Some(SettingValue::Names(names)),
                None => wrong(session, "names in brackets, such as `[theta, hidden.w]`"),
            }
        }
        OptionKind::Call(forms) => call(session, (def, forms), written),
        OptionKind::Schedule => schedule::schedule(session, def.name, written).map(SettingValue::Schedule),
        OptionKind::Start => start(session, def.name, written),
        OptionKind::NumberOr(low, high, words) => number_or(session, def, (low, high), words, written),
        OptionKind::Weights(scores) => weights::weights(session, (def, own), scores, written),
    }
}

/// Reads a constant number and checks the limits of the option.
fn limited(session: &mut CheckSession<'_>, def: &OptionDef, written: &ast::Expr) -> Option<f64> {
    let (expected, allows) = def.kind.number()?;
    within(session, (def, written), &expected, allows)
}

/// Reads a constant number that `allows` accepts. `expected` describes the accepted numbers.
fn within(
    session: &mut CheckSession<'_>,
    (def, written): (&OptionDef, &ast::Expr),
    expected: &str,
    allows: impl Fn(f64) -> bool,
) -> Option<f64> {
    let value = number(session, def.name, expected, written)?;
    if allows(value) {
        return Some(value);
    }
    let found = format!("{expected}, found {}", exact(value));
    session
        .diagnostics
        .push(report::option_value(written.span, def.name, &found));
    None
}

/// Reads a constant number of at least 0 and below 1.
fn fraction(session: &mut CheckSession<'_>, def: &OptionDef, written: &ast::Expr) -> Option<f64> {
    within(session, (def, written), "fractions from 0 to below 1", |value| {
        (0.0..1.0).contains(&value)
    })
}

/// Reads a number in a range, or one of the given words.
fn number_or(
    session: &mut CheckSession<'_>,
    def: &OptionDef,
    (low, high): (f64, f64),
    words: &'static [&'static str],
    written: &ast::Expr,
) -> Option<SettingValue> {
    if let ast::ExprKind::Name(word) = &*written.without_parentheses().kind
        && words.contains(&&**word)
    {
        return Some(SettingValue::Word(word.clone()));
    }
    let expected = format!(
        "{} or one of {}",
        bnnc_abi::method::range(low, high),
        crate::diagnostics::quoted(words.iter().copied())
    );
    within(session, (def, written), &expected, |value| {
        (low..=high).contains(&value)
    })
    .map(SettingValue::Real)
}

/// Reads the name of an inference block, or `safetensors("FILE")`.
fn start(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let ast::ExprKind::Call(callee, args) = &*written.without_parentheses().kind else {
        return infer(session, name, written);
    };
    let file = match (word(callee).as_deref(), args.as_slice()) {
        (Some("safetensors"), [only]) if only.name.is_none() => match &*only.value.without_parentheses().kind
        {
            ast::ExprKind::Text(path) => Some(path.clone()),
            _ => None,
        },
        _ => None,
    };
    if file.is_none() {
        let expected = "the name of an inference, or a file as in `safetensors(\"weights.safetensors\")`";
        session
            .diagnostics
            .push(report::option_value(written.span, name, expected));
    }
    file.map(SettingValue::File)
}

/// Returns the callee and the arguments of a call. For any other expression, returns the expression
/// itself and an empty list of arguments.
pub fn called(written: &ast::Expr) -> (&ast::Expr, &[ast::Arg]) {
    match &*written.kind {
        ast::ExprKind::Call(callee, args) => (callee, args),
        _ => (written, &[]),
    }
}

fn word(written: &ast::Expr) -> Option<Arc<str>> {
    match &*written.without_parentheses().kind {
        ast::ExprKind::Name(name) => Some(name.clone()),
        _ => None,
    }
}

/// Reads a constant number. Reports `expected` if the value is not a constant number.
pub fn number(
    session: &mut CheckSession<'_>,
    name: &str,
    expected: &str,
    written: &ast::Expr,
) -> Option<f64> {
    let (value, silent) = session.with_constants(|body| {
        let value = body.expr(written, super::expr::Want::Any);
        let number = match &value.ty {
            Ty::Tensor(elem, dims) if dims.is_empty() && *elem != crate::types::Elem::Bool => {
                constant(body.module, &value)
            }
            _ => None,
        };
        // If a name is not the name of a constant, the error calls it a misplaced word instead of
        // an unknown variable.
        let word = matches!(
            &*written.without_parentheses().kind,
            ast::ExprKind::Name(_) | ast::ExprKind::Text(_)
        );
        if word && number.is_none() {
            body.diagnostics.clear();
        }
        (number, value.ty == Ty::Error && !word)
    });
    if value.is_none() && !silent {
        session
            .diagnostics
            .push(report::option_value(written.span, name, expected));
    }
    value
}

fn infer(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let Some(word) = word(written) else {
        session.diagnostics.push(report::option_value(
            written.span,
            name,
            "the name of an inference",
        ));
        return None;
    };
    match session.find(&word) {
        Some((Some(Def::Infer(id)), _)) => Some(SettingValue::Infer(id)),
        Some((None, _)) => None,
        Some((Some(def), at)) => {
            session.diagnostics.push(report_names::wrong_kind(
                written.span,
                &word,
                "an inference",
                def.kind(),
                at,
            ));
            None
        }
        None => {
            let names = session.names.all(|def| matches!(def, Def::Infer(_)));
            let diagnostic = match bnnc_abi::method::lookup(&word) {
                Some(method) => report::method_for_infer(written.span, name, method.name),
                None => report_names::unknown_name(written.span, &word, names),
            };
            session.diagnostics.push(diagnostic);
            None
        }
    }
}

/// Reads an optimiser such as `Adam(1e-3)`.
fn optimiser(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let written = written.without_parentheses();
    let (callee, args) = called(written);
    let Some(word) = word(callee) else {
        session.diagnostics.push(report::option_value(
            written.span,
            name,
            "an optimiser such as `Adam(1e-3)`",
        ));
        return None;
    };
    let id = match session.find(&word) {
        Some((Some(Def::Optimiser(id)), _)) => id,
        Some((None, _)) => return None,
        Some((Some(def), at)) => {
            session.diagnostics.push(report_names::wrong_kind(
                callee.span,
                &word,
                "an optimiser",
                def.kind(),
                at,
            ));
            return None;
        }
        None => {
            let names = session.names.all(|def| matches!(def, Def::Optimiser(_)));
            let diagnostic = report_names::unknown_name(callee.span, &word, names);
            session.diagnostics.push(diagnostic);
            return None;
        }
    };
    let item = session.module.optimisers[id].clone();
    let values: Option<Vec<TypedExpr>> = session.with_constants(|body| {
        let signature = Signature {
            name: &item.name,
            params: &item.params,
            locals: &item.locals,
            lifts: Lifts::No,
        };
        let mut solver = super::solve::Solver::default();
        let arguments = body.arguments(signature, args, written.span, &mut solver)?;
        for value in &arguments.values {
            if value.ty != Ty::Error && constant(body.module, value).is_none() {
                body.report(crate::diagnostics::types::not_constant(
                    value.span,
                    "an argument of an optimiser",
                ));
                return None;
            }
        }
        Some(arguments.values)
    });
    values.map(|values| SettingValue::Optimiser(id, values))
}

/// Reads one of the forms of an option, such as `diagonal` or `low_rank(20)`.
fn call(
    session: &mut CheckSession<'_>,
    (def, forms): (&OptionDef, &[CallForm]),
    written: &ast::Expr,
) -> Option<SettingValue> {
    let mut names: Vec<&str> = forms.iter().map(|form| form.word).collect();
    names.dedup();
    let written = written.without_parentheses();
    let (callee, args) = called(written);
    let Some(word) = word(callee) else {
        let expected = format!("one of {}", crate::diagnostics::quoted(names));
        session
            .diagnostics
            .push(report::option_value(written.span, def.name, &expected));
        return None;
    };
    let counts: Vec<usize> = forms
        .iter()
        .filter(|form| *form.word == *word)
        .map(|form| form.numbers)
        .collect();
    let Some(count) = counts.last() else {
        session
            .diagnostics
            .push(report::option_word(callee.span, def.name, &word, &names));
        return None;
    };
    if !counts.contains(&args.len()) {
        let found = crate::diagnostics::count(args.len(), "argument");
        let expected = format!(
            "`{word}` with {}, found {found}",
            crate::diagnostics::count(*count, "argument")
        );
        session
            .diagnostics
            .push(report::option_value(written.span, def.name, &expected));
        return None;
    }
    let values = args
        .iter()
        .map(|arg| number(session, def.name, "made of numbers", &arg.value));
    values
        .collect::<Option<Vec<f64>>>()
        .map(|values| SettingValue::Call(word, values))
}
