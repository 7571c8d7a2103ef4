//! Tests the help on constructs of other languages and tools, and on broken texts.

use super::{CSV, message, trial};

fn in_model(line: &str) -> String {
    format!("model M(x: real[3]) -> y: real {{\n  {line}\n  y ~ Normal(x[0], 1)\n}}\n")
}

#[test]
fn constructs_of_other_languages_get_the_equivalent_as_help() {
    let misspelt = "modle Lin(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}\ninfer f = nuts(Lin, d)\n";
    message(misspelt, "E0109", &["did you mean `model`?"]);
    message("def f(x):\n  return x\n", "E0109", &["`fn f(x: real) -> real {"]);
    message(
        &in_model("f = lambda a: a + 1"),
        "E0109",
        &["`fn f(x: real) -> real {"],
    );
    message(
        &in_model("sigma: real<lower=0> ~ Normal(0, 1)"),
        "E0108",
        &["`positive`, `unit`"],
    );
    message(
        &in_model("vector[k] beta ~ Normal(0, 1)"),
        "E0108",
        &["`beta: real[k]`"],
    );
    message(
        "model M(x: real) -> y: real:\n  y ~ Normal(x, 1)\n",
        "E0108",
        &["put the body into braces"],
    );
    message(
        &in_model("for i in range(10) {\n    s = x[i]\n  }"),
        "E0108",
        &["write the range as `a..b`"],
    );
    message(&in_model("x += 1"), "E0108", &["give the sum a new name"]);
    message(
        &in_model("print(x)"),
        "E0108",
        &["the report shows named quantities"],
    );
    message(
        "model M(x: real) -> (y: real, z: real) {\n}\n",
        "E0108",
        &["`-> y1: real, y2: real`"],
    );
    message(&in_model("z = x.tanh()"), "E0223", &["`tanh(..)`"]);
}

#[test]
fn a_vector_instead_of_a_number_gets_help_with_the_names_of_the_program() {
    let of = |line: &str, likelihood: &str| {
        format!("model M(x: real[d]) -> y: real {{\n  {line}\n  y ~ {likelihood}\n}}\n")
    };
    let product = of("beta: real[d] ~ Normal(0, 1)", "Normal(beta * x, 1)");
    message(&product, "E0211", &["`dot(beta, x)`"]);
    message(
        &of("out = Dense(1)", "Normal(out(x), 1)"),
        "E0211",
        &["`out(..)[0]`"],
    );
    message(
        &of("beta: real[d] ~ Normal(0, 1)", "Normal(beta, 1)"),
        "E0211",
        &["`beta[0]`"],
    );
}

#[test]
fn a_syntax_error_causes_no_further_errors() {
    let misspelt =
        format!("{CSV}modle Lin(x: real) -> y: real {{\n  y ~ Normal(x, 1)\n}}\ninfer f = nuts(Lin, d)\n");
    let unused = "model M(x: real, z: real) -> y: real {\n  y ~ Normal(x % z, 1)\n}\n";
    let bounded = in_model("sigma: real<lower=0> ~ Normal(0, 1)\n  z = sigma + 1");
    let number = "model M(x: real) -> y: real {\n  y ~ Normal(x, .5)\n}\n";
    for program in [misspelt.as_str(), unused, &bounded, number] {
        let output = trial(program).bnnc("check", &[]);
        assert_eq!(output.stderr.matches("error[").count(), 1, "{}", output.stderr);
        assert!(!output.stderr.contains("warning["), "{}", output.stderr);
    }
}

#[test]
fn words_of_other_tools_get_the_equivalent_as_help() {
    let cases = [
        ("w ~ Normal(mu = 0, scale = 1)", "`loc`"),
        ("w ~ Normal(0, sd = 1)", "`scale`"),
        ("w ~ Normal(0, std = 1)", "`scale`"),
        ("w: float ~ Normal(0, 1)", "`real`"),
        ("w: vector ~ Normal(0, 1)", "`beta: real[k]`"),
        ("w = matmul(x, x)", "`a @ b`"),
        ("h = Dense(3, activation = relu)", "`relu(h(x))`"),
        ("w ~ Gaussian(0, 1)", "`Normal`"),
        ("w = expit(x[0])", "`sigmoid`"),
    ];
    for (line, help) in cases {
        let output = trial(&in_model(line)).bnnc("check", &[]);
        assert!(
            output.stderr.contains(help) && output.status == 1,
            "{line}\n{}",
            output.stderr
        );
    }
    let options = [
        ("nuts", "num_samples = 10", "`draws`"),
        ("nuts", "iter = 10", "`draws`"),
        ("nuts", "burn_in = 10", "`warmup`"),
        ("map", "epoch = 10", "`epochs`"),
        ("map", "optimiser = Adam(lr = 0.1)", "`rate`"),
        ("map", "batch_size = 10", "`batch`"),
        ("map", "shuffle = 1", "shuffled in every epoch"),
    ];
    for (method, option, help) in options {
        let program = format!(
            "{CSV}{}infer f = {method}(M, d) {{ {option} }}\n",
            in_model("w ~ Normal(0, 1)")
        );
        let output = trial(&program).bnnc("check", &[]);
        assert!(
            output.stderr.contains(help) && output.status == 1,
            "{option}\n{}",
            output.stderr
        );
    }
}

