//! Mutated programs never cause a panic. If a program parses, its formatted text has the same tree, and formatting that text again does not change
//! it.

use bnnc_base::source::SourceMap;
use bnnc_grammar::{parse, print};

/// The generator SplitMix64 (Steele, Lea and Flood 2014). With this generator, every run tests the same
/// programs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "::",
    "=",
    "~",
    "->",
    "..",
    ".",
    "*",
    "+",
    "-",
    "/",
    "@",
    "^",
    "<",
    "<=",
    "==",
    "&&",
    "||",
    "!",
    " ",
    "\n",
    "\n\n",
    "// c\n",
    "/// d\n",
    "//! e\n",
    "\"",
    "'",
    ";",
    ":=",
    "**",
    "&",
    "#",
    "/*",
    "*/",
    "if a { b } else { c }",
    "for",
    "in",
    "if",
    "else",
    "return",
    "true",
    "local",
    "state",
    "next",
    "by",
    "of",
    "on",
    "use a::b",
    "const c = 1\n",
    "data",
    "model",
    "infer",
    "dist",
    "x",
    "1",
    "2.5e3",
    "1e999",
    "σ",
    "\r",
    "a for i in 0..3",
    ".*",
    "let ",
    "f(x = 1, y)",
    "fold(b, x)",
    "[[A(i) for j in 0..i] for i in 0..2]",
    "Sequential(A(1), relu)",
    "\u{feff}",
];

fn samples() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the sample programs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a readable program"))
        .collect()
}

fn boundary(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(text: &mut String, random: &mut Random) {
    let (a, b) = (boundary(text, random), boundary(text, random));
    let near = text[a..]
        .char_indices()
        .map(|(at, _)| a + at)
        .nth(1 + random.below(8))
        .unwrap_or(text.len());
    match random.below(4) {
        0 => text.insert_str(a, PIECES[random.below(PIECES.len())]),
        1 => text.replace_range(a..near, ""),
        2 => text.replace_range(a..near, PIECES[random.below(PIECES.len())]),
        _ => {
            let piece = text[a..near].to_owned();
            text.insert_str(b, &piece);
        }
    }
}

/// Checks the invariants of the lexer, the parser and the formatter on a text. Returns whether the text parses.
fn check(text: &str) -> bool {
    let source = SourceMap::default().add("mutated", text);
    let (module, diagnostics) = parse::parse(&source);
    let _ = (parse::parse_entry(&source), print::print(&module, &source));
    for diagnostic in &diagnostics {
        assert!(
            !diagnostic.message.is_empty() && !diagnostic.message.ends_with('.'),
            "{diagnostic:?}\n{text}"
        );
    }
    let Ok(formatted) = print::format(&source) else {
        return false;
    };
    let again = SourceMap::default().add("formatted", &formatted);
    let (module_again, diagnostics) = parse::parse(&again);
    assert_eq!(diagnostics, [], "\n{text}\n=====\n{formatted}");
    assert!(
        print::same(&module, &module_again),
        "\n{text}\n=====\n{formatted}"
    );
    assert_eq!(
        print::print(&module_again, &again),
        formatted,
        "\n{text}\n=====\n{formatted}"
    );
    true
}

#[test]
fn mutated_programs_keep_the_invariants() {
    let (samples, mut random, mut parsed) = (samples(), Random(1), 0);
    const ROUNDS: usize = 4000;
    for round in 0..ROUNDS {
        let mut text = samples[round % samples.len()].clone();
        for _ in 0..=random.below(if round % 3 == 0 { 12 } else { 2 }) {
            mutate(&mut text, &mut random);
        }
        parsed += usize::from(check(&text));
    }
    // Both outcomes must occur often, because otherwise the test would cover only half of the code.
    assert!(
        parsed > ROUNDS / 20 && parsed < ROUNDS * 19 / 20,
        "{parsed} of {ROUNDS} parsed"
    );
}

#[test]
fn random_sequences_of_pieces_keep_the_invariants() {
    let mut random = Random(2);
    for _ in 0..3000 {
        let text: String = (0..random.below(40))
            .map(|_| PIECES[random.below(PIECES.len())])
            .collect();
        check(&text);
    }
}
