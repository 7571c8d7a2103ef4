//! Tests of the library. Every file of the library can be parsed, is formatted, and has
//! documentation. Every distribution agrees with its formulas, and every layer runs.

mod counts;
mod joint;
mod known_values;
mod layers;
mod moments;
mod norm;
mod paths;
mod probe;
mod quadrature;
mod reach;
mod reached;
mod scalars;
mod supports;
mod tails;
mod truncated;

use bnnc_base::source::SourceMap;
use bnnc_grammar::ast::ItemKind;
use bnnc_grammar::{parse, print};

#[test]
fn files_parse_and_are_formatted() {
    assert!(!bnnc_stdlib::FILES.is_empty());
    for (path, text) in bnnc_stdlib::FILES {
        let source = SourceMap::default().add(path, text);
        let (_, diagnostics) = parse::parse(&source);
        assert!(diagnostics.is_empty(), "{path}: {diagnostics:#?}");
        let formatted = print::format(&source);
        assert_eq!(
            formatted.as_deref(),
            Ok(*text),
            "{path} is not formatted: `bnnc fmt stdlib/{path}`"
        );
    }
}

/// The library compiles without errors and warnings. The library also compiles together with a
/// program that reuses one of its names.
#[test]
fn the_library_has_no_diagnostics() {
    let program = bnnc_driver::program::load("empty.bnn", "", &Default::default());
    assert!(program.diagnostics.is_empty(), "{:#?}", program.diagnostics);
    let text = "fn share(x: real) -> real {\n  return 2 * x\n}\n";
    let program = bnnc_driver::program::load("own.bnn", text, &Default::default());
    assert!(program.diagnostics.is_empty(), "{:#?}", program.diagnostics);
    assert_eq!(bnnc_hir::verify::verify(&program.module), Vec::<String>::new());
}

#[test]
fn items_are_documented() {
    for (path, text) in bnnc_stdlib::FILES {
        assert!(
            text.starts_with("//! "),
            "{path} does not begin with a `//!` sentence"
        );
        let (tree, _) = parse::parse(&SourceMap::default().add(path, text));
        for item in tree.items {
            let is_documented = item.doc.first().is_some_and(|line| !line.trim().is_empty());
            assert!(is_documented, "{path}: {:?} has no `///`", item.kind);
            let is_allowed = matches!(
                item.kind,
                ItemKind::Fn(_)
                    | ItemKind::Layer(_)
                    | ItemKind::Dist(_)
                    | ItemKind::Optimiser(_)
                    | ItemKind::Const(_)
            );
            assert!(
                is_allowed,
                "{path} declares more than the library may: {:?}",
                item.kind
            );
        }
    }
}
