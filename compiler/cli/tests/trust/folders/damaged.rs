//! Tests run folders and files that are damaged, incomplete or from another version.

use super::{groups, out, predict, rows, trained_groups};
use crate::support::rendered::hold;
use crate::support::trial::Trial;
use bnnc_abi::artefact;
use std::fs;
use std::process::Command;

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
