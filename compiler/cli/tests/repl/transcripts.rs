//! Tests the transcripts, and the start of a session.

use crate::answers;
use std::fs;
use std::path::{Path, PathBuf};

/// The input and the expected output of a transcript.
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

/// Returns whether a line matches the expected line. The expected line may contain bounds in
/// braces.
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

/// Returns a description of the first line that differs, or `None` if all lines match.
fn difference(expected: &[String], output: &str) -> Option<String> {
    let output: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    let lines = expected.len().max(output.len());
    (0..lines).find_map(|at| {
        let wanted = expected.get(at).map_or("(nothing)", |line| line);
        let actual = output.get(at).copied().unwrap_or("(nothing)");
        let fits = at < expected.len() && at < output.len() && matches(wanted, actual);
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repl/transcripts");
    let entries = fs::read_dir(folder).expect("the folder of transcripts");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    assert!(paths.len() >= 17, "transcripts are missing");
    let mut faults = Vec::new();
    for path in paths {
        let transcript = read(&path);
        let (status, output) = answers(&transcript.typed, &[]);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(difference) = difference(&transcript.expected, &output) {
            faults.push(format!("{name}, {difference}\n--- all answers\n{output}"));
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
    let (status, output) = answers(":type Yacht\n:emit loops\n", &["examples/yacht/yacht.bnn"]);
    assert_eq!(status, Some(0));
    assert!(output.contains("model "), "{output}");
    assert!(!output.contains("error["), "{output}");
}
