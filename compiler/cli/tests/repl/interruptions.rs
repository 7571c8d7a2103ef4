//! Tests interruptions, and lines that are typed during a command.

use crate::{LINE, support};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Ctrl-C stops an evaluation, and the session continues.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_an_evaluation_and_not_the_session() {
    // The sum over 30 million terms at each of 4000 draws would take hours.
    let typed =
        ":run\nx = mean(fit.w)\nsum(fit.w + zeros(30000000))\n:density Normal(0, 1) 0\nmean(fit.w) == x\n";
    let (stdout, stderr) = interrupted(&[LINE], typed);
    assert_eq!(
        stderr.matches("the evaluation was interrupted").count(),
        1,
        "{stderr}"
    );
    assert!(stdout.trim_end().ends_with("true"), "{stdout}");
}

/// Sends Ctrl-C to a session after three seconds. Checks that the session ends in the ordinary way,
/// and returns its results and its notes.
#[cfg(unix)]
fn interrupted(arguments: &[&str], typed: &str) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .args(arguments)
        .current_dir(support::root())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    input.write_all(typed.as_bytes()).expect("the session reads");
    drop(input);
    std::thread::sleep(std::time::Duration::from_secs(3));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("the binary ends");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    (stdout, stderr)
}

/// Ctrl-C stops a run, and the session continues with the value from the earlier run.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_and_not_the_session() {
    let typed =
        ":run\nx = mean(fit.w)\ninfer fit = map(Line, rows) { epochs = 1000000000 }\nmean(fit.w) == x\n";
    let (stdout, stderr) = interrupted(&[LINE], typed);
    assert!(stderr.contains("note: the run was interrupted"), "{stderr}");
    assert!(
        stderr.contains("note: `fit` keeps the results of its earlier run"),
        "{stderr}"
    );
    assert!(stdout.trim_end().ends_with("true"), "{stdout}");
}

/// Ten million draws would take more than a minute, but Ctrl-C stops them.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_draws_and_not_the_session() {
    let model = "model M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\n";
    let (stdout, stderr) = interrupted(
        &[],
        &format!("{model}1 + 1\n:draw M(1) 10000000\n:density Normal(0, 1) 0\n20 + 22\n"),
    );
    assert!(
        stderr.contains("error[E0607]: the command was interrupted after"),
        "{stderr}"
    );
    // The interruption does not stop later commands.
    assert!(stdout.contains("0.3989"), "{stdout}");
    assert!(stdout.trim_end().ends_with("42"), "{stdout}");
}

/// Input that is typed into a pseudo-terminal while a command runs is not lost. All lines after the first one arrive while the line editor is
/// not reading.
#[cfg(target_os = "linux")]
#[test]
fn lines_typed_during_a_command_are_entered_after_it() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-home");
    fs::create_dir_all(&home).unwrap();
    let mut child = Command::new("script")
        .args([
            "-qec",
            &format!("{} repl {LINE}", env!("CARGO_BIN_EXE_bnnc")),
            "/dev/null",
        ])
        .current_dir(support::root())
        .env("HOME", &home)
        .env("TERM", "xterm")
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script`, which is a part of util-linux, starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    input
        .write_all(b":run\n20 + 22\nx = 7 * 6 + 1\nquit\n")
        .expect("the terminal reads");
    let output = child.wait_with_output().expect("the session ends");
    drop(input);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = stdout.lines().map(str::trim_end).collect();
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert!(
        lines.contains(&"42") && lines.contains(&"x: int = 43"),
        "{stdout}"
    );
}

/// The chains of an interrupted run have different numbers of draws. The table shows their sum, which
/// is the number of draws of a posterior value.
#[cfg(unix)]
#[test]
fn an_interrupted_run_shows_the_number_of_its_draws() {
    let typed = "infer fit = nuts(Line, rows) { draws = 10000000, chains = 3 }\nfit.w\n";
    let (stdout, stderr) = interrupted(&[LINE], typed);
    assert!(stderr.contains("note: the run was interrupted"), "{stderr}");
    let line = stdout
        .lines()
        .find_map(|line| line.strip_prefix("  draws "))
        .expect("a line of draws");
    let words: Vec<&str> = line.split_whitespace().collect();
    let shown = match words.as_slice() {
        [chains, "x", each] => chains.parse::<usize>().unwrap() * each.parse::<usize>().unwrap(),
        [all, least, "to", most, "in", "each", "of", chains, "chains"] => {
            let numbers = [all, least, most, chains].map(|word| word.parse::<usize>().unwrap());
            let [all, least, most, chains] = numbers;
            assert!(chains * least < all && all < chains * most, "{line}");
            all
        }
        _ => panic!("{line}"),
    };
    assert!(shown > 100, "{stdout}");
    let value = stdout.lines().last().unwrap_or_default();
    assert!(value.ends_with(&format!("({shown} draws)")), "{stdout}");
}
