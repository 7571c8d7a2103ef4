//! Tests the checks of expressions and statements that are entered in the REPL.

use super::{LIBRARY, context};
use bnnc_base::source::SourceMap;
use bnnc_grammar::parse::{Entered, ReplEntry, parse_entry};
use bnnc_hir::prompt::{Environment, check_entry, check_expr};
use bnnc_hir::show;

/// Returns the type of each expression and the code of each error, one line per entry.
fn session(lines: &[&str]) -> String {
    let (module, _) = bnnc_hir::check::check(&LIBRARY.modules, &Default::default(), &context());
    let mut sources = SourceMap::default();
    let mut environment = Environment::default();
    let mut answers = Vec::new();
    for line in lines {
        let Entered::Complete(entries) = parse_entry(&sources.add("prompt", line)) else {
            panic!("{line}")
        };
        for entry in entries {
            let (answer, diagnostics) = match entry {
                ReplEntry::Expr(expr) => {
                    let (expr, locals, diagnostics) = check_expr(&module, &environment, &expr);
                    (show::ty(&expr.ty, &locals), diagnostics)
                }
                ReplEntry::Stmt(stmt) => {
                    let (stmt, diagnostics) = check_entry(&module, &mut environment, &stmt);
                    (if stmt.is_some() { "ok" } else { "no" }.to_owned(), diagnostics)
                }
                ReplEntry::Item(_) => panic!("{line}"),
            };
            let codes: Vec<&str> = diagnostics.iter().map(|one| one.code.id).collect();
            answers.push(format!("{answer} {}", codes.join(" ")).trim().to_owned());
        }
    }
    answers.join("\n")
}

#[test]
fn variables_persist_and_can_be_rebound() {
    assert_eq!(
        session(&["x = [1.0, 2.0]", "x * 2", "x = sum(x)", "x", "sum(x)"]),
        "ok\nreal[2]\nok\nreal\n_ E0211"
    );
}

#[test]
fn an_error_leaves_the_variables_unchanged() {
    assert_eq!(session(&["x = 1", "x = y", "x"]), "ok\nno E0202\nint");
}

#[test]
fn parts_of_distributions_can_be_used() {
    let lines = [
        "p = Normal(0, 1)",
        "p.log_density(0.5)",
        "p.draw",
        "Normal([0, 1], 1).mean",
        "p.men",
    ];
    assert_eq!(session(&lines), "ok\nreal\nreal\nreal[2]\n_ E0223");
}

#[test]
fn sites_and_layers_can_be_declared() {
    let lines = ["w: real[3] ~ Normal(0, 1)", "h = Dense(4)", "h(w)", "h(zeros(2))"];
    assert_eq!(session(&lines), "ok\nok\nreal[4]\nreal[4]");
}
