//! The state of checking a program, which the check of every item shares.

use super::CheckContext;
use super::body::{BodyKind, Checker};
use super::names::{Def, ItemNames};
use crate::tree::{ModelId, Module};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, Ident};
use std::collections::HashMap;
use std::sync::Arc;

/// The state of a complete check.
pub struct CheckSession<'a> {
    /// The items checked so far. All other items are placeholders.
    pub module: Module,
    /// The names of items.
    pub names: ItemNames,
    /// The context given by the caller.
    pub context: &'a CheckContext,
    /// The diagnostics so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The models of the posteriors and inference blocks whose references are valid.
    pub models: HashMap<Def, ModelId>,
}

/// An item of the syntax tree, and its identity.
pub struct ItemEntry<'a> {
    /// The identity of the item.
    pub def: Def,
    /// The syntax tree of the item.
    pub item: &'a ast::Item,
    /// The name of the item.
    pub name: &'a Ident,
    /// True if the item belongs to the library.
    pub library: bool,
}

impl<'a> CheckSession<'a> {
    /// Reads a constant number of an option block or a posterior.
    pub fn number(&mut self, written: &ast::Expr, what: &str) -> Option<f64> {
        self.with_constants(|body| body.number(written, what))
    }

    /// Runs `work` on the state of an item without variables.
    pub fn with_constants<T>(&mut self, work: impl FnOnce(&mut Checker<'_>) -> T) -> T {
        let name: Arc<str> = "option".into();
        let mut body = self.body(BodyKind::Constant, false, &name);
        let result = work(&mut body);
        let (_, diagnostics) = body.finish();
        self.diagnostics.extend(diagnostics);
        result
    }

    /// Begins the check of the body of an item.
    pub fn body(&self, kind: BodyKind, library: bool, name: &Arc<str>) -> Checker<'_> {
        Checker::new(&self.module, &self.names, library, kind, name)
    }

    /// Looks up a name of the program. Returns `None` if the name does not exist. If the item with
    /// this name has errors, the `Def` in the result is `None`.
    pub fn find(&self, name: &str) -> Option<(Option<Def>, Option<Span>)> {
        let found = self.names.find(name, false);
        if found.is_none() && self.names.unread.contains(name) {
            return Some((None, None));
        }
        let (def, span) = found?;
        Some(((!self.names.broken.contains(&def)).then_some(def), span))
    }
}
