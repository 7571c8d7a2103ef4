//! Tests which files and run folders are replaced.

use super::{groups, means, near, out, predict, rows, trained_groups};
use crate::support::run;
use crate::support::trial::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;

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
