//! Checks the options of inference blocks against the schemas of their methods.

mod augment;
mod schedule;
mod weights;

use super::call::{Lifts, Signature};
use super::names::Def;
use super::posterior::path_text;
use super::session::CheckSession;
use crate::constant::constant;
use crate::diagnostics::{count, infer as report};
use crate::tree::{CheckedSetting, SettingValue, TypedExpr};
use crate::types::Ty;
use bnnc_abi::method::{CallForm, MethodDef, OptionDef, OptionKind};
use bnnc_base::number::exact;
use bnnc_base::quoted::quoted;
use bnnc_base::spellings;
use bnnc_grammar::ast;
use std::sync::Arc;

/// Checks the options of an inference block.
pub fn check(
    session: &mut CheckSession<'_>,
    method: &'static MethodDef,
    infer: &str,
    written: &[ast::Setting],
) -> Vec<CheckedSetting> {
    let mut settings: Vec<CheckedSetting> = Vec::new();
    // Options from the command line come last, so that they take precedence.
    let written = session.given_options(written).into_iter();
    for given in written.chain(session.overrides(infer)) {
        let Some(def) = method.option(given.name) else {
            session.report(report::unknown_option_of(given.span, method, given.name));
            continue;
        };
        if let Some(value) = value(session, (def, infer), given.value) {
            settings.retain(|other| &*other.name != def.name);
            settings.push(CheckedSetting {
                name: def.name.into(),
                value,
                span: given.value.span,
            });
        }
    }
    settings
}

/// Reads the value of an option. `own` is the name of the inference block.
fn value(
    session: &mut CheckSession<'_>,
    (def, own): (&OptionDef, &str),
    written: &ast::Expr,
) -> Option<SettingValue> {
    let stripped = &*written.without_parentheses().kind;
    let expected = match def.kind {
        OptionKind::Int(..) => return Some(SettingValue::Int(limited(session, def, written)? as i64)),
        OptionKind::Real(..) | OptionKind::AtLeast(_) => {
            return limited(session, def, written).map(SettingValue::Real);
        }
        OptionKind::Bool => match stripped {
            ast::ExprKind::Bool(value) => return Some(SettingValue::Bool(*value)),
            _ => "`true` or `false`".to_owned(),
        },
        OptionKind::Word(words) => match stripped {
            ast::ExprKind::Name(word) if words.contains(&spellings::word(word)) => {
                return Some(SettingValue::Word(spellings::word(word).into()));
            }
            ast::ExprKind::Name(word) => {
                return session.reject(report::option_word(written.span, def.name, word, words));
            }
            _ => format!("one of {}", quoted(words.iter().copied())),
        },
        OptionKind::Optimiser => return optimiser(session, def.name, written),
        OptionKind::Infer => return infer(session, def.name, written),
        OptionKind::Fractions => match stripped {
            ast::ExprKind::List(elements) if !elements.is_empty() => {
                let values = elements.iter().map(|element| fraction(session, def, element));
                // All elements are read first, so that every erroneous element is reported.
                let values: Vec<Option<f64>> = values.collect();
                return values
                    .into_iter()
                    .collect::<Option<Vec<f64>>>()
                    .map(SettingValue::Reals);
            }
            _ => "fractions in brackets, such as `[0.5, 0.9]`".to_owned(),
        },
        OptionKind::Names => match names(session, written) {
            Some(names) => return Some(SettingValue::Names(names)),
            None => "names in brackets, such as `[theta, hidden.w]`".to_owned(),
        },
        OptionKind::Call(forms) => return call(session, (def, forms), written),
        OptionKind::Schedule => {
            return schedule::schedule(session, def.name, written).map(SettingValue::Schedule);
        }
        OptionKind::Augmentations => {
            return augment::augmentations(session, def.name, written).map(SettingValue::Augmentations);
        }
        OptionKind::Start => return start(session, def.name, written),
        OptionKind::NumberOr(low, high, words) => {
            return number_or(session, def, (low, high), words, written);
        }
        OptionKind::Weights(scores) => return weights::weights(session, (def, own), scores, written),
    };
    session.wrong_value(written.span, def.name, &expected)
}

