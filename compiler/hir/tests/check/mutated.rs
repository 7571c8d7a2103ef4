//! For randomly damaged programs, the checker reports errors and never panics.

use super::accepted::programs;
use super::check;

/// A linear congruential generator (Knuth, MMIX). It damages the programs in the same way in every
/// run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// Splits a text into words, numbers and symbols.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let part = c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if part && word => last.push(c),
            _ => pieces.push(c.to_string()),
        }
        word = part;
    }
    pieces
}

fn damage(pieces: &[String], dice: &mut Dice) -> String {
    let mut pieces = pieces.to_vec();
    for _ in 0..=dice.below(3) {
        let (at, other) = (dice.below(pieces.len()), dice.below(pieces.len()));
        match dice.below(4) {
            0 => drop(pieces.remove(at)),
            1 => pieces.swap(at, other),
            2 => pieces[at] = pieces[other].clone(),
            _ => {
                let piece = pieces[other].clone();
                pieces.insert(at, piece);
            }
        }
    }
    pieces.concat()
}

fn report(damaged: &str) {
    let checked = check(damaged);
    if checked.errors().is_empty() {
        assert_eq!(
            bnnc_hir::verify::verify(&checked.module),
            Vec::<String>::new(),
            "{}",
            checked.source.text
        );
        bnnc_hir::print::print(&checked.module, None);
    }
}

/// Two threads check the programs, because this takes longer than all other tests of this test
/// program together.
#[test]
fn damaged_programs_are_reported() {
    let mut dice = Dice(7);
    let library = bnnc_stdlib::FILES.iter().map(|(_, text)| (*text).to_owned());
    let mut all = Vec::new();
    for text in programs().into_iter().map(|(_, text)| text).chain(library) {
        let pieces = pieces(&text);
        all.extend((0..60).map(|_| damage(&pieces, &mut dice)));
    }
    let (first, second) = all.split_at(all.len() / 2);
    std::thread::scope(|scope| {
        for half in [first, second] {
            scope.spawn(|| half.iter().for_each(|damaged| report(damaged)));
        }
    });
}

#[test]
fn an_expression_with_too_many_levels_is_an_error() {
    let deep = format!("const A = {}1{}", "(".repeat(250), ")".repeat(250));
    assert!(!check(&deep).errors().is_empty());
    let long = format!("const A = 1{}", " + 1".repeat(300));
    assert!(!check(&long).errors().is_empty());
}
