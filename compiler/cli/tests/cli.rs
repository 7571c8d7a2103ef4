//! Tests the exit statuses and messages of the binary, as users see them. No program and no file may
//! cause a panic.

mod support;

use insta::assert_snapshot;
use std::path::PathBuf;
use support::Output;

const TABLE: &str = "a,b,y\n1,2,3\n2,1,4\n0,1,0.5\n1,1,2\n";
const TRUTHS: &str = "a,b,v\n1,2,1\n2,1,0\n0,1,1\n1,1,0\n";

/// Creates a folder with these files and returns its path.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    for (file, text) in [("d.csv", TABLE), ("t.csv", TRUTHS)].iter().chain(files) {
        std::fs::write(folder.join(file), text).expect("a file of the test");
    }
    folder
}

/// Writes a program to `m.bnn` and runs `bnnc COMMAND m.bnn OPTIONS..`.
fn bnnc(name: &str, command: &str, program: &str, options: &[&str]) -> Output {
    let folder = folder(name, &[("m.bnn", program)]);
    let file = folder.join("m.bnn");
    let mut arguments = vec![command, file.to_str().expect("a readable path")];
    arguments.extend(options);
    support::run(&arguments)
}

/// Returns a program for the table `d.csv`. `body` contains the statements of the model, `lines`
/// the lines of the posterior, and `options` the options of the inference block.
fn program(body: &str, lines: &str, options: &str) -> String {
    format!(
        "use layers::Dense\n\
         data d = csv(\"d.csv\")\n\
         model M(x: real[k]) -> y: real {{\n{body}\n}}\n\
         posterior P of M {{\n{lines}\n}}\n\
         infer f = vi(P, d) {{ {options} }}\n"
    )
}

/// Returns the program of a valid network.
fn network(options: &str) -> String {
    program(
        "  h = Dense(1)\n  s: positive ~ HalfNormal(1)\n  y ~ Normal(h(x)[0], s)",
        "  h.* ~ Normal(scale = 0.1)\n  s ~ LogNormal(loc = -1, scale = 0.1)",
        options,
    )
}

/// Returns a program whose model does not have layers. `expression` is the mean of the output.
fn mean(expression: &str) -> String {
    program(
        &format!("  s: positive ~ HalfNormal(1)\n  y ~ Normal({expression}, s)"),
        "  s ~ LogNormal()",
        "epochs = 1",
    )
}

#[track_caller]
fn rejected(output: &Output, status: i32, code: &str, fragment: &str) {
    assert_eq!(output.status, status, "{}", output.stderr);
    assert!(
        output.stderr.contains(&format!("[{code}]")),
        "no {code} in:\n{}",
        output.stderr
    );
    assert!(
        output.stderr.contains(fragment),
        "no `{fragment}` in:\n{}",
        output.stderr
    );
}

#[track_caller]
fn accepted(output: &Output) {
    assert_eq!(output.status, 0, "{}", output.stderr);
}

#[test]
fn a_network_runs_and_prints_its_result() {
    let output = bnnc("runs", "run", &network(""), &["--json"]);
    accepted(&output);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(result["infer"]["f"]["n_train"], 4);
    assert_eq!(output.stderr, "");
}

#[test]
fn zero_or_huge_sizes_are_rejected_at_their_span() {
    let sized = |size: &str| {
        program(
            &format!("  h = Dense({size})\n  o = Dense(1)\n  y ~ Normal(o(h(x))[0], 1)"),
            "  h.*, o.* ~ Normal(scale = 0.1)",
            "epochs = 1",
        )
    };
    rejected(
        &bnnc("size0", "run", &sized("0"), &[]),
        1,
        "E0290",
        "`h.w` has no elements: its shape is [0, 2]",
    );
    let absurd = bnnc("size1", "run", &sized("9000000000000000000"), &[]);
    rejected(
        &absurd,
        1,
        "E0290",
        "has an axis of more than 2147483647 elements",
    );
    rejected(
        &bnnc("size2", "run", &sized("2000000000"), &[]),
        1,
        "E0502",
        "of memory",
    );
    let negative = bnnc("size3", "run", &sized("-3"), &[]);
    rejected(
        &negative,
        1,
        "E0290",
        "the size `out` is not a known non-negative number",
    );
    assert!(negative.stderr.contains("called here"), "{}", negative.stderr);
}

