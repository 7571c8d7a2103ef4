//! The syntax tree: precedence, spans, documentation, depth limits, and REPL entries.

use bnnc_base::source::{Source, SourceMap};
use bnnc_grammar::ast::{Expr, ExprKind, ItemKind, StmtKind};
use bnnc_grammar::parse::{self, Entered, ReplEntry};
use bnnc_grammar::{diagnostics, print};

fn source(text: &str) -> Source {
    SourceMap::default().add("text", text)
}

/// Formats the expression with parentheses around every operation.
fn grouped(expr: &Expr) -> String {
    match &*expr.kind {
        ExprKind::Binary(op, left, right) => format!("({} {op} {})", grouped(left), grouped(right)),
        ExprKind::Unary(op, value) => format!("({op}{})", grouped(value)),
        ExprKind::If(condition, yes, no) => {
            format!("(if {} {} {})", grouped(condition), grouped(yes), grouped(no))
        }
        ExprKind::Paren(inner) => grouped(inner),
        _ => print::print_expr(expr),
    }
}

fn group(text: &str) -> String {
    let (expr, diagnostics) = parse::parse_expr(&source(text));
    assert_eq!(diagnostics, [], "{text}");
    grouped(&expr)
}

#[test]
fn precedence_follows_mathematics() {
    for (text, expected) in [
        ("-x ^ 2", "(-(x ^ 2))"),
        ("2 ^ -x ^ y", "(2 ^ (-(x ^ y)))"),
        ("a - b - c", "((a - b) - c)"),
        ("a + b * c @ d / e", "(a + (((b * c) @ d) / e))"),
        (
            "a < b + 1 && !c || d != e",
            "(((a < (b + 1)) && (!c)) || (d != e))",
        ),
        ("-a * b", "((-a) * b)"),
        (
            "if a { b } else if c { d } else { e + 1 }",
            "(if a b (if c d (e + 1)))",
        ),
        ("(a + b) * c", "((a + b) * c)"),
        ("out(x)[0].w.* ^ 2", "(out(x)[0].w.* ^ 2)"),
        (
            "sum(b[k] * y[t - 1 - k] for k in 0..5)",
            "sum(b[k] * y[t - 1 - k] for k in 0..5)",
        ),
        ("[Dense(50) for l in 0..2]", "[Dense(50) for l in 0..2]"),
        (
            "f(by = 2, of, true, \"t\", x[1..n, 2], [1, 2.50,])",
            "f(by = 2, of, true, \"t\", x[1..n, 2], [1, 2.50])",
        ),
    ] {
        assert_eq!(group(text), expected, "{text}");
    }
}

#[test]
fn spans_cover_the_whole_construct() {
    let text =
        "/// Says\n/// two lines.\nmodel M(a: real[J])(b: int = 2) -> y: real {\n  y ~ Normal(a[b], 1)\n}\n";
    let (module, diagnostics) = parse::parse(&source(text));
    assert_eq!(diagnostics, []);
    let item = &module.items[0];
    let doc: Vec<&str> = item.doc.iter().map(|line| &**line).collect();
    assert_eq!(doc, ["Says", "two lines."]);
    assert!(text[item.span.start as usize..].starts_with("model M"));
    assert_eq!(item.span.end as usize, text.trim_end().len());
    let ItemKind::Model(model) = &item.kind else {
        panic!("a model")
    };
    assert_eq!(
        (model.two_lists, model.shared.len(), model.inputs.len()),
        (true, 1, 1)
    );
    let StmtKind::Sample { dist, .. } = &model.body[0].kind else {
        panic!("a draw")
    };
    assert_eq!(
        &text[dist.span.start as usize..dist.span.end as usize],
        "Normal(a[b], 1)"
    );
}

