//! Tests the files that a session reads and writes, and input that is not text.

use crate::{LINE, answers, support};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_files_and_names_of_an_entry_are_checked() {
    let typed = "fit = 3
infer fit = map(Line, rows) { epochs = 20 }
fit
:load compiler/cli/tests/conjugate/line.csv
:plot prior Line
:plot Normal(0, 1) x.png
";
    let (_, output) = answers(typed, &[LINE]);
    for part in [
        "note: the variable `fit` hides the inference block `fit`",
        "note: `fit` still means the variable `fit`, which hides this definition",
        "`compiler/cli/tests/conjugate/line.csv` is not a program",
        "one parameter is needed here, such as `prior fit.beta`",
        "the name of a plot must end in `.svg`, found `x.png`",
    ] {
        assert!(output.contains(part), "{part}\n{output}");
    }
}

/// If the input is not UTF-8, the session ends with an error.
#[test]
fn input_that_is_not_text_is_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    input
        .write_all(b"1 + 1\nx = \"M\xfcnchen\"\n2 + 2\n")
        .expect("the session reads");
    drop(input);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("line 2 of standard input is not UTF-8"),
        "{message}"
    );
}

/// The commands `:predict` and `:plot` replace only files of the kind that they write themselves.
#[test]
fn files_of_the_user_are_not_replaced() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-kept");
    fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let kept = [
        ("mine.bnn", "fn f(x: real) -> real {\n  return x\n}\n"),
        (
            "mine.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\"/>\n",
        ),
    ];
    for (name, text) in kept {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("new.csv"), "x\n2\n").unwrap();
    let typed = format!(
        ":run\n:predict fit {0} {1}\n:plot fit.w {2}\n:plot fit.w {3}\n:plot Normal(0, 1) {3}\n:predict fit {0} {4}\n:predict fit {0} {4}\n",
        at("new.csv"),
        at("mine.bnn"),
        at("mine.svg"),
        at("own.svg"),
        at("own.csv"),
    );
    let (_, output) = answers(&typed, &[LINE]);
    for (name, text) in kept {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text, "{output}");
    }
    assert_eq!(output.matches("error[E0515]").count(), 2, "{output}");
    assert!(
        fs::read_to_string(folder.join("own.svg"))
            .unwrap()
            .contains("aria-label=\"Normal(0, 1)\"")
    );
}

/// If the file cannot be read, or has errors, no session begins. The exit status is that of `bnnc check`.
#[test]
fn a_session_with_a_faulty_file_does_not_begin() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-faulty");
    fs::create_dir_all(&folder).unwrap();
    let faulty = folder.join("faulty.bnn");
    fs::write(&faulty, "model M( ->\n").unwrap();
    for (file, code) in [
        ("nope.bnn", "error[E0605]"),
        (faulty.to_str().unwrap(), "error[E01"),
    ] {
        let (status, output) = answers("1 + 1\n", &[file]);
        assert_eq!(status, Some(support::run(["check", file]).status), "{output}");
        assert_ne!(status, Some(0), "{output}");
        assert!(
            output.starts_with(code) && !output.lines().any(|line| line == "2"),
            "{output}"
        );
    }
}
