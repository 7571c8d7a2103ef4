//! Checks `data` items: formats, files, columns and test rows.

mod columns;
pub mod options;
mod unlike;

use super::options::{number, within};
use super::session::{CheckSession, GivenOption};
use crate::diagnostics::infer as report;
use crate::tree::{DataId, DataItem};
use bnnc_abi::data::{DataSpec, Format, Test};
use bnnc_abi::method::declare::{OptionValue, RawOption};
use bnnc_base::number::exact;
use bnnc_base::source::Span;
use bnnc_base::spellings;
use bnnc_grammar::ast;
use columns::entry;
use std::path::PathBuf;

/// The state of reading the value of one option into a specification.
struct Reading<'r, 's> {
    session: &'r mut CheckSession<'s>,
    name: &'static str,
    spec: &'r mut DataSpec,
    split: &'r mut Option<(Split, Span)>,
}

/// Returns a specification without any options and files.
pub fn empty(name: &ast::Ident) -> DataSpec {
    DataSpec::new(&name.name, name.span, Format::Csv, Vec::new())
}

/// The value of the option `split`: the index of a split, or `None` for `all`.
type Split = Option<usize>;

/// Checks a `data` item.
pub fn check(session: &mut CheckSession<'_>, id: DataId, item: &ast::DataDecl) {
    let mut spec = empty(&item.name);
    let span = session.module.datas[id].span;
    spec.span = span;
    if let Some((format, files)) = source(session, &item.source) {
        spec.format = format;
        spec.files = files;
    }
    let mut split: Option<(Split, Span)> = None;
    for option in session.given_options(&item.options) {
        set(session, option, (&mut spec, &mut split));
    }
    if let Err(count) = spec.take(&session.context.data_overrides) {
        let expected = format!("one file of inputs, found {count}");
        session.report(report::option_value(span, "outliers", &expected));
    }
    for option in session.overrides(&item.name.name) {
        set(session, option, (&mut spec, &mut split));
    }
    match (split, &mut spec.test) {
        (None, _) => {}
        (Some((value, _)), Test::Splits { split, .. }) => *split = value,
        (Some((_, at)), Test::None | Test::Files(_) | Test::Fraction(_)) => {
            let expected = "given together with `test = splits(\"file\")`";
            session.report(report::option_value(at, "split", expected));
        }
    }
    unlike::check(session, &spec, span);
    session.module.datas[id] = DataItem {
        name: item.name.name.clone(),
        spec,
        span,
    };
}

