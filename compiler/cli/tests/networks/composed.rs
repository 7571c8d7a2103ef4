//! Tests layers that are made of others, lists of lists of layers, sizes that are quotients, and starts that layers declare.

use crate::{run, run_with};
use serde_json::Value;
use std::path::PathBuf;

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

/// Returns the mean square of the outputs of a network at the start, for an image of 8 by 8 pixels with three channels.
fn mean_square_at_start(name: &str, net: &str, layers: &str) -> f64 {
    let program = format!(
        "{layers}model M(x: real[192]) -> y: real {{\n  net = {net}\n  f = net(reshape(x, 3, 8, 8))\n  y ~ Normal(mean(f * f), 1)\n}}\n\
         infer fit = map(M, d) {{ steps = 1, optimiser = SGD(1e-30) }}"
    );
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("networks")
        .join(name)
        .join("out");
    let options = ["--overwrite", "--out", &folder.to_string_lossy()];
    let output = run_with(name, "run", &options, 192, &program);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let table = std::fs::read_to_string(folder.join("predictions.csv")).expect("the predictions");
    let mut lines = table.lines();
    let at = lines
        .next()
        .and_then(|head| head.split(',').position(|column| column == "mean"));
    let mean = |line: &str| line.split(',').nth(at?)?.parse::<f64>().ok();
    let means: Vec<f64> = lines.filter_map(mean).collect();
    assert!(!means.is_empty(), "{table}");
    means.iter().sum::<f64>() / means.len() as f64
}

/// The rule of He et al. keeps the mean square of activations in a chain, and that of LeCun et al. halves it. With the default of dense
/// layers it is divided by six in each of the twelve rectified layers, to below 1e-9. The networks end with means over positions and a dense
/// layer, which reduce the mean square to at least a hundredth.
#[test]
fn declared_starts_keep_the_scale_of_activations() {
    let chain = "layer Chain(width: int)(x: real[c, h, w]) -> real[width, h, w] {\n  start = he\n  \
                 blocks = Sequential([ConvBlock(width) for i in 0..12])\n  return blocks(x)\n}\n";
    let plain = chain.replace("  start = he\n", "");
    let [declared, default] = [("declared", chain), ("undeclared", &plain)]
        .map(|(name, layer)| mean_square_at_start(name, "Chain(32)", layer));
    assert!((0.02..10.0).contains(&declared), "{declared}");
    assert!(default < 1e-7, "{default}");
    for (name, net) in [
        (
            "scale-residual",
            "ResNet(10, 1, 1, 1, 1, width = 8, norm = Identity())",
        ),
        (
            "scale-pre",
            "PreResNet(10, blocks = 8, width = 8, norm = Identity())",
        ),
    ] {
        let scale = mean_square_at_start(name, net, "");
        assert!((3e-3..20.0).contains(&scale), "{name}: {scale}");
    }
}

/// A posterior replaces the starts that a layer declares, and an inner layer has its own.
#[test]
fn starts_are_replaced_by_posteriors_and_inner_layers() {
    let layers = "layer Inner()(x: real[n]) -> real[n] {\n  start = glorot\n  w: real[n, n] ~ Normal(0, 1)\n  return w @ x\n}\n\
                  layer Outer()(x: real[n]) -> real[n] {\n  start = he\n  inner = Inner()\n  out = Linear(n)\n  \
                  return out(tanh(inner(x)))\n}\n";
    let values = |name: &str, posterior: &str, target: &str| -> Vec<(f64, f64)> {
        let program = format!(
            "{layers}model M(x: real[12]) -> y: index(3) {{\n  net = Outer()\n  y ~ Categorical(logits = net(x[0..3]))\n}}\n{posterior}\
             infer fit = map({target}, d) {{ steps = 1, optimiser = SGD(1e-30) }}"
        );
        let output = run_with(name, "run", &["--json"], 12, &program);
        assert_eq!(output.status, 0, "{}", output.stderr);
        let result: Value = serde_json::from_str(&output.stdout).expect("a JSON object");
        let weights = ["net.inner.w", "net.out.w"].map(|path| {
            let mean = &result["infer"]["fit"]["parameters"][path]["mean"];
            let rows = mean
                .as_array()
                .expect("a matrix")
                .iter()
                .flat_map(|row| row.as_array());
            let weights: Vec<f64> = rows.flatten().filter_map(Value::as_f64).collect();
            let largest = weights
                .iter()
                .fold(0.0f64, |largest, weight| largest.max(weight.abs()));
            let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
            (largest, squares / weights.len() as f64)
        });
        weights.to_vec()
    };
    let declared = values("starts", "", "M");
    // Glorot's uniform distribution ends at sqrt(6 / 6), and the variance of He's is 2 / 3. The default ends at 0.577.
    assert!((0.58..1.0).contains(&declared[0].0), "{declared:?}");
    assert!((0.2..2.0).contains(&declared[1].1), "{declared:?}");
    let replaced = values("replaced", "posterior Q of M {\n  net.* ~ Point(0.25)\n}\n", "Q");
    assert_eq!(replaced, [(0.25, 0.0625), (0.25, 0.0625)]);
}

#[test]
fn a_second_start_of_a_layer_is_rejected() {
    let program = "layer Twice()(x: real[n]) -> real[n] {\n  start = he\n  start = lecun\n  inner = Linear(n)\n  return inner(x)\n}\n\
                   model M(x: real[12]) -> y: index(12) {\n  net = Twice()\n  y ~ Categorical(logits = net(x))\n}\n\
                   infer fit = map(M, d) { steps = 1 }";
    let output = run("twice", "check", 12, program);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("`start` already has a value"),
        "{}",
        output.stderr
    );
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
            "Sequential(Dense(3), softmax)",
            "E0283",
            "`softmax` cannot be a part of `Sequential`",
        ),
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
