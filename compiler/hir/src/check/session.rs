//! The state of checking a program. All checks of items use it.

use super::CheckContext;
use super::body::{BodyKind, Checker};
use super::names::{Def, ItemNames};
use crate::diagnostics::{infer as report, names as report_names};
use crate::tree::{InferId, ModelId, Module};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use bnnc_base::spellings;
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
    /// The model of each posterior and inference block that refers to a valid model.
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

/// The value of an option, from the program or from the command line.
#[derive(Clone, Copy)]
pub struct GivenOption<'a> {
    /// The name of the option.
    pub name: &'a str,
    /// The place of the name.
    pub span: Span,
    /// The value.
    pub value: &'a ast::Expr,
}

impl<'a> CheckSession<'a> {
    /// Adds a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds a diagnostic and returns `None`.
    pub fn reject<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.report(diagnostic);
        None
    }

    /// Reports that the value of the option `name` must be `expected`, and returns `None`.
    pub fn wrong_value<T>(&mut self, span: Span, name: &str, expected: &str) -> Option<T> {
        self.reject(report::option_value(span, name, expected))
    }

    /// Returns the options of an item of the program. Reports options that are given twice.
    pub fn given_options<'w>(&mut self, written: &'w [ast::Setting]) -> Vec<GivenOption<'w>> {
        let mut options = Vec::new();
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for ast::Setting { name, value } in written {
            match seen.insert(spellings::word(&name.name), name.span) {
                Some(first) => self.report(report::option_twice(&name.name, first, name.span)),
                None => options.push(GivenOption {
                    name: &name.name,
                    span: name.span,
                    value,
                }),
            }
        }
        options
    }

    /// Returns the options of the item `owner` from the command line.
    pub fn overrides(&self, owner: &str) -> Vec<GivenOption<'a>> {
        let own = self.context.overrides.iter().filter(|one| one.item == owner);
        own.map(|one| GivenOption {
            name: &one.key,
            span: one.value.span,
            value: &one.value,
        })
        .collect()
    }

    /// Returns the identity of the item with this name if `pick` accepts the item. Reports a name
    /// that does not exist, and an item that is not `expected`, such as `an inference`.
    pub fn resolve<T>(
        &mut self,
        name: &str,
        span: Span,
        expected: &str,
        pick: fn(Def) -> Option<T>,
    ) -> Option<T> {
        match self.find(name) {
            Some((def, at)) => {
                let def = def?;
                pick(def)
                    .or_else(|| self.reject(report_names::wrong_kind(span, name, expected, def.kind(), at)))
            }
            None => {
                let names = self.names.all(|def| pick(def).is_some());
                let diagnostic = report_names::unknown_name(span, name, names);
                self.reject(diagnostic)
            }
        }
    }

    /// Returns the inference block with this name. Reports any other name.
    pub fn infer(&mut self, name: &str, span: Span) -> Option<InferId> {
        self.resolve(name, span, "an inference", |def| match def {
            Def::Infer(id) => Some(id),
            _ => None,
        })
    }

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
