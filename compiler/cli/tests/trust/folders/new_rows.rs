//! Tests predictions of new rows from a run folder.

use super::{groups, means, near, out, predict, rows};
use crate::support::trial::Trial;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// If an index does not occur in any training row, it must not be clamped to the nearest group.
#[test]
fn unseen_indices_are_rejected_by_row_and_value() {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["0", "1", "2"]))
        .file("good.csv", "g\n2\n0\n")
        .file("high.csv", "g\n0\n2\n3\n")
        .file("far.csv", "g\n99\n")
        .file("low.csv", "g\n1\n-7\n")
        .file("text.csv", "g\nzero\n");
    out(&trial, "out", &[]);
    near(&means(&predict(&trial, "out", "good.csv")), &[30.0, 10.0]);
    for (file, row, value) in [("high.csv", 4, "3"), ("far.csv", 2, "99"), ("low.csv", 3, "-7")] {
        let place = format!("{file}:{row}");
        let output = predict(&trial, "out", file);
        assert_eq!(output.status, 3, "{}", output.stderr);
        assert!(output.stderr.contains(&place), "{}", output.stderr);
        assert!(output.stderr.contains(value), "{}", output.stderr);
        assert_eq!(output.stdout, "");
    }
    assert_eq!(predict(&trial, "out", "text.csv").status, 3);
}

/// A model with one parameter per row cannot predict new rows. A new row must not use the parameter
/// of the last training row.
#[test]
fn rows_without_a_parameter_of_their_own_are_rejected() {
    let trial = Trial::new()
        .program(&groups("g: index(J) = row"))
        .file("train.csv", "x,y\n1,10\n2,20\n3,30\n")
        .file("same.csv", "x\n1\n2\n3\n")
        .file("more.csv", "x\n1\n2\n3\n4\n");
    out(&trial, "out", &[]);
    assert_eq!(predict(&trial, "out", "same.csv").status, 0);
    predict(&trial, "out", "more.csv").assert_error("E0436", 3, &["more.csv:5", "axis of size 3"]);
}

/// Predictions use the levels and columns that are saved in the run folder, even if the training
/// file has changed.
#[test]
fn predictions_do_not_need_the_training_file() {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\nu\nv\n")
        .file("unseen.csv", "g\nw\nz\n");
    out(&trial, "out", &[]);
    let expected = predict(&trial, "out", "new.csv");
    near(&means(&expected), &[30.0, 10.0, 20.0]);
    let changed = rows(&["u", "v", "w"]).replacen("g,y\n", "g,y\nz,40\n", 1);
    fs::write(trial.path("train.csv"), changed).unwrap();
    assert_eq!(predict(&trial, "out", "new.csv").stdout, expected.stdout);
    let wider: String = rows(&["u", "v", "w"])
        .lines()
        .map(|line| format!("7,{line}\n"))
        .collect();
    fs::write(trial.path("train.csv"), wider).unwrap();
    assert_eq!(predict(&trial, "out", "new.csv").stdout, expected.stdout);
    fs::remove_file(trial.path("train.csv")).unwrap();
    fs::remove_file(trial.path("program.bnn")).unwrap();
    assert_eq!(predict(&trial, "out", "new.csv").stdout, expected.stdout);
    predict(&trial, "out", "unseen.csv").assert_error("E0428", 3, &["unseen.csv:3", "`z`"]);
}

/// The first row of new data must not determine whether a column contains text.
#[test]
fn levels_that_look_like_numbers_are_found_in_new_rows() {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["A1", "12", "true"]))
        .file("number.csv", "g\n12\nA1\n")
        .file("truth.csv", "g\ntrue\n")
        .file("other.csv", "g\n13\n");
    out(&trial, "out", &[]);
    near(&means(&predict(&trial, "out", "number.csv")), &[20.0, 10.0]);
    near(&means(&predict(&trial, "out", "truth.csv")), &[30.0]);
    predict(&trial, "out", "other.csv").assert_error("E0428", 3, &["other.csv:2", "`13`"]);
}