#[test]
fn positions_outside_an_axis_are_rejected() {
    let at = bnnc("at", "run", &mean("x[7]"), &[]);
    rejected(&at, 1, "E0290", "position 7 is outside an axis of size 2");
    let counted = bnnc("counted", "run", &mean("sum(x[i] for i in 0..9)"), &[]);
    rejected(
        &counted,
        1,
        "E0290",
        "this position takes values from 0 to 8, but 8 is outside an axis of size 2",
    );
    let lag = bnnc("lag", "run", &mean("sum(x[i - 1] for i in 0..2)"), &[]);
    rejected(
        &lag,
        1,
        "E0290",
        "this position takes values from -1 to 0, but -1 is outside an axis of size 2",
    );
    accepted(&bnnc(
        "inside",
        "run",
        &mean("sum(sum(x[i] * x[1 - j] for j in 0..2) for i in 0..2)"),
        &[],
    ));
}

#[test]
fn empty_or_huge_ranges_are_rejected() {
    rejected(
        &bnnc("empty", "run", &mean("sum(x[i] for i in 1..1)"), &[]),
        1,
        "E0290",
        "the range 1..1 is empty",
    );
    let endless = bnnc(
        "endless",
        "run",
        &mean("sum(x[0] * i for i in 0..1000000000000)"),
        &[],
    );
    rejected(&endless, 1, "E0290", "has more than 16777216 positions");
    let layers = program(
        "  h = [Dense(2) for l in 0..100000000]\n  y ~ Normal(h[0](x)[0], 1)",
        "  h.* ~ Normal()",
        "epochs = 1",
    );
    rejected(
        &bnnc("layers", "run", &layers, &[]),
        1,
        "E0290",
        "the list has 100000000 layers",
    );
}

/// A window that is larger than its axis is rejected, even if only the data determine the size of
/// the axis, and even if the axis is inside a layer.
#[test]
fn windows_larger_than_their_input_are_rejected() {
    let image = |layer: &str, f: &str| {
        let lines = format!("  c = {layer}\n  y ~ Normal(sum({f}), 1)");
        program(&lines, "  c.* ~ Normal()", "epochs = 1")
    };
    let wide = bnnc(
        "wide",
        "run",
        &image("Conv(1, 2, 1)", "c(reshape(x, 1, 1, length(x)))"),
        &[],
    );
    rejected(
        &wide,
        1,
        "E0227",
        "the windows of `conv` have a side of 2, but the image has a side of 1",
    );
    let still = bnnc(
        "still",
        "run",
        &image("Conv(1, 1, 1, stride = 0)", "c(reshape(x, 1, 1, length(x)))"),
        &[],
    );
    rejected(
        &still,
        1,
        "E0214",
        "the stride must be one or more, but this is 0",
    );
}

/// Each of thirty functions calls the previous function twice, so that the program makes a billion
/// calls.
#[test]
fn exponentially_many_calls_are_rejected() {
    let functions: String = (1..31)
        .map(|n| format!("fn f{n}(x: real) -> real {{ return f{0}(x) + f{0}(x) }}\n", n - 1))
        .collect();
    let program = format!(
        "fn f0(x: real) -> real {{ return x }}\n{functions}{}",
        mean("f30(x[0])").replace("use layers::Dense\n", "")
    );
    rejected(
        &bnnc("calls", "run", &program, &[]),
        1,
        "E0290",
        "more than 100000 calls",
    );
}

/// Each step of a product halves the number of elements, so a product of 1000 elements takes ten
/// steps. The product in this test is 2 ^ 3 * 0.5 = 4.
#[test]
fn products_are_exact() {
    let fixed = program(
        "  t ~ Normal(0, 1)\n  y ~ Normal(prod([2.0, 2.0, 2.0, t]), 1)",
        "  t ~ Point(loc = fixed(0.5))",
        "epochs = 1",
    );
    let output = bnnc("product", "run", &fixed, &["--json", "--precision", "f64"]);
    accepted(&output);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    let rmse = result["infer"]["f"]["metrics"]["rmse"]
        .as_f64()
        .expect("a number");
    // The model predicts the mean 4 for the targets 3, 4, 0.5 and 2, so the mean squared error is
    // 17.25 / 4.
    assert!((rmse - (17.25f64 / 4.0).sqrt()).abs() < 1e-9, "{rmse}");
    accepted(&bnnc("long_product", "run", &mean("prod(ones(100000))"), &[]));
}

