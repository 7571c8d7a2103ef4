//! Tests run folders, predictions from run folders, and files that changed after the run.

#![allow(clippy::unwrap_used)]

use crate::support::rendered::hold;
use crate::support::trial::Trial;
use crate::support::{Output, run};
use bnnc_abi::artefact;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns a program with a mean `mu` for each group. An optimiser fits these means. The loss is quadratic in `mu`. Its minimum is
/// at the mean of the group, except for the prior, whose relative weight is 1 / (1 + 8 * 900).
fn groups(column: &str) -> String {
    format!(
        "data d = csv(\"train.csv\") {{\n  target = y\n}}\n\nmodel Groups({column}) -> y: real {{\n  mu: real[J] ~ Normal(0, 30)\n  y ~ Normal(mu[g], 1)\n}}\n\n\
         infer m = map(Groups, d) {{\n  epochs    = 400\n  optimiser = Adam(0.5)\n  schedule  = cosine\n}}\n"
    )
}

/// Returns a table with eight rows for each level. The target of all rows of the first level is 10,
/// of the second level 20, and so on.
fn rows(levels: &[&str]) -> String {
    let mut text = "g,y\n".to_owned();
    for _ in 0..8 {
        for (at, level) in levels.iter().enumerate() {
            text += &format!("{level},{}\n", 10 * (at + 1));
        }
    }
    text
}

/// Runs the program with the run folder `out`, and panics if the run fails.
fn out(trial: &Trial, out: &str, more: &[&str]) -> Output {
    let path = trial.path(out);
    let mut words = vec!["--out", path.to_str().unwrap()];
    words.extend(more);
    let output = trial.bnnc("run", &words);
    assert_eq!(output.status, 0, "{}", output.stderr);
    output
}

/// Creates a run of three groups in the folder `out`, and a file with a new row of the third group.
fn trained_groups() -> Trial {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\n");
    out(&trial, "out", &[]);
    trial
}

fn predict(trial: &Trial, out: &str, data: &str) -> Output {
    let (out, data) = (trial.path(out), trial.path(data));
    run(["predict", out.to_str().unwrap(), "--data", data.to_str().unwrap()])
}

/// Returns the predicted means of a table of predictions.
#[track_caller]
fn means(output: &Output) -> Vec<f64> {
    assert_eq!(output.status, 0, "{}", output.stderr);
    let mut lines = output.stdout.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == "mean");
    let at = at.expect("a column `mean`");
    let mean = |line: &str| line.split(',').nth(at).unwrap().parse().unwrap();
    lines.map(mean).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let is_near = |(x, y): (&f64, &f64)| (x - y).abs() < 0.05;
    assert!(found.iter().zip(expected).all(is_near), "{found:?}");
}

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

/// If a run fails immediately, the corrected program can use the same folder.
#[test]
fn the_folder_of_a_failed_run_can_be_reused() {
    let program = |rate: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
}}
infer fit = map(M, d) {{ steps = 2000, batch = 1, precision = f32, optimiser = SGD({rate}) }}
"
        )
    };
    let rows = (1..=20).map(|row| format!("{row},{row}\n"));
    let table: String = std::iter::once("x,y\n".to_owned()).chain(rows).collect();
    let trial = Trial::new().file("d.csv", table).program(&program("1e3"));
    let at = trial.path("out");
    let run = || trial.bnnc("run", &["--out", &at.display().to_string()]);
    run().assert_error("E0501", 1, &["`fit`"]);
    assert!(at.join("result.json").is_file());
    // First, the same program runs again. Then, a corrected program runs.
    run().assert_error("E0501", 1, &["`fit`"]);
    fs::write(trial.path("program.bnn"), program("1e-5")).expect("the program is written");
    assert_eq!(run().status, 0, "{}", run().stderr);
    // A run of another program must not replace the results of a successful run.
    fs::write(trial.path("program.bnn"), program("2e-5")).expect("the program is written");
    run().assert_error("E0514", 2, &["another run"]);
    fs::write(trial.path("program.bnn"), program("1e3")).expect("the program is written");
    run().assert_error("E0514", 2, &["another run"]);
}