#[test]
fn one_error_does_not_hide_the_others() {
    let text = "const a = = 1\nmodel M(x: real) -> y: real {\n  u = 1 + + 2\n  v = 3\n  y ~ Normal(u v, 1)\n}\n\
                data d = csv(\"d\") { target = , inputs = [x] }\ndist D() on real {\n  mean = 0\n  draw = )\n  mode = 0\n}\n";
    let (module, diagnostics) = parse::parse(&source(text));
    assert_eq!(diagnostics.len(), 5, "{diagnostics:#?}");
    let ItemKind::Model(model) = &module.items[1].kind else {
        panic!("a model")
    };
    assert_eq!(
        model
            .body
            .iter()
            .filter(|stmt| !matches!(stmt.kind, StmtKind::Error))
            .count(),
        1
    );
    let ItemKind::Data(data) = &module.items[2].kind else {
        panic!("data")
    };
    assert_eq!(data.options.len(), 1);
    let ItemKind::Dist(dist) = &module.items[3].kind else {
        panic!("a distribution")
    };
    assert_eq!(dist.body.len(), 2);
}

#[test]
fn distributions_and_functions_are_types() {
    let text =
        "layer R(prior: dist = Normal(0, 1), activation: fn = relu)(x: real) -> real {\n  return x\n}\n";
    let (module, diagnostics) = parse::parse(&source(text));
    assert_eq!(diagnostics, []);
    assert_eq!(print::print(&module, &source(text)), text);
}

#[test]
fn depth_is_bounded() {
    let codes = |text: String| -> Vec<&str> {
        parse::parse_expr(&source(&text))
            .1
            .iter()
            .map(|diagnostic| diagnostic.code.id)
            .collect()
    };
    let nested = |depth: usize| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(codes(nested(200)), [] as [&str; 0]);
    assert_eq!(codes(nested(201)), ["E0111"]);
    assert_eq!(codes(format!("1{}", " + 1".repeat(500))), [] as [&str; 0]);
    assert_eq!(codes(format!("1{}", " + 1".repeat(100_000))), ["E0111"]);
    assert_eq!(codes(format!("{}x", "-".repeat(100_000))), ["E0111"]);
    assert_eq!(codes(format!("x{}", ".a".repeat(100_000))), ["E0111"]);
    assert_eq!(codes(format!("x{}", "(1)".repeat(100_000))), ["E0111"]);
    assert_eq!(codes("if a { b } else ".repeat(100_000) + "{ c }"), ["E0111"]);
    assert_eq!(codes("(".repeat(100_000)).last(), Some(&"E0111"));
    let wide = format!("[{}]", "1 + 2, ".repeat(10_000));
    assert_eq!(codes(wide), [] as [&str; 0]);
}

#[test]
fn repl_entries_are_classified() {
    let complete = |text: &str| match parse::parse_entry(&source(text)) {
        Entered::Complete(entries) => entries
            .iter()
            .map(|entry| match entry {
                ReplEntry::Item(_) => "item",
                ReplEntry::Stmt(_) => "statement",
                ReplEntry::Expr(_) => "expression",
            })
            .collect::<Vec<_>>(),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(complete("use layers::Dense"), ["item"]);
    assert_eq!(complete("const a = 1\nconst b = 2"), ["item", "item"]);
    assert_eq!(complete("x = 1"), ["statement"]);
    assert_eq!(
        complete("tau: positive ~ Cauchy(0, 5)\ny = 2"),
        ["statement", "statement"]
    );
    assert_eq!(complete("Normal(0, scale = 1)"), ["expression"]);
    assert_eq!(complete("hidden.*"), ["expression"]);
    assert_eq!(complete("  // nothing\n"), [] as [&str; 0]);
    for text in [
        "model M() -> y: real {",
        "model M()",
        "f(1,",
        "1 +",
        "x =",
        "[1, 2",
        "for t in 0..3 {\n y = 1",
    ] {
        assert_eq!(parse::parse_entry(&source(text)), Entered::Incomplete, "{text}");
    }
    for text in ["1 2", "x = )", "model = 3", "\"abc", "f(1))", "1 + * 2"] {
        assert!(
            matches!(parse::parse_entry(&source(text)), Entered::Faulty(_)),
            "{text}"
        );
    }
}

#[test]
fn codes_are_sorted_and_explained() {
    assert!(diagnostics::CODES.windows(2).all(|pair| pair[0].id < pair[1].id));
    for code in diagnostics::CODES {
        assert!(code.id.starts_with("E01") && code.id.len() == 5, "{}", code.id);
        assert!(
            code.explain.contains("Wrong:") && code.explain.contains("Right:"),
            "{}",
            code.id
        );
    }
}
