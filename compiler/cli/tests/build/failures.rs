//! Tests builds that fail, and executables that cannot run.

use crate::support::Output;
use crate::support::rendered::hold;
use crate::{QUICK, built, execute, runtime, ways, with_program};
use bnnc_abi::artefact;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Splits the bytes of an executable into the runner and the bundle that is appended to it.
fn parts(executable: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = fs::read(executable).unwrap();
    let artefact = artefact::embedded(&mut File::open(executable).unwrap())
        .unwrap()
        .unwrap();
    bytes.truncate(bytes.len() - artefact::appended(&artefact).len());
    (bytes, artefact)
}

#[test]
fn a_damaged_executable_reports_the_damage() {
    let folder = with_program("damaged", QUICK);
    let executable = built(&folder, "curve", &["--no-linker"]);
    let (runner, artefact) = parts(&executable);
    let other = folder.join("other");
    let says = |bytes: &[u8], words: &[&str]| {
        // The file is deleted and created anew each time. The system does not allow writing to an
        // executable that is still running.
        let _ = fs::remove_file(&other);
        // Another process copies the file, so that this process never has it open for writing. Otherwise, child
        // processes of other tests could inherit the open file, and the system does not execute a file that is
        // open for writing.
        let staged = folder.join("staged");
        fs::copy(&executable, &staged).unwrap();
        fs::write(&staged, bytes).unwrap();
        let copied = Command::new("cp").args([&staged, &other]).status().unwrap();
        assert!(copied.success());
        execute(&other, words)
    };
    let (head, built) = artefact::decode(&artefact).unwrap();
    let mut flipped = artefact.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut newer = artefact.clone();
    newer[8] ^= 1;
    let foreign = artefact::encode(&built, [head.features, vec!["avx99".to_owned()]].concat()).unwrap();
    let cases = [
        (runner.clone(), "E0630", "`strip`", 2),
        (
            [&*runner, &artefact::appended(&flipped)].concat(),
            "E0630",
            "damaged",
            2,
        ),
        (
            [&*runner, &artefact::appended(&newer)].concat(),
            "E0630",
            "different builds",
            2,
        ),
        (
            [&*runner, &artefact::appended(&artefact[..900])].concat(),
            "E0630",
            "cut off",
            2,
        ),
        (
            [&*runner, &artefact::appended(&foreign)].concat(),
            "E0632",
            "avx99",
            1,
        ),
        (
            [&*runner, &artefact::appended(&artefact)[..5000]].concat(),
            "E0630",
            "no compiled program",
            2,
        ),
    ];
    for (bytes, code, reason, status) in cases {
        let output = says(&bytes, &[]);
        assert_eq!(output.status, status, "{}", output.stderr);
        assert!(
            output.stderr.contains(code) && output.stderr.contains(reason),
            "{}",
            output.stderr
        );
        hold(code, &output.stderr, false);
        let output = says(&bytes, &["--json"]);
        let line: Value = serde_json::from_str(output.stderr.trim()).unwrap();
        assert_eq!(line["code"], code);
    }
    assert_eq!(says(&fs::read(&executable).unwrap(), &[]).status, 0);
    // The command `strip` removes the bundle, so that only the runner remains.
    match Command::new("strip").arg(&other).status() {
        Ok(status) if status.success() => {
            let output = execute(&other, &[]);
            assert_eq!(output.status, 2, "{}", output.stderr);
            assert!(
                output.stderr.contains("E0630") && output.stderr.contains("`strip`"),
                "{}",
                output.stderr
            );
        }
        _ => println!("not tested: what takes `strip`"),
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Runs `bnnc build` in another environment.
fn build_with(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    runtime();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bnnc"));
    command.arg("build").arg(folder.join("curve.bnn")).args(words);
    command.envs(environment.iter().copied()).env("NO_COLOR", "1");
    command.env_remove("BNNC_MLIR_WORKER");
    let output = command.stdin(Stdio::null()).output().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// If the executable would exceed the file size limit, `bnnc build` reports an error and does not
/// crash. A previous file at the path of the executable remains unchanged.
#[test]
#[cfg(target_os = "linux")]
fn files_above_the_size_limit_of_the_shell_are_not_written() {
    let folder = with_program("limit", QUICK);
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        // The shell counts the limit in blocks of 512 bytes.
        command.args([
            "-c",
            "ulimit -f 16; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_bnnc"),
        ]);
        let output = command.args(words).env("NO_COLOR", "1").output().unwrap();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {reported}");
        reported
    };
    runtime();
    let (program, out) = (folder.join("curve.bnn"), folder.join("curve"));
    let [program, out_word] = [&program, &out].map(|path| path.to_str().unwrap());
    for way in ways() {
        let reported = limited(&[&["build", program, "-o", out_word], way].concat());
        assert!(reported.contains("E0637"), "{reported}");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            2,
            "{way:?} left something"
        );
        fs::write(&out, "old").unwrap();
        limited(&[&["build", program, "-o", out_word], way].concat());
        assert_eq!(fs::read_to_string(&out).unwrap(), "old");
        fs::remove_file(&out).unwrap();
    }
    let results = folder.join("results");
    let reported = limited(&["run", program, "--out", results.to_str().unwrap()]);
    assert!(reported.contains("File too large"), "{reported}");
    for file in fs::read_dir(&results).unwrap() {
        let file = file.unwrap().path();
        // Each file is either complete or missing.
        if file.extension().is_some_and(|kind| kind == "json") {
            serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
        }
        assert_ne!(file.file_name().unwrap(), "report.html");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A runtime of another build cannot read the bundle that this compiler writes, so the executable could not run.
#[test]
fn a_runtime_of_another_build_is_rejected() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let folder = with_program("older", QUICK);
    let mut mark: [u8; artefact::mark_bytes(VERSION)] = artefact::mark(VERSION);
    assert_eq!(artefact::layout_of(&mark, VERSION), Some(artefact::LAYOUT));
    let layout = mark.len() - 8;
    mark[layout..].copy_from_slice(&(artefact::LAYOUT - 1).to_le_bytes());
    let (out, older) = (folder.join("curve"), folder.join("older.a"));
    fs::write(&older, mark).unwrap();
    for more in [&[][..], &["--no-linker"]] {
        let words = ["-o", out.to_str().unwrap(), "--runtime", older.to_str().unwrap()];
        let output = build_with(&folder, &[&words, more].concat(), &[]);
        assert_eq!(output.status, 2, "{}", output.stderr);
        let layouts = format!(
            "layout {}, but this bnnc writes layout {}",
            artefact::LAYOUT - 1,
            artefact::LAYOUT
        );
        for word in ["E0635", "another build", &layouts] {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
        assert!(!out.exists());
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The executable must not replace a file of rows, even if the program names the rows by a pattern.
#[test]
fn an_executable_does_not_replace_rows_that_a_pattern_matches() {
    let folder = with_program("pattern", QUICK);
    let program = folder.join("curve.bnn");
    let text = fs::read_to_string(&program).unwrap();
    assert!(text.contains("\"rows.csv\""));
    fs::write(program, text.replace("\"rows.csv\"", "\"row*.csv\"")).unwrap();
    let rows = folder.join("rows.csv");
    let held = fs::read(&rows).unwrap();
    let output = build_with(&folder, &["-o", rows.to_str().unwrap()], &[]);
    assert_eq!(output.status, 2, "{}", output.stderr);
    assert!(output.stderr.contains("E0515"), "{}", output.stderr);
    assert_eq!(fs::read(&rows).unwrap(), held);
    fs::remove_dir_all(folder).unwrap();
}

/// A test case: the arguments, the environment, the code of the diagnostic, and the exit status.
type Rejection<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, u8);

#[test]
fn failed_builds_report_the_reason_and_leave_no_file() {
    let folder = with_program("refused", QUICK);
    let out = folder.join("curve");
    let (out, at) = (out.to_str().unwrap(), folder.to_str().unwrap());
    let program = folder.join("curve.bnn");
    let rows = folder.join("rows.csv");
    let cases: [Rejection<'_>; 13] = [
        (&["-o", out], &[("PATH", "")], "E0634", 2),
        (&["-o", out], &[("CC", "no-such-compiler -m64")], "E0634", 2),
        (&["-o", out], &[("CC", "false")], "E0636", 2),
        (&["-o", out, "--runtime", at], &[], "E0635", 2),
        (&["-o", out, "--no-linker"], &[("BNNC_RUNTIME", at)], "E0635", 2),
        (&["-o", at], &[], "E0637", 3),
        (&["-o", "/no/such/folder/curve"], &[], "E0637", 3),
        (&["-o", program.to_str().unwrap()], &[], "E0515", 2),
        (&["-o", rows.to_str().unwrap()], &[], "E0515", 2),
        (
            &["-o", out, "--no-linker", "--runtime", "/bin/sh"],
            &[],
            "E0635",
            2,
        ),
        (&["-o", out, "--backend", "reference"], &[], "E0638", 2),
        (&["-o", out, "--gpu", "sm_90"], &[], "E0639", 2),
        (
            &["-o", out, "--backend", "mlir", "--gpu", "sm_90"],
            &[],
            "E0639",
            2,
        ),
    ];
    for (words, environment, code, status) in cases {
        let output = build_with(&folder, words, environment);
        assert_eq!(output.status, i32::from(status), "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains(code), "{words:?}: {}", output.stderr);
        let left = fs::read_dir(&folder).unwrap().count();
        assert_eq!(left, 2, "{words:?} left something");
    }
    let message = build_with(&folder, &["-o", out], &[("PATH", "")]).stderr;
    assert!(message.contains("--no-linker"), "{message}");
    let message = build_with(&folder, &["-o", out, "--runtime", at], &[]).stderr;
    assert!(
        message.contains("cargo build --release -p bnnc-runner"),
        "{message}"
    );
    for backend in ["mlir", "cuda"] {
        if cfg!(feature = "mlir") {
            break;
        }
        let output = build_with(&folder, &["-o", out, "--backend", backend], &[]);
        assert_eq!(output.status, 2, "{}", output.stderr);
        for word in ["E0602", backend, "--features mlir", "BNNC_MLIR_WORKER"] {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    }
    // The message suggests `--no-linker`, and the build succeeds with this option.
    let output = build_with(&folder, &["-o", out, "--no-linker"], &[("PATH", "")]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert_eq!(execute(Path::new(out), &[]).status, 0);
    fs::remove_dir_all(folder).unwrap();
}
