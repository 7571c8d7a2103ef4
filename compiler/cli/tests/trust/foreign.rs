//! Tests words and constructs of other languages and tools. Each causes one error that names the
//! replacement. With the replacement, the program runs.

use crate::support::Output;
use crate::support::trial::Trial;
use std::fmt::Write;

fn check(program: &str) -> Output {
    let rows = (0..40).fold("x,y\n".to_owned(), |mut text, row| {
        let x = f64::from(row) * 0.1;
        let _ = writeln!(text, "{x},{}", 0.5 + x + 0.2 * (3.0 * x).sin());
        text
    });
    Trial::new()
        .file("d.csv", rows)
        .program(program)
        .bnnc("check", &[])
}

fn program(items: &str, lines: &str, infer: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ target = y, inputs = [x] }}
{items}
model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  w: real[4] ~ Normal(0, 1)
{lines}
}}
{infer}
"
    )
}

/// Returns a program whose mean contains the term `term`.
fn term(term: &str) -> String {
    let line = format!("  y ~ Normal(a * x + sum(w) + {term}, 1)");
    program("", &line, "infer fit = map(M, d)")
}

fn inference(infer: &str) -> String {
    program("", "  y ~ Normal(a * x + sum(w), 1)", infer)
}

/// Checks that the program `wrong` causes only the diagnostic `code`, and that the program `right`
/// does not cause any diagnostic.
#[track_caller]
fn assert_corrected(wrong: &str, code: &str, advice: &str, right: &str) {
    let found = check(wrong);
    found.assert_error(code, 1, &[advice]);
    assert_eq!(found.stderr.matches("error[").count(), 1, "{}", found.stderr);
    assert!(!found.stderr.contains("warning["), "{}", found.stderr);
    check(right).assert_silent();
}

impl Output {
    fn assert_advice_is_one(&self) {
        assert_eq!(self.stderr.matches("help:").count(), 1, "{}", self.stderr);
    }
}

#[test]
fn constructs_of_expressions_are_corrected() {
    let cases = [
        (
            "(if x > 0 and x < 1 { a } else { 0 })",
            "E0105",
            "write `&&`",
            "(if x > 0 && x < 1 { a } else { 0 })",
        ),
        (
            "(if x < 0 or x > 1 { a } else { 0 })",
            "E0105",
            "write `||`",
            "(if x < 0 || x > 1 { a } else { 0 })",
        ),
        (
            "(if not x > 0 { a } else { 0 })",
            "E0105",
            "write `!(..)`",
            "(if !(x > 0) { a } else { 0 })",
        ),
        (
            "(if not (x > 0) { a } else { 0 })",
            "E0202",
            "`!(x > 0)`",
            "(if !(x > 0) { a } else { 0 })",
        ),
        (
            "(x > 0 ? a : 0)",
            "E0101",
            "`if c { a } else { b }`",
            "(if x > 0 { a } else { 0 })",
        ),
        ("x % 2", "E0101", "`a - b * floor(a / b)`", "x - 2 * floor(x / 2)"),
        ("x ** 2", "E0105", "write `^`", "x ^ 2"),
        (
            "sum(w[0:2])",
            "E0108",
            "write the range as `0..2`",
            "sum(w[0..2])",
        ),
        ("sum(w[:2])", "E0108", "write the range as `0..2`", "sum(w[0..2])"),
        ("w[-1]", "E0220", "write `3`", "w[3]"),
        ("dot(w, w.T)", "E0223", "`transpose(a)`", "sum(transpose([w, w]))"),
        ("w.shape[0]", "E0223", "`length(x)`", "length(w)"),
        (
            "w.sum()",
            "E0223",
            "write the function before its argument: `sum(..)`",
            "sum(w)",
        ),
    ];
    for (wrong, code, advice, right) in cases {
        assert_corrected(&term(wrong), code, advice, &term(right));
    }
}

#[test]
fn functions_of_other_libraries_are_corrected() {
    let cases = [
        (
            "log10(x + 1)",
            "the logarithm to base 10 is `log(x) / log(10)`",
            "log(x + 1) / log(10)",
        ),
        ("Phi(a)", "`Normal(0, 1).cdf(x)`", "Normal(0, 1).cdf(a)"),
        ("np.exp(a)", "write `exp` without the module", "exp(a)"),
        ("torch.exp(a)", "write `exp` without the module", "exp(a)"),
        ("torch.special.expit(a)", "did you mean `sigmoid`?", "sigmoid(a)"),
        ("np.log10(x + 1)", "`log(x) / log(10)`", "log(x + 1) / log(10)"),
        ("np.pi", "without a module", "3.14159"),
    ];
    for (wrong, advice, right) in cases {
        assert_corrected(&term(wrong), "E0202", advice, &term(right));
        check(&term(wrong)).assert_advice_is_one();
    }
    for wrong in ["log_prob", "logpdf"] {
        let wrong = term(&format!("Normal(0, 1).{wrong}(a)"));
        let right = term("Normal(0, 1).log_density(a)");
        assert_corrected(&wrong, "E0223", "did you mean `log_density`?", &right);
    }
    let net = |layer: &str| {
        let lines =
            format!("  h = {layer}(3)\n  o = Dense(1)\n  y ~ Normal(sum(w) + a + o(tanh(h([x])))[0], 1)");
        program("", &lines, "infer fit = map(M, d)")
    };
    for wrong in ["nn.Linear", "torch.nn.Linear"] {
        assert_corrected(&net(wrong), "E0202", "did you mean `Dense`?", &net("Dense"));
    }
}