/// If bits of `posterior.safetensors` are flipped, predictions must not change, and the command
/// must not panic.
#[test]
fn a_damaged_folder_is_rejected() {
    let trial = trained_groups();
    out(&trial, "other", &["--set", "m.epochs=40"]);
    let good = predict(&trial, "out", "new.csv");
    assert_eq!(good.status, 0);
    for name in ["posterior.safetensors", "program.json", "manifest.json"] {
        let path = trial.path("out").join(name);
        let whole = fs::read(&path).unwrap();
        let mut damages: Vec<Vec<u8>> = [0.0, 0.3, 0.6, 0.999]
            .map(|share| {
                let mut bytes = whole.clone();
                let at = (share * bytes.len() as f64) as usize;
                bytes[at] ^= 1;
                bytes
            })
            .to_vec();
        damages.push(whole[..whole.len() / 2].to_vec());
        if name == "posterior.safetensors" {
            damages.push(fs::read(trial.path("other").join(name)).unwrap());
        }
        for damaged in damages {
            fs::write(&path, damaged).unwrap();
            let output = predict(&trial, "out", "new.csv");
            output.assert_error("E0516", 3, &[name]);
            assert_eq!(output.stdout, "");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(predict(&trial, "out", "new.csv").status, 3);
        // The file is replaced by a pipe without a writer, from which reading would never end.
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        predict(&trial, "out", "new.csv").assert_error("E0516", 3, &[name, "not a regular file"]);
        fs::remove_file(&path).unwrap();
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(predict(&trial, "out", "new.csv").stdout, good.stdout);
}

/// Returns the length and the CRC-32 of bytes, in the form that the manifest of a run folder uses.
/// The CRC-32 follows IEEE 802.3 and is computed bit by bit.
fn sealed(bytes: &[u8]) -> String {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    format!("{}-{:08x}", bytes.len(), !crc)
}

/// If files and their checksums were changed together, the files may come from another version of
/// the library. `bnnc predict` then uses the files and prints a warning.
#[test]
fn a_run_of_another_library_is_named() {
    let trial = trained_groups();
    let expected = predict(&trial, "out", "new.csv");
    expected.assert_status(0);
    let [program, manifest] = ["program.json", "manifest.json"].map(|name| trial.path("out").join(name));
    let value = |text: &str, key: &str| {
        let begin = text.find(&format!("\"{key}\": ")).unwrap() + key.len() + 4;
        text[begin..].split([',', '\n']).next().unwrap().to_owned()
    };
    let mut text = fs::read_to_string(&program).unwrap();
    let mut inventory = fs::read_to_string(&manifest).unwrap();
    text = text.replace(&value(&text, "library"), "1");
    inventory = inventory.replace(
        &value(&inventory, "program.json"),
        &format!("\"{}\"", sealed(text.as_bytes())),
    );
    inventory = inventory.replace(&value(&inventory, "checksum"), "\"\"");
    let checksum = sealed(inventory.as_bytes());
    inventory = inventory.replace("\"checksum\": \"\"", &format!("\"checksum\": \"{checksum}\""));
    fs::write(&program, text).unwrap();
    fs::write(&manifest, inventory).unwrap();
    let output = predict(&trial, "out", "new.csv");
    output.assert_warning("E0518", &["another version of bnnc"]);
    hold("E0518", &output.stderr, false);
    assert_eq!(output.stdout, expected.stdout);
}

/// Two files of predictions. Every run writes the first file. The second file is written only by
/// the first of the test's two programs.
const STALE: [&str; 2] = ["predictions.csv", "predictions.m.csv"];

/// A failed run must not leave its weights in a folder together with the standardisation of an earlier run.
#[cfg(unix)]
#[test]
fn a_failed_run_keeps_the_earlier_results() {
    let program = groups("g: index(J)");
    let trial = Trial::new()
        .program(&program)
        .file(
            "other.bnn",
            program.replace("infer m", "infer n") + "\ncompare n by rmse\n",
        )
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\n");
    out(&trial, "out", &[]);
    let good = predict(&trial, "out", "new.csv");
    let script = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} run other.bnn --out out --overwrite",
        env!("CARGO_BIN_EXE_bnnc")
    );
    let full = Command::new("sh")
        .args(["-c", &script])
        .current_dir(trial.folder())
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&full.stderr);
    assert_eq!(full.status.code(), Some(3), "{reported}");
    assert_eq!(predict(&trial, "out", "new.csv").stdout, good.stdout);
    assert!(fs::read_dir(trial.path("out")).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        !name.to_string_lossy().starts_with(".bnnc")
    }));
}

/// If a process ends between two renames, the folder contains results of two runs. `bnnc predict`
/// rejects such a folder, and `--resume` completes it.
#[test]
fn half_replaced_results_are_rejected_and_can_be_finished() {
    let trial = trained_groups();
    let good = predict(&trial, "out", "new.csv");
    // The path `result.json` is a folder that is not empty, so that renaming a file to this path fails.
    let last = trial.path("out").join("result.json");
    fs::remove_file(&last).unwrap();
    fs::create_dir(&last).unwrap();
    fs::write(last.join("inside"), "").unwrap();
    let path = trial.path("out");
    let folder = path.to_str().unwrap();
    trial
        .bnnc("run", &["--out", folder])
        .assert_error("E0503", 3, &["result.json"]);
    predict(&trial, "out", "new.csv").assert_error("E0516", 3, &["--resume"]);
    fs::remove_dir_all(&last).unwrap();
    let finished = trial.bnnc("run", &["--resume", folder]);
    assert_eq!(finished.status, 0, "{}", finished.stderr);
    assert_eq!(predict(&trial, "out", "new.csv").stdout, good.stdout);
}