#[test]
fn family_ranks_must_be_positive_integers() {
    for rank in ["0", "-2", "1.5"] {
        let lines = format!("  h.* ~ LowRankNormal(rank = {rank})");
        let program = program("  h = Dense(1)\n  y ~ Normal(h(x)[0], 1)", &lines, "epochs = 1");
        assert_eq!(bnnc("rank", "run", &program, &[]).status, 1, "rank = {rank}");
    }
    let taken = network("epochs = 1")
        .replace("vi(P, d)", "map(M, d)")
        .split("posterior")
        .next()
        .unwrap_or_default()
        .to_owned()
        + "infer f = map(M, d) { epochs = 1 }\nposterior Q of M { h.w = f.h.b\n h.b ~ Normal()\n s = f.s }\ninfer g = vi(Q, d) { epochs = 1 }\n";
    rejected(
        &bnnc("taken", "run", &taken, &[]),
        1,
        "E0290",
        "`h.w/loc` is [1, 2] here, but [1] in `f`",
    );
}

#[test]
fn priors_are_truncated_if_they_have_a_cdf() {
    let prior = |prior: &str| network("epochs = 1").replace("HalfNormal(1)", prior);
    accepted(&bnnc("truncated", "run", &prior("Normal(0, 1)"), &[]));
    accepted(&bnnc("student", "run", &prior("StudentT(3, 0, 1)"), &[]));
    accepted(&bnnc("flat", "run", &prior("Flat"), &[]));
    rejected(
        &bnnc("no_cdf", "run", &prior("Horseshoe(0, 1)"), &[]),
        1,
        "E0290",
        "`Horseshoe` has no `cdf`",
    );
}

#[test]
fn the_closed_form_of_a_kl_can_be_turned_off() {
    let exact = bnnc("exact", "check", &network("epochs = 1"), &[]);
    assert!(
        exact.stdout.contains("h.w") && exact.stdout.contains("exact"),
        "{}",
        exact.stdout
    );
    let sampled = bnnc("sampled", "check", &network("epochs = 1, kl = monte_carlo"), &[]);
    assert!(!sampled.stdout.contains(": exact"), "{}", sampled.stdout);
    let switched = bnnc(
        "switched",
        "check",
        &network("epochs = 1"),
        &["--without", "exact-kl"],
    );
    assert!(!switched.stdout.contains(": exact"), "{}", switched.stdout);
}

/// A value of `--set` may be a keyword of the language, just as a value in an option block may be.
#[test]
fn values_of_set_are_parsed_as_in_an_option_block() {
    let sampled = network("epochs = 1").replace(
        "vi(P, d) { epochs = 1 }",
        "penalty(M, d) { batch = 2, warmup = 2, draws = 2 }",
    );
    let by_data = bnnc("set_word", "run", &sampled, &["--set", "f.loss=data"]);
    accepted(&by_data);
    assert!(
        by_data.stdout.contains("the ordinary posterior"),
        "{}",
        by_data.stdout
    );
}

#[test]
fn invalid_options_are_rejected_with_their_codes() {
    let run = |name: &str, options: &[&str]| bnnc(name, "run", &network("epochs = 1"), options);
    rejected(
        &run("set", &["--set", "f.nope=1"]),
        2,
        "E0257",
        "`vi` has no option `nope`",
    );
    rejected(
        &run("set_item", &["--set", "g.epochs=1"]),
        2,
        "E0260",
        "no inference or data item `g`",
    );
    rejected(
        &run("set_form", &["--set", "f.epochs"]),
        2,
        "E0601",
        "is not `ITEM.KEY=VALUE`",
    );
    rejected(
        &run("set_value", &["--set", "f.epochs=(("]),
        2,
        "E0106",
        "never closed",
    );
    rejected(
        &run("data", &["--data", "q=d.csv"]),
        2,
        "E0260",
        "no data item `q`",
    );
    rejected(
        &run("data_form", &["--data", "q"]),
        2,
        "E0601",
        "is not `NAME=PATH`",
    );
    rejected(
        &run("data_file", &["--data", "d=nope.csv"]),
        3,
        "E0401",
        "does not exist",
    );
    rejected(
        &run("only", &["--only", "fitt"]),
        2,
        "E0603",
        "`fitt` is not an inference",
    );
    rejected(
        &run("backend", &["--backend", "abacus"]),
        2,
        "E0602",
        "unknown backend `abacus`",
    );
    rejected(
        &run("without", &["--without", "nope"]),
        2,
        "E0608",
        "unknown rewrite `nope`",
    );
    rejected(
        &run("memory", &["--max-memory", "4K"]),
        1,
        "E0502",
        "the limit is 4.0 KiB",
    );
    rejected(
        &run("size", &["--max-memory", "lots"]),
        2,
        "E0601",
        "is not a size",
    );
    rejected(&run("out", &["--out", "/dev/null/x"]), 3, "E0503", "cannot write");
    assert_eq!(run("precision", &["--precision", "f16"]).status, 2);
    assert_eq!(run("seed", &["--seed", "-1"]).status, 2);
    assert_eq!(support::run(["frobnicate"]).status, 2);
    assert_eq!(support::run(["check", "/"]).status, 3);
    assert_eq!(support::run(["explain", "E9999"]).status, 2);
}

