//! Tests of invalid programs: one program per situation, with the diagnostics that it must produce.

use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::{Source, SourceMap, Span};
use bnnc_grammar::diagnostics::CODES;
use bnnc_grammar::parse;

fn place(source: &Source, span: Span) -> String {
    let before = &source.text[..span.start as usize];
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
    format!(
        "{line}:{column} `{}`",
        &source.text[span.start as usize..span.end as usize]
    )
}

fn show(source: &Source, diagnostic: &Diagnostic) -> String {
    let Place::Span(at) = diagnostic.at else {
        panic!("a diagnostic of the syntax has a span")
    };
    let mut text = format!(
        "{} {}: {}",
        diagnostic.code.id,
        place(source, at),
        diagnostic.message
    );
    if !diagnostic.label.is_empty() {
        text += &format!("\n  label: {}", diagnostic.label);
    }
    for label in &diagnostic.labels {
        text += &format!("\n  {}: {}", place(source, label.span), label.message);
    }
    for help in &diagnostic.help {
        text += &format!("\n  help: {help}");
    }
    text
}

fn check(text: &str) -> String {
    let source = SourceMap::default().add("wrong.bnn", text);
    let (_, diagnostics) = parse::parse(&source);
    let shown: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| show(&source, diagnostic))
        .collect();
    shown.join("\n")
}

/// Checks `text` as the body of a model.
fn body(text: &str) -> String {
    check(&format!("model M(x: real) -> y: real {{\n{text}\n}}\n"))
}