/// A run of another program with the same `--out` must not replace single files of the earlier run.
/// Otherwise, files that the new run does not write would remain from the earlier run.
#[test]
fn the_folder_of_another_run_is_replaced_as_a_whole_or_not_at_all() {
    let program = groups("g: index(J)");
    let two = format!("{program}\ninfer n = map(Groups, d) {{\n  epochs = 10\n}}\n");
    let trial = Trial::new()
        .program(&two)
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\n");
    out(&trial, "out", &[]);
    let [new, stale] = STALE.map(|name| trial.path("out").join(name));
    assert!(stale.exists());
    fs::write(trial.path("out").join("notes.txt"), "mine").unwrap();
    fs::write(trial.path("program.bnn"), &program).unwrap();
    let path = trial.path("out");
    let folder = path.to_str().unwrap();
    let rejected = trial.bnnc("run", &["--out", folder]);
    rejected.assert_error("E0514", 2, &["the program has changed", "--overwrite"]);
    trial
        .bnnc("run", &["--out", folder, "--seed", "7", "--resume", folder])
        .assert_status(2);
    assert!(stale.exists() && !new.exists(), "nothing was touched");
    out(&trial, "out", &["--overwrite"]);
    assert!(!stale.exists() && new.exists());
    assert_eq!(
        fs::read_to_string(trial.path("out").join("notes.txt")).unwrap(),
        "mine"
    );
    let seed = trial.bnnc("run", &["--out", folder, "--seed", "7"]);
    seed.assert_error("E0514", 2, &["the seed: 0 in the earlier run, 7 now"]);
    out(&trial, "out", &[]);
    near(&means(&predict(&trial, "out", "new.csv")), &[30.0]);
}

impl Output {
    /// Panics if the exit status is not `status`.
    #[track_caller]
    fn assert_status(&self, status: i32) {
        assert_eq!(self.status, status, "{}", self.stderr);
    }
}

/// In the folder `checkpoint`, a run must not delete files that no run wrote, such as `config.json`
/// and `weights.old`. If a file is a link, the run must not truncate the target of the link.
#[cfg(unix)]
#[test]
fn files_that_no_run_wrote_are_left_alone() {
    use std::os::unix::fs::symlink;
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("victim", "mine");
    let folder = trial.path("out");
    let checkpoint = folder.join("checkpoint");
    fs::create_dir_all(&checkpoint).unwrap();
    let mine = ["config.json", "weights.old", "model.draws", "keep.txt"];
    for name in mine {
        fs::write(checkpoint.join(name), "mine").unwrap();
    }
    symlink(trial.path("victim"), checkpoint.join("lock")).unwrap();
    let run_into = |more: &[&str]| {
        let mut words = vec!["--out", folder.to_str().unwrap()];
        words.extend(more);
        trial.bnnc("run", &words)
    };
    run_into(&[]).assert_error("E0515", 2, &["lock", "link"]);
    fs::remove_file(checkpoint.join("lock")).unwrap();
    symlink(trial.path("victim"), folder.join("predictions.csv")).unwrap();
    fs::write(folder.join("report.html"), "mine").unwrap();
    run_into(&[]).assert_error("E0515", 2, &["`predictions.csv`, `report.html`"]);
    assert_eq!(fs::read_to_string(folder.join("report.html")).unwrap(), "mine");
    let output = run_into(&["--overwrite"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert_eq!(fs::read_to_string(trial.path("victim")).unwrap(), "mine");
    assert!(
        !fs::symlink_metadata(folder.join("predictions.csv"))
            .unwrap()
            .is_symlink()
    );
    for name in mine {
        assert_eq!(fs::read_to_string(checkpoint.join(name)).unwrap(), "mine");
    }
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

/// Even with `--overwrite`, results must not replace the data file that the run reads.
#[test]
fn results_do_not_replace_what_the_run_reads() {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]));
    out(&trial, "out", &[]);
    let table = trial.path("out/predictions.csv");
    fs::write(&table, rows(&["u", "v", "w"])).unwrap();
    let held = fs::read_to_string(&table).unwrap();
    let trial = trial.program(&groups("g: index(J)").replace("train.csv", "out/predictions.csv"));
    let path = trial.path("out");
    let output = trial.bnnc("run", &["--out", path.to_str().unwrap(), "--overwrite"]);
    output.assert_error("E0515", 2, &["the run reads", "predictions.csv"]);
    assert_eq!(fs::read_to_string(&table).unwrap(), held);
}

