//! Finds the page of the book that describes a word. The word may be part of the language, the
//! library or a method.

use crate::program::library;
use bnnc_abi::method::{self, MethodDef};
use bnnc_abi::metrics;
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::ItemKind;
use bnnc_hir::builtin;

/// A word that the book describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documented {
    /// The kind of thing that the word names, such as `a distribution of the library`.
    pub kind: String,
    /// The path of the word's page below the folder of the book's sources.
    pub page: String,
    /// True if `:type WORD` shows the declaration of the word in the REPL.
    pub has_declaration: bool,
}

/// Returns the page of the book about a word, or `None` if the book does not describe the word.
pub fn documented(word: &str) -> Option<Documented> {
    let page = |kind: &str, page: &str| Documented {
        kind: kind.to_owned(),
        page: format!("reference/{page}.md"),
        has_declaration: false,
    };
    if let Some(kind) = kind_in_library(word) {
        return Some(Documented {
            has_declaration: kind != "an optimiser",
            ..page(&format!("{kind} of the library"), "library")
        });
    }
    if let Some(method) = method::lookup(word) {
        return Some(page("a method", &format!("methods/{}", method.name)));
    }
    let has_option = |method: &&MethodDef| method.option(word).is_some();
    if let Some(method) = method::ALL.iter().find(has_option) {
        let kind = format!("an option of methods such as `{}`", method.name);
        return Some(page(&kind, &format!("methods/{}", method.name)));
    }
    if metrics::find(word).is_some() {
        return Some(page("a metric", "metrics"));
    }
    if builtin::lookup(word).is_some() {
        return Some(page("a function", "language"));
    }
    bnnc_grammar::is_keyword(word).then(|| page("a keyword of the language", "language"))
}

/// Returns the kind of an item of the library.
fn kind_in_library(word: &str) -> Option<&'static str> {
    let modules = library(&mut SourceMap::default());
    let mut items = modules.iter().flat_map(|module| &module.items);
    let item = items.find(|item| item.name().is_some_and(|name| &*name.name == word))?;
    match item.kind {
        ItemKind::Const(_) => Some("a constant"),
        ItemKind::Fn(_) => Some("a function"),
        ItemKind::Layer(_) => Some("a layer"),
        ItemKind::Dist(_) => Some("a distribution"),
        ItemKind::Optimiser(_) => Some("an optimiser"),
        _ => None,
    }
}
