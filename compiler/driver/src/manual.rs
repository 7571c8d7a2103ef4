//! The manual at the terminal describes a word of the language or the library, a method, an option
//! or a metric. The text comes from the record of the word.

use crate::documented::documented;
use crate::program::library;
use bnnc_abi::method::{self, MethodDef, OptionDef};
use bnnc_abi::metrics;
use bnnc_base::nearest::nearest;
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::Item;
use bnnc_hir::builtin;

/// Returns the entry of a word as plain text.
///
/// # Errors
/// Fails if the word does not have an entry. The error is the most similar word with an entry, or
/// `None`.
pub fn entry(word: &str) -> Result<String, Option<String>> {
    // A word may have several meanings: for example, `floor` is both a function and an option.
    let of_metric =
        metrics::find(word).map(|metric| format!("metric {word}\n\n{}.\n", capital(metric.meaning)));
    let all = [
        of_library(word),
        method::lookup(word).map(of_method),
        of_option(word),
        of_metric,
        builtin::lookup(word).map(of_builtin),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    let own = (!all.is_empty()).then(|| all.join("\n"));
    let page = documented(word);
    match (own, page) {
        (Some(own), Some(page)) => Ok(format!("{own}\nBook: docs/src/{}\n", page.page)),
        (Some(own), None) => Ok(own),
        (None, Some(page)) => Ok(format!("{word}: {}\n\nBook: docs/src/{}\n", page.kind, page.page)),
        (None, None) => {
            let words = words();
            Err(nearest(word, words.iter().map(String::as_str)).map(str::to_owned))
        }
    }
}

/// Returns all words that have an entry.
fn words() -> Vec<String> {
    let modules = library(&mut SourceMap::default());
    let items = modules.iter().flat_map(|module| &module.items);
    let mut words: Vec<String> = items
        .filter_map(|item| item.name().map(|name| name.name.to_string()))
        .collect();
    for method in method::ALL {
        words.push(method.name.to_owned());
        words.extend(method.options.iter().map(|option| option.name.to_owned()));
    }
    words.extend(metrics::ALL.iter().map(|metric| metric.name.to_owned()));
    words.extend(builtin::ALL.iter().map(|builtin| builtin.name.to_owned()));
    words
}

/// Describes an item of the library: its documentation and its text.
fn of_library(word: &str) -> Option<String> {
    let mut sources = SourceMap::default();
    let modules = library(&mut sources);
    let mut items = modules.iter().flat_map(|module| &module.items);
    let item = items.find(|item| item.name().is_some_and(|name| &*name.name == word))?;
    let text = sources.text(item.span)?;
    Some(format!("{}\n\n{text}\n", doc(item)))
}

fn doc(item: &Item) -> String {
    let lines: Vec<&str> = item.doc.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Describes a method with all its options.
fn of_method(method: &MethodDef) -> String {
    let mut text = format!("method {}\n\n{}\n", method.name, method.doc);
    for option in method.options {
        text.push_str(&of_record(option));
    }
    text
}

/// Describes an option. If its default, values or effect differ between methods, each form has its
/// own description, with the names of the methods.
fn of_option(word: &str) -> Option<String> {
    let mut forms: Vec<(String, Vec<&str>)> = Vec::new();
    for method in method::ALL {
        let Some(option) = method.option(word) else {
            continue;
        };
        let record = of_record(option);
        match forms.iter_mut().find(|(known, _)| *known == record) {
            Some((_, methods)) => methods.push(method.name),
            None => forms.push((record, vec![method.name])),
        }
    }
    let text: Vec<String> = forms
        .iter()
        .map(|(record, methods)| format!("option of {}\n{record}", methods.join(", ")))
        .collect();
    (!text.is_empty()).then(|| text.join("\n"))
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

fn of_builtin(builtin: &builtin::Builtin) -> String {
    let params = builtin.params.join(", ");
    format!("function {}({params})\n\n{}\n", builtin.name, builtin.doc)
}

/// Returns a sentence that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
