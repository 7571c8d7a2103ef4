//! The program of a session: the library and the items entered so far.

use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::{Item, ItemKind, Module};
use bnnc_hir::check::{Context, check};
use bnnc_hir::tree;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The items of a session.
pub struct Items {
    library: Vec<Module>,
    program: Module,
    folder: PathBuf,
}

impl Items {
    /// Only the library.
    pub fn new(library: Vec<Module>) -> Items {
        Items {
            library,
            program: Module::default(),
            folder: PathBuf::new(),
        }
    }

    /// The items entered so far.
    pub fn program(&self) -> &Module {
        &self.program
    }

    /// Resolves and types the library and a program.
    pub fn check(&self, program: &Module) -> (tree::Module, Vec<Diagnostic>) {
        let library_paths = bnnc_stdlib::FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .collect();
        let context = Context {
            folder: self.folder.clone(),
            library_paths,
            ..Context::default()
        };
        check(&self.library, program, &context)
    }

    /// The program with new items, and a sentence for each; an item takes the place of one with its name.
    pub fn with(&self, new: &[Item]) -> (Module, Vec<String>) {
        let mut program = Module {
            items: self.program.items.clone(),
            ..Module::default()
        };
        let mut changes = Vec::new();
        for item in new {
            let Some(name) = item.name() else {
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

    /// Takes a sound program.
    pub fn set(&mut self, program: Module) {
        self.program = program;
    }

    /// Files that items name are relative to the folder of this file; the folder before is returned.
    pub fn enter_folder(&mut self, path: &str) -> PathBuf {
        let folder = Path::new(path)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        std::mem::replace(&mut self.folder, folder)
    }

    /// Back to a folder.
    pub fn leave_folder(&mut self, folder: PathBuf) {
        self.folder = folder;
    }

    /// The names of all items.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.library.iter().chain([&self.program]);
        all.flat_map(|module| &module.items)
            .filter_map(Item::name)
            .map(|ident| &ident.name)
    }

    /// The item with this name; those of the program hide those of the library.
    pub fn find(&self, wanted: &str) -> Option<&Item> {
        let all = std::iter::once(&self.program).chain(&self.library);
        all.flat_map(|module| &module.items)
            .find(|item| item.name().is_some_and(|ident| &*ident.name == wanted))
    }

    /// The text of all items, one after another.
    pub fn text(&self, sources: &SourceMap) -> String {
        let texts = self.program.items.iter().filter_map(|item| text(item, sources));
        texts.map(|text| format!("{text}\n\n")).collect()
    }
}

/// The keyword of an item.
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

/// The text of an item.
fn text(item: &Item, sources: &SourceMap) -> Option<String> {
    let source = sources.get(item.span.source)?;
    source
        .text
        .get(item.span.start as usize..item.span.end as usize)
        .map(str::to_owned)
}

/// What stands before the braces of an item, on one line.
pub fn header(item: &Item, sources: &SourceMap) -> String {
    let text = text(item, sources).unwrap_or_default();
    let head = if matches!(item.kind, ItemKind::Const(_)) {
        &text
    } else {
        text.split('{').next().unwrap_or(&text)
    };
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a diagnostic points into the text of an item.
pub fn is_about(diagnostic: &Diagnostic, item: &Item) -> bool {
    match &diagnostic.at {
        Place::Span(span) => span.source == item.span.source,
        Place::File { .. } | Place::Nowhere => true,
    }
}