#[test]
fn too_many_draws_for_the_memory_are_rejected_before_the_run() {
    let output = bnnc(
        "draws",
        "run",
        &network("epochs = 1, samples = 100000000000"),
        &[],
    );
    rejected(&output, 1, "E0502", "of memory");
}

#[test]
fn targets_that_are_not_real_are_not_standardised() {
    let program = network("epochs = 1")
        .replace(
            "csv(\"d.csv\")",
            "csv(\"t.csv\") { standardise = [inputs, target] }",
        )
        .replace("y: real", "v: bool")
        .replace("  s: positive ~ HalfNormal(1)\n", "")
        .replace("y ~ Normal(h(x)[0], s)", "v ~ Bernoulli(logit = h(x)[0])")
        .replace("  s ~ LogNormal(loc = -1, scale = 0.1)", "");
    rejected(
        &bnnc("standardised", "run", &program, &[]),
        1,
        "E0292",
        "the target is standardised, but `v` is not real",
    );
    accepted(&bnnc("truths", "run", &program.replace(", target]", "]"), &[]));
}

#[test]
fn patience_needs_validation_rows() {
    let program = network("epochs = 1, patience = 3");
    let message = "`patience` needs validation rows, but `d` does not hold out any";
    rejected(&bnnc("patience", "run", &program, &[]), 1, "E0609", message);
    let watched = ["--set", "d.validation=0.2"];
    accepted(&bnnc("watched", "run", &program, &watched));
}

const SERIES: &str = "data d = json(\"series.json\")
model M() -> y: real[T] {
  slope ~ Normal(0, 1)
  for t in 1..T {
    y[t] ~ Normal(slope * y[t - 1], 1)
  }
}
posterior P of M { slope ~ Normal() }
infer f = vi(P, d) { epochs = 2 }
";

#[test]
fn a_series_is_one_example() {
    folder("series", &[("series.json", "{\"y\": [[1, 2, 1.5, 3]]}")]);
    accepted(&bnnc("series", "run", SERIES, &[]));
    folder("flat_series", &[("series.json", "{\"y\": [1, 2, 1.5, 3]}")]);
    accepted(&bnnc("flat_series", "run", SERIES, &[]));
    let early = bnnc("flat_series", "run", &SERIES.replace("1..T", "0..T"), &[]);
    rejected(&early, 1, "E0290", "this position takes values from -1 to 2");
}

#[test]
fn malformed_data_files_are_reported_with_their_place() {
    let cases: &[(&str, &str, &str)] = &[
        ("", "E0405", "is empty"),
        ("a,b,y\n", "E0405", "no rows"),
        ("a,b,y\n1,2,nan\n", "E0409", "m_2.csv:2:3"),
        ("a,b,y\n1,,3\n", "E0408", "m_3.csv:2:2"),
        ("a,b,y\n1,2\n", "E0406", "expected 3 cells"),
        ("a,a,y\n1,2,3\n", "E0407", "two columns are named `a`"),
        ("a;b;y\n1;2;3\n", "E0411", "found semicolons"),
        ("a,b,y\n1e400,2,3\n", "E0409", "finite"),
    ];
    for (at, (text, code, fragment)) in cases.iter().enumerate() {
        let file = format!("m_{at}.csv");
        let folder = folder("files", &[(file.as_str(), text)]);
        let data = format!("d={}", folder.join(&file).display());
        rejected(
            &bnnc("files", "run", &network("epochs = 1"), &["--data", &data]),
            3,
            code,
            fragment,
        );
    }
    let text = folder("text", &[("text.csv", "a,b,y\n1,foo,3\n2,bar,4\n")]).join("text.csv");
    let output = bnnc(
        "text",
        "run",
        &network("epochs = 1"),
        &["--data", &format!("d={}", text.display())],
    );
    rejected(&output, 1, "E0291", "text cannot be an element of a vector: `b`");
}

