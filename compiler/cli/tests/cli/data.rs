//! Tests data items, data files and predictions of new rows.

use crate::{accepted, bnnc, folder, network, program, rejected, support};

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
