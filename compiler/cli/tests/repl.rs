//! Transcripts of the REPL: input lines and the expected output.
//!
//! In a transcript, input lines begin with `> `, further lines of the same entry with `. `, and comments with `# `. All other lines are
//! expected output. `{0.5 +- 0.01}` matches any number within this bound, so that random results can be compared with their closed forms.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The input and the expected output.
#[derive(Default)]
struct Transcript {
    typed: String,
    expected: Vec<String>,
}

fn read(path: &Path) -> Transcript {
    let text = fs::read_to_string(path).expect("the transcript is readable");
    let mut transcript = Transcript::default();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        match line.strip_prefix("> ").or_else(|| line.strip_prefix(". ")) {
            Some(typed) => {
                transcript.typed.push_str(typed);
                transcript.typed.push('\n');
            }
            None => transcript.expected.push(line.trim_end().to_owned()),
        }
    }
    while transcript.expected.last().is_some_and(String::is_empty) {
        transcript.expected.pop();
    }
    transcript
}

/// Returns the exit status of `bnnc repl` and its output for these lines, results and diagnostics in order.
fn answers(typed: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .args(arguments)
        .current_dir(support::root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().expect("the pipe has two ends"))
        .stderr(writer)
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let typed = typed.to_owned();
    let writing = std::thread::spawn(move || {
        // If the session ends early, it does not read the rest of the input.
        let _ = input.write_all(typed.as_bytes());
    });
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("answers are UTF-8");
    writing.join().expect("the writer ends");
    (child.wait().expect("the binary ends").code(), said)
}

/// Returns whether a line matches the expected line, which may have bounds in braces.
fn matches(expected: &str, actual: &str) -> bool {
    let Some((before, rest)) = expected.split_once('{') else {
        return expected == actual;
    };
    let bounds = rest
        .split_once('}')
        .and_then(|(inner, after)| Some((inner.split_once(" +- ")?, after)));
    let Some(((wanted, bound), after)) = bounds else {
        return expected == actual;
    };
    let (Ok(wanted), Ok(bound)) = (wanted.parse::<f64>(), bound.parse::<f64>()) else {
        return expected == actual;
    };
    let Some(actual) = actual.strip_prefix(before) else {
        return false;
    };
    let end = actual
        .find(|c: char| !(c.is_ascii_digit() || "+-.einf".contains(c)))
        .unwrap_or(actual.len());
    let (number, actual) = actual.split_at(end);
    number
        .parse()
        .is_ok_and(|number: f64| (number - wanted).abs() <= bound)
        && matches(after, actual)
}

/// Returns a description of the first line that differs, if any.
fn difference(expected: &[String], said: &str) -> Option<String> {
    let said: Vec<&str> = said.trim_end().lines().map(str::trim_end).collect();
    let lines = expected.len().max(said.len());
    (0..lines).find_map(|at| {
        let wanted = expected.get(at).map_or("(nothing)", |line| line);
        let actual = said.get(at).copied().unwrap_or("(nothing)");
        let fits = at < expected.len() && at < said.len() && matches(wanted, actual);
        (!fits).then(|| {
            format!(
                "answer line {}:\n  expected {wanted}\n  found    {actual}",
                at + 1
            )
        })
    })
}

#[test]
fn transcripts_have_the_expected_output() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repl");
    let entries = fs::read_dir(folder).expect("the folder of transcripts");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    assert!(paths.len() >= 12, "transcripts are missing");
    let mut faults = Vec::new();
    for path in paths {
        let transcript = read(&path);
        let (status, said) = answers(&transcript.typed, &[]);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(difference) = difference(&transcript.expected, &said) {
            faults.push(format!("{name}, {difference}\n--- all answers\n{said}"));
        }
        assert_eq!(status, Some(0), "{name}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_seed_decides_the_draws() {
    let typed = "x ~ Normal(0, 1)\ny ~ Normal(0, 1)\n";
    let draws = |seed: &str| answers(typed, &["--seed", seed]).1;
    assert_eq!(draws("1"), draws("1"));
    assert_ne!(draws("1"), draws("2"));
    let lines = draws("1");
    let values: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(" = ").nth(1))
        .collect();
    assert_ne!(values[0], values[1], "each draw takes the next number");
}

#[test]
fn a_file_is_loaded_first() {
    let (status, said) = answers(":type Yacht\n:emit loops\n", &["examples/yacht/yacht.bnn"]);
    assert_eq!(status, Some(0));
    assert!(said.contains("model "), "{said}");
    assert!(!said.contains("error"), "{said}");
}
