//! Nested lists with positions, which both the JSON reader and the reader of S-expressions return.

/// A position in a text. Lines and columns are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The line number.
    pub line: u32,
    /// The column number, in characters.
    pub column: u32,
}

impl From<Position> for (usize, usize) {
    fn from(at: Position) -> (usize, usize) {
        (at.line as usize, at.column as usize)
    }
}

/// A value or a list in a text, with its position. Words are not interpreted yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    /// The start position of this part of the text.
    pub at: Position,
    /// The content of this part of the text.
    pub node: Node,
}

/// The kinds of content.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A symbol, a number, or a JSON string, `true` or `false`.
    Word(String),
    /// The JSON value `null`.
    Null,
    /// A list of trees.
    List(Vec<Tree>),
    /// A JSON object, with its keys in the order of the text.
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// Describes the tree in a few words for error messages.
    pub(super) fn shown(&self) -> String {
        match &self.node {
            Node::Word(word) => format!("`{}`", short(word)),
            Node::Null => "`null`".to_owned(),
            Node::List(parts) if parts.is_empty() => "an empty list".to_owned(),
            Node::List(_) => "a list".to_owned(),
            Node::Table(_) => "an object".to_owned(),
        }
    }

    /// Returns the word if the tree is a word.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.node {
            Node::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the list if the tree is a list.
    pub(super) fn list(&self) -> Option<&[Tree]> {
        match &self.node {
            Node::List(parts) => Some(parts),
            _ => None,
        }
    }

    /// Returns the value of a key if the tree is an object with this key.
    pub(super) fn key(&self, name: &str) -> Option<&Tree> {
        match &self.node {
            Node::Table(entries) => entries
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

/// Shortens a word for an error message to one line of at most 40 characters.
pub(super) fn short(word: &str) -> String {
    let mut line: String = word
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(40)
        .collect();
    if word.chars().nth(40).is_some() {
        line.push_str("..");
    }
    line
}

/// Reads the characters of a text one by one, and counts lines and columns.
pub(super) struct Characters<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// The position of the next character.
    pub at: Position,
}

impl<'a> Characters<'a> {
    /// Starts at the first character of `text`, whose position is `at`.
    pub(super) fn new(text: &'a str, at: Position) -> Characters<'a> {
        Characters {
            rest: text.chars().peekable(),
            at,
        }
    }

    /// Returns the next character without consuming it.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// Consumes characters as long as `fits` returns true, and returns them.
    pub(super) fn run(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(character) = self.peek().filter(|character| fits(*character)) {
            taken.push(character);
            self.next();
        }
        taken
    }
}

impl Iterator for Characters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(character)
    }
}
