//! The manual at the terminal describes every word that a program may contain: items of the library, methods, options and their values, schedules,
//! metrics, data formats, functions, types and keywords. The text comes from the records of these items.

use crate::program::library;
use bnnc_abi::corruption::{Corruption, CorruptionForm};
use bnnc_abi::data::Format;
use bnnc_abi::manifest::RateSchedule;
use bnnc_abi::method::{self, MethodDef, OptionDef, OptionKind};
use bnnc_abi::metrics;
use bnnc_base::nearest::nearest;
use bnnc_base::source::SourceMap;
use bnnc_base::spellings;
use bnnc_grammar::ast::{Item, ItemKind};
use bnnc_grammar::token::Token;
use bnnc_hir::builtin::{self, Builtin};
use bnnc_hir::check::data_options::{self, COLUMN_FUNCTIONS};
use bnnc_hir::types;

/// One meaning of a word. The book describes this meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documented {
    /// The kind of thing that the word names, such as `a distribution of the library`.
    pub kind: String,
    /// The path of the word's page below the folder of the book's sources.
    pub page: String,
    /// True if `:type WORD` shows the declaration of the word in the REPL.
    pub has_declaration: bool,
    /// The description. It is empty if the manual gives only the kind and the page.
    text: String,
}

impl Documented {
    /// Creates a meaning that is described on the page `reference/PAGE.md`.
    fn new(kind: impl Into<String>, page: &str, text: String) -> Documented {
        Documented {
            kind: kind.into(),
            page: format!("reference/{page}.md"),
            has_declaration: false,
            text,
        }
    }
}

/// Returns the first meaning of a word, or `None` if the book does not describe the word.
pub fn documented(word: &str) -> Option<Documented> {
    meanings(word).into_iter().next()
}

/// Returns the entry of a word as plain text.
///
/// # Errors
/// Fails if the word does not have an entry. The error is the most similar word with an entry, or
/// `None`.
pub fn entry(word: &str) -> Result<String, Option<String>> {
    let all = meanings(spellings::word(word));
    let Some(first) = all.first() else {
        let words = words();
        return Err(match option_elsewhere(word) {
            Some(option) => Some(option.to_owned()),
            None => nearest(word, words.iter().map(String::as_str)).map(str::to_owned),
        });
    };
    let page = format!("Book: docs/src/{}\n", first.page);
    let texts: Vec<&str> = all.iter().map(|meaning| &*meaning.text).collect();
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    Ok(match texts.is_empty() {
        true => format!("{word}: {}\n\n{page}", first.kind),
        false => format!("{}\n{page}", texts.join("\n")),
    })
}

/// Returns the meanings of a word. A word may have several: for example, `floor` is a function and an option.
fn meanings(word: &str) -> Vec<Documented> {
    let in_language = |kind: &str| Documented::new(kind, "language", String::new());
    let of_metric = metrics::find(word).map(|metric| {
        let text = format!("metric {word}\n\n{}.\n", capital(metric.meaning));
        Documented::new("a metric", "metrics", text)
    });
    let is_keyword =
        |token: &&Token<'_>| token.terminal() == word && (token.is_keyword() || token.is_soft_keyword());
    let all = [
        of_library(word),
        method::lookup(word).map(of_method),
        of_option(word),
        of_schedule(word),
        of_value(word),
        of_metric,
        of_format(word),
        of_data_option(word),
        of_corruption(word),
        of_data_value(word),
        builtin::lookup(word).map(of_builtin),
        types::NAMES.contains(&word).then(|| in_language("a type")),
        COLUMN_FUNCTIONS
            .contains(&word)
            .then(|| in_language("a function of columns in data items")),
        Token::FIXED
            .iter()
            .any(|token| is_keyword(&token))
            .then(|| in_language("a keyword of the language")),
    ];
    all.into_iter().flatten().collect()
}

