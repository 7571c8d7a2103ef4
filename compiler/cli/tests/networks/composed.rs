//! Tests layers that are made of others, lists of lists of layers, and sizes that are quotients.

use crate::{run, run_with};
use serde_json::Value;

/// Runs two versions of a network that must compute the same. All weights start at the same value, because random starts depend on
/// the names of the weights.
#[track_caller]
fn are_equal(name: &str, versions: [(&str, &str); 2]) {
    let layers = "layer Pair(inner: int)(x: real[n]) -> real[n] {\n  first = Dense(inner)\n  second = Linear(n)\n  \
                  return x + second(tanh(first(x)))\n}\n";
    let results = versions.map(|(lines, value)| {
        let paths = lines.lines().filter_map(|line| line.trim().split_once(" = "));
        let paths: Vec<String> = paths.map(|(name, _)| format!("{name}.*")).collect();
        let paths = paths.join(", ");
        let program = format!(
            "{layers}model M(x: real[12]) -> y: index(3) {{\n  {lines}\n  y ~ Categorical(logits = {value})\n}}\n\
             posterior Q of M {{\n  {paths} ~ Point(0.1)\n}}\ninfer fit = map(Q, d) {{ steps = 20 }}"
        );
        let output = run_with(name, "run", &["--json", "--precision", "f64"], 12, &program);
        assert_eq!(output.status, 0, "{program}\n{}", output.stderr);
        let result: Value = serde_json::from_str(&output.stdout).expect("a JSON object");
        let fit = &result["infer"]["fit"];
        (fit["metrics"].clone(), fit["cost"]["parameters"].clone())
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_sequence_equals_calls_one_after_the_other() {
    let image = "reshape(x, 3, 2, 2)";
    are_equal(
        "sequence",
        [
            (
                "net = Sequential(Conv(4, 2, 2, padding = 1), tanh, MaxPool(2), flatten, Dense(3))",
                &format!("net({image})"),
            ),
            (
                "a = Conv(4, 2, 2, padding = 1)\n  b = Dense(3)",
                &format!("b(flatten(max_pool(tanh(a({image})), 2)))"),
            ),
        ],
    );
}

#[test]
fn a_residual_layer_equals_the_sum_that_it_describes() {
    are_equal(
        "residual",
        [
            (
                "a = Residual(Sequential(Dense(5), tanh, Linear(12)))\n  out = Linear(3)",
                "out(a(x))",
            ),
            ("a = Pair(5)\n  out = Linear(3)", "out(a(x))"),
        ],
    );
    are_equal(
        "projection",
        [
            (
                "a = Residual(Sequential(Dense(3), tanh), projection = Linear(3))",
                "a(x)",
            ),
            ("a = Dense(3)\n  b = Linear(3)", "b(x) + tanh(a(x))"),
        ],
    );
}

#[test]
fn lists_of_layers_may_have_different_lengths() {
    are_equal(
        "ragged",
        [
            (
                "blocks = [[Pair(2) for i in 0..3], [Pair(2)]]\n  out = Linear(3)",
                "out(blocks[1][0](fold(blocks[0], x)))",
            ),
            (
                "blocks = [Pair(2) for i in 0..4]\n  out = Linear(3)",
                "out(fold(blocks, x))",
            ),
        ],
    );
    are_equal(
        "ragged-by-counter",
        [
            (
                "blocks = [[Pair(2) for i in 0..j + 1] for j in 0..3]\n  out = Linear(3)",
                "out(fold(blocks, x))",
            ),
            (
                "blocks = [Pair(2) for i in 0..6]\n  out = Linear(3)",
                "out(fold(blocks, x))",
            ),
        ],
    );
}

/// `7 / 2` is 3 where an integer is expected.
#[test]
fn quotients_of_integers_round_down() {
    let layer = "layer Half()(x: real[n]) -> real[n / 2] {\n  half: int = n / 2\n  inner = Dense(half)\n  return inner(x)\n}\n";
    let program = format!(
        "{layer}model M(x: real[7]) -> y: index(3) {{\n  net = Half()\n  other = Linear(7 / 2)\n  \
         y ~ Categorical(logits = net(x) + other(x))\n}}\ninfer fit = map(M, d) {{ steps = 2 }}"
    );
    let output = run("quotients", "check", 7, &program);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.contains("([3, 7])"), "{}", output.stdout);
}

#[test]
fn residual_layers_that_cannot_be_added_are_rejected() {
    for (layer, code, fragment) in [
        (
            "Residual(Dense(5))",
            "E0282",
            "`a` cannot add real[5] to real[12]",
        ),
        (
            "Residual(tanh)",
            "E0283",
            "`Residual(Sequential(Dense(20), relu))`",
        ),
        (
            "Residual(activation = tanh)",
            "E0283",
            "found the argument `activation`",
        ),
        ("Residual()", "E0283", "found nothing"),
        ("Sequential()", "E0283", "needs at least one layer"),
        ("Sequential(Dense(3), 2)", "E0283", "found int"),
        (
            "Sequential(Dense(4), flatten)",
            "E0278",
            "`a[1]` takes real[c, h, w], found real[4]",
        ),
    ] {
        let program = format!(
            "model M(x: real[12]) -> y: index(3) {{\n  a = {layer}\n  out = Linear(3)\n  \
             y ~ Categorical(logits = out(tanh(a(x))))\n}}\ninfer fit = map(M, d) {{ steps = 1 }}"
        );
        let output = run("not-added", "check", 12, &program);
        assert_eq!(output.status, 1, "{}", output.stdout);
        assert!(output.stderr.contains(code), "{layer}: {}", output.stderr);
        assert!(output.stderr.contains(fragment), "{layer}: {}", output.stderr);
        assert_eq!(output.stderr.matches("error[").count(), 1, "{}", output.stderr);
    }
}