/// Reads a list of parameters. Returns `None` for any other expression.
fn names(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<Vec<Arc<str>>> {
    let ast::ExprKind::List(elements) = &*written.without_parentheses().kind else {
        return None;
    };
    let names = elements.iter().map(|element| path_text(session, element));
    names.map(|name| name.map(Arc::from)).collect()
}

/// Reads a constant number and checks the limits of the option.
fn limited(session: &mut CheckSession<'_>, def: &OptionDef, written: &ast::Expr) -> Option<f64> {
    let (expected, allows) = def.kind.number()?;
    within(session, def.name, written, &expected, allows)
}

/// Reads a constant number that `allows` accepts. `expected` describes the accepted numbers.
pub fn within(
    session: &mut CheckSession<'_>,
    name: &str,
    written: &ast::Expr,
    expected: &str,
    allows: impl Fn(f64) -> bool,
) -> Option<f64> {
    let value = number(session, name, expected, written)?;
    if allows(value) {
        return Some(value);
    }
    let found = format!("{expected}, found {}", exact(value));
    session.wrong_value(written.span, name, &found)
}

/// Reads a constant number of at least 0 and below 1.
fn fraction(session: &mut CheckSession<'_>, def: &OptionDef, written: &ast::Expr) -> Option<f64> {
    within(
        session,
        def.name,
        written,
        "fractions from 0 to below 1",
        |value| (0.0..1.0).contains(&value),
    )
}

/// Reads a number in a range, or one of the given words.
fn number_or(
    session: &mut CheckSession<'_>,
    def: &OptionDef,
    (low, high): (f64, f64),
    words: &'static [&'static str],
    written: &ast::Expr,
) -> Option<SettingValue> {
    if let Some(word) = written.as_name().filter(|word| words.contains(&&***word)) {
        return Some(SettingValue::Word(word.clone()));
    }
    let expected = format!(
        "{} or one of {}",
        bnnc_abi::method::range(low, high),
        quoted(words.iter().copied())
    );
    within(session, def.name, written, &expected, |value| {
        (low..=high).contains(&value)
    })
    .map(SettingValue::Real)
}

/// Reads the name of an inference block, or `safetensors("FILE")`.
fn start(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let ast::ExprKind::Call(callee, args) = &*written.without_parentheses().kind else {
        return infer(session, name, written);
    };
    if let (Some("safetensors"), [ast::Arg { name: None, value }]) =
        (callee.as_name().map(|word| &**word), &args[..])
        && let ast::ExprKind::Text(path) = &*value.without_parentheses().kind
    {
        return Some(SettingValue::File(path.clone()));
    }
    let expected = "the name of an inference, or a file as in `safetensors(\"weights.safetensors\")`";
    session.wrong_value(written.span, name, expected)
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
        // If a name does not refer to a constant, the error describes it as a misplaced word and
        // not as an unknown variable.
        let word = matches!(
            &*written.without_parentheses().kind,
            ast::ExprKind::Name(_) | ast::ExprKind::Text(_)
        );
        if word && number.is_none() {
            body.diagnostics.clear();
        }
        (number, value.ty == Ty::Error && !word)
    });
    match value.is_none() && !silent {
        true => session.wrong_value(written.span, name, expected),
        false => value,
    }
}

fn infer(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let Some(word) = written.as_name() else {
        return session.wrong_value(written.span, name, "the name of an inference");
    };
    match bnnc_abi::method::lookup(word) {
        Some(method) if session.find(word).is_none() => {
            session.reject(report::method_for_infer(written.span, name, method.name))
        }
        _ => session.infer(word, written.span).map(SettingValue::Infer),
    }
}

/// Reads an optimiser such as `Adam(1e-3)`.
fn optimiser(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr) -> Option<SettingValue> {
    let written = written.without_parentheses();
    let (callee, args) = written.as_call();
    let Some(word) = callee.as_name() else {
        return session.wrong_value(written.span, name, "an optimiser such as `Adam(1e-3)`");
    };
    let id = session.resolve(word, callee.span, "an optimiser", |def| match def {
        Def::Optimiser(id) => Some(id),
        _ => None,
    })?;
    let item = session.module.optimisers[id].clone();
    let values: Option<Vec<TypedExpr>> = session.with_constants(|body| {
        let signature = Signature::new(&item.name, &item.params, &item.locals, Lifts::No);
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
    let (callee, args) = written.as_call();
    let Some(word) = callee.as_name() else {
        let expected = format!("one of {}", quoted(names));
        return session.wrong_value(written.span, def.name, &expected);
    };
    let forms = forms.iter().filter(|form| *form.word == **word);
    let counts: Vec<usize> = forms.map(|form| form.numbers).collect();
    let Some(wanted) = counts.last() else {
        return session.reject(report::option_word(callee.span, def.name, word, &names));
    };
    if !counts.contains(&args.len()) {
        let [wanted, found] = [*wanted, args.len()].map(|number| count(number, "argument"));
        let expected = format!("`{word}` with {wanted}, found {found}");
        return session.wrong_value(written.span, def.name, &expected);
    }
    let values = args
        .iter()
        .map(|arg| number(session, def.name, "made of numbers", &arg.value));
    values
        .collect::<Option<Vec<f64>>>()
        .map(|values| SettingValue::Call(word.clone(), values))
}
