//! Tests the REPL with transcripts. They contain input lines and the expected output.
//!
//! In a transcript, the first line of an entry begins with `> `, further lines of the entry begin
//! with `. `, and comments begin with `# `. All other lines are expected output. The expected text `{0.5 +- 0.01}` matches every number from
//! 0.49 to 0.51, so that random results can be compared with their closed forms.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Runs `bnnc repl` with the input `typed`. Returns the exit status and the output. Results and
/// diagnostics are in their original order.
fn answers(typed: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .args(arguments)
        .current_dir(support::root())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().expect("the pipe has two ends"))
        .stderr(writer)
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    let typed = typed.to_owned();
    let writing = std::thread::spawn(move || {
        // A write error is ignored, because a session that ends early does not read the rest of the input.
        let _ = input.write_all(typed.as_bytes());
    });
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("answers are UTF-8");
    writing.join().expect("the writer ends");
    (child.wait().expect("the binary ends").code(), output)
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repl");
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

/// The program of a conjugate model. The posterior of `w` is `Normal(30.35 / 22, 1 / sqrt(22))`.
const LINE: &str = "compiler/cli/tests/conjugate/line.bnn";

/// Finds the topmost line of a plot that contains marks, and returns the horizontal positions of these marks as values on the horizontal axis.
fn peak(plot: &str, mark: char) -> Vec<f64> {
    let lines: Vec<&str> = plot.lines().collect();
    let axis = lines
        .iter()
        .position(|line| line.contains("+--"))
        .expect("an axis");
    let start = lines[axis].find('+').expect("a corner") + 1;
    let ticks: Vec<usize> = lines[axis][start..]
        .match_indices('+')
        .map(|(at, _)| at)
        .collect();
    let labels: Vec<f64> = lines[axis + 1]
        .split_whitespace()
        .map(|label| label.parse().expect("a number"))
        .collect();
    assert_eq!(ticks.len(), labels.len(), "{plot}");
    let step = (labels[1] - labels[0]) / (ticks[1] as f64 - ticks[0] as f64);
    let of = |column: usize| labels[0] + step * (column as f64 + 0.5 - ticks[0] as f64);
    let marks =
        |line: &&&str| line.get(start..).is_some_and(|line| line.contains(mark)) && line.contains('|');
    let top = lines[..axis].iter().find(marks).expect("marks");
    top[start..].match_indices(mark).map(|(at, _)| of(at)).collect()
}

#[test]
fn a_plot_of_a_posterior_peaks_at_its_mode() {
    let (status, output) = answers(":run\n:plot fit.w\n", &[LINE]);
    assert_eq!(status, Some(0));
    let plot = output.split("\nfit.w\n").nth(1).expect("a plot");
    assert!(
        plot.is_ascii() && plot.lines().all(|line| line.len() <= 80),
        "{plot}"
    );
    // The highest bin of the histogram lies within one standard deviation of the mode.
    let mode = 30.35 / 22.0;
    let peak = peak(plot, '#');
    assert!(
        peak.iter().all(|x| (x - mode).abs() < 1.0 / 22f64.sqrt()),
        "{peak:?} {mode}\n{plot}"
    );
}

#[test]
fn plots_and_predictions_are_written_to_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-files");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("new.csv"), "x\n2\n").unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let typed = format!(
        ":run\n:plot fit.w, prior fit.w {0}\n:plot trace fit.w {1}\n:predict fit {2} {3}\n:predict fit {2} {2}\n:plot fit.w {4}/no/x.svg\n",
        at("density.svg"),
        at("trace.svg"),
        at("new.csv"),
        at("out.csv"),
        at("new.csv"),
    );
    let (status, output) = answers(&typed, &[LINE]);
    assert_eq!(status, Some(0));
    let svg = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let density = svg("density.svg");
    assert!(density.starts_with("<svg") && density.trim_end().ends_with("</svg>"));
    for part in [
        "<style>",
        "class=\"ranks0\" d=\"M",
        "class=\"ranks1\" d=\"M",
        "prior fit.w",
    ] {
        assert!(density.contains(part), "{part}");
    }
    let chains = svg("trace.svg").matches("<path class=\"chain").count();
    assert_eq!(
        chains, 8,
        "a line and an entry of the legend for each of four chains"
    );
    let predictions = fs::read_to_string(folder.join("out.csv")).unwrap();
    let mut lines = predictions.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row: Vec<f64> = lines
        .next()
        .unwrap()
        .split(',')
        .map(|cell| cell.parse().unwrap())
        .collect();
    let of = |name: &str| row[names.iter().position(|known| *known == name).unwrap()];
    // The exact predictive distribution is `Normal(2 * 30.35 / 22, sqrt(1 + 4 / 22))`. The
    // predictions come from at least 1000 draws.
    assert!((of("mean") - 2.759).abs() < 0.05, "{predictions}");
    assert!((of("sd") - 1.0871).abs() < 0.1, "{predictions}");
    assert_eq!(fs::read_to_string(folder.join("new.csv")).unwrap(), "x\n2\n");
    assert!(
        output.contains("error[E0515]"),
        "the rows are not replaced: {output}"
    );
    assert!(output.contains("no/x.svg"), "{output}");
}

