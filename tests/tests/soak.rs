//! Passes mutations of the sample programs to the lexer, the parser, the formatter and the checker
//! for a given time. Run it with
//! `BNNC_SOAK_SECONDS=600 cargo test --release -p bnnc-tests --test soak -- --ignored`.

use bnnc_base::source::SourceMap;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_math::philox;
use std::time::{Duration, Instant};

/// Pieces of programs that mutations insert. With these pieces, mutated texts stay close to valid
/// programs.
const PIECES: &[&str] = &[
    "~",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "..",
    "*",
    "@",
    "^",
    "-",
    "->",
    ":",
    "for",
    "in",
    "if",
    "else",
    "real",
    "positive",
    "index",
    "dist",
    "fn",
    "Normal",
    "Dense",
    "relu",
    "0",
    "1",
    "2.5",
    "1e308",
    "-1",
    "n",
    "x",
    "y",
    "\"a\"",
    "\n",
    "//",
    "state",
    "local",
    "infer",
    "data",
    "model",
    "posterior",
    "vi",
    "map",
    "epochs",
    "i64",
    "\u{e9}",
];

/// A stream of random choices.
struct Choices {
    at: u64,
}

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.at += 1;
        let uniform = philox::uniform(philox::key(7, "soak"), [0, 0, 0], self.at);
        ((uniform * bound as f64) as usize).min(bound.saturating_sub(1))
    }
}

fn samples() -> Vec<String> {
    let folders = ["tests/programs", "stdlib", "examples"];
    let texts = folders
        .iter()
        .flat_map(|folder| bnnc_tests::files::under(folder, &["bnn"]));
    texts.map(|file| file.text).collect()
}

fn mutate(text: &str, other: &str, choices: &mut Choices) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=choices.below(4) {
        let at = choices.below(chars.len() + 1);
        let length = choices.below(12).min(chars.len() - at);
        match choices.below(4) {
            0 => drop(chars.drain(at..at + length)),
            1 => drop(chars.splice(at..at, PIECES[choices.below(PIECES.len())].chars())),
            2 => drop(chars.splice(at..at + length, PIECES[choices.below(PIECES.len())].chars())),
            _ => {
                let donor: Vec<char> = other.chars().collect();
                let from = choices.below(donor.len() + 1);
                let to = (from + choices.below(80)).min(donor.len());
                drop(chars.splice(at..at, donor[from..to].iter().copied()));
            }
        }
    }
    chars.into_iter().collect()
}

fn run(duration: Duration) -> usize {
    let samples = samples();
    assert!(samples.len() > 20, "found {} sample programs", samples.len());
    let mut choices = Choices { at: 0 };
    let (clock, mut count) = (Instant::now(), 0);
    while clock.elapsed() < duration {
        let text = &samples[choices.below(samples.len())];
        let other = &samples[choices.below(samples.len())];
        let mutant = mutate(text, other, &mut choices);
        let source = SourceMap::default().add("mutant", &mutant);
        if let Ok(formatted) = bnnc_grammar::print::format(&source) {
            let again = SourceMap::default().add("formatted", &formatted);
            assert_eq!(
                bnnc_grammar::print::format(&again).as_ref(),
                Ok(&formatted),
                "{mutant}"
            );
        }
        let checked = program::load("mutant.bnn", &mutant, &CompileOptions::default());
        if !checked.has_errors() {
            let broken = bnnc_hir::verify::verify(&checked.module);
            assert!(broken.is_empty(), "{broken:?}\n{mutant}");
        }
        count += 1;
    }
    count
}

/// In every run of the tests, mutations are tried for two seconds.
#[test]
fn mutations_of_two_seconds_do_not_panic() {
    assert!(run(Duration::from_secs(2)) > 0);
}

/// Tries mutations for `BNNC_SOAK_SECONDS` seconds, or for ten minutes if the variable is not set.
#[test]
#[ignore = "runs for ten minutes"]
fn mutations_of_ten_minutes_do_not_panic() {
    let seconds = std::env::var("BNNC_SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(600);
    println!("{} mutants", run(Duration::from_secs(seconds)));
}
