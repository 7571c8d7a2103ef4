//! Tests the advice for invalid command lines. The command in the advice must succeed.

#![allow(clippy::unwrap_used)]

use crate::support::trial::Trial;
use crate::support::{Output, run};

fn trial() -> Trial {
    let rows: String = (0..30)
        .map(|row| format!("{row},{}\n", 2 * row + row % 3))
        .collect();
    Trial::new().file("d.csv", format!("x,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y, standardise = [inputs, target] }
model M(x: real) -> y: real {
  a ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
}
infer fit = map(M, d)
infer chain = sgld(M, d) { chains = 2, warmup = 50, draws = 50 }
",
    )
}

/// Returns the setting that follows `--set` in a tip, with `infer` in place of the placeholder for
/// the inference.
fn advised(output: &Output, infer: &str) -> String {
    let tip = output
        .stderr
        .lines()
        .find(|line| line.contains("--set "))
        .unwrap();
    let setting = tip
        .split("--set ")
        .nth(1)
        .unwrap()
        .trim_end_matches('`')
        .trim_matches('\'');
    setting.replace("NAME", infer)
}

#[test]
fn an_option_of_an_item_is_set_as_the_tip_says() {
    let trial = trial();
    for (option, tip, infer) in [
        ("--epochs", "--set NAME.epochs=", "fit"),
        ("--lr", "`--set 'NAME.optimiser=Adam(5e-3)'`", "fit"),
        ("--learning-rate", "`--set 'NAME.optimiser=Adam(5e-3)'`", "fit"),
        ("--num_samples", "--set NAME.draws=", "chain"),
        ("--num-samples=500", "--set NAME.draws=", "chain"),
    ] {
        let found = trial.bnnc("check", &[option]);
        assert_eq!(found.status, 2, "{}", found.stderr);
        assert!(found.stderr.contains(tip), "{}", found.stderr);
        assert!(!found.stderr.contains("as a value"), "{}", found.stderr);
        let setting = advised(&found, infer).replace("VALUE", "500");
        trial.bnnc("check", &["--set", &setting]).assert_sound();
    }
    let found = trial.bnnc("check", &["--lr", "0.1"]);
    assert!(found.stderr.contains("--set NAME.step_size="), "{}", found.stderr);
    let found = trial.bnnc("check", &["--frobnicate"]);
    assert!(found.stderr.contains("`--set fit.draws=500`"), "{}", found.stderr);
}

#[test]
fn an_option_of_another_command_is_named_with_it() {
    let found = run(["predict", "folder", "--data", "d.csv", "--seed", "3"]);
    assert_eq!(found.status, 2);
    assert!(
        found.stderr.contains("`--seed` is an option of `bnnc run`"),
        "{}",
        found.stderr
    );
    assert!(!found.stderr.contains("--set"), "{}", found.stderr);
    let found = run(["predict", "folder", "--data", "d.csv", "--num_samples", "3"]);
    assert!(
        found.stderr.contains("`bnnc run FILE --set NAME.draws="),
        "{}",
        found.stderr
    );
}

#[test]
fn a_program_without_its_ending_is_named() {
    let trial = trial();
    let name = trial.path("program");
    let name = name.to_str().unwrap();
    let found = run([name]);
    assert_eq!(found.status, 2);
    assert!(
        found.stderr.contains(&format!("`bnnc {name}.bnn`")),
        "{}",
        found.stderr
    );
    run(["check", name]).assert_error("E0605", 3, &[&format!("did you mean `{name}.bnn`?")]);
    let found = run([&format!("{name}s")]);
    assert!(
        found.stderr.contains("programs are files that end in `.bnn`"),
        "{}",
        found.stderr
    );
    let found = run(["chek", name]);
    assert!(found.stderr.contains("'check'"), "{}", found.stderr);
}

#[test]
fn explain_names_the_page_of_a_word_that_is_not_a_code() {
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    for (word, kind, page) in [
        ("Normal", "a distribution of the library", "library"),
        ("Dense", "a layer of the library", "library"),
        ("Adam", "an optimiser of the library", "library"),
        ("nuts", "a method", "methods/nuts"),
        ("max_depth", "an option of methods such as `nuts`", "methods/nuts"),
        ("rmse", "a metric", "metrics"),
        ("softmax", "a function", "language"),
        ("posterior", "a keyword of the language", "language"),
    ] {
        let found = run(["explain", word]);
        assert_eq!(found.status, 2);
        let page = format!("docs/src/reference/{page}.md");
        for text in [kind, &page] {
            assert!(found.stderr.contains(text), "{}", found.stderr);
        }
        let text = std::fs::read_to_string(format!("{book}{page}")).unwrap();
        assert!(text.contains(word), "{page} lacks {word}");
    }
    let found = run(["explain", "E9999"]);
    assert!(found.stderr.contains("codes such as `E0202`"), "{}", found.stderr);
    let found = run(["explain", "E020"]);
    assert!(found.stderr.contains("did you mean `E020"), "{}", found.stderr);
}