/// The value from `map` is combined with every draw of another posterior. If posteriors have different numbers of draws, a note states how many
/// draws are used.
#[test]
fn posteriors_with_different_numbers_of_draws_are_combined() {
    let typed = ":run fit
infer m = map(Line, rows)
infer s = nuts(Line, rows) { draws = 100 }
mean(fit.w - m.w)
sd(fit.w - m.w)
mean(fit.w > m.w)
y ~ Normal(fit.w, m.w / m.w)
fit.w - s.w
mean(fit.w - s.w)
";
    let (_, output) = answers(typed, &[LINE]);
    let results: Vec<&str> = output.lines().rev().take(8).collect();
    let number = |at: usize| results[at].parse::<f64>().unwrap_or_else(|_| panic!("{output}"));
    // The mode and the mean of the posterior are equal, and its standard deviation is 1 / sqrt(22).
    assert!(
        number(7).abs() < 0.02 && (number(6) - 0.2132).abs() < 0.014,
        "{output}"
    );
    assert!((number(5) - 0.5).abs() < 0.05, "{output}");
    assert!(
        results[4].starts_with("y: real = mean 1.3") && results[4].ends_with("(4000 draws)"),
        "{output}"
    );
    let note = "note: this uses 400 of the 4000 draws of `fit.w`, because another value has only 400 draws";
    assert_eq!((results[3], results[1]), (note, note), "{output}");
    assert!(results[2].ends_with("(400 draws)"), "{output}");
}

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

/// The plot of a long trace also has marks between the extremes of the trace.
#[test]
fn long_traces_are_drawn_between_their_extremes() {
    let (_, output) = answers(":run fit\n:plot trace fit.w\n", &[LINE]);
    let plot = output.split("\ntrace fit.w\n").nth(1).expect("a plot");
    let rows: Vec<&str> = plot
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(_, row)| row)
        .collect();
    let middle = rows[rows.len() / 2];
    let marks = middle.chars().filter(char::is_ascii_digit).count();
    assert!(marks > 40, "{plot}");
}

