//! A small tokeniser for the text forms of graphs and loops. Tokens are words, numbers and
//! punctuation.

use crate::shape::{Dim, Shape, Symbol};
use std::fmt;

/// An error in a text form: the reason why the text cannot be read, and the line of the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, counted from 1.
    pub line: usize,
    /// A sentence that states the expected text and the actual text.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

/// A cursor in a text form. White space separates tokens. The character `#` starts a comment, which
/// ends at the end of the line.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Returns a cursor at the start of `text`.
    pub fn new(text: &'a str) -> Reader<'a> {
        let mut reader = Reader { text, at: 0 };
        reader.skip();
        reader
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Returns whether the rest of the text consists only of white space and comments.
    pub fn is_done(&self) -> bool {
        self.rest().is_empty()
    }

    /// Returns the next token without consuming it. At the end of the text, the result is empty. A
    /// token is a word (letters, digits, `_`, `.`, `%`, `@`, `$`), a number, a quoted string with
    /// its quotes, `->`, or one punctuation character.
    pub fn peek(&self) -> &'a str {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return "";
        };
        if rest.starts_with("->") {
            return &rest[..2];
        }
        if first == '"' {
            let end = rest[1..].find('"').map_or(rest.len(), |at| at + 2);
            return &rest[..end];
        }
        let number = first.is_ascii_digit()
            || (first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == 'i'));
        if number {
            return &rest[..number_length(rest)];
        }
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '@' | '$');
        let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
        &rest[..length.max(first.len_utf8())]
    }

    /// Consumes and returns the next token.
    pub fn token(&mut self) -> &'a str {
        let token = self.peek();
        self.at += token.len();
        self.skip();
        token
    }

    /// Consumes the next token if it equals `wanted`. Returns whether it does.
    pub fn eat(&mut self, wanted: &str) -> bool {
        let found = self.peek() == wanted;
        if found {
            self.token();
        }
        found
    }

    /// Consumes the next token, which must be `wanted`.
    ///
    /// # Errors
    /// Fails if the token is not `wanted`.
    pub fn expect(&mut self, wanted: &str) -> Result<(), TextError> {
        match self.eat(wanted) {
            true => Ok(()),
            false => Err(self.error(&format!("expected `{wanted}`"))),
        }
    }

    /// Consumes the next token as a number.
    ///
    /// # Errors
    /// Fails if the next token is not a number of this type.
    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T, TextError> {
        self.choose("a number", |token| token.parse().ok())
    }

    /// Consumes the next token if `of` accepts it, and returns the result of `of`. `what` names the expected
    /// token.
    ///
    /// # Errors
    /// Fails if `of` does not accept the token.
    pub fn choose<T>(&mut self, what: &str, of: impl FnOnce(&str) -> Option<T>) -> Result<T, TextError> {
        match of(self.peek()) {
            Some(found) => {
                self.token();
                Ok(found)
            }
            None => Err(self.error(&format!("expected {what}"))),
        }
    }

    /// Consumes the next token as a name in quotes, and returns the name.
    ///
    /// # Errors
    /// Fails if the next token is not in quotes.
    pub fn quoted(&mut self) -> Result<String, TextError> {
        self.choose("a name in quotes", |token| {
            Some(token.strip_prefix('"')?.strip_suffix('"')?.to_owned())
        })
    }

    /// Consumes items that are separated by commas, up to and including the token `close`.
    ///
    /// # Errors
    /// Fails if an item cannot be read, or if neither a comma nor `close` follows an item.
    pub fn list<T>(
        &mut self,
        close: &str,
        item: impl Fn(&mut Reader<'a>) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Consumes the sizes of axes in brackets, such as `[batch, 3]`.
    ///
    /// # Errors
    /// Fails if the next tokens are not a shape.
    pub fn shape(&mut self) -> Result<Shape, TextError> {
        self.expect("[")?;
        self.list("]", Reader::dim).map(Shape)
    }

    /// Consumes the next token as the size of an axis: a number or a symbol.
    ///
    /// # Errors
    /// Fails if the next token is neither.
    pub fn dim(&mut self) -> Result<Dim, TextError> {
        match Symbol::from_name(self.peek()) {
            Some(symbol) => {
                self.token();
                Ok(Dim::Symbol(symbol))
            }
            None => self.number().map(Dim::Fixed),
        }
    }

    /// Returns the line of the next token, counted from 1.
    pub fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    /// Returns an error at the next token. The message names this token.
    pub fn error(&self, message: &str) -> TextError {
        let line = self.line();
        let found = match self.peek() {
            "" => "the end".to_owned(),
            token => format!("`{token}`"),
        };
        TextError {
            line,
            message: format!("{message}, found {found}"),
        }
    }
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        let exponent_sign = matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E');
        if !(bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.' || exponent_sign) {
            break;
        }
        at += 1;
    }
    at
}
