//! Tests `bnnc doc`, `bnnc help WORD`, completions, manual pages, and `--color`.

mod support;

use std::fs;
use support::run;
use support::trial::Trial;

#[test]
fn words_are_described_and_wrong_ones_corrected() {
    let described = run(["doc", "Normal"]);
    assert_eq!(described.status, 0, "{}", described.stderr);
    assert!(
        described
            .stdout
            .contains("dist Normal(loc: real, scale: positive) on real {")
    );
    assert!(described.stdout.contains("docs/src/reference/library.md"));
    assert_eq!(run(["help", "Normal"]).stdout, described.stdout);
    assert!(run(["help", "run"]).stdout.contains("Usage: bnnc run"));
    let wrong = run(["doc", "Nrmal"]);
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.stderr.contains("did you mean `Normal`?"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn shells_have_completions_and_commands_have_manual_pages() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(["completions", shell]);
        assert_eq!(script.status, 0);
        for word in ["bnnc", "predict", "explain"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    let trial = Trial::new().file("occupied", "");
    let pages = trial.path("pages");
    assert_eq!(run(["man", pages.to_str().unwrap()]).status, 0);
    let page = fs::read_to_string(pages.join("bnnc-run.1")).unwrap();
    assert!(page.contains(".TH bnnc-run 1"), "{page}");
    assert!(page.contains("max\\-memory"));
    assert!(pages.join("bnnc.1").exists());
    let occupied = run(["man", trial.path("occupied").to_str().unwrap()]);
    assert_eq!(occupied.status, 3);
    assert!(
        occupied.stderr.contains("cannot write manual pages"),
        "{}",
        occupied.stderr
    );
}

/// Standard error is not a terminal in this test, so with `auto`, diagnostics are not coloured.
#[test]
fn the_colour_of_diagnostics_is_an_option() {
    let trial = Trial::new().program("model M() -> y: real { y ~ Normal(wrong, 1) }\n");
    let shown = |words: &[&str]| trial.bnnc("check", words).stderr;
    assert!(!shown(&[]).contains('\u{1b}'));
    assert!(!shown(&["--color", "auto"]).contains('\u{1b}'));
    assert!(!shown(&["--color", "never"]).contains('\u{1b}'));
    let coloured = shown(&["--color", "always"]);
    assert!(coloured.starts_with("\u{1b}["), "{coloured}");
    assert!(!coloured.contains('\u{fffd}'), "{coloured}");
    // A diagnostic shows text of a file. Control characters in this text must not reach the
    // terminal.
    let hostile = Trial::new().program("model M() -> y: real { y ~ Normal(wrong\u{1b}[2J, 1) }\n");
    let hidden = hostile.bnnc("check", &["--color", "always"]).stderr;
    assert!(
        !hidden.contains("\u{1b}[2J") && hidden.contains('\u{fffd}'),
        "{hidden}"
    );
}

/// Options may stand before the path of the program.
#[test]
fn a_program_after_options_is_run() {
    let trial = Trial::new().file("d.csv", "y\n1\n2\n3\n").program(
        "data d = csv(\"d.csv\") { target = y }
model M() -> y: real {
  m ~ Normal(0, 1)
  y ~ Normal(m, 1)
}
infer fit = map(M, d) { steps = 1 }
",
    );
    let program = trial.path("program.bnn");
    let program = program.to_str().unwrap();
    let output = run(["--seed", "3", "--json", program]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.contains("\"seed\": 3") || output.stdout.contains("\"seed\":3"));
    assert_eq!(run(["--seed", "3"]).status, 2);
}
