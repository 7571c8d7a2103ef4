//! Program texts and byte spans into them.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The identity of the text into which a span points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A half-open range of bytes in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span of the bytes `start..end` in `source`.
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

/// A named text: a program, a file of the library, a line typed in the REPL.
#[derive(Clone, Debug)]
pub struct Source {
    /// The identity of the source in spans.
    pub id: SourceId,
    /// The name shown in messages, usually a path.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
}

/// All texts of a session.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// Adds a text, and returns it with its new identity.
    pub fn add(&mut self, name: &str, text: &str) -> Source {
        let source = Source {
            id: SourceId(self.sources.len() as u32),
            name: name.into(),
            text: text.into(),
        };
        self.sources.push(source.clone());
        source
    }

    /// Returns the text with this identity.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// Returns the text of a span; `None` if the source is unknown or the span does not lie in it.
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