/// The error for a model of whole columns must name the reason, and must not claim that the distribution lacks a mean and a
/// sampler.
#[test]
fn a_model_of_all_rows_has_no_predictions_of_new_ones() {
    let counts = || std::iter::once("y\n").chain(["3\n", "5\n", "4\n", "2\n"].into_iter().cycle().take(40));
    let model = |output: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M() -> {output} {{
  r ~ Normal(0, 2)
  y ~ Poisson(r)
}}
infer fit = nuts(M, d) {{ chains = 2, warmup = 200, draws = 200 }}
"
        )
    };
    let trial = |output: &str| {
        let trial = Trial::new()
            .file("d.csv", counts().collect::<String>())
            .file("new.csv", "i\n1\n2\n")
            .program(&model(output));
        out(&trial, "out", &[]);
        trial
    };
    let whole = predict(&trial("y: count[n]"), "out", "new.csv");
    whole.assert_error(
        "E0519",
        1,
        &["`fit`", "`y`", "as one example", "such as `-> y: real`"],
    );
    assert!(!whole.stderr.contains("neither"), "{}", whole.stderr);
    // The mean of the posterior predictive distribution is near 3.5, the mean of the data.
    let of_rows = means(&predict(&trial("y: count"), "out", "new.csv"));
    assert!(
        of_rows.len() == 2 && of_rows.iter().all(|mean| (mean - 3.5).abs() < 0.2),
        "{of_rows:?}"
    );
}

/// Predictions contain the row numbers of the file. If the scored rows were numbered separately, a
/// reader could not match predictions with the rows of the file.
#[test]
fn predictions_name_the_rows_of_the_file() {
    let trial = Trial::new()
        .program(&groups("g: index(J)").replace("target = y\n", "target = y\n  test   = fraction(0.5)\n"))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\nu\n");
    out(&trial, "out", &[]);
    let file = fs::read_to_string(trial.path("train.csv")).unwrap();
    let lines: Vec<&str> = file.lines().collect();
    let table = fs::read_to_string(trial.path("out/predictions.csv")).unwrap();
    let mut count = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let row: usize = cells[0].parse().unwrap();
        let observed: f64 = lines[row - 1].split(',').nth(1).unwrap().parse().unwrap();
        assert_eq!(cells[1].parse::<f64>().unwrap(), observed, "{line}");
        count += 1;
    }
    assert_eq!(count, 12);
    let new = predict(&trial, "out", "new.csv");
    let numbers: Vec<&str> = new
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(numbers, ["2", "3"], "{}", new.stdout);
}

/// New rows usually do not have an outcome, so the column of the outcome may be missing.
#[test]
fn outcomes_of_new_rows_may_be_missing() {
    let program = groups("g: index(J)");
    let by_output = program.replace("{\n  target = y\n}", "");
    for program in [program, by_output] {
        let trial = Trial::new()
            .program(&program)
            .file("train.csv", rows(&["u", "v", "w"]))
            .file("new.csv", "g,y\nw,NA\nu,3\nv,\n")
            .file("no.csv", "g,y\n,3\nu,3\n");
        out(&trial, "out", &[]);
        near(&means(&predict(&trial, "out", "new.csv")), &[30.0, 10.0, 20.0]);
        predict(&trial, "out", "no.csv").assert_error("E0408", 3, &["no.csv:2", "`g`"]);
    }
}

/// If the model does not read a column that is listed in `inputs`, new rows need not have this column, and its cells may be empty.
#[test]
fn new_rows_need_only_the_columns_that_the_model_reads() {
    let program = "data d = csv(\"train.csv\") {
  target      = log(y)
  inputs      = [a, u = zscore(b), z = zscore(a), c, label]
  standardise = [inputs]
}
model Line(a: real, u: real, z: real, c: real) -> y: real {
  w ~ Normal(0, 9)
  k ~ Normal(0, 9)
  y ~ Normal(w * a + k * z, 1)
}
infer m = map(Line, d)
";
    let a: Vec<i32> = (0..40).collect();
    let train = a
        .iter()
        .map(|a| format!("{a},{},{},t{},{}\n", a % 7, a % 3, a % 2, 1 + a % 11));
    let trial = Trial::new()
        .program(program)
        .file(
            "train.csv",
            format!("a,b,c,label,y\n{}", train.collect::<String>()),
        )
        .file("all.csv", "a,b,c,label,y\n3,1,1,t0,5\n30,2,2,t1,6\n")
        .file("few.csv", "a\n3\n30\n")
        .file("holes.csv", "label,b,y,a,c\n,,-1,3,\n7,x,,30,NA\n")
        .file("none.csv", "a,b,c\n,1,2\n3,,\n");
    out(&trial, "out", &[]);
    let all = predict(&trial, "out", "all.csv");
    assert_eq!((all.status, &*all.stderr), (0, ""), "{}", all.stdout);
    for file in ["few.csv", "holes.csv"] {
        let found = predict(&trial, "out", file);
        assert_eq!((found.status, &*found.stderr), (0, ""), "{file}");
        assert_eq!(found.stdout, all.stdout, "{file}");
    }
    let none = predict(&trial, "out", "none.csv");
    none.assert_error("E0408", 3, &["none.csv:2:1", "column `a`"]);
    assert_eq!(none.stderr.matches("error[").count(), 1, "{}", none.stderr);
}

