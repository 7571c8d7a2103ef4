//! Recognises constructs of other languages on a line that has an error, and suggests how to write them.

use crate::token::{Spanned, Token};
use bnnc_base::nearest::nearest;
use bnnc_base::synonyms::{ANGLE_BOUNDS, construct_instead};

/// One token of a construct.
enum Part {
    /// This particular name.
    Word(&'static str),
    /// Any name.
    Name,
    /// This particular symbol.
    Is(Token<'static>),
}

const REBOUND: &str = "a name can be assigned only once: give the sum a new name, `total = old + new`";
const OUTPUTS: &str = "list outputs without parentheses: `-> y1: real, y2: real`";
const NAME_FIRST: &str = "write the name before the type: `beta: real[k]`";

/// Sequences of adjacent tokens, each with its advice. Constructs that are recognised by a single word are in the table of synonyms.
static TABLE: &[(&[Part], &str)] = &[
    (&[Part::Is(Token::Less), Part::Word("lower")], ANGLE_BOUNDS),
    (&[Part::Is(Token::Less), Part::Word("upper")], ANGLE_BOUNDS),
    (&[Part::Is(Token::Plus), Part::Is(Token::Equals)], REBOUND),
    (&[Part::Is(Token::Minus), Part::Is(Token::Equals)], REBOUND),
    (&[Part::Is(Token::Star), Part::Is(Token::Equals)], REBOUND),
    (&[Part::Is(Token::Slash), Part::Is(Token::Equals)], REBOUND),
    (&[Part::Is(Token::Arrow), Part::Is(Token::OpenParen)], OUTPUTS),
    (&[Part::Is(Token::CloseBracket), Part::Name], NAME_FIRST),
    (&[Part::Word("real"), Part::Name], NAME_FIRST),
    (&[Part::Word("int"), Part::Name], NAME_FIRST),
];

/// Returns advice for a line with an error. `line` contains the tokens of the line, up to and including the token after the error. `is_item` is true
/// if the line could begin an item.
pub fn advice(line: &[Spanned<'_>], is_item: bool) -> Option<String> {
    let words = line.iter().filter_map(|(_, token, _)| match token {
        Token::Name(word) => Some(*word),
        _ => None,
    });
    if let Some(advice) = words.clone().find_map(construct_instead) {
        return Some(advice.to_owned());
    }
    let found = TABLE
        .iter()
        .find(|(parts, _)| line.windows(parts.len()).any(|window| fits(parts, window)));
    if let Some((_, advice)) = found {
        return Some((*advice).to_owned());
    }
    match line {
        [(_, Token::Name(first), _), (_, Token::Name(_), _), ..] if is_item => {
            let items = Token::FIXED.iter().filter(|token| token.begins_item());
            nearest(first, items.map(Token::terminal)).map(|item| format!("did you mean `{item}`?"))
        }
        _ => None,
    }
}

fn fits(parts: &[Part], window: &[Spanned<'_>]) -> bool {
    parts.iter().zip(window).all(|(part, (_, token, _))| match part {
        Part::Word(word) => *token == Token::Name(word),
        Part::Name => token.is_name(),
        Part::Is(symbol) => token == symbol,
    })
}