/// Returns all words for which a misspelt word may stand.
fn words() -> Vec<String> {
    let modules = library(&mut SourceMap::default());
    let items = modules.iter().flat_map(|module| &module.items);
    let mut words: Vec<String> = items
        .filter_map(|item| item.name().map(|name| name.name.to_string()))
        .collect();
    for method in method::ALL.iter() {
        words.push(method.name.to_owned());
        words.extend(method.options.iter().map(|option| option.name.to_owned()));
    }
    let schedules = RateSchedule::FORMS.iter().map(|form| form.word);
    let others = schedules
        .chain(metrics::ALL.iter().map(|metric| metric.name))
        .chain(builtin::ALL.iter().map(|builtin| builtin.name))
        .chain(Format::WORDS.iter().copied())
        .chain(data_options::names())
        .chain(Corruption::FORMS.iter().map(|form| form.name))
        .chain(types::NAMES.iter().copied());
    words.extend(others.map(str::to_owned));
    words
}

/// Returns the option that has this name in other tools.
fn option_elsewhere(word: &str) -> Option<&'static str> {
    let mut options = method::ALL.iter().flat_map(|method| method.options);
    let word = word.to_lowercase();
    options
        .find(|option| option.synonyms.contains(&&*word))
        .map(|option| option.name)
}

/// Describes an item of the library: its documentation and its text.
fn of_library(word: &str) -> Option<Documented> {
    let mut sources = SourceMap::default();
    let modules = library(&mut sources);
    let mut items = modules.iter().flat_map(|module| &module.items);
    let item = items.find(|item| item.name().is_some_and(|name| &*name.name == word))?;
    let kind = match item.kind {
        ItemKind::Const(_) => "a constant",
        ItemKind::Fn(_) => "a function",
        ItemKind::Layer(_) => "a layer",
        ItemKind::Dist(_) => "a distribution",
        ItemKind::Optimiser(_) => "an optimiser",
        _ => return None,
    };
    let text = format!("{}\n\n{}\n", doc(item), sources.text(item.span)?);
    Some(Documented {
        has_declaration: kind != "an optimiser",
        ..Documented::new(format!("{kind} of the library"), "library", text)
    })
}

