//! Data items: formats, files, columns, test rows.

mod unlike;

use super::options::number;
use super::session::Session;
use super::statements::strip;
use crate::report::infer as report;
use crate::tree::{DataId, DataItem};
use bnnc_abi::data::{Column, DataSpec, Divisor, Format, Test};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, BinaryOp, UnaryOp};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FORMATS: &[(&str, Format)] = &[
    ("csv", Format::Csv),
    ("idx", Format::Idx),
    ("json", Format::Json),
    ("npy", Format::Npy),
    ("parquet", Format::Parquet),
];

const OPTIONS: &[&str] = &[
    "target",
    "inputs",
    "test",
    "split",
    "validation",
    "standardise",
    "sd",
    "scale",
    "limit",
    "shared",
    "rotate",
    "outliers",
];

const FUNCTIONS: &[&str] = &["log", "exp", "sqrt", "abs", "zscore"];

/// A specification that asks for nothing yet.
pub fn empty(name: &ast::Ident) -> DataSpec {
    DataSpec {
        name: name.name.to_string(),
        span: name.span,
        format: Format::Csv,
        files: Vec::new(),
        inputs: Vec::new(),
        target: None,
        test: Test::None,
        validation: 0.0,
        standardise_inputs: false,
        standardise_target: false,
        divisor: Divisor::Count,
        scale: 1.0,
        limit: None,
        shared: None,
        rotate: Vec::new(),
        outliers: None,
    }
}

/// What `split = ..` asks for.
#[derive(Clone, Copy)]
enum Split {
    All,
    One(usize),
}

/// Checks a `data` item.
pub fn check(session: &mut Session<'_>, id: DataId, item: &ast::Data) {
    let mut spec = empty(&item.name);
    let span = session.module.datas[id].span;
    spec.span = span;
    if let Some((format, files)) = source(session, &item.source) {
        spec.format = format;
        spec.files = files;
    }
    let mut split: Option<(Split, Span)> = None;
    let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
    for setting in &item.options {
        if let Some(first) = seen.insert(setting.name.name.clone(), setting.name.span) {
            session
                .diagnostics
                .push(report::option_twice(&setting.name.name, first, setting.name.span));
            continue;
        }
        option(
            session,
            &setting.name.name,
            setting.name.span,
            &setting.value,
            (&mut spec, &mut split),
        );
    }
    let context = session.context;
    if let Err(count) = spec.take(&context.data_overrides) {
        let expected = format!("one file of inputs, found {count}");
        let diagnostic = report::option_value(span, "outliers", &expected);
        session.diagnostics.push(diagnostic);
    }
    for one in context
        .overrides
        .iter()
        .filter(|one| *one.item == *item.name.name)
    {
        option(
            session,
            &one.key,
            one.value.span,
            &one.value,
            (&mut spec, &mut split),
        );
    }
    if let Some((value, at)) = split {
        match &mut spec.test {
            Test::Splits { split, .. } => {
                *split = match value {
                    Split::All => None,
                    Split::One(index) => Some(index),
                }
            }
            Test::None | Test::Files(_) | Test::Fraction(_) => {
                let diagnostic =
                    report::option_value(at, "split", "given together with `test = splits(\"file\")`");
                session.diagnostics.push(diagnostic);
            }
        }
    }
    unlike::check(session, &spec, span);
    session.module.datas[id] = DataItem {
        name: item.name.name.clone(),
        spec,
        span,
    };
}

/// `csv("a.csv", "b.csv")`.
fn source(session: &mut Session<'_>, written: &ast::Expr) -> Option<(Format, Vec<PathBuf>)> {
    let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
    let written = strip(written);
    let (callee, args) = match &*written.kind {
        ast::ExprKind::Call(callee, args) => (callee, args),
        ast::ExprKind::Error => return None,
        _ => {
            session
                .diagnostics
                .push(report::unknown_format(written.span, "", &names));
            return None;
        }
    };
    let word = match &*callee.kind {
        ast::ExprKind::Name(name) => &**name,
        _ => "",
    };
    let files = files(session, args, written.span);
    let Some((_, format)) = FORMATS.iter().find(|(name, _)| *name == word) else {
        session
            .diagnostics
            .push(report::unknown_format(callee.span, word, &names));
        return None;
    };
    let files = files?;
    if *format == Format::Idx && files.len() != 2 {
        let expected = format!("two files, images and labels, found {}", files.len());
        session
            .diagnostics
            .push(report::option_value(written.span, word, &expected));
    }
    Some((*format, files))
}

fn files(session: &mut Session<'_>, args: &[ast::Arg], span: Span) -> Option<Vec<PathBuf>> {
    if args.is_empty() {
        session.diagnostics.push(report::option_value(
            span,
            "data",
            "given at least one file, `csv(\"file.csv\")`",
        ));
        return None;
    }
    args.iter().map(|arg| file(session, &arg.value)).collect()
}

