//! Texts of programs, and spans of bytes in these texts.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A number that identifies the text to which a span belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A range of bytes in one text. The end is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The text that contains the range.
    pub source: SourceId,
    /// The index of the first byte.
    pub start: u32,
    /// The index after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span of the bytes `start..end` in the text `source`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Span {
        Span {
            source,
            start: start as u32,
            end: end as u32,
        }
    }

    /// Returns the smallest span that contains both spans.
    pub fn to(self, other: Span) -> Span {
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A text with a name, such as a program, a file of the library, or a line that was typed in the
/// REPL.
#[derive(Clone, Debug)]
pub struct Source {
    /// The number by which spans refer to this text.
    pub id: SourceId,
    /// The name that messages show, which is usually a path.
    pub name: Arc<str>,
    /// The whole text of the source.
    pub text: Arc<str>,
}

/// All texts to which spans in a session may refer.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Adds a text. Returns the source, which contains the number that identifies it.
    pub fn add(&mut self, name: &str, text: &str) -> Source {
        let source = Source {
            id: SourceId(self.sources.len() as u32),
            name: name.into(),
            text: text.into(),
        };
        self.sources.push(source.clone());
        source
    }

    /// Returns the text with this number, or `None` if it was not added.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// Returns the text of a span, or `None` if the source is unknown or is shorter than the span.
    pub fn text(&self, span: Span) -> Option<&str> {
        self.get(span.source)?
            .text
            .get(span.start as usize..span.end as usize)
    }

    /// Returns all texts in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }
}
