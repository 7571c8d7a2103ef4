//! Pairs the brackets before the parser runs. A missing bracket is then reported at the right place, and invalidates at most its own line.

use crate::diagnostics;
use crate::lexer;
use crate::token::{Spanned, Token};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{Source, Span};

/// Tokens in which every bracket has a partner.
#[derive(Default)]
pub struct Paired<'s> {
    /// The tokens. Missing brackets are inserted with empty spans, and stray brackets are removed.
    pub tokens: Vec<Spanned<'s>>,
    /// One diagnostic for each missing or stray bracket.
    pub diagnostics: Vec<Diagnostic>,
    /// Byte ranges that contain a `(` or `[` that was not closed. Parser errors inside these ranges are caused by the missing bracket, so they
    /// are not reported.
    pub suspect: Vec<(usize, usize)>,
    /// Byte positions of the stray brackets.
    pub strays: Vec<usize>,
}

struct Pairing<'s, 'a> {
    source: &'a Source,
    tokens: &'a [Spanned<'s>],
    /// The indices of the brackets that are still open.
    open: Vec<usize>,
    paired: Paired<'s>,
}

/// Pairs the brackets of a text.
pub fn pair<'s>(source: &Source, tokens: &[Spanned<'s>]) -> Paired<'s> {
    let mut pairing = Pairing {
        source,
        tokens,
        open: Vec::new(),
        paired: Paired::default(),
    };
    for at in 0..tokens.len() {
        pairing.step(at);
    }
    while !pairing.open.is_empty() {
        pairing.close_missing(None);
    }
    pairing.paired
}

impl Pairing<'_, '_> {
    fn step(&mut self, at: usize) {
        let token = self.tokens[at].1;
        if lexer::begins_item(self.tokens, at, &self.source.text) {
            while !self.open.is_empty() {
                self.close_missing(Some(at));
            }
        }
        while self.top_is_list() && (token == Token::Arrow || self.is_dedented(at)) {
            self.close_missing(Some(at));
        }
        if token.is_closer() && !self.reach(at) {
            let span = self.span(at);
            if self.paired.diagnostics.len() < lexer::MOST_FAULTS {
                self.paired.diagnostics.push(diagnostics::unopened(span, token));
            }
            self.paired.strays.push(span.start as usize);
            return;
        }
        if token.is_closer() {
            self.open.pop();
        } else if token.is_opener() {
            self.open.push(at);
        }
        self.paired.tokens.push(self.tokens[at]);
    }

    /// Closes the open brackets between a closing bracket and its partner. Returns false if the closing bracket does not have a
    /// partner.
    fn reach(&mut self, at: usize) -> bool {
        let closer = self.tokens[at].1;
        let tokens = self.tokens;
        let through_braces = closer == Token::CloseBrace;
        let candidates = self.open.iter().rev();
        let partner = candidates
            .take_while(|open| through_braces || tokens[**open].1 != Token::OpenBrace)
            .position(|open| tokens[*open].1.closer() == Some(closer));
        let Some(missing) = partner else { return false };
        for _ in 0..missing {
            self.close_missing(Some(at));
        }
        true
    }

    /// Inserts the partner of the innermost open bracket before the token at index `before`, or at the end of the text if `before` is
    /// `None`.
    fn close_missing(&mut self, before: Option<usize>) {
        let Some(open) = self.open.pop() else { return };
        let (start, opener, _) = self.tokens[open];
        let end = self.paired.tokens.last().map_or(0, |(_, _, end)| *end);
        let place = match before {
            Some(at) => self.span(at),
            None => Span::new(self.source.id, end, end),
        };
        let found = before.map(|at| self.tokens[at].1);
        self.paired
            .diagnostics
            .push(diagnostics::unclosed(self.span(open), opener, place, found));
        self.paired
            .tokens
            .extend(opener.closer().map(|closer| (end, closer, end)));
        if opener != Token::OpenBrace {
            self.paired.suspect.push((start, place.start as usize));
        }
    }

    fn top_is_list(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| self.tokens[*open].1 != Token::OpenBrace)
    }

    /// Returns whether a statement seems to begin here inside a list. This is assumed if two values are adjacent, the second one begins a line, and
    /// this line is not indented more than the line that opened the list.
    fn is_dedented(&self, at: usize) -> bool {
        let (start, token, _) = self.tokens[at];
        let begins = token.is_name() || token == Token::Return;
        let Some(open) = self.open.last() else {
            return false;
        };
        begins
            && at > 0
            && self.tokens[at - 1].1.ends_value()
            && lexer::begins_line(self.tokens, at, &self.source.text)
            && self.indent(start) <= self.indent(self.tokens[*open].0)
    }

    fn indent(&self, position: usize) -> usize {
        let before = &self.source.text[..position];
        let line = &self.source.text[before.rfind('\n').map_or(0, |at| at + 1)..];
        line.len() - line.trim_start_matches([' ', '\t']).len()
    }

    fn span(&self, at: usize) -> Span {
        let (start, _, end) = self.tokens[at];
        Span::new(self.source.id, start, end)
    }
}