#[test]
fn a_declared_name_is_not_taken_for_a_module() {
    let shadowed = program(
        "const np = 2",
        "  y ~ Normal(a * x + np * sum(w), 1)",
        "infer fit = map(M, d)",
    );
    check(&shadowed).assert_silent();
    let parts = program(
        "const np = 2",
        "  y ~ Normal(a * x + sum(w) + np.exp(a), 1)",
        "infer fit = map(M, d)",
    );
    check(&parts).assert_error("E0223", 1, &["write the function before its argument"]);
}

#[test]
fn a_function_item_of_another_language_is_one_error() {
    let item = |head: &str| {
        program(
            &format!("{head} {{\n  return 2 * x\n}}"),
            "  y ~ Normal(f(a * x) + sum(w), 1)",
            "infer fit = map(M, d)",
        )
    };
    let right = item("fn f(x: real) -> real");
    for head in ["def f(x: real) -> real", "def f(x)", "function f(x)"] {
        assert_corrected(
            &item(head),
            "E0109",
            "`fn f(x: real) -> real { return x + 1 }`",
            &right,
        );
    }
}

#[test]
fn a_discrete_prior_is_one_error() {
    let prior = |dist: &str| {
        let lines = format!("  s: positive ~ {dist}\n  y ~ Normal(a * x + sum(w), s)");
        program("", &lines, "infer fit = map(M, d)")
    };
    assert_corrected(&prior("Poisson(1)"), "E0242", "Mixture", &prior("Exponential(1)"));
}

#[test]
fn arguments_of_distributions_of_other_tools_are_corrected() {
    let model = |prior: &str, likelihood: &str| {
        let lines = format!("  b{prior}\n  y ~ Normal(a * x + sum(w) + sum(b), {likelihood})");
        program("", &lines, "infer fit = map(M, d)")
    };
    let right = model(": real[3] ~ Normal(0, 1)", "1");
    for argument in ["shape", "size", "dims"] {
        let wrong = model(&format!(" ~ Normal(0, 1, {argument} = 3)"), "1").replace("sum(b)", "b");
        assert_corrected(&wrong, "E0216", "`beta: real[k]`", &right);
    }
    for argument in ["observed", "obs"] {
        let wrong = model(": real[3] ~ Normal(0, 1)", &format!("1, {argument} = x"));
        assert_corrected(
            &wrong,
            "E0216",
            "observe it in its own line: `-> y: real`",
            &right,
        );
    }
}

#[test]
fn methods_of_other_tools_are_corrected() {
    let infer = |method: &str| inference(&format!("infer fit = {method}(M, d)"));
    for (wrong, right) in [
        ("mle", "map"),
        ("optimize", "map"),
        ("minimize", "map"),
        ("sampling", "nuts"),
        ("mcmc", "nuts"),
    ] {
        assert_corrected(
            &infer(wrong),
            "E0254",
            &format!("did you mean `{right}`?"),
            &infer(right),
        );
    }
    check(&infer("advi")).assert_error("E0254", 1, &["did you mean `vi`?"]);
}

#[test]
fn options_of_other_tools_are_corrected() {
    let with =
        |method: &str, options: &str| inference(&format!("infer fit = {method}(M, d) {{ {options} }}"));
    let cases = [
        (
            "nuts",
            "adapt_delta = 0.9",
            "did you mean `target_acceptance`?",
            "target_acceptance = 0.9",
        ),
        (
            "nuts",
            "max_treedepth = 9",
            "did you mean `max_depth`?",
            "max_depth = 9",
        ),
        ("nuts", "cores = 2", "`bnnc run FILE --threads 4`", "chains = 2"),
        ("nuts", "seed = 3", "`bnnc run FILE --seed 1`", "chains = 2"),
        ("map", "seed = 3", "`bnnc run FILE --seed 1`", "steps = 300"),
    ];
    for (method, wrong, advice, right) in cases {
        assert_corrected(&with(method, wrong), "E0257", advice, &with(method, right));
    }
    for right in ["schedule = cosine", "schedule = step(0.5, 0.1)"] {
        let wrong = with("map", "schedule = exponential(0.9)");
        assert_corrected(&wrong, "E0258", &format!("`{right}`"), &with("map", right));
    }
    let right = inference("infer first = map(M, d)\ninfer fit = nuts(M, d) { start = first }");
    let wrong = with("nuts", "start = map");
    assert_corrected(
        &wrong,
        "E0258",
        "write `infer first = map(..)` with a model or posterior and data above",
        &right,
    );
}
