//! Tests deep networks: lists of layers that `fold` applies, layers as arguments, and the numbers of parameters of the networks in the library.

mod composed;
mod parameters;
#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;
use std::path::PathBuf;
use support::Output;

/// Runs a command on a program over images with `pixels` inputs. The program has a network as its only layer.
fn run(name: &str, command: &str, pixels: usize, program: &str) -> Output {
    run_with(name, command, &[], pixels, program)
}

fn run_with(name: &str, command: &str, options: &[&str], pixels: usize, program: &str) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("networks")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let mut table: String = (0..pixels).map(|at| format!("a{at},")).collect();
    table.push_str("y\n");
    for row in 0..12 {
        let input = |at: usize| format!("{},", ((row * 7 + at * 5 + row * at) % 13) as f64 / 6.0 - 1.0);
        table.push_str(&(0..pixels).map(input).collect::<String>());
        table.push_str(&format!("{}\n", row % 3));
    }
    std::fs::write(folder.join("d.csv"), table).expect("a file of the test");
    let file = folder.join("m.bnn");
    std::fs::write(
        &file,
        format!("data d = csv(\"d.csv\") {{ target = y }}\n{program}\n"),
    )
    .expect("a file of the test");
    let options = options.iter().map(PathBuf::from);
    support::run([PathBuf::from(command), file].into_iter().chain(options))
}

/// Returns a program with a network of this number of classes over images with three channels.
fn network(net: &str, classes: usize, width: usize) -> String {
    format!(
        "model M(x: real[{}]) -> y: index({classes}) {{\n  net = {net}\n  y ~ Categorical(logits = net(reshape(x, 3, {width}, {width})))\n}}\n\
         infer fit = map(M, d) {{ steps = 1 }}",
        3 * width * width
    )
}

/// Takes the means of the channels of a network's result as logits.
fn of_channels(program: &str) -> String {
    let program = program.replace("logits = net(", "logits = channel_means(net(");
    program.replace("2, 2)))", "2, 2))))")
}

#[test]
fn a_fold_equals_calls_one_after_the_other() {
    let program = |value: &str| {
        format!(
            "layer Block(out: int)(x: real[n]) -> real[out] {{\n  inner = Dense(out)\n  return tanh(inner(x))\n}}\n\
             model M(x: real[12]) -> y: index(3) {{\n  blocks = [[Block(4 + 2 * i + j) for j in 0..2] for i in 0..2]\n  out = Dense(3)\n\
               y ~ Categorical(logits = out({value}))\n}}\ninfer fit = map(M, d) {{ steps = 20 }}"
        )
    };
    let without_times = |output: &Output| -> Vec<String> {
        let lines = output.stdout.lines().filter(|line| !line.contains(" ms"));
        lines.map(str::to_owned).collect()
    };
    let folded = run("folded", "run", 12, &program("fold(blocks, x)"));
    let called = "blocks[1][1](blocks[1][0](blocks[0][1](blocks[0][0](x))))";
    let called = run("called", "run", 12, &program(called));
    assert_eq!(folded.status, 0, "{}", folded.stderr);
    assert!(!without_times(&folded).is_empty(), "{}", folded.stdout);
    assert_eq!(without_times(&folded), without_times(&called));
    assert_eq!(folded.stderr, called.stderr);
}

#[test]
fn training_of_small_networks_agrees_with_the_reference_interpreter() {
    let norm = "norm = GroupNorm(2), prior = Normal(0, 0.3)";
    for (name, net) in [
        ("residual", format!("ResNet(3, 2, 2, 1, 1, width = 2, {norm})")),
        (
            "dense",
            format!("DenseNet(3, blocks = 2, growth = 2, {norm}, activation = tanh)"),
        ),
        (
            "bottlenecks",
            format!("BottleneckDenseNet(3, blocks = 2, growth = 2, {norm}, activation = tanh)"),
        ),
    ] {
        // The weights after four steps depend on the gradients at four points.
        let program = network(&net, 3, 8).replace("steps = 1", "steps = 4, optimiser = SGD(1e-3)");
        let [compiled, reference] = ["cranelift", "reference"].map(|backend| {
            let options = ["--json", "--precision", "f64", "--backend", backend];
            let output = run_with(&format!("training-{name}"), "run", &options, 3 * 64, &program);
            assert_eq!(output.status, 0, "{}", output.stderr);
            let result: Value = serde_json::from_str(&output.stdout).expect("a JSON object");
            let fit = &result["infer"]["fit"];
            let bias = &fit["parameters"]["net.out.b"]["mean"];
            let mut numbers: Vec<f64> = (0..3).filter_map(|at| bias[at].as_f64()).collect();
            numbers.extend(fit["metrics"]["nll"].as_f64());
            numbers
        });
        assert_eq!(compiled.len(), 4);
        for (a, b) in compiled.iter().zip(&reference) {
            assert!((a - b).abs() < 1e-12, "{name}: {compiled:?} and {reference:?}");
        }
    }
}