/// If a Boolean column contains words, these words are the names of the classes. If a Boolean
/// column contains numbers, the numbers are not used as names.
#[test]
fn probabilities_of_a_boolean_are_named_by_the_words_of_the_file() {
    let program = "data d = csv(\"train.csv\")
model M(x: real) -> sick: bool {
  a ~ Normal(0, 2)
  sick ~ Bernoulli(a * x)
}
infer fit = map(M, d)
";
    for (words, names) in [(["false", "true"], "p[false],p[true]"), (["0", "1"], "p0,p1")] {
        let rows = (0..40).map(|at| {
            format!(
                "{},{}\n",
                (at * 7 % 11) - 5,
                words[usize::from(at * 7 % 11 > at % 9)]
            )
        });
        let trial = Trial::new()
            .program(program)
            .file("train.csv", format!("x,sick\n{}", rows.collect::<String>()))
            .file("new.csv", "x\n1\n");
        out(&trial, "out", &[]);
        let new = predict(&trial, "out", "new.csv").stdout;
        assert_eq!(new.lines().next(), Some(&*format!("row,{names}")));
        let table = fs::read_to_string(trial.path("out/predictions.csv")).unwrap();
        assert_eq!(table.lines().next(), Some(&*format!("row,sick,{names}")));
    }
}

/// If the model does not have inputs, only the number of new rows matters.
#[test]
fn new_rows_of_a_model_without_inputs_are_counted() {
    let program = "data d = csv(\"train.csv\") {\n  target = y\n}\nmodel Mean() -> y: real {\n  m ~ Normal(0, 9)\n  y ~ Normal(m, 1)\n}\n\
                   infer f = map(Mean, d)\n";
    let trial = Trial::new()
        .program(program)
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g,h\n,1\nq,\n,\n");
    out(&trial, "out", &[]);
    let means = means(&predict(&trial, "out", "new.csv"));
    assert_eq!(means.len(), 3);
    assert!(means.iter().all(|mean| (mean - 20.0).abs() < 0.1), "{means:?}");
}

#[test]
fn numbers_of_new_rows_match_ids_and_text_is_rejected() {
    let of_ids = |ids: &[&str]| rows(ids);
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", of_ids(&["3", "7", "9"]))
        .file("real.csv", "g\n7.0\n9e0\n")
        .file("text.csv", "g\nx\n7\n");
    out(&trial, "out", &[]);
    near(&means(&predict(&trial, "out", "real.csv")), &[20.0, 30.0]);
    let text = predict(&trial, "out", "text.csv");
    text.assert_error("E0410", 3, &["text.csv:2", "found `x`", "`g`"]);
}

/// The table of predictions then contains only row numbers. A warning must explain this to the
/// user.
#[test]
fn outputs_without_a_mean_and_a_sampler_are_reported() {
    let own = "dist Mine(loc: real) on real {\n  log_density(x) = -abs(x - loc)\n}\n\n";
    let trial = Trial::new()
        .program(&(own.to_owned() + &groups("g: index(J)").replace("Normal(mu[g], 1)", "Mine(mu[g])")))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\n");
    out(&trial, "out", &[]);
    let output = predict(&trial, "out", "new.csv");
    output.assert_error("E0519", 1, &["`m` has no predictions", "`y`", "`mean`"]);
    assert_eq!(output.stdout, "");
}

/// Starts `bnnc` and sends a signal to it after the time `wait`. Returns the exit status, and the
/// time from the signal to the end of the process.
#[cfg(unix)]
fn signalled(words: &[&str], wait: Duration, signal: &str) -> (Option<i32>, Duration) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .args(words)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(wait);
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    let clock = Instant::now();
    let status = child.wait().unwrap();
    assert!(sent.success());
    (status.code(), clock.elapsed())
}

/// Predictions of many rows with many draws take minutes, but Ctrl-C must stop them soon.
#[cfg(unix)]
#[test]
fn predictions_can_be_interrupted() {
    let program =
        groups("g: index(J)").replace("epochs    = 400", "epochs    = 10\n  predictive_draws = 3000");
    let mut many = "g\n".to_owned();
    many.extend(std::iter::repeat_n("w\nu\n", 200_000));
    let trial = Trial::new()
        .program(&program)
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", many);
    out(&trial, "out", &[]);
    let (folder, data) = (trial.path("out"), trial.path("new.csv"));
    let words = [
        "predict",
        folder.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ];
    let (status, time) = signalled(&words, Duration::from_millis(800), "-TERM");
    assert_eq!(status, Some(130));
    // `bnnc` should stop within a second. The limit is ten seconds, because a busy machine needs
    // longer to finish a block of rows.
    assert!(time < Duration::from_secs(10), "{time:?}");
}