#[test]
fn a_discrete_prior_gets_help_on_continuous_parameters() {
    let output = trial(&in_model("sigma: positive ~ Poisson(0.5)")).bnnc("check", &[]);
    output.assert_error("E0242", 1, &["`sigma`"]);
    assert!(!output.stderr.contains("declare it count"), "{}", output.stderr);
}

#[test]
fn a_list_of_targets_gets_help_on_several_outputs() {
    let program =
        "data d = csv(\"d.csv\") { target = [y, x] }\nmodel M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}\n";
    message(program, "E0262", &["`-> y1: real, y2: real`"]);
}

#[test]
fn an_unknown_option_gets_help_on_set() {
    let trial = trial(&in_model("w ~ Normal(0, 1)"));
    let output = trial.bnnc("run", &["--epochs", "10"]);
    assert!(
        output.stderr.contains("--set NAME.epochs=VALUE"),
        "{}",
        output.stderr
    );
    assert_eq!(output.status, 2);
    let output = trial.bnnc("run", &["--set", "epochs=10"]);
    output.assert_error("E0601", 2, &["--set NAME.epochs=10"]);
    let output = crate::support::run(["missing.bn"]);
    assert!(
        output.stderr.contains("`missing.bn` does not exist"),
        "{}",
        output.stderr
    );
    assert_eq!(output.status, 2);
}

#[test]
fn control_characters_of_a_program_do_not_reach_the_terminal() {
    let program = "data d = csv(\"\u{1b}[2J\u{202e}x.csv\") { target = \u{1b}[31m }\n";
    for arguments in [&[][..], &["--json"]] {
        let output = trial(program).bnnc("check", arguments);
        assert_ne!(output.status, 0);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        let is_json = !arguments.is_empty();
        assert!(is_json || !output.stderr.contains(hidden), "{:?}", output.stderr);
        assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
    }
    let explained = crate::support::run(["explain", "\u{1b}[31mE0999"]);
    assert!(
        explained.status != 0 && !explained.stderr.contains('\u{1b}'),
        "{:?}",
        explained.stderr
    );
    let set = trial("const A = 1\n").bnnc("check", &["--set", "m.\u{1b}[31mfoo=1"]);
    assert!(
        set.status != 0 && !set.stderr.contains('\u{1b}'),
        "{:?}",
        set.stderr
    );
}

#[test]
fn large_and_broken_texts_are_checked_at_once() {
    let doc = "/// A line.\n".repeat(400_000) + "const A = 1\n";
    let brackets = ")".repeat(1_000_000);
    let zeros = "\0".repeat(5_000_000);
    let name = format!("const A = {}\n", "a".repeat(1_000_000));
    let duplicates = "const A = 1\n".repeat(10_000);
    let chain: String = (1..10_000)
        .map(|at| format!("const C{at} = C{} + 1\n", at - 1))
        .collect();
    let chain = format!("const C0 = 1\n{chain}");
    for (what, text) in [
        ("doc", doc),
        ("brackets", brackets),
        ("zeros", zeros),
        ("name", name),
        ("duplicates", duplicates),
        ("chain", chain),
    ] {
        let start = std::time::Instant::now();
        let output = trial(&text).bnnc("check", &[]);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 8.0, "{what}: {seconds} s");
        assert!(
            output.stderr.len() < 4_000_000,
            "{what}: {} bytes",
            output.stderr.len()
        );
        assert!([0, 1].contains(&output.status), "{what}: {}", output.status);
    }
}

#[test]
fn a_line_with_a_syntax_error_declares_no_names_for_others() {
    for line in ["vector[k] beta", "x[k] k"] {
        let program = format!(
            "fn total(v: real[k]) -> real {{
               return sum(v)
             }}
             model M(x: real[3]) -> y: real {{
               {line}
               y ~ Normal(total(x), 1)
             }}"
        );
        let output = trial(&program).bnnc("check", &[]);
        assert_eq!(output.stderr.matches("error[").count(), 1, "{}", output.stderr);
        assert!(output.stderr.contains("E0108"), "{}", output.stderr);
    }
}