#[test]
fn arguments_that_do_not_keep_the_dims_are_rejected() {
    for (argument, fragment) in [
        ("Conv(8, 1, 1)", "a layer whose output has the dims of its input"),
        ("3", "a layer whose output has the dims of its input"),
        ("Dense(4)", "found the layer `Dense`"),
    ] {
        let net = format!("BasicBlock(norm = {argument})");
        let output = run("rejected", "check", 12, &network(&net, 3, 2));
        assert_eq!(output.status, 1, "{}", output.stdout);
        assert!(output.stderr.contains(fragment), "{}", output.stderr);
    }
}

/// The layer with the wrong number of axes is rejected before the data are read, the layer with the wrong number of channels after it.
#[test]
fn layers_that_do_not_fit_their_callee_are_rejected_at_the_argument() {
    let layers = "layer Vectors()(x: real[n]) -> real[n] {\n  scale: real[n] ~ Normal(0, 1)\n  return scale * x\n}\n\
                  layer Five()(x: real[5, h, w]) -> real[5, h, w] {\n  gain: real[5] ~ Normal(0, 1)\n  return scale_channels(x, gain, gain)\n}\n";
    for (net, fragment, at) in [
        (
            "BasicBlock(norm = Vectors())",
            "but `Vectors` takes real[n]",
            "m.bnn:11:27",
        ),
        (
            "VGG(3, norm = Vectors())",
            "`VGG` applies `norm` to arrays with 3 axes",
            "m.bnn:11:23",
        ),
        (
            "BasicBlock(norm = Five())",
            "`Five` takes an array [5, 2, 2], but it is applied to an array [3, 2, 2]",
            "m.bnn:11:27",
        ),
    ] {
        let program = format!("{layers}{}", network(net, 3, 2));
        let program = match net.starts_with("VGG") {
            true => program,
            false => of_channels(&program),
        };
        let output = run("misfit", "check", 12, &program);
        assert_eq!(output.status, 1, "{}", output.stdout);
        for part in ["error[E0281]", fragment, at] {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
        assert_eq!(output.stderr.matches("error").count(), 1, "{}", output.stderr);
    }
}

/// The default of a parameter is reported once, where it is declared.
#[test]
fn default_layers_that_do_not_fit_are_rejected_at_the_default() {
    let program = "layer Vectors()(x: real[n]) -> real[n] {\n  scale: real[n] ~ Normal(0, 1)\n  return scale * x\n}\n\
                   layer Own(norm: layer = Vectors())(x: real[c, h, w]) -> real[c, h, w] {\n  norms = [norm for i in 0..2]\n  \
                   return fold(norms, x)\n}\n";
    let program = format!("{program}{}", of_channels(&network("Own()", 3, 2)));
    let output = run("default", "check", 12, &program);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert_eq!(
        output.stderr.matches("error[E0281]").count(),
        1,
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("m.bnn:6:25"), "{}", output.stderr);
}

/// The extra argument hides the call of `b` from the check. The only error is the one that the user made.
#[test]
fn calls_with_errors_do_not_count_as_missing_calls() {
    let program = "model M(x: real[12]) -> y: index(3) {\n  a = Dense(4)\n  b = Dense(4)\n  out = Dense(3)\n  \
                   y ~ Categorical(logits = out(a(x, 1, b(x))))\n}\ninfer fit = map(M, d) { steps = 1 }";
    let output = run("uncalled", "check", 12, program);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(output.stderr.contains("error[E0215]"), "{}", output.stderr);
    for code in ["E0247", "E0248"] {
        assert!(!output.stderr.contains(code), "{}", output.stderr);
    }
}

/// With `blocks = 0`, the range `1..blocks` ends below its start.
#[test]
fn lists_of_layers_with_a_negative_length_are_rejected() {
    for blocks in ["0", "-1"] {
        let net = format!("PreResNet(3, blocks = {blocks}, width = 4)");
        let output = run("negative", "check", 48, &network(&net, 3, 4));
        assert_eq!(output.status, 1, "{}", output.stdout);
        assert!(
            output
                .stderr
                .contains("the end of a range must be at least its start"),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn lists_of_very_many_layers_are_rejected_at_once() {
    let program = "model M(x: real[12]) -> y: index(3) {\n  blocks = [Linear(12) for i in 0..4000000000]\n  out = Dense(3)\n  \
                   y ~ Categorical(logits = out(fold(blocks, x)))\n}\ninfer fit = map(M, d) { steps = 1 }";
    let output = run("many", "check", 12, program);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(output.stderr.contains("the limit is 1024"), "{}", output.stderr);
}

#[test]
fn a_layer_with_a_name_is_no_argument() {
    let program = "layer Scaled(norm: layer)(x: real[c, h, w]) -> real[c, h, w] {\n  scaled = norm\n  return scaled(x)\n}\n\
                   model M(x: real[12]) -> y: index(3) {\n  norm = Identity()\n  net = Scaled(norm)\n  out = Dense(3)\n  \
                   image = norm(reshape(x, 3, 2, 2))\n  y ~ Categorical(logits = out(flatten(net(image))))\n}\n\
                   infer fit = map(M, d) { steps = 1 }";
    let output = run("named", "check", 12, program);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("found a layer with a name"),
        "{}",
        output.stderr
    );
}