#[test]
fn texts_that_are_not_programs_are_rejected() {
    let check = |name: &str, text: &str| bnnc(name, "check", text, &[]);
    let brackets = check("brackets", &"(".repeat(1_000_000));
    rejected(&brackets, 1, "E0111", "more than 200 levels deep");
    assert!(brackets.stderr.len() < 2000, "long lines are not shown");
    rejected(
        &check("minus", &format!("const a = {}1", "-".repeat(100_000))),
        1,
        "E0111",
        "nests more than 500 operations",
    );
    rejected(
        &check("emoji", "const a = 😀"),
        1,
        "E0101",
        "unexpected character `😀`",
    );
    rejected(&check("quote", "const a = \"é😀"), 1, "E0102", "no closing quote");
    rejected(
        &check("end", "model M(x: real) -> y: real { y ~ Normal(x, 1)"),
        1,
        "E0106",
        "never closed",
    );
    rejected(&check("number", "const a = 1e999999"), 1, "E0104", "too large");
    accepted(&check("nothing", ""));
    accepted(&check("mark", "\u{feff}const a = 1\n"));
    assert_eq!(
        check("lines", &network("epochs = 1").replace('\n', "\r\n")).status,
        0
    );
}

/// If a run has several inferences, the user must choose one of them for predictions. Predictions
/// of an output without a mean do not contain a standard deviation.
#[test]
fn predictions_of_several_inferences_need_a_choice() {
    let run = folder("several", &[("new.csv", "b,a\n2,1\n")]);
    let saved = run.join("saved");
    let saved = saved.to_str().expect("a readable path");
    let tails = "  h = Dense(1)\n  y ~ Cauchy(h(x)[0], 1)";
    let two =
        program(tails, "  h.* ~ Normal(scale = 0.1)", "epochs = 2") + "infer g = map(M, d) { epochs = 2 }\n";
    accepted(&bnnc("several", "run", &two, &["--out", saved, "--overwrite"]));
    let file = run.join("new.csv");
    let file = file.to_str().expect("a readable path");
    let predict = |more: &[&str]| {
        let mut arguments = vec!["predict", saved, "--data", file];
        arguments.extend(more);
        support::run(&arguments)
    };
    rejected(&predict(&[]), 2, "E0617", "results of 2 inferences: `f`, `g`");
    let one = predict(&["--infer", "g"]);
    accepted(&one);
    assert!(one.stdout.starts_with("row,q05,q50,q95\n2,"), "{}", one.stdout);
    let alone = run.join("alone");
    let alone = alone.to_str().expect("a readable path");
    accepted(&bnnc(
        "several",
        "run",
        &two,
        &["--only", "g", "--out", alone, "--overwrite"],
    ));
    let only = support::run(["predict", alone, "--data", file]);
    accepted(&only);
    assert_eq!(only.stdout, one.stdout);
}

#[test]
fn new_rows_are_predicted_by_column_names() {
    let run = folder(
        "predict",
        &[
            ("new.csv", "b,a\n2,1\n1,0\n"),
            ("few.csv", "a\n1\n"),
            ("far.csv", "b,a\n2,1\n1,1e308\n"),
        ],
    );
    let saved = run.join("saved");
    let saved = saved.to_str().expect("a readable path");
    accepted(&bnnc(
        "predict",
        "run",
        &network("epochs = 2"),
        &["--out", saved, "--overwrite"],
    ));
    let predict = |file: &str, more: &[&str]| {
        let file = run.join(file);
        let mut arguments = vec![
            "predict",
            saved,
            "--data",
            file.to_str().expect("a readable path"),
        ];
        arguments.extend(more);
        support::run(&arguments)
    };
    let (plain, with_target) = (predict("new.csv", &[]), predict("d.csv", &[]));
    accepted(&plain);
    accepted(&with_target);
    assert!(
        plain.stdout.starts_with("row,mean,sd,q05,q50,q95\n2,"),
        "{}",
        plain.stdout
    );
    assert_eq!(
        (plain.stdout.lines().count(), with_target.stdout.lines().count()),
        (3, 5)
    );
    // Both predictions agree in the first row, because columns are matched by name, not by position.
    assert_eq!(plain.stdout.lines().nth(1), with_target.stdout.lines().nth(1));
    rejected(&predict("few.csv", &[]), 3, "E0419", "unknown column `b`");
    rejected(&predict("nope.csv", &[]), 3, "E0401", "does not exist");
    let far = predict("far.csv", &[]);
    rejected(&far, 3, "E0409", "too large for");
    assert!(
        far.stderr.contains("far.csv:3") && far.stderr.contains("column `a`"),
        "{}",
        far.stderr
    );
    rejected(
        &predict("new.csv", &["--infer", "g"]),
        2,
        "E0603",
        "`g` is not an inference of this program",
    );
    rejected(
        &support::run(["predict", "/dev", "--data", "x"]),
        3,
        "E0504",
        "is not the folder of a run",
    );
}

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
