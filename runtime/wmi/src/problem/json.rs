//! A JSON reader that keeps the position of each value and the exact digits of numbers. The number
//! `0.1`, for example, is read as exactly one tenth.

use super::diagnostics::{BAD_TEXT, Flaw};
use super::number;
use super::tree::{Characters, Node, Position, Tree, short};

/// Lists and objects that are nested deeper than this are rejected.
const DEEPEST: usize = 500;

/// Reads one JSON value.
pub(super) fn read(text: &str) -> Result<Tree, Flaw> {
    let mut reader = Reader {
        characters: Characters::new(text, Position { line: 1, column: 1 }),
    };
    let tree = reader.value(0)?;
    reader.skip_blanks();
    match reader.characters.peek() {
        None => Ok(tree),
        Some(_) => Err(reader.expected("the end of the file after the value")),
    }
}

struct Reader<'a> {
    characters: Characters<'a>,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.characters
            .run(|character| matches!(character, ' ' | '\t' | '\n' | '\r'));
    }

    fn expected(&mut self, what: &str) -> Flaw {
        let found = match self.characters.peek() {
            Some(character) => format!("`{}`", character.escape_debug()),
            None => "the end of the file".to_owned(),
        };
        Flaw::new(
            &BAD_TEXT,
            self.characters.at,
            format!("expected {what}, found {found}"),
        )
    }

    fn value(&mut self, depth: usize) -> Result<Tree, Flaw> {
        self.skip_blanks();
        let at = self.characters.at;
        if depth > DEEPEST {
            return Err(Flaw::large(at, format!("nested more than {DEEPEST} deep")));
        }
        let node = match self.characters.peek() {
            Some('{') => self.table(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Node::Word(self.string()?),
            Some(character) if character == '-' || character.is_ascii_alphanumeric() => self.bare(at)?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Tree { at, node })
    }

    /// Reads a value without quotes or brackets: a number, `true`, `false` or `null`.
    fn bare(&mut self, at: Position) -> Result<Node, Flaw> {
        let word = self
            .characters
            .run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        match word.as_str() {
            "null" => Ok(Node::Null),
            "true" | "false" => Ok(Node::Word(word)),
            _ if number::looks_like_number(&word) => number::read(&word, at).map(|_| Node::Word(word)),
            _ => {
                let text = format!(
                    "expected a value, found `{}`; names stand in quotes",
                    short(&word)
                );
                Err(Flaw::new(&BAD_TEXT, at, text))
            }
        }
    }

    /// Returns whether a list or object has another element. `close` is the character that
    /// ends the list or object.
    fn another(&mut self, first: bool, close: char) -> Result<bool, Flaw> {
        self.skip_blanks();
        match self.characters.peek() {
            Some(character) if character == close => {
                self.characters.next();
                Ok(false)
            }
            Some(',') if !first => {
                self.characters.next();
                Ok(true)
            }
            Some(_) if first => Ok(true),
            _ => Err(self.expected(&format!("`,` or `{close}`"))),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node, Flaw> {
        self.characters.next();
        let mut parts = Vec::new();
        while self.another(parts.is_empty(), ']')? {
            parts.push(self.value(depth + 1)?);
        }
        Ok(Node::List(parts))
    }

    fn table(&mut self, depth: usize) -> Result<Node, Flaw> {
        self.characters.next();
        let mut entries: Vec<(String, Tree)> = Vec::new();
        while self.another(entries.is_empty(), '}')? {
            self.skip_blanks();
            let at = self.characters.at;
            if self.characters.peek() != Some('"') {
                return Err(self.expected("a key in quotes"));
            }
            let key = self.string()?;
            if entries.iter().any(|(known, _)| *known == key) {
                let fault = Flaw::new(&BAD_TEXT, at, format!("the key `{}` is there twice", short(&key)));
                return Err(fault);
            }
            self.skip_blanks();
            if self.characters.peek() != Some(':') {
                return Err(self.expected("`:`"));
            }
            self.characters.next();
            entries.push((key, self.value(depth + 1)?));
        }
        Ok(Node::Table(entries))
    }

    fn string(&mut self) -> Result<String, Flaw> {
        let opened = self.characters.at;
        self.characters.next();
        let mut text = String::new();
        loop {
            let at = self.characters.at;
            match self.characters.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(at)?),
                Some(character) if !character.is_control() => text.push(character),
                Some(_) => {
                    return Err(Flaw::new(
                        &BAD_TEXT,
                        at,
                        "a control character in a string; write it as an escape",
                    ));
                }
                None => return Err(Flaw::new(&BAD_TEXT, opened, "this string is not closed")),
            }
        }
    }

    fn escape(&mut self, at: Position) -> Result<char, Flaw> {
        let bad = || Flaw::new(&BAD_TEXT, at, "no such escape in a string");
        match self.characters.next() {
            Some(character @ ('"' | '\\' | '/')) => Ok(character),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => {
                let first = self.code_unit().ok_or_else(bad)?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).ok_or_else(bad);
                }
                if (self.characters.next(), self.characters.next()) != (Some('\\'), Some('u')) {
                    return Err(bad());
                }
                let second = self.code_unit().ok_or_else(bad)?;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
                low.and_then(|low| char::from_u32(0x10000 + ((first - 0xd800) << 10) + low))
                    .ok_or_else(bad)
            }
            _ => Err(bad()),
        }
    }

    fn code_unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| {
            let digit = self.characters.next()?.to_digit(16)?;
            Some(unit * 16 + digit)
        })
    }
}
