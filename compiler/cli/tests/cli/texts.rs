//! Tests the texts that commands print: diagnostics, stages and costs.

use crate::{accepted, bnnc, folder, mean, support};
use insta::assert_snapshot;

#[test]
fn a_diagnostic_shows_both_places() {
    let folder = folder(
        "shown",
        &[(
            "m.bnn",
            "fn f(w: real[4, 6], x: real[5]) -> real[4] {\n  return w @ x\n}\n",
        )],
    );
    let output = support::run(["check", folder.join("m.bnn").to_str().expect("a readable path")]);
    let text = output.stderr.replace(&format!("{}/", folder.display()), "");
    assert_snapshot!(text, @r"
    error[E0213]: `w @ x` needs 6 rows on the right, found 5
       ,-[ m.bnn:2:10 ]
       |
     2 |   return w @ x
       |          |   |
       |          `------ this has 6 columns
       |              |
       |              `-- this has 5 rows
    ---'
    ");
}

#[test]
fn json_diagnostics_are_one_object_per_line() {
    let output = bnnc("json", "check", "const a = nope\nconst b = nope\n", &["--json"]);
    let lines: Vec<serde_json::Value> = output
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (
            lines[1]["code"].as_str(),
            lines[1]["line"].as_u64(),
            lines[1]["column"].as_u64()
        ),
        (Some("E0202"), Some(2), Some(11))
    );
}

#[test]
fn every_stage_of_a_tiny_model_is_printed() {
    let emit = |stage: &str| {
        let folder = folder("stages", &[("m.bnn", &mean("x[0]"))]);
        let output = support::run([
            "emit",
            stage,
            folder.join("m.bnn").to_str().expect("a readable path"),
        ]);
        accepted(&output);
        output.stdout
    };
    assert_snapshot!(emit("graph"), @r#"
    fn M(%0 x: real[2], %1 y: real[]) -> (observed0: %6) {
      %2 = constant shape = [], dtype = real, value = 1.0 : real[]
      %3 = sample %2, dist = "HalfNormal", site = "s" : real[] @ "s"
      %4 = slice %0, starts = [0], limits = [1], strides = [1] : real[1]
      %5 = reshape %4, shape = [] : real[]
      %6 = observe %5, %3, %1, dist = "Normal", site = "y" : real[]
    }
    "#);
    assert!(emit("density").starts_with("fn M(%0 s: real[]) -> ($log_prior:"));
    assert!(emit("loops").starts_with("plan \"f.train\""), "{}", emit("loops"));
    assert!(emit("clif").contains("function"), "{}", emit("clif"));
    let other = support::run(["emit", "clif", "--backend", "reference", "examples/toy/toy.bnn"]);
    assert_eq!(other.status, 2, "{}", other.stderr);
    assert!(
        other.stderr.contains("E0604") && other.stdout.is_empty(),
        "{}",
        other.stderr
    );
    assert!(emit("mlir").contains("llvm.func @kernel_0"), "{}", emit("mlir"));
    assert!(emit("dot").starts_with("digraph"));
}

/// Returns the number of operations per step for each of three inferences. `options` contains the
/// options of the inferences.
fn operations(inputs: usize, options: &[&str]) -> [u64; 3] {
    let row = |row: usize| {
        let numbers = (0..=inputs).map(|column| ((row * 7 + column * 3) % 11).to_string());
        numbers.collect::<Vec<_>>().join(",")
    };
    let rows: Vec<String> = (0..40).map(row).collect();
    let names: Vec<String> = (0..inputs).map(|column| format!("x{column}")).collect();
    let table = format!("{},y\n{}\n", names.join(","), rows.join("\n"));
    let program = "data t = csv(\"t.csv\")\n\
        model M(x: real[k]) -> y: real {\n  w: real[k] ~ Normal(0, 1)\n  y ~ Normal(dot(w, x), 1)\n}\n\
        infer all = nuts(M, t) { draws = 4, warmup = 4, chains = 1 }\n\
        infer some = sgld(M, t) { draws = 4, warmup = 4, chains = 1 }\n\
        infer mode = map(M, t) { epochs = 1 }\n";
    let folder = folder(
        &format!("costs{inputs}"),
        &[("m.bnn", program), ("t.csv", &table)],
    );
    let file = folder.join("m.bnn");
    let words = ["check", file.to_str().expect("a readable path"), "--json"];
    let output = support::run([&words[..], options].concat());
    accepted(&output);
    let found: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    ["all", "some", "mode"].map(|name| {
        let cost = &found["infer"][name]["flops_per_step"];
        cost.as_u64()
            .unwrap_or_else(|| panic!("no cost of {name} in {found}"))
    })
}

/// For each row and input, the location takes two operations, and the gradient takes two more. The
/// operations of the prior also depend on the number of inputs, but not on the number of rows. All
/// other operations are independent of the number of inputs.
#[test]
fn the_cost_of_a_step_is_linear_in_its_batch() {
    let with = |inputs, batch: usize| {
        let options = ["some", "mode"].map(|name| format!("{name}.batch={batch}"));
        operations(inputs, &["--set", &options[0], "--set", &options[1]])
    };
    for which in [1, 2] {
        let [few, some, more] = [8, 16, 24].map(|batch| with(5, batch)[which]);
        assert_eq!(more - some, some - few);
        let [wide_few, wide_some] = [8, 16].map(|batch| with(15, batch)[which]);
        assert_eq!((wide_some - wide_few) - (some - few), 8 * 4 * 10);
        // The three batch sizes select all rows, 40 rows, and more rows than the data have.
        let [all, forty, fifty] = [0, 40, 50].map(|batch| with(5, batch));
        assert_eq!((all[which], forty[which]), (forty[which], fifty[which]));
        assert_eq!(few + 4 * (some - few), forty[which]);
        assert_eq!(
            all[0],
            with(5, 8)[0],
            "nuts takes all rows, whatever the others take"
        );
    }
    let all = with(5, 0);
    assert_eq!(all[0], all[1], "one log density and its gradient");
}

#[test]
fn the_cost_report_counts_the_parameters_of_yacht() {
    let output = support::run(["check", "examples/yacht/yacht.bnn"]);
    accepted(&output);
    // The hidden layer has 6 * 50 + 50 weights and biases, and the output has 50 + 1. With `sigma`,
    // the model has 402 parameters. Each parameter of the model has two variational parameters.
    for (name, number) in [("parameters", "402"), ("variational parameters", "804")] {
        let found = output
            .stdout
            .lines()
            .find_map(|line| line.trim().strip_prefix(name).map(str::trim));
        assert_eq!(found, Some(number), "{}", output.stdout);
    }
}
