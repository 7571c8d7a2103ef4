//! The program of a REPL session: the library and the items entered so far.

use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::{Item, ItemKind, SourceFile};
use bnnc_hir::check::{CheckContext, check};
use bnnc_hir::tree;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The items of a session.
pub struct Items {
    library: Vec<SourceFile>,
    program: SourceFile,
    folder: PathBuf,
}

impl Items {
    /// Creates a session program with only the library.
    pub fn new(library: Vec<SourceFile>) -> Items {
        Items {
            library,
            program: SourceFile::default(),
            folder: PathBuf::new(),
        }
    }

    /// Returns the items entered so far.
    pub fn program(&self) -> &SourceFile {
        &self.program
    }

    /// Checks a program together with the library, and returns the typed module and the
    /// diagnostics.
    pub fn check(&self, program: &SourceFile) -> (tree::Module, Vec<Diagnostic>) {
        let library_paths = bnnc_stdlib::FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .collect();
        let context = CheckContext {
            folder: self.folder.clone(),
            library_paths,
            ..CheckContext::default()
        };
        check(&self.library, program, &context)
    }

    /// Returns the program with the items of `new`, and a sentence about each of these items. A new
    /// item replaces an existing item with the same name. A new comparison replaces an existing
    /// comparison of the same inference blocks.
    pub fn with(&self, new: &[Item]) -> (SourceFile, Vec<String>) {
        let mut program = SourceFile {
            items: self.program.items.clone(),
            ..SourceFile::default()
        };
        let mut changes = Vec::new();
        for item in new {
            let Some(name) = item.name() else {
                program.items.retain(|known| !is_same_comparison(known, item));
                program.items.push(item.clone());
                continue;
            };
            let known = program
                .items
                .iter_mut()
                .find(|known| known.name().is_some_and(|own| own.name == name.name));
            let what = if known.is_some() { "redefined" } else { "defined" };
            changes.push(format!("{what} {} {}", kind(item), name.name));
            match known {
                Some(known) => *known = item.clone(),
                None => program.items.push(item.clone()),
            }
        }
        (program, changes)
    }

    /// Replaces the program. The new program must not contain errors.
    pub fn set(&mut self, program: SourceFile) {
        self.program = program;
    }

    /// Makes relative file names in items refer to the folder of the file at `path`. Returns
    /// the previous folder.
    pub fn enter_folder(&mut self, path: &str) -> PathBuf {
        let folder = Path::new(path)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        std::mem::replace(&mut self.folder, folder)
    }

    /// Makes relative file names refer again to the folder that `enter_folder` returned.
    pub fn leave_folder(&mut self, folder: PathBuf) {
        self.folder = folder;
    }

    /// Returns the names of all items.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.library.iter().chain([&self.program]);
        all.flat_map(|module| &module.items)
            .filter_map(Item::name)
            .map(|ident| &ident.name)
    }

    /// Returns the item with this name. Items of the program hide items of the library.
    pub fn find(&self, wanted: &str) -> Option<&Item> {
        let all = std::iter::once(&self.program).chain(&self.library);
        all.flat_map(|module| &module.items)
            .find(|item| item.name().is_some_and(|ident| &*ident.name == wanted))
    }

    /// Returns the texts of all entered items, one after another.
    pub fn text(&self, sources: &SourceMap) -> String {
        let texts = self.program.items.iter().filter_map(|item| text(item, sources));
        texts.map(|text| format!("{text}\n\n")).collect()
    }
}

/// Returns whether both items compare the same inference blocks.
pub fn is_same_comparison(one: &Item, other: &Item) -> bool {
    let names = |item: &Item| match &item.kind {
        ItemKind::Compare(compare) => {
            let names = compare.infers.iter().map(|infer| infer.name.clone());
            Some(names.collect::<Vec<_>>())
        }
        _ => None,
    };
    names(one).is_some_and(|names_of_one| Some(names_of_one) == names(other))
}

/// Returns the keyword of an item.
fn kind(item: &Item) -> &'static str {
    match &item.kind {
        ItemKind::Use(_) => "use",
        ItemKind::Const(_) => "const",
        ItemKind::Fn(_) => "fn",
        ItemKind::Layer(_) => "layer",
        ItemKind::Dist(_) => "dist",
        ItemKind::Optimiser(_) => "optimiser",
        ItemKind::Data(_) => "data",
        ItemKind::Model(_) => "model",
        ItemKind::Posterior(_) => "posterior",
        ItemKind::Infer(_) => "infer",
        ItemKind::Compare(_) => "compare",
        ItemKind::Error => "error",
    }
}

/// Returns the text of an item.
fn text(item: &Item, sources: &SourceMap) -> Option<String> {
    sources.text(item.span).map(str::to_owned)
}

/// Returns the text before the braces of an item, on one line.
pub fn header(item: &Item, sources: &SourceMap) -> String {
    let text = text(item, sources).unwrap_or_default();
    let head = if matches!(item.kind, ItemKind::Const(_)) {
        &text
    } else {
        text.split('{').next().unwrap_or(&text)
    };
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a diagnostic points into the text of an item.
pub fn is_about(diagnostic: &Diagnostic, item: &Item) -> bool {
    match &diagnostic.at {
        Place::Span(span) => span.source == item.span.source,
        Place::File { .. } | Place::Nowhere => true,
    }
}