/// Checks the source of the data, such as `csv("a.csv", "b.csv")`.
fn source(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<(Format, Vec<PathBuf>)> {
    let written = written.without_parentheses();
    let (callee, args) = match &*written.kind {
        ast::ExprKind::Call(callee, args) => (callee, args),
        ast::ExprKind::Error => return None,
        _ => return session.reject(report::unknown_format(written.span, "", Format::WORDS)),
    };
    let word = match &*callee.kind {
        ast::ExprKind::Name(name) => &**name,
        _ => "",
    };
    let files = files(session, args, written.span);
    let Some(format) = Format::read(RawOption::Call(word, &[])) else {
        return session.reject(report::unknown_format(callee.span, word, Format::WORDS));
    };
    let files = files?;
    if format == Format::Idx && files.len() != 2 {
        let expected = format!("two files, images and labels, found {}", files.len());
        session.report(report::option_value(written.span, word, &expected));
    }
    Some((format, files))
}

fn files(session: &mut CheckSession<'_>, args: &[ast::Arg], span: Span) -> Option<Vec<PathBuf>> {
    if args.is_empty() {
        return session.wrong_value(span, "data", "given at least one file, `csv(\"file.csv\")`");
    }
    args.iter().map(|arg| file(session, &arg.value)).collect()
}

fn file(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<PathBuf> {
    match &*written.without_parentheses().kind {
        ast::ExprKind::Text(text) => Some(session.context.folder.join(&**text)),
        ast::ExprKind::Error => None,
        _ => session.wrong_value(written.span, "file", "a string in double quotes"),
    }
}

/// Reads one option of the item.
fn set(
    session: &mut CheckSession<'_>,
    given: GivenOption<'_>,
    (spec, split): (&mut DataSpec, &mut Option<(Split, Span)>),
) {
    match options::lookup(spellings::word(given.name)) {
        Some(option) => {
            let mut reading = Reading {
                session,
                name: option.name,
                spec,
                split,
            };
            (option.read)(&mut reading, given.value);
        }
        None => session.report(report::unknown_option(
            given.span,
            "data",
            given.name,
            options::names(),
        )),
    }
}

impl Reading<'_, '_> {
    /// Reads a constant number that `allows` accepts. The text in the error is `expected[0]` if the
    /// value is not a constant number, and `expected[1]` if `allows` rejects the number.
    fn number(
        &mut self,
        written: &ast::Expr,
        expected: [&str; 2],
        allows: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let value = number(self.session, self.name, expected[0], written)?;
        if allows(value) {
            return Some(value);
        }
        let found = format!("{}, found {value}", expected[1]);
        self.session.wrong_value(written.span, self.name, &found)
    }
}

fn inputs(to: &mut Reading<'_, '_>, written: &ast::Expr) {
    match &*written.without_parentheses().kind {
        ast::ExprKind::List(columns) if !columns.is_empty() => {
            let columns = columns.iter().filter_map(|one| entry(to.session, one));
            to.spec.inputs = columns.collect();
        }
        _ => {
            let expected = "columns in brackets, such as `[age, log(earn)]`";
            let wrong = report::option_value(written.span, to.name, expected);
            let wrong = wrong.help("leave it out to use all columns except the target");
            to.session.report(wrong);
        }
    }
}

fn integer(session: &mut CheckSession<'_>, name: &str, written: &ast::Expr, least: usize) -> Option<usize> {
    let expected = format!("an integer of at least {least}");
    let allows = |value: f64| value.fract() == 0.0 && value >= least as f64 && value < 9e15;
    within(session, name, written, &expected, allows).map(|value| value as usize)
}

fn split(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<Split> {
    match written.as_name() {
        Some(word) if &**word == "all" => Some(None),
        Some(word) => {
            let expected = format!("`all` or an integer, found `{word}`");
            session.wrong_value(written.span, "split", &expected)
        }
        None => integer(session, "split", written, 0).map(Some),
    }
}

/// Reads the value of `test`: `splits("file")`, `fraction(0.1)`, or test files in the format of the
/// training files.
fn test(session: &mut CheckSession<'_>, written: &ast::Expr, format: Format) -> Option<Test> {
    let own = format.word();
    let expected = format!("`splits(\"file\")`, `fraction(0.1)` or `{own}(\"file\")`");
    let stripped = written.without_parentheses();
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
                let expected = format!("between 0 and 1, found {}", exact(value));
                return session.wrong_value(arg.value.span, "fraction", &expected);
            }
            (word, _) if word == own => return source(session, written).map(|(_, files)| Test::Files(files)),
            _ => {}
        }
    }
    session.wrong_value(written.span, "test", &expected)
}

fn standardise(session: &mut CheckSession<'_>, written: &ast::Expr, spec: &mut DataSpec) {
    (spec.standardise_inputs, spec.standardise_target) = (false, false);
    for word in written.elements() {
        match word.as_name().map(|name| &**name) {
            Some("inputs") => spec.standardise_inputs = true,
            Some("target") => spec.standardise_target = true,
            Some(name) => {
                let words = ["inputs", "target"];
                session.report(report::option_word(word.span, "standardise", name, &words));
            }
            None => {
                let expected = "`[inputs, target]`, `inputs`, `target` or `[]`";
                session.report(report::option_value(word.span, "standardise", expected));
            }
        }
    }
}

/// Reads an option whose value must be one of the given words.
fn word<T: Copy>(to: &mut Reading<'_, '_>, written: &ast::Expr, words: &[(&str, T)]) -> Option<T> {
    let word = written.as_name().map_or("", |word| word);
    let found = words.iter().find(|(known, _)| *known == word);
    if found.is_none() {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let diagnostic = report::option_word(written.span, to.name, word, &words);
        to.session.report(diagnostic);
    }
    found.map(|(_, value)| *value)
}
