//! Reads the S-expressions in SMT-LIB 2 scripts and in pywmi's densities.

use super::diagnostics::{BAD_TEXT, Flaw};
use super::tree::{Characters, Node, Position, Tree};

/// Lists that are nested deeper than this are rejected. This limit is higher than the limit for formulas, because a chain of `let`
/// expressions is nested deeply even if its formulas are not.
const DEEPEST: usize = 2000;

/// The rules that divide a text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The rules of SMT-LIB: `|a b|` and `"a b"` are quoted words, and `;` begins a comment.
    Quoted,
    /// The rules of pywmi: a word is any sequence of characters except blanks and brackets, so `|` is also a word.
    Plain,
}

/// Reads all lists of a text. The text begins at the position `at`.
pub(super) fn read(text: &str, at: Position, words: Words) -> Result<Vec<Tree>, Flaw> {
    let is_special = |c: char| words == Words::Quoted && matches!(c, '|' | '"' | ';');
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '(' | ')') && !is_special(c);
    let mut characters = Characters::new(text, at);
    let mut open: Vec<(Position, Vec<Tree>)> = Vec::new();
    let mut done = Vec::new();
    loop {
        characters.run(char::is_whitespace);
        let at = characters.at;
        let Some(character) = characters.peek() else { break };
        let node = match character {
            ';' if is_special(character) => {
                characters.run(|character| character != '\n');
                continue;
            }
            '(' => {
                characters.next();
                if open.len() >= DEEPEST {
                    return Err(Flaw::large(at, format!("nested more than {DEEPEST} deep")));
                }
                open.push((at, Vec::new()));
                continue;
            }
            ')' => {
                characters.next();
                let Some((opened, parts)) = open.pop() else {
                    let fault = Flaw::new(&BAD_TEXT, at, "this `)` closes nothing; expected `(` or the end");
                    return Err(fault);
                };
                let tree = Tree {
                    at: opened,
                    node: Node::List(parts),
                };
                add(tree, &mut open, &mut done);
                continue;
            }
            '|' | '"' if is_special(character) => Node::Word(quoted(&mut characters, character)?),
            _ => Node::Word(characters.run(is_plain)),
        };
        add(Tree { at, node }, &mut open, &mut done);
    }
    match open.pop() {
        None => Ok(done),
        Some((at, _)) => Err(Flaw::new(
            &BAD_TEXT,
            at,
            "this `(` is not closed; expected `)` before the end",
        )),
    }
}

fn add(tree: Tree, open: &mut [(Position, Vec<Tree>)], done: &mut Vec<Tree>) {
    match open.last_mut() {
        Some((_, parts)) => parts.push(tree),
        None => done.push(tree),
    }
}

fn quoted(characters: &mut Characters<'_>, quote: char) -> Result<String, Flaw> {
    let at = characters.at;
    characters.next();
    let word = characters.run(|character| character != quote);
    match characters.next() {
        Some(_) => Ok(word),
        None => Err(Flaw::new(&BAD_TEXT, at, format!("this `{quote}` is not closed"))),
    }
}