#[test]
fn values_side_by_side_are_reported() {
    insta::assert_snapshot!(body("  y = 2 x\n  z = 3"), @r"
    E0109 2:7 `2 x`: expected an operator or a new line between `2` and `x`
      help: for a product write `2 * x`
    ");
}

#[test]
fn missing_comma() {
    insta::assert_snapshot!(body("  y ~ Normal(0 1, k = 2)\n  z = 3"), @r"E0109 2:14 `0 1`: expected an operator or a comma between `0` and `1`");
}

#[test]
fn malformed_numbers_are_reported() {
    insta::assert_snapshot!(body("  y = 2x + .5"), @r"
    E0103 2:7 `2x`: `2x` is not a number
      help: for a product write `2 * x`; a name must begin with a letter
    E0103 2:12 `.5`: `.5` is not a number
      help: write `0.5`
    ");
}

#[test]
fn numbers_that_are_too_large_are_reported() {
    insta::assert_snapshot!(body("  y = 99999999999999999999 + 1e999"), @r"
    E0104 2:7 `99999999999999999999`: this number is too large: the largest integer is 9223372036854775807
    E0104 2:30 `1e999`: this number is too large: the largest real is 1.8e308
    ");
}

#[test]
fn bracket_never_closed() {
    insta::assert_snapshot!(body("  y ~ Normal(0, 1\n  z = 3"), @r"
    E0106 2:13 `(`: this `(` is never closed
      3:3 `z`: expected `)` before this `z`
    ");
}

#[test]
fn bracket_never_opened() {
    insta::assert_snapshot!(body("  y ~ Normal(0, 1))\n  z = 3"), @r"
    E0107 2:19 `)`: this `)` has no opening bracket
      help: remove it, or add the opening bracket before it
    ");
}

#[test]
fn brace_never_closed() {
    insta::assert_snapshot!(check("model M() -> y: real {\n  y ~ Flat\n\ninfer a = vi(M, d) { draws = 3 }"), @r"
    E0106 1:22 `{`: this `{` is never closed
      4:1 `infer`: expected `}` before this `infer`
    ");
}

#[test]
fn parameters_never_closed() {
    insta::assert_snapshot!(check("model M(x: real -> y: real {\n  y ~ Flat\n}"), @r"
    E0106 1:8 `(`: this `(` is never closed
      1:17 `->`: expected `)` before this `->`
    ");
}

#[test]
fn operator_at_the_end() {
    insta::assert_snapshot!(body("  y = a +\n  z = 3"), @r"E0108 2:9 `+`: expected a value after `+`");
}

#[test]
fn errors_on_two_lines_are_both_reported() {
    insta::assert_snapshot!(body("  y = 1 + * 2\n  z = = 3\n  w = 1"), @r"
    E0108 2:11 `*`: expected a value, found `*`
    E0108 3:7 `=`: expected a value, found `=`
    ");
}

#[test]
fn comparison_chain() {
    insta::assert_snapshot!(body("  y = 0 < x < 1"), @r"
    E0110 2:7 `0 < x < 1`: comparisons cannot be chained, because a comparison has two sides
      help: write `0 < x && x < 1`
    ");
}

#[test]
fn spellings_of_other_languages_are_reported() {
    insta::assert_snapshot!(body("  let y := x ** 2;\n  z = 'a' & b # why"), @r#"
    E0105 2:3 `let`: write `name = value`, without `let`
      label: remove this
    E0105 2:9 `:=`: expected `=`, found `:=`
      label: write `=`
    E0105 2:14 `**`: expected `^`, found `**`
      label: write `^`
    E0105 2:18 `;`: end the statement at the end of the line, without `;`
      label: remove this
    E0105 3:7 `'a'`: put the string into double quotes
      label: write `"a"`
    E0105 3:11 `&`: expected `&&`, found `&`
      label: write `&&`
    E0105 3:15 `# why`: expected a comment that begins with `//`, found `#`
    "#);
}

#[test]
fn greek_letter() {
    insta::assert_snapshot!(body("  σ ~ Flat"), @r"
    E0101 2:3 `σ`: unexpected character `σ`
      help: names are made of the letters a to z, digits and `_`: write `sigma`, not `σ`
    ");
}

#[test]
fn percent() {
    insta::assert_snapshot!(body("  y = x % 2"), @r"
    E0101 2:9 `%`: unexpected character `%`
      help: the remainder of `a / b` is `a - b * floor(a / b)`
    ");
}

#[test]
fn logical_words_are_reported() {
    insta::assert_snapshot!(body("  y = if x > 0 and x < 1 or x > 2 { 1 } else { 0 }"), @r"
    E0105 2:16 `and`: expected `&&`, found `and`
      label: write `&&`
    E0105 2:26 `or`: expected `||`, found `or`
      label: write `||`
    ");
    insta::assert_snapshot!(body("  y = if not x > 0 { 1 } else { 0 }"), @r"
    E0105 2:10 `not`: expected `!`, found `not`
      label: write `!(..)` around the condition
    ");
    // If no value precedes these words, they are ordinary names.
    insta::assert_snapshot!(body("  and = 2 * x\n  not = and\n  y = not + and"), @"");
}

#[test]
fn an_if_without_parentheses_is_one_error() {
    insta::assert_snapshot!(body("  y = 1 + if x > 0 { a } else { b }\n  z = 2 x\n"), @r"
    E0108 2:11 `if`: expected a value, found `if`
      help: put parentheses around an `if` inside a larger expression
    E0109 3:7 `2 x`: expected an operator or a new line between `2` and `x`
      help: for a product write `2 * x`
    ");
}

#[test]
fn ranges_with_colons() {
    insta::assert_snapshot!(body("  y = sum(x[1:n])"), @r"
    E0108 2:14 `:`: expected `]`, `,` or `..`, found `:`
      help: write the range as `1..n`, without its end
    ");
    insta::assert_snapshot!(body("  y = sum(x[:2])"), @r"
    E0108 2:13 `:`: expected a value or `]`, found `:`
      help: write the range as `0..2`, without its end
    ");
    insta::assert_snapshot!(body("  y = sum(x[1:])"), @r"
    E0108 2:14 `:`: expected `]`, `,` or `..`, found `:`
      help: write the range as `1..n` with the size of the axis for `n`, without its end
    ");
}

#[test]
fn question_mark_operator_is_reported() {
    insta::assert_snapshot!(body("  y = (x > 0 ? 1 : 2)"), @r"
    E0101 2:14 `?`: unexpected character `?`
      help: a choice is written `if c { a } else { b }`, in parentheses inside a larger expression
    ");
}

#[test]
fn a_function_of_another_language_after_data() {
    insta::assert_snapshot!(check("data d = csv(\"d.csv\")\ndef f(x) {\n  return 2 * x\n}\n"), @r"
    E0109 2:1 `def f`: expected an operator or a new line between `def` and `f`
      help: a function is an item of its own: `fn f(x: real) -> real { return x + 1 }`
    ");
}

#[test]
fn text_never_closed() {
    insta::assert_snapshot!(body("  y = csv(\"abc)\n  z = 1"), @r#"
    E0102 2:11 `"abc`: this string has no closing quote
      label: expected `"` on the same line
      help: end the string with `"`
    "#);
}

#[test]
fn if_inside_an_expression() {
    insta::assert_snapshot!(body("  y = 1 + if a { 1 } else { 2 }"), @r"
    E0108 2:11 `if`: expected a value, found `if`
      help: put parentheses around an `if` inside a larger expression
    ");
}

#[test]
fn equals_in_a_condition() {
    insta::assert_snapshot!(body("  y = if x = 1 { 1 } else { 2 }"), @r"
    E0108 2:12 `=`: expected `{`, found `=`
      help: write a comparison with `==`
    ");
}

#[test]
fn keyword_as_a_name() {
    insta::assert_snapshot!(body("  data = x + 1"), @r"
    E0112 2:3 `data`: expected a name, found the keyword `data`
      help: choose another name: `data_`
    ");
}

#[test]
fn keyword_as_a_value() {
    insta::assert_snapshot!(body("  y = data + 1"), @r"
    E0112 2:7 `data`: expected a name, found the keyword `data`
      help: choose another name: `data_`
    ");
}

#[test]
fn arrow_of_other_languages() {
    insta::assert_snapshot!(body("  y <- x"), @r"
    E0108 2:5 `<`: expected `=` or `~`, found `<`
      help: `=` defines, `~` draws
    ");
}

#[test]
fn neither_defined_nor_drawn() {
    insta::assert_snapshot!(body("  y : real\n  z"), @r"
    E0108 2:7 `real`: expected `=` or `~` after `real`
    E0108 3:3 `z`: expected `=` or `~` after `z`
    ");
}

#[test]
fn loop_without_a_range() {
    insta::assert_snapshot!(body("  for t in 5 {\n    y = 3\n  }\n  z = 4"), @r"E0108 2:14 `{`: expected `..`, found `{`");
}

#[test]
fn missing_type() {
    insta::assert_snapshot!(check("model M(x real) -> y: real {\n  y ~ Flat\n}"), @r"
    E0108 1:11 `real`: expected `:`, found `real`
      help: write a colon before the type: `x: real`
    ");
}

#[test]
fn statement_outside_of_an_item() {
    insta::assert_snapshot!(check("y = 3\nconst c = 3\n"), @r"
    E0113 1:1 `y`: expected an item such as `model` or `data`, found `y`
      help: move the statement into a `model`, `layer`, `fn` or `posterior`; for a constant of the whole file write `const n = 3`
    ");
}

#[test]
fn faulty_settings_are_reported() {
    insta::assert_snapshot!(check("infer a = vi(M, d) { draws 3, epochs = 4, = 5, batch = 3 }"), @r"
    E0108 1:28 `3`: expected `=`, found `3`
    E0108 1:43 `=`: expected a name or `}`, found `=`
    ");
}

#[test]
fn forgotten_braces() {
    insta::assert_snapshot!(check("infer map = map(Net, mnist) epochs = 3"), @r"
    E0108 1:29 `epochs`: expected a new line or `{`, found `epochs`
      help: put options into braces: `{ draws = 1000, batch = 32 }`
    ");
}

#[test]
fn missing_comma_between_settings() {
    insta::assert_snapshot!(check("infer a = vi(M, d) { draws = x batch = 3 }"), @r"E0109 1:30 `x batch`: expected an operator or a comma between `x` and `batch`");
}

#[test]
fn faulty_definitions_are_reported() {
    insta::assert_snapshot!(check("dist D(a: real) on real {\n  mean 3\n  draw = 4\n}"), @r"E0108 2:8 `3`: expected `=`, found `3`");
}

#[test]
fn options_without_braces_far_away() {
    insta::assert_snapshot!(check("data d = csv(\"d\")\ntarget = y\n"), @r"
    E0108 2:1 `target`: expected a new line or `{`, found `target`
      help: put options into braces: `{ draws = 1000, batch = 32 }`
    ");
}

#[test]
fn posterior_of_nothing() {
    insta::assert_snapshot!(check("posterior Q of {\n  a ~ b\n}"), @r"E0108 1:16 `{`: expected a name, found `{`");
}

/// Returns the example that follows a heading in an explanation.
fn example(explain: &str, heading: &str) -> String {
    let text = explain.split(heading).nth(1).expect("the heading");
    let lines = text.lines().skip_while(|line| line.is_empty());
    let example = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    example
        .map(|line| line.trim_start_matches("    ").to_owned() + "\n")
        .collect()
}

#[test]
fn examples_of_explanations_have_the_explained_error() {
    for code in CODES.iter().filter(|code| code.id != "E0111") {
        let wrong = example(code.explain, "Wrong:");
        let reported = [check(&wrong), body(&wrong)];
        assert!(
            reported.iter().any(|reported| reported.starts_with(code.id)),
            "{}: {reported:?}",
            code.id
        );
        let right = example(code.explain, "Right:");
        assert!(
            check(&right).is_empty() || body(&right).is_empty(),
            "{}: {}",
            code.id,
            body(&right)
        );
    }
}
