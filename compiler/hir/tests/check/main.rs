//! Tests of the checker: it accepts valid programs, reports the expected diagnostics for invalid programs, and never panics.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

/// Declares tests, each with a program and its expected diagnostics, one per line.
macro_rules! wrong {
    ($($name:ident: $program:expr => $expected:expr;)*) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(check($program).text(), $expected);
            }
        )*
    };
}

mod accepted;
mod explained;
mod mutated;
mod printed;
mod prompt;
mod settled;
mod wrong;
mod wrong_runs;

use bnnc_base::diagnostic::{Diagnostic, Place, Severity};
use bnnc_base::source::{Source, SourceMap, Span};
use bnnc_grammar::ast;
use bnnc_hir::check::{CheckContext, LibraryItems};
use bnnc_hir::tree::Module;
use std::sync::LazyLock;

/// The parsed library, with its sources. The source of a program is added after the sources of the library.
pub struct Library {
    sources: SourceMap,
    modules: Vec<ast::SourceFile>,
}

pub static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let mut sources = SourceMap::default();
    let mut modules = Vec::new();
    for (path, text) in bnnc_stdlib::FILES {
        let source = sources.add(path, text);
        let (module, diagnostics) = bnnc_grammar::parse::parse(&source);
        assert!(diagnostics.is_empty(), "{path}: {diagnostics:?}");
        modules.push(module);
    }
    Library { sources, modules }
});

/// A checked program.
pub struct Checked {
    pub module: Module,
    pub diagnostics: Vec<Diagnostic>,
    pub source: Source,
}

pub fn context() -> CheckContext {
    CheckContext {
        library_paths: bnnc_stdlib::FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .collect(),
        folder: "/data".into(),
        ..CheckContext::default()
    }
}

pub fn check(text: &str) -> Checked {
    check_with(text, &context())
}

/// Checks a program together with the whole library. Checking only the reached part of the library must give the same diagnostics and the same items.
pub fn check_with(text: &str, context: &CheckContext) -> Checked {
    let mut sources = LIBRARY.sources.clone();
    let source = sources.add("test.bnn", text);
    let (program, mut diagnostics) = bnnc_grammar::parse::parse(&source);
    let (module, found) = bnnc_hir::check::check(&LIBRARY.modules, &program, context);
    let reached = CheckContext {
        library_items: LibraryItems::Reached,
        ..context.clone()
    };
    let (part, found_in_part) = bnnc_hir::check::check(&LIBRARY.modules, &program, &reached);
    assert_eq!(found_in_part, found, "{text}");
    let printed = |module| bnnc_hir::print::print(module, Some(source.id));
    assert_eq!(printed(&part), printed(&module), "{text}");
    diagnostics.extend(found);
    Checked {
        module,
        diagnostics,
        source,
    }
}

impl Checked {
    /// Formats the diagnostics, one per line, as `E0207 3:14 message | label | help`. Labels at
    /// other places stand between the first label and the help.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.diagnostics.iter().map(|one| self.line(one)).collect();
        lines.join("\n")
    }

    fn line(&self, one: &Diagnostic) -> String {
        let at = match &one.at {
            Place::Span(span) => self.place(*span),
            Place::File { .. } | Place::Nowhere => "-".to_owned(),
        };
        let mut parts = vec![format!("{} {at} {}", one.code.id, one.message)];
        if !one.label.is_empty() {
            parts.push(one.label.clone());
        }
        parts.extend(
            one.labels
                .iter()
                .map(|label| format!("{} {}", self.place(label.span), label.message)),
        );
        parts.extend(one.help.iter().map(|help| format!("help: {help}")));
        parts.join(" | ")
    }

    fn place(&self, span: Span) -> String {
        if span.source != self.source.id {
            return "library".to_owned();
        }
        let before = &self.source.text[..span.start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        format!("{line}:{column}")
    }

    pub fn errors(&self) -> Vec<&Diagnostic> {
        self.diagnostics
            .iter()
            .filter(|one| one.severity == Severity::Error)
            .collect()
    }
}