fn doc(item: &Item) -> String {
    let lines: Vec<&str> = item.doc.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Describes a method with all its options.
fn of_method(method: &MethodDef) -> Documented {
    let mut text = format!("method {}\n\n{}\n", method.name, method.doc);
    for option in method.options {
        text.push_str(&of_record(option));
    }
    Documented::new("a method", &page_of(method), text)
}

fn page_of(method: &MethodDef) -> String {
    format!("methods/{}", method.name)
}

/// Describes an option. If its default, values or effect differ between methods, the description
/// has one part for each form, with the names of its methods.
fn of_option(word: &str) -> Option<Documented> {
    let found = records(|option| option.name == word);
    let (_, methods) = found.first()?;
    let kind = format!("an option of methods such as `{}`", methods.first()?.name);
    let page = page_of(methods.first()?);
    let text: Vec<String> = found
        .iter()
        .map(|(record, methods)| format!("option of {}\n{record}", names(methods)))
        .collect();
    Some(Documented::new(kind, &page, text.join("\n")))
}

/// Describes a word or a call that is a possible value of some options, together with these options.
fn of_value(word: &str) -> Option<Documented> {
    let found = records(|option| option.kind != OptionKind::Schedule && option.kind.words().contains(&word));
    let (_, methods) = found.first()?;
    let page = page_of(methods.first()?);
    let text: Vec<String> = found
        .iter()
        .map(|(record, methods)| format!("{word}: a value of this option of {}\n{record}", names(methods)))
        .collect();
    Some(Documented::new("a value of an option", &page, text.join("\n")))
}

/// Returns the descriptions of the chosen options, each with the methods to which it applies.
fn records(is_chosen: impl Fn(&OptionDef) -> bool) -> Vec<(String, Vec<&'static MethodDef>)> {
    let mut found: Vec<(String, Vec<&'static MethodDef>)> = Vec::new();
    for method in method::ALL.iter() {
        for option in method.options.iter().filter(|option| is_chosen(option)) {
            let record = of_record(option);
            match found.iter_mut().find(|(known, _)| *known == record) {
                Some((_, methods)) => methods.push(method),
                None => found.push((record, vec![method])),
            }
        }
    }
    found
}

fn names(methods: &[&MethodDef]) -> String {
    let names: Vec<&str> = methods.iter().map(|method| method.name).collect();
    names.join(", ")
}

/// Returns the lines of one option: its name with the default, its values, and its effect.
fn of_record(option: &OptionDef) -> String {
    let default = match option.default {
        "" => String::new(),
        default => format!(" = {default}"),
    };
    let values = option.kind.values();
    format!(
        "\n  {}{default}\n      {}\n      Takes {values}.\n",
        option.name, option.doc
    )
}

fn of_schedule(word: &str) -> Option<Documented> {
    let form = RateSchedule::FORMS.iter().find(|form| form.word == word)?;
    let mut text = format!(
        "schedule {}\n\nThe factor on the learning rate is {}. `t` is the time since the start of the training as a fraction of its length, and `e` is the same \
         time in epochs or steps.\n",
        form.source(),
        form.factor
    );
    for (name, argument) in form.arguments {
        text.push_str(&format!("\n  {name} {}\n", argument.expected()));
    }
    Some(Documented::new(
        "a schedule of the learning rate",
        "training",
        text,
    ))
}

fn of_format(word: &str) -> Option<Documented> {
    let format = Format::all().find(|format| format.word() == word)?;
    let text = format!(
        "data format {}\n\n{}.\n",
        format.entry().source,
        capital(format.entry().doc)
    );
    Some(Documented::new("a format of data", "language", text))
}

fn of_data_option(word: &str) -> Option<Documented> {
    let option = data_options::lookup(word)?;
    let text = format!("option of data items\n{}", of_data_record(option));
    Some(Documented::new("an option of data items", "language", text))
}

/// Returns the lines of one option of data items: its name, its effect and its values.
fn of_data_record(option: &data_options::DataOption) -> String {
    format!(
        "\n  {}\n      {}.\n      Takes {}.\n",
        option.name,
        capital(option.doc),
        option.values
    )
}

/// Describes a word that occurs in the value of a data option, such as `splits` or `channels`.
fn of_data_value(word: &str) -> Option<Documented> {
    let is_word = |code: &str| code.split_once('(').map_or(code, |(callee, _)| callee) == word;
    let in_code = |text: &str| text.split('`').skip(1).step_by(2).any(is_word);
    let is_described = Format::WORDS.contains(&word) || data_options::lookup(word).is_some();
    let option = data_options::OPTIONS
        .iter()
        .find(|option| !is_described && in_code(option.values))?;
    let text = format!(
        "{word}: a value of this option of data items\n{}",
        of_data_record(option)
    );
    Some(Documented::new(
        "a value of an option of data items",
        "language",
        text,
    ))
}

fn of_corruption(word: &str) -> Option<Documented> {
    let mut forms = Corruption::FORMS.iter();
    let CorruptionForm { name, doc, .. } = forms.find(|form| form.name == word)?;
    let text = format!(
        "corruption {name}(severity)\n\n{}. The severity is an integer from 1 to 5.\n\n  shifts = [{name}(3)]\n",
        capital(doc)
    );
    Some(Documented::new("a corruption of test images", "language", text))
}

fn of_builtin(builtin: &Builtin) -> Documented {
    let params = builtin.params.join(", ");
    let text = format!("function {}({params})\n\n{}\n", builtin.name, builtin.doc);
    Documented::new("a function", "language", text)
}

/// Returns a sentence that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