/// The output of `predict -o` must not replace the file of rows that the command reads, or a file
/// of the run.
#[test]
fn predictions_do_not_replace_what_they_are_made_from() {
    let trial = trained_groups();
    let path = |name: &str| trial.path(name).display().to_string();
    for target in [
        "new.csv",
        "out/posterior.safetensors",
        "out/manifest.json",
        "out/predictions.csv",
    ] {
        let before = fs::read(path(target)).unwrap();
        let output = run([
            "predict",
            &path("out"),
            "--data",
            &path("new.csv"),
            "-o",
            &path(target),
        ]);
        output.assert_error("E0515", 2, &["would replace"]);
        assert_eq!(fs::read(path(target)).unwrap(), before);
    }
    let output = run([
        "predict",
        &path("out"),
        "--data",
        &path("new.csv"),
        "-o",
        &path("out/new.csv"),
    ]);
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// `predict -o` replaces an earlier table of predictions. Any other file is replaced only with
/// `--overwrite`.
#[test]
fn predictions_do_not_replace_other_files() {
    let trial = trained_groups();
    let path = |name: &str| trial.path(name).display().to_string();
    let predict = |more: &[&str]| {
        let mut all = vec![
            "predict".to_owned(),
            path("out"),
            "--data".to_owned(),
            path("new.csv"),
        ];
        all.extend(["-o".to_owned(), path("target")]);
        all.extend(more.iter().map(|word| (*word).to_owned()));
        run(all)
    };
    for content in ["data d = csv(\"d.csv\")\n", "row,mine\n1,2\n", "r"] {
        fs::write(trial.path("target"), content).unwrap();
        predict(&[]).assert_error("E0515", 2, &["bnnc did not write it", "--overwrite"]);
        assert_eq!(fs::read_to_string(path("target")).unwrap(), content);
    }
    predict(&["--overwrite"]).assert_silent();
    let table = fs::read_to_string(path("target")).unwrap();
    predict(&[]).assert_silent();
    assert_eq!(fs::read_to_string(path("target")).unwrap(), table);
    fs::write(trial.path("target"), "").unwrap();
    predict(&[]).assert_silent();
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

/// `bnnc fmt` must keep the permissions of a file, so that a private program stays private.
#[cfg(unix)]
#[test]
fn fmt_keeps_the_mode_of_a_file_and_formats_long_names() {
    use std::os::unix::fs::PermissionsExt;
    let name = "x".repeat(70_000);
    let trial = Trial::new().program(&format!("const {name}   = 1\nconst y = 2\n"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = trial.path("program.bnn");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let output = trial.bnnc("fmt", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert_eq!(mode(&path), 0o640);
    assert_eq!(trial.bnnc("fmt", &["--check"]).status, 0);
}

/// A truncated runner still contains its mark, which is near the beginning. Executables made from a
/// truncated runner could not start.
#[test]
fn a_runner_that_is_cut_off_is_rejected() {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]));
    // The file consists of the beginning of an executable and the mark of a runner, like the first
    // 3 MB of a real runner.
    let mut half = fs::read(env!("CARGO_BIN_EXE_bnnc")).unwrap();
    half.truncate(half.len() / 2);
    let mark: [u8; artefact::mark_bytes(env!("CARGO_PKG_VERSION"))] =
        artefact::mark(env!("CARGO_PKG_VERSION"));
    let at = half.len() - mark.len();
    half[at..].copy_from_slice(&mark);
    fs::write(trial.path("runner"), half).unwrap();
    let (runner, executable) = (trial.path("runner"), trial.path("executable"));
    let words = [
        "--no-linker",
        "--runtime",
        runner.to_str().unwrap(),
        "-o",
        executable.to_str().unwrap(),
    ];
    let output = trial.bnnc("build", &words);
    output.assert_error("E0635", 2, &["is truncated"]);
    assert!(!executable.exists());
}

#[test]
fn a_pipe_is_read_once_although_the_folder_keeps_its_checksum() {
    let program = "data d = csv(\"rows.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 1)
          y ~ Normal(a * x, 1)
        }
        infer fit = map(M, d) { steps = 200 }";
    let table = "x,y\n1,2\n2,4\n3,5\n";
    let trial = Trial::new().file("rows.csv", table).program(program);
    let from = |name: &str| {
        let data = format!("d={}", trial.path(name).display());
        trial.bnnc(
            "run",
            &["--data", &data, "--out", &trial.path("out").display().to_string()],
        )
    };
    assert_eq!(from("rows.csv").status, 0);
    let pipe = trial.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, table)
    });
    // If `bnnc` read the pipe a second time, it would wait for a second writer.
    let output = trial.bnnc(
        "run",
        &[
            "--data",
            &format!("d={}", pipe.display()),
            "--out",
            &trial.path("piped").display().to_string(),
        ],
    );
    assert_eq!(output.status, 0, "{}", output.stderr);
    writer
        .join()
        .expect("the writer ends")
        .expect("the rows are written");
}