fn file(session: &mut Session<'_>, written: &ast::Expr) -> Option<PathBuf> {
    match &*strip(written).kind {
        ast::ExprKind::Text(text) => Some(resolved(&session.context.folder, text)),
        ast::ExprKind::Error => None,
        _ => {
            session.diagnostics.push(report::option_value(
                written.span,
                "file",
                "a text in double quotes",
            ));
            None
        }
    }
}

fn resolved(folder: &Path, text: &str) -> PathBuf {
    folder.join(text)
}

fn option(
    session: &mut Session<'_>,
    name: &str,
    span: Span,
    written: &ast::Expr,
    item: (&mut DataSpec, &mut Option<(Split, Span)>),
) {
    let (spec, split) = item;
    match name {
        "target" => spec.target = column(session, written),
        "inputs" => match &*strip(written).kind {
            ast::ExprKind::List(columns) if !columns.is_empty() => {
                spec.inputs = columns.iter().filter_map(|one| entry(session, one)).collect();
            }
            _ => {
                let expected = "columns in brackets, such as `[age, log(earn)]`";
                let wrong = report::option_value(written.span, name, expected);
                let wrong = wrong.help("leave it out to take all columns but the target");
                session.diagnostics.push(wrong);
            }
        },
        "test" => spec.test = test(session, written, spec.format).unwrap_or(Test::None),
        "split" => *split = self::split(session, written).map(|split| (split, written.span)),
        "validation" => {
            let expected = "a fraction below 1";
            if let Some(value) = number(session, name, expected, written) {
                match (0.0..1.0).contains(&value) {
                    true => spec.validation = value,
                    false => session.diagnostics.push(report::option_value(
                        written.span,
                        name,
                        &format!("{expected}, found {value}"),
                    )),
                }
            }
        }
        "standardise" => standardise(session, written, spec),
        "sd" => spec.divisor = divisor(session, written).unwrap_or_default(),
        "scale" => {
            if let Some(value) = number(session, name, "a number", written) {
                match value.is_finite() && value != 0.0 {
                    true => spec.scale = value,
                    false => session.diagnostics.push(report::option_value(
                        written.span,
                        name,
                        &format!("finite and not zero, found {value}"),
                    )),
                }
            }
        }
        "limit" => spec.limit = integer(session, name, written, 1),
        "shared" => {
            spec.shared = source(session, written)
                .and_then(|(format, files)| Some((format, files.into_iter().next()?)));
        }
        "rotate" => spec.rotate = unlike::degrees(session, written),
        "outliers" => spec.outliers = unlike::outliers(session, written, spec.format),
        _ => {
            let diagnostic = report::unknown_option(span, "data", name, OPTIONS.iter().copied());
            session.diagnostics.push(diagnostic);
        }
    }
}

fn integer(session: &mut Session<'_>, name: &str, written: &ast::Expr, least: usize) -> Option<usize> {
    let expected = format!("an integer of at least {least}");
    let value = number(session, name, &expected, written)?;
    match value.fract() == 0.0 && value >= least as f64 && value < 9e15 {
        true => Some(value as usize),
        false => {
            session.diagnostics.push(report::option_value(
                written.span,
                name,
                &format!("{expected}, found {value}"),
            ));
            None
        }
    }
}

fn split(session: &mut Session<'_>, written: &ast::Expr) -> Option<Split> {
    match &*strip(written).kind {
        ast::ExprKind::Name(word) if &**word == "all" => Some(Split::All),
        ast::ExprKind::Name(word) => {
            session.diagnostics.push(report::option_value(
                written.span,
                "split",
                &format!("`all` or an integer, found `{word}`"),
            ));
            None
        }
        _ => integer(session, "split", written, 0).map(Split::One),
    }
}

/// How a program writes a format.
fn word(format: Format) -> &'static str {
    FORMATS
        .iter()
        .find(|(_, known)| *known == format)
        .map_or("csv", |(name, _)| *name)
}

/// `splits("file")`, `fraction(0.1)`, or other files of the same format.
fn test(session: &mut Session<'_>, written: &ast::Expr, format: Format) -> Option<Test> {
    let own = word(format);
    let expected = format!("`splits(\"file\")`, `fraction(0.1)` or `{own}(\"file\")`");
    let stripped = strip(written);
    if let ast::ExprKind::Call(callee, args) = &*stripped.kind
        && let ast::ExprKind::Name(word) = &*callee.kind
    {
        match (&**word, args.as_slice()) {
            ("splits", [arg]) => {
                return file(session, &arg.value).map(|file| Test::Splits { file, split: None });
            }
            ("fraction", [arg]) => {
                let value = number(session, "fraction", "a number between 0 and 1", &arg.value)?;
                if 0.0 < value && value < 1.0 {
                    return Some(Test::Fraction(value));
                }
                let expected = format!("between 0 and 1, found {value}");
                session
                    .diagnostics
                    .push(report::option_value(arg.value.span, "fraction", &expected));
                return None;
            }
            (word, _) if word == own => return source(session, written).map(|(_, files)| Test::Files(files)),
            _ => {}
        }
    }
    session
        .diagnostics
        .push(report::option_value(written.span, "test", &expected));
    None
}

