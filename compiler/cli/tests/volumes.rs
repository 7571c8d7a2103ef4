//! Tests networks for volumes: the parameters, the training and the wrong inputs of `UNet3d`.

mod support;

use serde_json::Value;
use std::path::PathBuf;
use support::Output;

/// Runs a command on a program over cubes of this side, which are columns of a table.
fn run(name: &str, arguments: &[&str], side: usize, program: &str) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("volumes")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let count = side * side * side;
    let mut table: String = (0..count).map(|at| format!("a{at},")).collect();
    table.push_str("y\n");
    for row in 0..6 {
        let input = |at: usize| format!("{},", ((row * 7 + at * 5 + row * at) % 13) as f64 / 6.0 - 1.0);
        table.push_str(&(0..count).map(input).collect::<String>());
        table.push_str(&format!("{}\n", row % 3));
    }
    std::fs::write(folder.join("d.csv"), table).expect("a file of the test");
    let file = folder.join("m.bnn");
    let text = format!("data d = csv(\"d.csv\") {{ target = y }}\n{program}\n");
    std::fs::write(&file, text).expect("a file of the test");
    let (command, options) = arguments.split_first().expect("a command");
    let options = options.iter().map(PathBuf::from);
    support::run([PathBuf::from(command), file].into_iter().chain(options))
}

/// Returns a program whose output is the mean product of a network's result and its input.
fn program(net: &str, side: usize, options: &str) -> String {
    format!(
        "model M(x: real[{}]) -> y: real {{\n  net = {net}\n  volume = reshape(x, 1, {side}, {side}, {side})\n  \
         y ~ Normal(mean(net(volume) * volume), 1)\n}}\ninfer fit = map(M, d) {{ {options} }}",
        side * side * side
    )
}

/// The parameters of a convolution by cubes of this side, with biases.
fn conv(from: usize, to: usize, side: usize) -> usize {
    from * to * side.pow(3) + to
}

/// Returns the parameters of `UNet3d` by its table of layers, without a normalisation.
fn parameters(channels: usize, classes: usize, width: usize) -> usize {
    let blocks = [
        (channels, 1, 2),
        (2 * width, 2, 4),
        (4 * width, 4, 8),
        (8 * width, 8, 16),
        (24 * width, 8, 8),
        (12 * width, 4, 4),
        (6 * width, 2, 2),
    ];
    let block = |(from, first, second): (usize, usize, usize)| {
        conv(from, first * width, 3) + conv(first * width, second * width, 3)
    };
    let grown: usize = [16, 8, 4]
        .iter()
        .map(|times| conv(times * width, times * width, 2))
        .sum();
    blocks.into_iter().map(block).sum::<usize>() + grown + conv(2 * width, classes, 1)
}

/// Çiçek et al. (2016, section 2) count 19,069,955 parameters for three channels and three classes, without the parameters of normalisations and the
/// biases of the transposed convolutions.
#[test]
fn the_unet_has_the_parameters_of_its_table() {
    assert_eq!(parameters(3, 3, 32), 19_069_955 + 512 + 256 + 128);
    // The channels of the 14 normalisations, in units of the width. A normalisation has two parameters for each channel.
    let normalised = (1 + 2) + (2 + 4) + (4 + 8) + (8 + 16) + 2 * (8 + 4 + 2);
    for (name, net, expected) in [
        ("bare", "UNet3d(1, norm = Identity())", parameters(1, 1, 32)),
        (
            "grouped",
            "UNet3d(1, width = 4, norm = GroupNorm(2))",
            parameters(1, 1, 4) + 2 * 4 * normalised,
        ),
        ("default", "UNet3d(1)", parameters(1, 1, 32) + 2 * 32 * normalised),
    ] {
        let output = run(name, &["check"], 8, &program(net, 8, "steps = 1"));
        assert_eq!(output.status, 0, "{}", output.stderr);
        let mut lines = output.stdout.lines();
        let line = lines.find_map(|line| line.trim().strip_prefix("parameters "));
        assert_eq!(
            line.map(str::trim),
            Some(expected.to_string().as_str()),
            "{}",
            output.stdout
        );
    }
}

/// After one step, the weights depend on one gradient, and after four steps on the gradients at four points.
#[test]
fn training_of_the_unet_agrees_with_the_reference_interpreter() {
    let net = "UNet3d(1, width = 2, norm = GroupNorm(2), prior = Normal(0, 0.3))";
    for steps in [1, 4] {
        let options = format!("steps = {steps}, optimiser = SGD(1e-3)");
        let program = program(net, 8, &options);
        let [compiled, reference] = ["cranelift", "reference"].map(|backend| {
            let options = ["run", "--json", "--precision", "f64", "--backend", backend];
            let output = run(&format!("training-{steps}"), &options, 8, &program);
            assert_eq!(output.status, 0, "{}", output.stderr);
            let result: Value = serde_json::from_str(&output.stdout).expect("a JSON object");
            let fit = &result["infer"]["fit"];
            let mut numbers = Vec::new();
            for bias in [
                "down1.filter1.b",
                "bottom.filter2.b",
                "grow3.b",
                "up1.filter2.b",
                "out.b",
            ] {
                let values = fit["parameters"][format!("net.{bias}")]["mean"].as_array();
                numbers.extend(values.into_iter().flatten().filter_map(Value::as_f64));
            }
            numbers.extend(fit["metrics"]["rmse"].as_f64());
            numbers
        });
        assert!(compiled.len() > 40, "{compiled:?}");
        for (a, b) in compiled.iter().zip(&reference) {
            assert!((a - b).abs() < 1e-12, "{compiled:?} and {reference:?}");
        }
    }
}

/// The numbers of planes, rows and columns must be multiples of 8.
#[test]
fn volumes_that_cannot_be_halved_three_times_are_rejected() {
    let output = run(
        "twelve",
        &["check"],
        12,
        &program("UNet3d(1, width = 2)", 12, "steps = 1"),
    );
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(output.stderr.contains("E0211"), "{}", output.stderr);
    let expected = "needs real[1, 8 * _, 8 * _, 8 * _], found real[1, 12, 12, 12]";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}