#[test]
fn parameters_of_layers_are_values() {
    let typed = "data rows = csv(\"compiler/cli/tests/conjugate/line.csv\") { target = y }
model Net(x: real[d]) -> y: real {
  hidden = Dense(2)
  out = Dense(1)
  y ~ Normal(out(tanh(hidden(x)))[0], 1)
}
infer net = map(Net, rows) { epochs = 20 }
:shape net.hidden.w
:type net.out.b
:plot prior net.hidden.w
net.hidden
";
    let (status, output) = answers(typed, &[]);
    assert_eq!(status, Some(0));
    for part in [
        "[2, 1]\nreal[1]\n",
        "prior net.hidden.w\no mean   - 90 % interval\n",
        "`net.hidden.w`, `net.hidden.b`",
    ] {
        assert!(output.contains(part), "{part}\n{output}");
    }
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

/// The exact mean of `counts` is `exp(30.35 / 22 + 1 / 44)`, because `w` has the posterior
/// `Normal(30.35 / 22, 1 / sqrt(22))`.
#[test]
fn a_draw_at_each_posterior_draw_takes_little_time() {
    let before = std::time::Instant::now();
    let (_, output) = answers(":run\n", &[LINE]);
    let of_run = before.elapsed();
    assert!(output.contains("4 x 1000"), "{output}");
    let before = std::time::Instant::now();
    let (_, output) = answers(":run\ncounts ~ Poisson(rate = exp(fit.w))\n", &[LINE]);
    // Elaborating the distribution at each of the 4000 draws took 10 to 30 seconds.
    let seconds = before.elapsed().saturating_sub(of_run).as_secs_f64();
    assert!(seconds < 8.0, "{seconds}");
    let line = output.lines().last().unwrap_or_default();
    let mean = line
        .strip_prefix("counts: count = mean ")
        .and_then(|rest| rest.split(',').next());
    let mean: f64 = mean
        .and_then(|mean| mean.parse().ok())
        .unwrap_or_else(|| panic!("{output}"));
    // The variance of a count is the mean of the count plus the variance of `exp(w)`: 2.2 ^ 2 in
    // total. The bound is four standard errors at an ESS of 1900.
    assert!(
        (mean - (30.35f64 / 22.0 + 1.0 / 44.0).exp()).abs() < 0.2,
        "{output}"
    );
}

/// A comparison at the prompt shows the values of earlier runs, and runs only the inference blocks that have not run yet.
#[test]
fn a_comparison_is_shown_when_it_is_entered() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Normal(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat by rmse, elpd_loo
compare flat, fit by accuracy
infer flat = nuts(Flat, rows) { draws = 600 }
:list
";
    let (status, output) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0));
    let count = |part: &str| output.lines().filter(|line| line.starts_with(part)).count();
    assert_eq!((count("flat = nuts"), count("fit = nuts")), (2, 1), "{output}");
    // The comparison is shown when it is entered, and again after the new run of `flat`.
    let tables: Vec<&str> = output.split("\ncompare ").collect();
    let values = |name: &str, table: &str| -> Vec<f64> {
        let line = table.lines().find(|line| line.starts_with(&format!("{name} ")));
        let words = line
            .unwrap_or_else(|| panic!("{output}"))
            .split_whitespace()
            .skip(1);
        words.map(|word| word.parse().unwrap()).collect()
    };
    assert!(tables[1].trim_start().starts_with("elpd_loo"), "{output}");
    let (fit, flat) = (values("fit", tables[1]), values("flat", tables[1]));
    let of_run = output
        .lines()
        .find_map(|line| line.strip_prefix("  elpd by PSIS-LOO"))
        .unwrap();
    let of_run: Vec<&str> = of_run.split_whitespace().collect();
    assert!(
        tables[0].contains("elpd by PSIS-LOO") && fit[0] > flat[0],
        "{of_run:?} {output}"
    );
    assert_eq!(values("fit", tables[2]), fit, "{output}");
    assert_ne!(values("flat", tables[2]), flat, "{output}");
    // A comparison by a metric that does not apply changes nothing.
    assert!(
        output.contains("error[E0566]: `accuracy` does not apply to `flat`"),
        "{output}"
    );
    assert!(
        output.contains("note: the comparison was not added to the program"),
        "{output}"
    );
    let listed = output
        .lines()
        .filter(|line| line.starts_with("compare fit, flat by rmse"));
    assert_eq!(listed.count(), 1, "{output}");
}

/// The line is complete without `by`: the table has the log likelihood.
#[test]
fn a_comparison_without_metrics_is_shown_at_once() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Normal(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat
:list
";
    let (status, output) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0), "{output}");
    assert!(!output.contains("error["), "{output}");
    let table = output.lines().skip_while(|line| !line.starts_with("compare  "));
    let table: Vec<&str> = table.take(3).collect();
    assert!(
        table[0].contains("log_likelihood") || table[0].contains("elpd_loo"),
        "{output}"
    );
    assert!(
        table[1].starts_with("fit ") && table[2].starts_with("flat "),
        "{output}"
    );
    assert!(output.lines().any(|line| line == "compare fit, flat"), "{output}");
}

/// The comparison starts the run of `fit`, and then fails for `flat`, whose output does not have a mean. A later run does not repeat its error.
#[test]
fn a_comparison_that_fails_after_its_own_run_is_removed() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Cauchy(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat by rmse
:run flat
:list
";
    let (status, reported) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0));
    let runs = |name: &str| reported.matches(&format!("\n{name} = nuts")).count();
    assert_eq!((runs("fit"), runs("flat")), (1, 2), "{reported}");
    let note = "note: the comparison was not added to the program";
    assert_eq!(reported.matches(note).count(), 1, "{reported}");
    assert_eq!(reported.matches("error[E0566]").count(), 1, "{reported}");
    assert!(
        !reported.lines().any(|line| line.starts_with("compare fit, flat")),
        "{reported}"
    );
}