fn standardise(session: &mut Session<'_>, written: &ast::Expr, spec: &mut DataSpec) {
    let single;
    let words: &[ast::Expr] = match &*strip(written).kind {
        ast::ExprKind::List(words) => words,
        _ => {
            single = [written.clone()];
            &single
        }
    };
    (spec.standardise_inputs, spec.standardise_target) = (false, false);
    for word in words {
        match &*strip(word).kind {
            ast::ExprKind::Name(name) if &**name == "inputs" => spec.standardise_inputs = true,
            ast::ExprKind::Name(name) if &**name == "target" => spec.standardise_target = true,
            ast::ExprKind::Name(name) => {
                session.diagnostics.push(report::option_word(
                    word.span,
                    "standardise",
                    name,
                    &["inputs", "target"],
                ));
            }
            _ => session.diagnostics.push(report::option_value(
                word.span,
                "standardise",
                "`[inputs, target]`, `inputs`, `target` or `[]`",
            )),
        }
    }
}

/// The divisor of standard deviations: `population` is n, `sample` is n - 1.
fn divisor(session: &mut Session<'_>, written: &ast::Expr) -> Option<Divisor> {
    const WORDS: &[(&str, Divisor)] = &[("population", Divisor::Count), ("sample", Divisor::CountLessOne)];
    let word = match &*strip(written).kind {
        ast::ExprKind::Name(word) => &**word,
        _ => "",
    };
    let found = WORDS.iter().find(|(known, _)| *known == word);
    if found.is_none() {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        session
            .diagnostics
            .push(report::option_word(written.span, "sd", word, &words));
    }
    found.map(|(_, divisor)| *divisor)
}

/// An entry of `inputs = [..]`: a column, or `name = column`.
fn entry(session: &mut Session<'_>, written: &ast::Expr) -> Option<Column> {
    match &*written.kind {
        ast::ExprKind::Named(name, value) => {
            let inner = column(session, value)?;
            Some(Column::Named(
                name.name.to_string(),
                Box::new(inner),
                written.span,
            ))
        }
        _ => column(session, written),
    }
}

/// `log(earn) * male`: names are columns here.
fn column(session: &mut Session<'_>, written: &ast::Expr) -> Option<Column> {
    let span = written.span;
    let apply = |name: &str, args: Vec<Column>| Some(Column::Apply(name.to_owned(), args, span));
    match &*written.kind {
        ast::ExprKind::Name(name) => Some(Column::Name(name.to_string(), span)),
        // Column names that are no words: `"hours per week"`.
        ast::ExprKind::Text(name) => Some(Column::Name(name.to_string(), span)),
        ast::ExprKind::Int(value) => Some(Column::Number(*value as f64)),
        ast::ExprKind::Real(value, _) => Some(Column::Number(*value)),
        ast::ExprKind::Paren(inner) => column(session, inner),
        ast::ExprKind::Unary(UnaryOp::Neg, inner) => {
            let inner = column(session, inner)?;
            apply("neg", vec![inner])
        }
        ast::ExprKind::Binary(op, left, right) => {
            let (left, right) = (column(session, left), column(session, right));
            let name = match op {
                BinaryOp::Add => "add",
                BinaryOp::Sub => "sub",
                BinaryOp::Mul => "mul",
                BinaryOp::Div => "div",
                BinaryOp::Pow => "pow",
                BinaryOp::Eq => "eq",
                _ => {
                    let message = format!("columns cannot be combined with `{}`", op);
                    session.diagnostics.push(report::column(span, message));
                    return None;
                }
            };
            apply(name, vec![left?, right?])
        }
        ast::ExprKind::Call(callee, args) => match (&*callee.kind, args.as_slice()) {
            (ast::ExprKind::Name(name), [arg]) if FUNCTIONS.contains(&&**name) && arg.name.is_none() => {
                let inner = column(session, &arg.value)?;
                apply(name, vec![inner])
            }
            (ast::ExprKind::Name(name), _) => {
                let message = format!("`{name}` is not a function of one column");
                let diagnostic =
                    report::column(callee.span, message).suggest(name, FUNCTIONS.iter().copied());
                session.diagnostics.push(diagnostic);
                None
            }
            _ => unreadable_column(session, span),
        },
        ast::ExprKind::Error => None,
        ast::ExprKind::List(_) => {
            let help =
                "several outputs are several columns: `-> y1: real, y2: real` in the model, and no `target`";
            let diagnostic = report::column(span, "expected one column, found a list".to_owned());
            session.diagnostics.push(diagnostic.help(help));
            None
        }
        _ => unreadable_column(session, span),
    }
}

fn unreadable_column(session: &mut Session<'_>, span: Span) -> Option<Column> {
    session
        .diagnostics
        .push(report::column(span, "expected a column".to_owned()));
    None
}
